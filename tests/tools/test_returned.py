"""A class: what is handed out has no solutions, and what comes back gets a table."""

import csv
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from tools import handout, returned
from tools.recheck import NOT_TRIED
from tools.workbook import EXERCISE, ROOT

LESSON = ROOT / "notebooks/01_estimation.ipynb"
CHARS = 'def chars4(messages):\n    return len(str(messages)) // 4\n\n\ncheck("01.1", chars4)'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("class") / "handout"
    assert handout.main(str(place)) == 0
    return place


def test_what_is_handed_out_has_no_outputs_and_no_solutions(folder: Path):
    names = {path.name for path in folder.glob("*.ipynb")}
    assert names == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    for path in folder.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<summary>(Solution|Show me a way)</summary>", text)
        cells = nbformat.read(path, as_version=4).cells
        assert all(not cell.get("outputs") for cell in cells)
        original = nbformat.read(ROOT / "notebooks" / path.name, as_version=4).cells
        exercises = [each.source for each in original if "check(" in each.source]
        assert [each.source for each in cells if "check(" in each.source] == exercises


def test_every_link_of_the_folder_leads_to_a_file_in_it(folder: Path):
    for path in folder.glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                for link in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", cell.source):
                    assert (folder / link).is_file(), (path.name, link)


def test_a_folder_with_something_in_it_and_an_unknown_lesson_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/work.txt").write_text("mine")
    assert handout.main(str(tmp_path / "mine")) == 2
    assert handout.main(str(tmp_path / "new"), "77") == 2
    said = capsys.readouterr().err
    assert "isn't empty" in said
    assert "77" in said
    assert not (tmp_path / "new").exists()
    assert handout.main(str(tmp_path / "new"), "01") == 0
    assert not (tmp_path / "new/00_the_wall.ipynb").exists()


def hand_in(place: Path, sources: dict[str, str], before: str = "") -> None:
    """Write lesson 01 with other sources in the cells of some exercises, and perhaps a
    cell before the first of them."""
    notebook = nbformat.read(LESSON, as_version=4)
    exercises = {
        exercise: n
        for n, cell in enumerate(notebook.cells)
        for exercise in EXERCISE.findall(cell.source)
    }
    for exercise, source in sources.items():
        notebook.cells[exercises[exercise]].source = source
    if before:
        cell = nbformat.v4.new_code_cell(before)
        notebook.cells.insert(exercises["01.1"], cell)
    place.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place)


def table(
    place: Path, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[str, str], str]:
    """Run the command. Return the result of each student and exercise."""
    file = place.with_suffix(".csv")
    words = [str(place), "--csv", str(file), "--seconds", str(seconds)]
    monkeypatch.setattr(sys, "argv", ["returned", *words])
    assert returned.main() == 0
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return {
        (row["student"], row["exercise"] or row["file"]): row["result"] for row in rows
    }


def test_a_table_says_what_passed_what_was_wrong_and_what_never_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted")
    place = tmp_path / "submitted"
    wrong = 'percent = 1_000\ncheck("01.4", percent)'
    spy = """import os
raise OSError(os.environ.get("ANTHROPIC_API_KEY"))
check("01.2", rings)"""
    later = CHARS.replace("// 4", "// four")
    never = "def next_prompt(*given):\n    return helper()\n\n\n"
    never += 'check("01.3", next_prompt)'
    endless = 'import time\nwhile True:\n    time.sleep(1)\ncheck("01.2", None)'
    hand_in(place / "ada/01/01_estimation.ipynb", {"01.1": CHARS, "01.2": endless})
    (place / "dora").mkdir()
    (place / "dora/my_agent.py").write_text(CHARS.partition("\n\n\n")[0])
    (place / "dora/01_estimation.ipynb").write_text("{broken")
    (place / "eve").mkdir()
    (place / "eve/01_estimation.ipynb").symlink_to(LESSON)
    sources = {"01.1": later, "01.2": spy, "01.3": never, "01.4": wrong}
    hand_in(place / "fay.ipynb", sources, before="four = 4")
    results = table(place, 20, monkeypatch)
    assert results["ada", "01.1"] == results["dora", "01.1"] == "passed"
    assert "20 seconds" in results["ada", "01.2"]
    assert results["ada", "01.3"] == NOT_TRIED
    assert "can't be read" in results["dora", "01_estimation.ipynb"]
    assert "link" in results["eve", "01_estimation.ipynb"]
    assert results["fay", "01.1"] == "passed"
    assert "OSError" in results["fay", "01.2"]
    assert "planted" not in results["fay", "01.2"]
    assert "helper" in results["fay", "01.3"]
    assert results["fay", "01.4"] not in ("passed", NOT_TRIED)


def test_a_layer_that_the_course_wrote_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "submitted"
    (place / "eve").mkdir(parents=True)
    solved = LESSON.parent.parent / "docs/my_agent.py"
    (place / "eve/my_agent.py").write_bytes(solved.read_bytes())
    results = table(place, 60, monkeypatch)
    assert results["eve", "02.2"] == "passed"
    assert ("eve", "02.1") not in results


def test_a_text_from_a_student_is_no_formula_and_moves_no_cursor():
    assert returned.one_line("=HYPERLINK(1)\x1b[2J\nx") == "'=HYPERLINK(1) [2J x"


HOSTILE: dict[str, bytes] = {
    "cut off": b"{",
    "a list": b"[1, 2]",
    "a number for a verdict": b'{"00.1": 5}',
    "a text for passed": b'{"00.1": ["yes", ""]}',
    "a number for a message": b'{"00.1": [true, 5]}',
    "three parts": b'{"00.1": [true, "", ""]}',
    "deep": b"[" * 100_000,
    "no UTF-8": b"\xff",
    "empty": b"",
    "markup for an exercise": b'{"[/b]": [false, "x"]}',
    "a link for an exercise": b'{"[link=https:example.com]a[/link]": [false, "x"]}',
    "half an emoji for an exercise": b'{"\\ud83d": [false, "x"]}',
    "a formula for an exercise": b'{"=cmd|\'/c calc\'!A0": [false, "x"]}',
    "another lesson's exercise": b'{"77.1": [true, ""]}',
    "long": b'{"00.1": [false, "' + b"x" * 2_000_000 + b'"]}',
}


def verdicts_are(monkeypatch: pytest.MonkeyPatch, contents: dict[str, bytes]) -> None:
    """Let each student's code leave these verdicts. Its my_agent.py has its name."""

    def run(words: list[str], folder: Path, **more: Any) -> Any:
        name = (folder / "my_agent.py").read_text(encoding="utf-8")
        (folder / "verdicts.json").write_bytes(contents[name])
        return SimpleNamespace(exit_code=0, output="")

    monkeypatch.setattr(returned.shell, "run", run)


def test_whatever_one_student_writes_the_others_have_their_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    good = json.dumps({"00.1": [True, ""], "00.2": [False, "=1+1; @x \ud83d [/b]"]})
    contents = {**HOSTILE, "ada": good.encode()}
    verdicts_are(monkeypatch, contents)
    place = tmp_path / "submitted"
    for name in contents:
        (place / name).mkdir(parents=True)
        (place / name / "my_agent.py").write_text(name, encoding="utf-8")
    results = table(place, 20, monkeypatch)
    assert results["ada", "00.1"] == "passed"
    assert results["ada", "00.2"] == "'=1+1; '@x [/b]"
    for name in HOSTILE:
        assert "can't be read" in results[name, "my_agent.py"]
    assert len(results) == len(HOSTILE) + 2
    assert "\x1b" not in capsys.readouterr().out


def test_a_students_code_that_writes_its_own_verdicts_harms_its_own_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "submitted"
    for name, source in {
        "ada": CHARS.partition("\n\n\n")[0],
        "eve": "import os\nopen('verdicts.json', 'w').write('{')\nos._exit(0)\n",
    }.items():
        (place / name).mkdir(parents=True)
        (place / name / "my_agent.py").write_text(source)
    results = table(place, 60, monkeypatch)
    assert results["ada", "01.1"] == "passed"
    assert "can't be read" in results["eve", "my_agent.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="others refuse such names")
def test_a_folder_of_any_name_with_anything_in_it_gets_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    verdicts_are(monkeypatch, {"": b"{}"})
    place = tmp_path / "submitted"
    students = ["[nobody", "=cmd|x", "\udcff", "a\nb", ":skull:", "ada"]
    for name in students:
        (place / name).mkdir(parents=True)
        (place / name / "00_the_wall.ipynb").write_text(
            '{"cells": [{"cell_type": "code", "source": [1]}], "nbformat": 4}'
        )
    os.mkfifo(place / "ada/01_estimation.ipynb")
    (place / "ada/02_micro_compact.ipynb").mkdir()
    with (place / "ada/my_agent.py").open("wb") as file:
        file.truncate(3_000_000_000)
    results = table(place, 20, monkeypatch)
    assert len(results) == len(students) + 3
    assert {"'=cmd|x", "[nobody", "a b", ":skull:"} < {name for name, _ in results}
    assert "no file" in results["ada", "01_estimation.ipynb"]
    assert "bytes" in results["ada", "my_agent.py"]
