"""tools/loc: lines of code are counted, and blanks, comments and docstrings are not."""

from pathlib import Path

import pytest

import agentlib
from tools.loc import BUDGETS, count, lines_of_code

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


def test_each_file_belongs_to_the_agent_the_terminal_or_the_lab(tmp_path: Path):
    for name in ("loop.py", "cli/main.py", "lab/play.py", "lab/model/view.py", "lab/data/x/a.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")
    lines, files = count(tmp_path)
    assert lines == files == {"agent": 1, "cli": 1, "lab": 2, "lab/model": 1}


def test_the_house_keeps_its_budgets():
    lines, _ = count(Path(agentlib.__file__).parent)
    over = {part: lines[part] - most for part, most in BUDGETS.items() if lines[part] > most}
    assert over == {}, f"lines of code over the budget: {over}"
