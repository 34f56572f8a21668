"""The rules of the house: arrows go one way, no circles, no private names, light imports."""

import ast
import re
import runpy
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.packages import PACKAGES, ROOT

FOLDERS = PACKAGES | {"tools": ROOT / "tools", "tests": ROOT / "tests"}
HOUSE = tuple(FOLDERS)
"""A package imports only those before it. tools are not imported by the course."""
SOURCES = {
    ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    ): path
    for folder in FOLDERS.values()
    for path in sorted(folder.rglob("*.py"))
    if "data" not in path.relative_to(ROOT).parts
}
OURS = {name: path for name, path in SOURCES.items() if not name.startswith("tests")}
OFFLINE = {"agentlib.cli.main"}
"""Modules of agentlib that may load offline_api, for a run that isn't live."""


def package_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def imported(path: Path) -> dict[str, set[str]]:
    """Return what a file imports of the house, at whatever depth: modules, and names of each."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in SOURCES:
                    found.setdefault(alias.name, set())
        elif (
            isinstance(node, ast.ImportFrom) and package_of(node.module or "") in HOUSE
        ):
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                if module in SOURCES:
                    found.setdefault(module, set())
                else:
                    found.setdefault(str(node.module), set()).add(alias.name)
    return found


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return {name: set(imported(path)) - {name} for name, path in OURS.items()}


def test_a_package_imports_only_those_above_it(graph: dict[str, set[str]]) -> None:
    strays = {
        (name, other)
        for name, others in graph.items()
        for other in others
        if HOUSE.index(package_of(other)) > HOUSE.index(package_of(name))
        and name not in OFFLINE
    }
    assert strays == set()


def test_nothing_imports_an_adapter_unless_asked_for(
    graph: dict[str, set[str]],
) -> None:
    strays = {
        name
        for name, others in graph.items()
        if any(other.startswith("agentlib.adapters") for other in others)
        and not name.startswith("agentlib.adapters")
    }
    assert strays == set()


def test_no_module_imports_itself_by_way_of_others(graph: dict[str, set[str]]) -> None:
    order = list(TopologicalSorter(graph).static_order())
    assert set(graph) <= set(order)


def test_nobody_imports_a_private_name_of_another_package() -> None:
    strays = {
        (name, f"{module}.{each}")
        for name, path in OURS.items()
        for module, names in imported(path).items()
        for each in names | {module.rpartition(".")[2]}
        if each.startswith("_") and not each.startswith("__")
        if package_of(module) != package_of(name)
    }
    assert strays == set()


THIRD_PARTY = {"anthropic", "httpx2", "pydantic", "click", "dotenv", "filelock", "rich"}
NOTEBOOKS = {"pandas", "matplotlib", "ipywidgets", "jupyterlab"}
ENTRANCES = (
    "agentlib.cli",
    "agentlib.__main",
    "agentlib.adapters.",
    "agentlib.api.bounded",
    "agentlib.api.gate",
)
AGENT = [n for n in SOURCES if n.startswith("agentlib") and not n.startswith(ENTRANCES)]


def loaded_by(code: str) -> set[str]:
    """Return the modules that are loaded once a process has run this code."""
    code = f"import sys\n{code}\nprint(*sys.modules)"
    return set(
        subprocess.check_output([sys.executable, "-c", code], encoding="utf-8").split()
    )


def test_importing_the_agent_loads_nothing_of_others() -> None:
    loaded = loaded_by(f"import {', '.join(AGENT)}")
    assert loaded & (THIRD_PARTY | NOTEBOOKS | set(HOUSE)) == {"agentlib"}


def test_the_terminal_loads_neither_the_sdk_nor_the_offline_api_before_it_runs() -> (
    None
):
    loaded = loaded_by("import agentlib.cli.main")
    assert loaded & (NOTEBOOKS | {"anthropic"} | set(HOUSE)) == {"agentlib"}


# Scripts that no other test runs can at least be imported, so that a renamed module is noticed.

SCRIPTS = [
    *(ROOT / "tools").glob("*.py"),
    *(ROOT / "tests/benchmarks").glob("*.py"),
    ROOT / "course/sweeps.py",
    ROOT / "tests/browser/kernel/panel_probe.py",
]


@pytest.mark.parametrize("path", sorted(SCRIPTS), ids=lambda path: path.stem)
def test_a_script_finds_its_imports(path: Path):
    if path.name != "__init__.py":
        assert runpy.run_path(str(path))["__doc__"]


# The top of agentlib is the course's table of contents. Behind it are drawers.

TOP = (
    "loop",
    "estimation",
    "micro_compact",
    "auto_compact",
    "manual_compact",
    "transcripts",
    "head_and_tail",
    "recovery",
    "messages",
    "step",
    "pipeline",
    "settings",
    "presets",
)
DOORS = {
    ("loop", "api.requests"),  # the one place where a model is asked
    ("loop", "compaction.around"),  # put around the agent by `run`, and by nobody else
    ("loop", "tools"),  # what the agent acts with
    ("auto_compact", "api.requests"),  # a summary is a request, too
    ("auto_compact", "api.masks"),  # no key goes into a summary
    ("transcripts", "session.file"),  # its lines, and writing them whole
    ("transcripts", "session.extras"),  # what they say beside the conversation
    ("transcripts", "session.mending"),  # a damaged file is read as far as it can be
    ("pipeline", "compaction.engine_check"),  # somebody's layer may be none
}
"""What the top imports of the drawers: at most nine, each with its reason."""
BETWEEN = {
    ("compaction.breaker", "session.file"),  # it reads what the session has noted
    (
        "session.extras",
        "api.replies",
    ),  # token counts of a bill, as an API may send them
    ("session.file", "api.replies"),
    ("session.keep_alive", "api.replies"),
    ("session.keep_alive", "api.requests"),  # a repeat is a request
    ("session.mending", "api.replies"),  # what a request can hold
    ("tools.shell", "session.file"),  # Ctrl-C waits until a command has been noted
}
"""What one drawer imports of another."""
FREE = ("cli", "adapters")
"""Drawers that may import everything."""


def in_agentlib(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    return {
        name.removeprefix("agentlib."): {
            other.removeprefix("agentlib.")
            for other in others
            if other.startswith("agentlib.")
        }
        for name, others in graph.items()
        if name.startswith("agentlib.") and package_of(name[9:]) not in FREE
    }


def test_the_top_is_the_thirteen_and_the_docstring_names_each(graph) -> None:
    folder = ROOT / "agentlib"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    assert files == set(TOP)
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    assert [name for name in TOP if not re.search(rf"\b{name}\b", text)] == []
    assert len(text.splitlines()) <= 20


def test_the_top_imports_itself_and_a_few_doors(graph) -> None:
    found = {
        (name, other)
        for name, others in in_agentlib(graph).items()
        for other in others
        if name in TOP and other not in TOP
    }
    assert found == DOORS
    assert len(DOORS) <= 9


def test_a_drawer_imports_the_top_and_itself_but_for_a_few(graph) -> None:
    found = {
        (name, other)
        for name, others in in_agentlib(graph).items()
        for other in others
        if name not in (*TOP, "__main__") and other not in TOP
        if package_of(name) != package_of(other)
    }
    assert found == BETWEEN
