# Bare `make` lists what there is. Every target sets up .venv first, once.

ifeq ($(OS),Windows_NT)
  PYTHON ?= python
  PY := .venv/Scripts/python.exe
else
  PYTHON ?= python3
  PY := .venv/bin/python
endif
STAMP := .venv/installed
UV_FLAGS := --universal --python-version 3.11 --all-extras --no-emit-index-url --no-emit-find-links

export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1
export PYTHONUTF8 = 1
# Python may keep what it compiled, or each kernel would compile some thousand files anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup lab test test-browser browser lint format notebooks html lock bench bench-panels bench-faults compare stress reset clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1|/p' Makefile | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'

$(STAMP): requirements.lock pyproject.toml tools/setup.py
	@"$(PYTHON)" tools/setup.py

setup: $(STAMP) ## .venv with everything, from requirements.lock (PYTHON=python3.12 picks another Python)
	@echo ".venv is up to date."

lab: $(STAMP) ## open your copies of the lessons in JupyterLab (ARGS="--no-browser --port 8899" is passed on)
	@$(PY) -m tools.lab $(ARGS)

test: $(STAMP) ## all tests that need no browser: unit tests, and every notebook under strict nbval
	@$(PY) -m pytest -n logical --maxprocesses=4 --dist=loadfile $(ARGS)

test-browser: $(STAMP) ## every notebook in a real JupyterLab and a Chromium; pictures go to build/screenshots
	@$(PY) tools/browser.py
	@$(PY) -m pytest tests/browser -p no:nbval -n logical --maxprocesses=3 --override-ini addopts= $(ARGS)

browser: $(STAMP) ## a Chromium for test-browser and bench-panels, where there is none (as root, the system's)
	@$(PY) tools/browser.py --install

lint: $(STAMP) ## ruff (check and format, notebooks too) and pyright, strict on agentlib
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m pyright --pythonpath $(PY)
	@$(PY) tools/loc.py

format: $(STAMP) ## let ruff put code and notebooks in order
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

notebooks: $(STAMP) ## run the notebooks and write their outputs, normalised (ARGS="--check" only compares)
	@$(PY) tools/notebooks.py $(ARGS)

html: $(STAMP) ## the notebooks as web pages with an index, in build/html
	@$(PY) tools/pages.py

lock: $(STAMP) ## write requirements.lock anew from pyproject.toml (ARGS="--upgrade" takes the newest)
	$(PY) -m uv pip compile pyproject.toml $(UV_FLAGS) --custom-compile-command "make lock" --quiet $(ARGS) -o requirements.lock

bench: $(STAMP) ## how long the layers take
	@$(PY) tests/benchmarks/bench.py $(ARGS)

bench-panels: $(STAMP) ## from key press to new picture, in a browser
	@$(PY) -m tests.benchmarks.bench_panels $(ARGS)

compare: $(STAMP) ## the presets side by side
	@$(PY) -m tests.benchmarks.compare $(ARGS)

bench-faults: $(STAMP) ## the summariser fails, in every way and ever more often (ARGS=10: a tenth of the sessions)
	@$(PY) -m tests.benchmarks.faults $(ARGS)

stress: $(STAMP) ## the agent far past its window, again and again
	@$(PY) -m tests.benchmarks.stress $(ARGS)

reset: $(STAMP) ## start one lesson of the workbook again (LESSON=03)
	@$(PY) -m tools.reset $(LESSON)

clean: ## remove .venv and what was built
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
