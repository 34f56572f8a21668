"""Each exhibit's mistake bites, and its cure holds.

nbval runs the notebook and holds its outputs. So the outputs as stored are what the
code gives, and these tests only read them.
"""

import ast
import builtins
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from course.figures.floor_plan import COSTS, floor_plan
from course.rooms.museum import PLAN, exhibit, findings, said

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "museum.ipynb"
CELLS = nbformat.read(NOTEBOOK, as_version=4).cells
COSTS_OF = {name: cost for room in PLAN.values() for name, cost in room.items()}
Pair = tuple[str, str]


def headings(level: str) -> list[str]:
    prose = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    return re.findall(rf"^{level} (.+)$", prose, re.MULTILINE)


def exhibits() -> dict[str, Pair]:
    """The first mistake and cure that each heading's cells print, each in one line."""
    name = ""
    pairs = dict[str, Pair]()
    for cell in CELLS:
        if cell.cell_type == "markdown":
            name = (re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE) or [name])[-1]
        elif name in COSTS_OF and name not in pairs:
            text = "".join(output.get("text", "") for output in cell.outputs)
            mistake, _, cure = text.removeprefix("mistake  ").partition("\ncure     ")
            pairs[name] = " ".join(mistake.split()), " ".join(cure.split())
    return pairs


PAIRS = exhibits()


def numbers(text: str) -> list[float]:
    found = re.findall(r"\d[\d,]*(?:\.\d+)?", text)
    return [float(number.rstrip(",").replace(",", "")) for number in found]


def says(mistake: str, cure: str) -> Callable[[str, str], bool]:
    return lambda wrong, right: mistake in wrong and cure in right


def number(n: int, factor: float = 1) -> Callable[[str, str], bool]:
    """The nth number of the mistake is so many times less than the cure's."""
    return lambda wrong, right: factor * numbers(wrong)[n] < numbers(right)[n]


def fewer(n: int, factor: float = 1) -> Callable[[str, str], bool]:
    return lambda wrong, right: number(n, factor)(right, wrong)


HOLDS: dict[str, Callable[[str, str], bool]] = {
    "Four characters a token": says("prompt is too long", "done True"),
    "It didn't help, so once more": fewer(1, 2),
    "A breaker that never counts": fewer(1, 1.3),
    "Only 80,000 characters": lambda wrong, right: (
        fewer(0, 3)(wrong, right)
        and fewer(1, 1.3)(wrong, right)
        and "I see no request." in wrong
    ),
    "Cut out of the middle": lambda wrong, right: (
        "I read 1 file" in wrong
        and "I wrote REPORT.md: 19 files" in right
        and "0 of 4 facts" in wrong
        and "4 of 4 facts" in right
        and numbers(wrong)[-1] > 3 * numbers(right)[-1]
    ),
    "Chinese written as escapes": number(0, 5),
    "Cleared before it was seen": lambda *pair: (
        fewer(0, 1.3)(*pair) and fewer(1, 2)(*pair)
    ),
    "Cleared while it is needed": lambda wrong, right: (
        numbers(wrong)[2] > 0 == numbers(right)[2]
    ),
    "Cleared at every turn": lambda *pair: number(0, 2)(*pair) and fewer(1, 2)(*pair),
    "Keep zero keeps everything": says("prompt is too long", "done True"),
    "A tail without its call": says("0 messages 400 ", "begins with a tool_use"),
    "Everything since the last request": says(
        "the wall: prompt is too long", "done True"
    ),
    "The assistant has the last word": says("prefill", "done True"),
    "The summary is left out": says("I see no request.", "I wrote REPORT.md: 19"),
    "The focus goes nowhere": says("Report on", "for Ada"),
    "The first block isn't the text": says("no attribute 'text'", "## Accomplished"),
    "A system prompt of its own": lambda *pair: (
        number(0, 1_000)(*pair) and fewer(1, 5)(*pair)
    ),
    "The summary gives orders": says("`EF_ARM_ABIMASK` is set to", "I wrote REPORT.md"),
    "A summary of a summary": says("yes, no, no", "yes, yes, yes, yes, yes"),
    "A summariser that reads nothing": says("0 of 19", "19 of 19"),
    "Answered, and said again": lambda wrong, right: (
        "Delete old.log." in wrong and "Delete" not in right and "2 + 2" in right
    ),
    "Known by its looks": number(0),
    "Saved after it was cleared": lambda *pair: (
        number(0, 3)(*pair) and says("found: False", "found: True")(*pair)
    ),
    "Objects saved as their repr": says("400 messages.1.content.0", "bash"),
    "Named by the clock": says("files: 1", "files: 3"),
    "Emptied before it is written": says("left: ''", "'all of yesterday', mode 600"),
    "Compact called beside a read": says("refused, 400", "accepted"),
    "The first of two places": says(
        "False # in tests DEBUG = True # on the server", "more than once"
    ),
    "A list of forbidden words": says(
        "left: 0 echo sudoku: refused", "left: 1 echo sudoku: runs"
    ),
    "Cut without a word": says("line 5110", "more; continue with offset="),
}


def test_the_map_has_the_rooms_and_exhibits_of_the_notebook():
    assert [each for each in headings("##") if each in PLAN] == list(PLAN)
    assert headings("###") == list(COSTS_OF) == list(HOLDS)
    assert {*COSTS_OF.values()} == {*COSTS}


@pytest.mark.parametrize("name", COSTS_OF)
def test_the_mistake_bites_and_the_cure_holds(name: str):
    mistake, cure = PAIRS[name]
    assert HOLDS[name](mistake, cure)


@pytest.mark.parametrize("name", COSTS_OF)
def test_a_cure_like_its_mistake_would_be_noticed(name: str):
    mistake, _ = PAIRS[name]
    assert not HOLDS[name](mistake, mistake)


def names(source: str) -> tuple[set[str], set[str]]:
    """The names that code binds, and those that it reads."""
    bound = set[str]()
    read = set[str]()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ctx):
                (read if isinstance(ctx, ast.Load) else bound).add(name)
            case ast.arg(arg=name) | ast.FunctionDef(name=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name)
            case _:
                pass
    return bound, read


def test_an_exhibit_needs_only_the_cells_above_the_rooms():
    code = [cell.source for cell in CELLS if cell.cell_type == "code"]
    shared = names("\n".join(code[:2]))[0] | {*dir(builtins)}
    missing = {
        cell.splitlines()[0]: names(cell)[1] - names(cell)[0] - shared
        for cell in code[2:]
    }
    assert not {first: each for first, each in missing.items() if each}
    assert names("def f(x):\n    y = x\nprint(z)") == (
        {"f", "x", "y"},
        {"x", "print", "z"},
    )


def test_the_map_draws_a_dot_for_each_exhibit_in_the_order_of_the_page():
    chart = floor_plan(
        {"One": {"b": "unsafe", "a": "lost"}, "Two": {"c": "lost"}}, title="Three"
    )
    assert [len(axes.collections) for axes in chart.figure.axes] == [3]
    words = [text.get_text() for axes in chart.figure.axes for text in axes.texts]
    assert words == ["One", "1 b", "2 a", "Two", "3 c"]


def test_the_map_says_what_its_dots_show():
    count, total, stopped = (
        sum(cost in costs for cost in COSTS_OF.values())
        for costs in ({"lost"}, {*COSTS}, {"stopped"})
    )
    assert (
        findings()
        == f"{count} of {total} mistakes lose something, and only {stopped} stop the agent"
    )


def test_what_is_sent_is_answered_or_refused_in_the_apis_words():
    assert said([]).startswith("400 messages")
    assert "did not understand" in said([{"role": "user", "content": "Sing."}])


def test_an_exhibit_keeps_the_lines_of_what_it_shows(capsys):
    exhibit("one\ntwo", 3)
    assert capsys.readouterr().out == "mistake  one\n         two\ncure     3\n"


def test_each_exhibit_has_a_link_with_its_number_on_the_map():
    prose = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    links = re.findall(r"(\d+) \[([^]]+)\]\(#([^)]+)\)", prose)
    assert [name for _, name, _ in links] == list(COSTS_OF)
    assert [int(number) for number, _, _ in links] == list(range(1, len(COSTS_OF) + 1))
    assert all(target == name.replace(" ", "-") for _, name, target in links)
