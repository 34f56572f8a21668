"""What the page of An hour runs, here in the usual Python. `tests/browser` runs it in a
page."""

import ast
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course import file_at_work, in_page, the_hour, yours
from course.rooms import an_hour
from windtunnel import play
from windtunnel.tasks.scenarios import REVIEW

NOTEBOOK = Path(__file__).parents[2] / "notebooks/an_hour.ipynb"
SETUP, *CODE = [
    cell
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells
    if cell.cell_type == "code" and not cell.source.startswith("predict(")
]
RIGHT = """
def clear_view(messages, keep_recent=3, min_chars=100):
    results = [r for m in messages for r in of_type(m, "tool_result")]
    new = messages[last_assistant(messages) + 1 :]
    unseen = [r for m in new for r in of_type(m, "tool_result")]
    old = results[: max(0, len(results) - max(keep_recent, len(unseen)))]
    ids = [r["tool_use_id"] for r in old if len(r["content"]) > min_chars]
    names = tool_names(messages)
    return with_results(messages, {i: f"[Previous: used {names[i]}]" for i in ids})

check("02.2", clear_view)
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Answers messages as the page's Python does, in a workbook of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    answer = in_page.answering(str(tmp_path / "workbook"))

    def asked(**message: Any) -> Any:
        return json.loads(answer(json.dumps(message)))

    asked(begin={})
    return asked


def words(reply: Any) -> str:
    return "\n".join(each.get("text", "") for each in reply["outputs"])


def test_the_page_has_the_names_that_the_notebook_imports():
    nodes = ast.walk(ast.parse(SETUP.source))
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported | {"task"} <= in_page.Cells().names.keys()


def test_the_page_has_each_name_of_the_room_that_a_cell_uses():
    used = {
        node.attr
        for cell in CODE
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "room"
    }
    room = in_page.Cells().names["room"]
    assert [name for name in used if not hasattr(room, name)] == []
    assert [name for name in used if not hasattr(an_hour, name)] == []


def test_every_cell_of_the_unsolved_notebook_runs_with_the_finished_functions(page):
    replies = {cell.id: page(run=[cell.id, cell.source]) for cell in CODE}
    assert [n for n, each in replies.items() if '"error"' in json.dumps(each)] == []
    assert "the finished micro_compact runs" in words(replies["clear-run"])
    assert {"text", "picture", "table", "panel"} == {
        kind for each in replies.values() for shown in each["outputs"] for kind in shown
    }
    assert replies["agent-run"]["kept"]["my_agent"] == ""


def test_a_picture_has_the_numbers_of_the_runs_table():
    run = play(REVIEW, the_hour.LATE, shell=False)
    table = run.table()
    picture = in_page.picture(run, "A title")
    assert picture["tokens"] == [*table["tokens"]]
    assert picture["summary_request"] == [*table["summary_request"]]
    sums = [sum(sizes) for sizes in zip(*picture["kinds"].values(), strict=True)]
    assert sums == pytest.approx(picture["tokens"], abs=1)
    assert picture["threshold"] == 10_400
    json.dumps(picture)


def test_a_wrong_answer_gets_the_notebooks_sentence(page):
    stub = CODE[1]
    [said] = [output.data["text/plain"] for output in stub.outputs]
    assert words(page(run=[stub.id, stub.source])) == said


def test_what_passed_is_kept_and_is_there_on_the_next_visit(page, tmp_path: Path):
    reply = page(run=["a", RIGHT])
    assert "02.2 passed" in words(reply)
    kept = reply["kept"]
    assert "def clear_view" in kept["my_agent"]
    other = tmp_path / "other"
    in_page.begin(other, **kept)
    loaded = file_at_work.load(other, lambda exercise, function: "")
    assert list(loaded.functions) == ["02.2"]
    assert loaded.engine is not None
    assert in_page.kept(other) == kept
    assert (other / yours.MARK).is_file()


def test_the_learners_function_runs_in_the_agent(page):
    page(run=["a", RIGHT])
    used = page(run=["b", CODE[2].source])
    assert "02.2 is solved: your clear_view runs." in words(used)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\n1 / 0", "ZeroDivisionError in line 2: division by zero"),
        ("x = 1\ndef f(:", "SyntaxError in line 2: invalid syntax"),
        ("raise SystemExit('enough')", "SystemExit in line 1: enough"),
        ("print(1)\nprint(2)\n3", "1\n2\n\n3"),
    ],
)
def test_an_error_is_named_with_its_line_and_the_page_goes_on(page, source, said):
    assert words(page(run=["a", source])) == said
    assert words(page(run=["b", "'on'"])) == "'on'"


def test_the_sliders_run_the_learners_agent(page):
    for cell in CODE:
        page(run=[cell.id, cell.source])
    [moved] = page(move={"threshold": 9_000, "keep_recent": 1})["outputs"]
    assert moved["picture"]["threshold"] == 9_000
    assert "compaction" in moved["picture"]["title"]
