"""A class: what is handed out has no solutions, and what comes back gets a table."""

import csv
import re
import sys
from pathlib import Path

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


def test_a_text_from_a_student_is_no_formula_and_moves_no_cursor():
    assert returned.one_line("=HYPERLINK(1)\x1b[2J\nx") == "'=HYPERLINK(1) [2J x"
