"""Three rules of the house: the agent never imports the lab, no cycles, light imports."""

import ast
import runpy
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "agentlib"
SOURCES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "data" not in path.parts
}


def imported(path: Path) -> Iterator[str]:
    """Every module of agentlib that a file imports, at whatever depth of its code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in SOURCES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agentlib"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in SOURCES else str(node.module) for name in names)


Graph = dict[str, set[str]]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return {name: set(imported(path)) - {name} for name, path in SOURCES.items()}


def test_the_agent_never_imports_the_lab(graph: Graph) -> None:
    agent = {n for n in graph if not n.startswith(("agentlib.lab", "agentlib.cli"))}
    strays = {n: [i for i in graph[n] if i.startswith("agentlib.lab")] for n in agent}
    assert not {name: imports for name, imports in strays.items() if imports}


def test_nothing_imports_an_adapter_unless_asked_for(graph: Graph) -> None:
    strays = {n: [i for i in graph[n] if i.startswith("agentlib.adapters")] for n in graph}
    assert not {n for n, imports in strays.items() if imports and "adapters" not in n}


def test_no_module_imports_itself_by_way_of_others(graph: Graph) -> None:
    order = list(TopologicalSorter(graph).static_order())
    assert set(order) == set(graph)


LAB = {"anthropic", "pandas", "matplotlib", "ipywidgets", "jupyterlab"}
HEAVY = LAB | {"httpx2", "rich", "typer"}
APART = ("agentlib.lab", "agentlib.cli", "agentlib.__main", "agentlib.adapters.")
AGENT = [name for name in SOURCES if not name.startswith(APART)]


def test_importing_the_agent_brings_nothing_heavy_and_the_terminal_nothing_of_the_lab() -> None:
    show = "print(*sys.modules)"
    code = f"import sys, {', '.join(AGENT)}; {show}; import agentlib.cli.main; {show}"
    said = subprocess.check_output([sys.executable, "-c", code], encoding="utf-8")
    agent, terminal = (set(line.split()) for line in said.splitlines())
    assert not HEAVY & agent
    assert not LAB & terminal


# Scripts that no other test runs can at least be imported, so that a renamed module is noticed.

ROOT = Path(__file__).parent.parent
SCRIPTS = [
    *(ROOT / "tools").glob("*.py"),
    *(ROOT / "tests/benchmarks").glob("*.py"),
    ROOT / "tests/browser/kernel/panel_probe.py",
]


@pytest.mark.parametrize("path", sorted(SCRIPTS), ids=lambda path: path.stem)
def test_a_script_finds_its_imports(path: Path):
    assert runpy.run_path(str(path))["__doc__"]
