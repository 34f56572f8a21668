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


GRAPH = {name: set(imported(path)) - {name} for name, path in SOURCES.items()}


def test_the_agent_never_imports_the_lab() -> None:
    agent = {n for n in GRAPH if not n.startswith(("agentlib.lab", "agentlib.cli"))}
    strays = {n: [i for i in GRAPH[n] if i.startswith("agentlib.lab")] for n in agent}
    assert not {name: imports for name, imports in strays.items() if imports}


def test_nothing_imports_an_adapter_unless_asked_for() -> None:
    strays = {n: [i for i in GRAPH[n] if i.startswith("agentlib.adapters")] for n in GRAPH}
    assert not {n for n, imports in strays.items() if imports and "adapters" not in n}


def test_no_module_imports_itself_by_way_of_others() -> None:
    order = list(TopologicalSorter(GRAPH).static_order())
    assert set(order) == set(GRAPH)


HEAVY = {"anthropic", "httpx2", "pandas", "matplotlib", "ipywidgets", "rich", "typer"}
APART = ("agentlib.lab", "agentlib.cli", "agentlib.__main", "agentlib.adapters.")
AGENT = [name for name in GRAPH if not name.startswith(APART)]


def test_importing_the_agent_brings_nothing_heavy() -> None:
    code = f"import sys, {', '.join(AGENT)}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert not HEAVY & set(run.stdout.split())


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
