"""Every exercise of every notebook: its stub fails, its folded solution passes.

The exercises are run without Jupyter, each stub followed at once by its solution, after the cells
that they build on. Not here: what each checker finds wrong (`test_exercises_<lesson>`).
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from agentlib import loop
from agentlib.estimation import prompt_tokens
from agentlib.lab.client import client
from agentlib.lab.lessons import check, wall
from agentlib.lab.lessons import checking as exercises
from agentlib.lab.tasks import scenarios
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
CHECK = re.compile(r'^check\("(\d\d\.\d+)", .+\)\s*\Z', re.MULTILINE)
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
RUN = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from agentlib.lab import lessons as teach
shell, said = InteractiveShell.instance(), {}
judge = teach.check
def check(name, answer):
    said.setdefault(name, []).append(judge(name, answer))
    return said[name][-1]
teach.check = check
with capture_output():
    for cell in eval(sys.stdin.read()):
        shell.run_cell(cell).raise_error()
print({name: list(map(bool, verdicts)) for name, verdicts in said.items()})
"""


def stubs(notebook: NotebookNode) -> dict[str, int]:
    """The number of each exercise, and the place of its cell."""
    places = {}
    for place, cell in enumerate(notebook.cells):
        if "exercise" in cell.metadata.get("tags", []):
            found = CHECK.search(cell.source)
            assert found, f"the last line of an exercise is a check: {cell.source!r}"
            places[found[1]] = place
    return places


def solved(notebook: NotebookNode, place: int) -> str:
    """The exercise's cell with the solution from the next markdown cell above its check line."""
    following = (cell for cell in notebook.cells[place:] if cell.cell_type == "markdown")
    blocks = SOLUTION.findall(next(following).source)
    assert len(blocks) == 1, f"{len(blocks)} solutions after cell {place}"
    line = CHECK.search(notebook.cells[place].source)
    assert line
    return f"{blocks[0]}\n\n{line[0]}"


def verdicts(sources: list[str], folder: Path) -> dict[str, list[bool]]:
    """What each check said when the cells were run one after the other, in `folder`."""
    run = subprocess.run(
        [sys.executable, "-c", RUN],
        input=repr(sources),
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return eval(run.stdout.strip().splitlines()[-1])


def root(node: ast.expr) -> str:
    """The name that an expression begins with: `a` of `a.b[0]`, "" where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def names(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell makes or changes, and those that it reads."""
    made, read = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            made.add(root(node))
        elif isinstance(node, ast.Expr) and "." in ast.unparse(node).partition("(")[0]:
            made.add(root(node.value))  # a method called by itself may change its object
    return made, read


def with_solutions(notebook: NotebookNode, places: list[int]) -> list[str]:
    """The exercises, the solution of each after its stub, and the cells above that they build on.

    What only shows something is left out: running it all is nbval's part.
    """
    sources, wanted = [], set()
    for place in range(max(places, default=-1), -1, -1):
        cell = notebook.cells[place]
        asked = [cell.source, solved(notebook, place)] if place in places else [cell.source]
        if cell.cell_type == "code" and (place in places or names(cell.source)[0] & wanted):
            sources = asked + sources
            wanted |= set().union(*(names(source)[1] for source in asked))
    return sources


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_stub_fails_and_every_solution_passes(path: Path, tmp_path: Path):
    notebook = nbformat.read(path, as_version=4)
    places = stubs(notebook)
    sources = with_solutions(notebook, list(places.values()))
    assert verdicts(sources, tmp_path) == {name: [False, True] for name in places}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_asks_every_exercise_of_its_lesson_and_shows_that_it_is_open(path: Path):
    notebook = nbformat.read(path, as_version=4)
    places = stubs(notebook)
    assert len(places) >= 3
    assert list(places) == list(exercises.of_lesson(path.name[:2]))
    for name, place in places.items():
        [output] = notebook.cells[place].outputs
        assert output.data["text/plain"].startswith(f"{name} not yet: ")


@pytest.mark.parametrize("lesson", exercises.LESSONS)
def test_every_exercise_has_a_hint_and_no_hint_gives_the_solution(lesson: str):
    for name, exercise in exercises.of_lesson(lesson).items():
        assert exercise.hints, name
        assert not any("```" in hint for hint in exercise.hints)


DEFINITION = {
    "name": "outline",
    "description": "What a file defines.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}


def without(key: str) -> dict:
    return {k: v for k, v in DEFINITION.items() if k != key}


def by_hand(calls: list[dict]) -> dict:
    """Results that say nothing of a failure."""
    known = {"type": "tool_result", "content": "one line"}
    return {"role": "user", "content": [known | {"tool_use_id": c["id"]} for c in calls]}


def optional() -> dict:
    schema = {**DEFINITION["input_schema"], "required": []}
    return {**DEFINITION, "input_schema": schema}


@pytest.mark.parametrize(
    ("name", "answer", "why"),
    [
        ("00.1", lambda base, growth, window: (window - base) // growth + 1, "and that fits"),
        ("00.1", lambda base, growth, window: -(-(window - base) // growth) + 2, "a turn before"),
        ("00.1", lambda base, growth, window: window / growth, "is a whole number"),
        ("00.1", lambda base, growth, window: (window - base) // growth + 2, "it returns -6"),
        ("00.2", lambda calls, place: {"role": "user", "content": "Done."}, "API would refuse"),
        ("00.2", lambda calls, place: "Done.", "a dict with role and content"),
        ("00.2", lambda calls, place: {"role": "user"}, "the content is a list of blocks"),
        (
            "00.2",
            lambda calls, place: [place.run(c["name"], c["input"]) for c in calls],
            "tools.result makes it",
        ),
        ("00.2", lambda calls, place: by_hand(calls), "is_error is not set"),
        ("00.3", lambda base, growth, turns: base + growth * (turns - 1), "the last prompt only"),
        ("00.3", lambda base, growth, turns: base + growth * turns, "holds the ones before it"),
        ("00.3", lambda base, growth, turns: 0, "the sum of the prompts is 4,800"),
        ("00.4", lambda messages: "toolu_1", "what counts is the text, not the list"),
        ("00.4", lambda messages: messages[4]["content"][0]["tool_use_id"], "it gives 'toolu_1'"),
        ("00.4", lambda messages: "toolu_2", "where a toolu_7 with 2,020 characters"),
        ("00.4", lambda messages: None, "the tool_use_id of a result"),
        ("00.5", None, "Move the slider"),
        ("00.5", True, "put in a number"),
        ("00.5", wall.SMALLEST_WINDOW - 8_000, "would refuse a prompt"),
        ("00.5", wall.SMALLEST_WINDOW + 8_000, "at a smaller window, too"),
        ("00.6", wall.outline, "is a pair"),
        ("00.6", (without("description"), wall.outline), "has no description"),
        ("00.6", ({**DEFINITION, "name": "out line"}, wall.outline), "letters, digits"),
        ("00.6", (optional(), wall.outline), 'not in "required"'),
        ("00.6", ({**DEFINITION, "input_schema": "path"}, wall.outline), 'type "object"'),
        ("00.6", (DEFINITION, lambda path: Path(path).read_text()), "not its path"),
        ("00.6", (DEFINITION, lambda source: ""), "leaves out line 6"),
        ("00.6", (DEFINITION, lambda source: "class Parcel:"), "leaves out line 9"),
        ("00.6", (DEFINITION, lambda source: source), "without its number"),
        ("00.6", (DEFINITION, lambda s: wall.outline(s).replace("15: a", "51: a")), "number 15"),
        ("00.6", (DEFINITION, lambda s: wall.outline(s) + "\ngrams"), "defines nothing stays out"),
    ],
)
def test_a_usual_mistake_in_lesson_00_is_told_what_it_is(name, answer, why, tmp_path):
    verdict = check(name, answer)
    assert not verdict.passed
    assert why in verdict.says


def test_a_stub_that_passes_would_be_seen(tmp_path):
    passing = [
        "from agentlib.lab.lessons import wall",
        "from agentlib.lab.lessons import check",
        'check("00.3", wall.tokens_sent)',
    ]
    assert verdicts(passing, tmp_path) == {"00.3": [True]}


def test_the_window_of_exercise_00_5_is_the_first_step_above_the_largest_prompt(tmp_path):
    task, session = scenarios.REVIEW, Session(session_id="whole", archives=tmp_path / "archives")
    task.make_workspace(tmp_path / "work")
    known = {"settings": Settings(enabled=False), "session": session, "clock": scenarios.Clock()}
    for prompt in task.prompts:
        list(loop.run(client(), prompt, Workspace(tmp_path / "work"), **known))
    largest = max(prompt_tokens(sent.usage) for sent in session.requests)
    assert wall.SMALLEST_WINDOW - 8_000 < largest <= wall.SMALLEST_WINDOW
