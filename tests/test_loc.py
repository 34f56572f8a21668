"""tools/loc: lines of code are counted, and blanks, comments and docstrings are not."""

from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from tools.loc import BUDGETS, ROOT, count, lines_of_code

CODE = '''"""A docstring of
two lines."""

import os  # a comment beside code counts nothing


# a comment
def name(
    path: str,
) -> str:
    """One line."""

    text = """two
lines"""
    return os.fspath(path + text)
'''


def test_blanks_comments_and_docstrings_do_not_count():
    assert lines_of_code(CODE) == 1 + 3 + 2 + 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ("# only a comment\n", 0),
        ("x = 1; y = 2\n", 1),
        ("x: int = 1\n'''the docstring of x'''\n", 1),
        ("x = '''no\n\ndocstring'''\n", 3),
        ("class A:\n    '''A.'''\n", 1),
    ],
)
def test_a_line_counts_once_if_it_holds_code(text: str, lines: int):
    assert lines_of_code(text) == lines


def test_each_file_belongs_to_one_part(tmp_path: Path):
    package = ("loop", "cli/main", "adapters/own", "lab/play", "lab/model/view", "lab/data/x/a")
    rooms = ("lab/lessons/the_wall", "lab/lessons/cost/bills", "lab/lessons/rooms")
    for name in (*(f"agentlib/{each}" for each in (*package, *rooms)), "tools/loc"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "tools/play.js").write_text("let x;\nlet y;\n", encoding="utf-8")
    (tmp_path / "notebooks").mkdir()
    for name, folded in {"00_the_wall": "import os", "08_cost": "x = 1\ny = 2"}.items():
        cells = [v4.new_markdown_cell("Hello"), v4.new_code_cell(folded), v4.new_code_cell("1")]
        nbformat.write(v4.new_notebook(cells=cells), tmp_path / f"notebooks/{name}.ipynb")
    assert count(tmp_path) == {
        "agent": 1,
        "terminal": 1,
        "adapters": 1,
        "rooms with their folded cells": 1 + 1 + 2 + 1,
        "a folded cell": 2,
        "the rest of the lab": 3,
        "tools, Python": 1,
        "tools, JavaScript": 2,
    }


def test_the_house_keeps_its_budgets():
    lines = count(ROOT)
    over = {part: lines[part] - most for part, most in BUDGETS.items() if lines[part] > most}
    assert over == {}, f"lines of code over the budget: {over}"
