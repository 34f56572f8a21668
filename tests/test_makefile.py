"""Each target of the Makefile starts: its recipe names files and modules that are there.

The targets that take minutes aren't run here. test_architecture runs each script as far
as its imports.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z][a-z-]*):", TEXT, re.MULTILINE)

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="there is no make")


def recipe(target: str) -> str:
    """Return the commands that a target would run."""
    call = ["make", "--dry-run", "--always-make", target, "REPO=a/b", "LESSON=03"]
    more = ["TO=folder", "FROM=folder", f"PYTHON={sys.executable}"]
    return subprocess.check_output([*call, *more], cwd=ROOT, text=True)


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_target_starts_is_there(target: str):
    commands = recipe(target)
    for module in re.findall(r"python\S* -m ([\w.]+)", commands):
        assert find_spec(module), f"{target} starts {module}"
    for file in re.findall(r"python\S* ((?:tools|tests)/\S+\.py)", commands):
        assert (ROOT / file).is_file(), f"{target} starts {file}"
    for folder in re.findall(r"-m pytest (tests/\S+)", commands):
        assert (ROOT / folder).is_dir(), f"{target} tests {folder}"


def test_the_list_of_targets_names_each_one_with_what_it_does():
    shown = subprocess.check_output(["make", "help"], cwd=ROOT, text=True)
    documented = re.findall(r"^([a-z-]+):[^#\n]*#[#-] ", TEXT, re.MULTILINE)
    assert set(re.findall(r"^  make ([a-z-]+) ", shown, re.MULTILINE)) == set(
        documented
    )
    phony = re.search(r"^\.PHONY: (.+)$", TEXT, re.MULTILINE)
    assert phony
    assert set(documented) <= set(phony[1].split())


def test_an_import_that_needs_a_framework_is_named_and_not_a_traceback():
    code = (
        "import runpy; seconds = runpy.run_path('tests/benchmarks/bench.py')['seconds']\n"
        "try:\n    seconds('import no_such_framework')\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    said = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert "no_such_framework" in said


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (["programs", "NAME=nosuch"], "NAME=nosuch"),
        (["returned"], "FROM="),
        (["handout"], "TO="),
        (["returned", "FROM=nosuch"], "nosuch"),
        (["mutants", "ARGS=nosuch"], "nosuch"),
    ],
    ids=" ".join,
)
def test_a_target_without_what_it_needs_names_it_and_prints_no_traceback(
    call: list[str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    words = ["make", "--dry-run", "PY=python", "--assume-old", ".venv/installed", *call]
    bare = {"PATH": os.environ["PATH"]}  # `make test` exports its own ARGS
    started = subprocess.check_output(words, cwd=ROOT, text=True, env=bare)
    python, option, module, *given = shlex.split(started)
    assert [python, option] == ["python", "-m"]
    script = str(ROOT / f"{module.replace('.', '/')}.py")
    monkeypatch.setattr(sys, "argv", [script, *given])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(script, run_name="__main__")
    assert end.value.code
    assert named in "".join([str(end.value.code), *capsys.readouterr()])
