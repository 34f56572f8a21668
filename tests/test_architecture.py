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

ROOT = Path(__file__).parent.parent
HOUSE = (
    "agentlib",
    "offline_api",
    "session_report",
    "windtunnel",
    "course",
    "tools",
    "tests",
)
"""A package imports only those before it. tools are not imported by the course."""
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    ): path
    for package in HOUSE
    for path in sorted((ROOT / package).rglob("*.py"))
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
    "agentlib.bounded",
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


CORE = (
    "messages",
    "step",
    "estimation",
    "micro_compact",
    "auto_compact",
    "manual_compact",
    "pipeline",
    "transcripts",
    "session_file",
    "loop",
)
"""What runs on the plain path, as the package's docstring lists it."""
RARE = re.compile(
    "(^|_)(pin(s|ned)?|gated?|keep_?alive|repeats?|memory|own_notes|undo(ne)?|preview"
    "|mend(s|ed)?|sandbox|secret|masked|endpoint|summary_model|or_else)(_|$)",
    re.IGNORECASE,
)
PLUGS = {
    ("messages", "PINNED"),  # one of the marks in texts
    ("auto_compact", "masked"),  # no key goes into a summary
    ("transcripts", "fold_mended"),  # a damaged file is read as far as it can be
}


def test_the_core_names_no_rare_feature_but_where_it_is_plugged_in() -> None:
    listed = (ROOT / "agentlib" / "__init__.py").read_text(encoding="utf-8")
    assert re.findall(r"^    (\w+)  ", listed, re.MULTILINE)[: len(CORE)] == list(CORE)
    named = {
        (module, name)
        for module in CORE
        for name in identifiers(OURS[f"agentlib.{module}"])
        if RARE.search(name)
    }
    assert named == PLUGS


def identifiers(path: Path) -> set[str]:
    """All names in the code of a module: variables, attributes, functions, imports."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name):
                found.add(name.rpartition(".")[2])
            case _:
                pass
    return {name.lstrip("_") for name in found}
