"""Scripts that no other test runs can at least be imported, so that a renamed module is noticed."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = [
    *(ROOT / "tools").glob("*.py"),
    *(ROOT / "tests/benchmarks").glob("*.py"),
    ROOT / "tests/browser/kernel/panel_probe.py",
]


@pytest.mark.parametrize("path", sorted(SCRIPTS), ids=lambda path: path.stem)
def test_a_script_finds_its_imports(path: Path):
    assert runpy.run_path(str(path))["__doc__"]
