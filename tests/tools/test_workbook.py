"""The workbook: copies of the lessons that belong to the learner, and never overwrite
an edit."""

import json
import subprocess
from pathlib import Path
from pkgutil import resolve_name

import pytest
from nbformat import v4

from course import yours
from tools import my_agent, reset, workbook
from tools.imports import MOVED, new_name, renamed

WALL = "00_the_wall.ipynb"
COMPACT = "03_auto_compact.ipynb"
AS_IT_CAME = "turn = None  # 猜 first\n"


def lesson(*sources: str, printed: str = "spoiler") -> str:
    """A notebook that has been run, one code cell for each source, after a title."""
    output = v4.new_output("stream", name="stdout", text=printed)
    cells = [v4.new_code_cell(s, execution_count=1, outputs=[output]) for s in sources]
    return v4.writes(
        v4.new_notebook(cells=[v4.new_markdown_cell("# A lesson"), *cells])
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def code(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course as a zip brings it: two lessons and the glossary, and no git."""
    for name in (WALL, COMPACT):
        write(tmp_path / "notebooks" / name, lesson(AS_IT_CAME))
    write(tmp_path / "notebooks/GLOSSARY.md", "# Glossary\n\n## token\n词元\n")
    return tmp_path


@pytest.fixture
def clone(root: Path) -> Path:
    """The same course in git."""
    git(root, "init", "--quiet")
    commit(root)
    return root


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", *who, *arguments]
    return subprocess.run(
        command, cwd=root, check=True, capture_output=True, text=True
    ).stdout


def commit(root: Path) -> None:
    git(root, "add", "notebooks")
    git(root, "commit", "--quiet", "-m", "lessons")


def test_the_first_time_every_file_is_copied_without_outputs(root: Path):
    lines = workbook.update(root)
    assert lines == ["workbook/ has your own copies of the lessons, without outputs."]
    copies = root / "workbook"
    assert code(copies / WALL) == code(copies / COMPACT) == [AS_IT_CAME]
    assert "spoiler" not in (copies / WALL).read_text(encoding="utf-8")
    assert (copies / "GLOSSARY.md").read_bytes() == (
        root / "notebooks/GLOSSARY.md"
    ).read_bytes()
    assert "spoiler" in (root / "notebooks" / WALL).read_text(encoding="utf-8")
    notebook = v4.reads((copies / WALL).read_text(encoding="utf-8"))
    assert [(c.execution_count, c.outputs) for c in notebook.cells[1:]] == [(None, [])]


def test_the_second_time_nothing_happens_whatever_the_learner_did(root: Path):
    workbook.update(root)
    write(root / "workbook" / WALL, lesson("turn = 17"))
    assert workbook.update(root) == []
    assert code(root / "workbook" / WALL) == ["turn = 17"]


def test_a_copy_that_the_learner_deleted_comes_back(root: Path):
    workbook.update(root)
    (root / "workbook" / WALL).unlink()
    workbook.update(root)
    assert code(root / "workbook" / WALL) == [AS_IT_CAME]


@pytest.mark.parametrize(
    "mine", [lesson(AS_IT_CAME, printed="17"), lesson(AS_IT_CAME, "")]
)
def test_a_newer_lesson_replaces_a_copy_that_was_run_but_not_edited(
    root: Path, mine: str
):
    workbook.update(root)
    write(
        root / "workbook" / WALL, mine
    )  # run, perhaps with the empty cell that this leaves
    write(root / "notebooks" / WALL, lesson("better"))
    [line] = workbook.update(root)
    assert (
        line == f"{WALL} is newer now. You had not edited your copy, so it is replaced."
    )
    assert code(root / "workbook" / WALL) == ["better"]
    write(root / "notebooks" / WALL, lesson("better still"))
    workbook.update(root)
    assert code(root / "workbook" / WALL) == ["better still"]


@pytest.mark.parametrize("mine", [lesson("turn = 17"), lesson(), '{"cells": [', ""])
def test_a_newer_lesson_leaves_an_edited_copy_alone_and_says_how_to_get_it(
    root: Path, mine: str
):
    workbook.update(root)
    write(root / "workbook" / COMPACT, mine)
    write(root / "notebooks" / COMPACT, lesson("better"))
    [line] = workbook.update(root)
    assert line.startswith(f"{COMPACT} is newer now.")
    assert "it is kept" in line
    assert "`make reset LESSON=03`" in line
    assert (root / "workbook" / COMPACT).read_text(encoding="utf-8") == mine


def test_a_lesson_that_was_only_run_again_is_not_newer(root: Path):
    workbook.update(root)
    write(root / "notebooks" / WALL, lesson(AS_IT_CAME, printed="another number"))
    assert workbook.update(root) == []


@pytest.mark.parametrize("record", ["", "{", None])
def test_without_its_record_the_workbook_keeps_every_copy(
    root: Path, record: str | None
):
    workbook.update(root)
    path = root / "workbook" / workbook.RECORD
    path.unlink() if record is None else write(path, record)
    write(root / "notebooks" / WALL, lesson("better"))
    assert "it is kept" in workbook.update(root)[0]
    write(root / "notebooks" / COMPACT, lesson("better"))
    assert any("replaced" in line for line in workbook.update(root))


def test_edits_in_notebooks_are_copied_too_and_count_as_the_lesson(root: Path):
    write(root / "notebooks" / COMPACT, lesson("turn = 17", printed="my output"))
    workbook.update(root)
    assert code(root / "workbook" / COMPACT) == ["turn = 17"]
    write(root / "notebooks" / COMPACT, lesson("better"))
    assert "it is replaced" in workbook.update(root)[0]


def test_ctrl_c_while_a_copy_is_written_leaves_the_old_one(root: Path, monkeypatch):
    write(root / "workbook" / WALL, lesson("mine"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        workbook.restore(WALL, root)
    assert code(root / "workbook" / WALL) == ["mine"]


def test_git_sees_neither_the_workbook_nor_a_change(clone: Path):
    ignored = (workbook.ROOT / ".gitignore").read_text(encoding="utf-8")
    write(clone / ".gitignore", ignored)
    workbook.update(clone)
    reset.main("03", root=clone)
    assert (
        git(clone, "status", "--porcelain", "--untracked-files=all")
        == "?? .gitignore\n"
    )


@pytest.mark.parametrize("number", ["03", "3"])
def test_reset_brings_one_lesson_back(clone: Path, capsys, number: str):
    workbook.update(clone)
    for name in (COMPACT, WALL):
        write(clone / "workbook" / name, lesson("mine"))
    assert reset.main(number, root=clone) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"workbook/{COMPACT} is as it came. Reload it if it is open."
    ]
    assert code(clone / "workbook" / COMPACT) == [AS_IT_CAME]
    assert code(clone / "workbook" / WALL) == ["mine"]


@pytest.mark.parametrize(("answer", "left"), [("y", ["02.2"]), ("", ["02.2", "03.3"])])
def test_reset_asks_whether_the_lessons_parts_go_too(
    clone: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: list[str]
):
    file = clone / workbook.FOLDER / yours.FILE
    write(file, my_agent.written(only=("02.2", "03.3")))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: answer)
    assert reset.main("03", root=clone) == 0
    assert yours.read(file.parent).parts == left


def test_where_nobody_can_answer_the_parts_stay(clone: Path):
    file = clone / workbook.FOLDER / yours.FILE
    write(file, my_agent.written(only=("02.2", "03.3")))
    before = file.read_text("utf-8")
    assert reset.main("03", root=clone) == 0
    assert file.read_text("utf-8") == before


def test_reset_works_before_there_is_a_workbook(root: Path, capsys):
    assert reset.main("0", root=root) == 0
    assert code(root / "workbook" / WALL) == [AS_IT_CAME]
    assert "forgotten" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("7",), "There is no lesson '7'."),
        (("00", "03"), "There is no lesson '00 03'."),
        (("",), "Which lesson?"),
        ((), "Which lesson?"),
    ],
)
def test_reset_of_a_lesson_that_is_not_there_names_those_that_are(
    root, capsys, arguments, complaint
):
    assert reset.main(*arguments, root=root) == 2
    assert (
        capsys.readouterr().out
        == f"{complaint} Choose one of 00, 03: make reset LESSON=00\n"
    )
    assert not (root / "workbook").exists()


def test_the_imports_of_the_learners_file_get_the_new_names(root: Path):
    workbook.update(root)
    mine = root / "workbook" / "my_agent.py"
    old = "from agentlib.own_notes import spoken_lines\n\n# -- 02.2 mine\nx = 1\n"
    write(mine, old)
    [line] = [each for each in workbook.update(root) if each.startswith("my_agent.py")]
    assert "imports" in line
    new = mine.read_text(encoding="utf-8")
    assert new == old.replace("agentlib.own_notes", "agentlib.recovery")
    assert workbook.update(root) == []


OLD = (
    "from agentlib.session_lock import hold\n"
    "from agentlib.undo import (\n    undo,\n)\nmine = 1\n"
)


def test_the_imports_of_an_edited_copy_get_the_new_names(root: Path):
    write(root / "notebooks" / WALL, lesson(OLD))
    workbook.update(root)
    write(root / "workbook" / WALL, lesson(OLD + "# my note, agentlib.undo\n"))
    write(root / "notebooks" / WALL, lesson("from course import check\n"))
    [line] = [each for each in workbook.update(root) if each.startswith(WALL)]
    assert "imports" in line
    assert code(root / "workbook" / WALL) == [
        "from agentlib.session.file import hold\nfrom agentlib.session.undo import undo\n"
        "mine = 1\n# my note, agentlib.undo\n"
    ]
    assert "imports" not in "".join(workbook.update(root))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from agentlib import live", "from agentlib.api import live"),
        (
            "  from agentlib.step import Step, clearing  # both",
            "  from agentlib.step import Step  # both\n"
            "  from agentlib.compaction.engine_check import clearing",
        ),
        (
            "from agentlib.session_file import Compaction, Request as Sent",
            "from agentlib.session.file import CompactionRecord as Compaction, Request as Sent",
        ),
        (
            "from agentlib.settings import Settings",
            "from agentlib.settings import Settings",
        ),
    ],
)
def test_an_import_is_renamed(old: str, new: str):
    assert renamed(old) == new


def test_every_new_name_can_be_imported():
    for old in MOVED:
        resolve_name(new_name(old))
