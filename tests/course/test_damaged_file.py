"""Whatever a learner does to `my_agent.py` in an editor ends in one line, and the course
goes on."""

from pathlib import Path
from typing import Any

import pytest

import course
from agentlib.cli.main import main
from course import check, file_at_work, scoreboard, yours
from course.progress import progress
from tools import my_agent
from windtunnel.tasks.scenarios import TRACE

PARTS_OF_02 = ("02.2", "03.3", "03.2")


@pytest.fixture
def workbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(course, "_said", set())
    monkeypatch.setattr(scoreboard, "_OWN", {})
    monkeypatch.setattr(scoreboard, "LONG", TRACE)
    (tmp_path / yours.MARK).write_text("{}", "utf-8")
    (tmp_path / yours.FILE).write_text(my_agent.written(only=PARTS_OF_02), "utf-8")
    return tmp_path


def part_for(name: str, code: str) -> Any:
    """Put other code in the place of a part."""

    def edit(text: str) -> str:
        start = text.index(f"def {name}(")
        return text[:start] + code + text[text.index("\n# -- ", start) :]

    return edit


def without(start: str, end: str = "\n# -- ") -> Any:
    """Take out what begins with some words, up to the next heading."""

    def edit(text: str) -> str:
        at = text.index(start)
        return text[:at] + text[text.index(end, at + 1) + 1 :]

    return edit


def swapped(old: str, new: str) -> Any:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return edit


EDITS: dict[str, tuple[Any, str]] = {
    "a comma": (swapped('"keep_recent": 3,', '"keep_recent": 3'), "line 16"),
    "a name": (swapped('"min_chars"', '"min_char"'), "did you mean 'min_chars'?"),
    "a share": (swapped('"min_chars": 100', '"threshold": 24000'), "such as 0.75"),
    "a word": (swapped('"keep_recent": 3', '"keep_recent": "three"'), "keep_recent"),
    "a list": (swapped("NUMBERS = {", "NUMBERS = []\nOTHERS = {"), "should be a dict"),
    "no numbers": (without("# -- NUMBERS"), "NUMBERS isn't there any more"),
    "a part gone": (without("# -- 03.3"), "`hold` (03.3) isn't there any more"),
    "a part renamed": (swapped("def hold(", "def held("), "isn't there any more"),
    "a slip": (swapped("def hold(old", "def hold((old"), "line 34"),
    "a name gone": (swapped("kept = new", "kept = now"), "raised NameError"),
    "a wrong part": (
        part_for("hold", "def hold(old, new):\n    return new\n"),
        "doesn't",
    ),
    "a number": (part_for("hold", "hold = 3\n"), "doesn't pass 03.3"),
    "a class": (part_for("hold", "class hold:\n    pass\n"), "raised TypeError"),
    "a partial": (
        part_for("hold", "from functools import partial\n\nhold = partial(print)\n"),
        "doesn't pass 03.3",
    ),
    "a cache": (
        part_for(
            "hold",
            "from functools import lru_cache\n\n@lru_cache\ndef hold(old, new):\n    return 1\n",
        ),
        "doesn't pass 03.3",
    ),
    "an exit": (part_for("hold", "raise SystemExit\n"), "SystemExit"),
    "an exit inside": (
        part_for("hold", "def hold(old, new):\n    raise SystemExit\n"),
        "raised SystemExit",
    ),
    "no end": (part_for("hold", "while True:\n    pass\n"), "stopped after"),
    "a sleep": (
        part_for("hold", "import time\n\ntime.sleep(300)\n"),
        "stopped after",
    ),
    "an import": (
        swapped("from agentlib.messages", "from agentlib.massages"),
        "massages",
    ),
    "the list": (swapped("stacked(clear,", "stacked(cleer,"), "cleer"),
    "no return": (swapped("    return now.cleared(view)", ""), "returned None"),
    "a layer raises": (swapped("view = clear_view(", "view = clear_vue("), "clear_vue"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_named_in_a_line_and_the_course_goes_on(
    name: str, workbook: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(file_at_work, "SECONDS", 0.5)
    edit, words = EDITS[name]
    path = workbook / yours.FILE
    path.write_text(edit(path.read_text("utf-8")), "utf-8")
    scoreboard.yours("03")
    print(scoreboard.contents())
    progress(workbook)
    says = " ".join(capsys.readouterr().out.split())
    assert words in says
    assert "my_agent.py" in says
    assert says.count("my_agent.py, line") <= 3
    assert "stands in workbook" in check("01.3", my_agent.published()["01.3"]).says


def test_the_row_and_the_contents_count_the_same(workbook: Path, capsys: Any):
    path = workbook / yours.FILE
    path.write_text(swapped("def hold(old", "def hold((old")(path.read_text("utf-8")))
    [name] = scoreboard.yours("03")
    assert name == "yours, 2 of 10 parts (hold: the course's)"
    assert scoreboard.contents().splitlines()[-1].startswith("2 of the 10")
    assert "(the course's runs)" in scoreboard.contents()


BYTES = {
    "UTF-16": ("x = 1\n".encode("utf-16"), "isn't UTF-8"),
    "ANSI": ('x = "é"\n'.encode("cp1252"), "isn't UTF-8"),
    "a NUL": (b"x = 1\0\n", "null bytes"),
    "a slip at the top": (b"import (\n\n# -- 03.3 x\nx = 1\n", "line 1"),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_python_stay_as_they_are(
    name: str, workbook: Path, capsys: Any
):
    content, words = BYTES[name]
    (workbook / yours.FILE).write_bytes(content)
    verdict = check("03.3", my_agent.published()["03.3"])
    assert verdict.passed
    assert words in verdict.says
    assert (workbook / yours.FILE).read_bytes() == content
    assert scoreboard.yours("03") == {}
    scoreboard.contents()
    progress(workbook)
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_folder_in_its_place_is_named(workbook: Path, capsys: Any):
    (workbook / yours.FILE).unlink()
    (workbook / yours.FILE).mkdir()
    assert "can't be read" in check("03.3", my_agent.published()["03.3"]).says
    assert scoreboard.yours("03") == {}
    assert "can't be read" in capsys.readouterr().out


def test_a_mark_at_the_top_goes(workbook: Path):
    path = workbook / yours.FILE
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert "stands in" in check("01.3", my_agent.published()["01.3"]).says
    compile(path.read_text("utf-8"), "file", "exec")


@pytest.mark.parametrize("own", ['"""Mine."""\n', "# my own notes\n", ""])
def test_a_file_without_headings_takes_parts(workbook: Path, own: str):
    (workbook / yours.FILE).write_text(own, "utf-8")
    assert "stands in" in check("03.3", my_agent.published()["03.3"]).says
    assert own.strip() in (workbook / yours.FILE).read_text("utf-8")


def test_after_all_parts_are_taken_out_everything_works(workbook: Path):
    yours.remove(workbook, PARTS_OF_02)
    assert scoreboard.yours("03") == {}
    for exercise in ("03.3", "02.2"):
        assert "stands in" in check(exercise, my_agent.published()[exercise]).says


def test_two_sections_with_one_heading_both_stay(workbook: Path):
    path = workbook / yours.FILE
    path.write_text(
        path.read_text("utf-8") + "\n\n# -- 03.3 again\nnote = 1\n", "utf-8"
    )
    check("01.3", my_agent.published()["01.3"])
    assert "note = 1" in path.read_text("utf-8")
    assert "def hold(" in path.read_text("utf-8")


OLD = '''"""My agent, as far as I have come."""

from dataclasses import replace

from agentlib.auto_compact import SummaryFailed, harmless, summary_message
from agentlib.messages import exchanges, last_assistant


# -- NUMBERS My agent's own numbers (yours)
NUMBERS = {
    "keep_recent": 3,
}


# -- 03.2 The newest exchanges stay (yours)
def keep_last(messages, top, keep=1):
    newest = exchanges(messages)[-keep:] if keep else []
    kept = messages[newest[0][0] :] if newest else []
    return [top, *kept]


# -- compact What the next request sends (the course's, until you change it)
def compact(now):
    now = now.sized(**NUMBERS)
    step = now.unchanged()
    messages = step.applied(now.messages)
    size = now.meter.estimate(messages)
    if now.reason == "auto" and not now.is_full(size):
        return step
    if len(exchanges(messages)) < 2:  # nothing to put a summary in place of
        return step
    focus = now.focus
    archive = now.archive()
    failure = None
    try:
        text = summary(now, messages, focus)
    except SummaryFailed as error:
        return replace(step, failure=str(error), archive=archive)

    def top(words=None):
        return summary_message(harmless(text), archive, words)

    view = keep_last(messages, top())
    view = keep_last(messages, top(now.unheard(view)))
    done = now.compacted(view, archive, after=step)
    return replace(done, failure=failure, focus=focus)


def summary(now, messages, focus):
    sent = messages[: last_assistant(messages)]  # it fits, and the cache has it
    return now.summarize(sent, focus)
'''


def test_a_file_of_an_earlier_edition_works_and_keeps_its_compact(workbook: Path):
    (workbook / yours.FILE).write_text(OLD, "utf-8")
    [run] = scoreboard.yours("03").values()
    assert run.checks["done"]
    says = check("02.2", my_agent.published()["02.2"]).says
    assert "the layers there are yours" in says
    assert "now.unheard(view)" in (workbook / yours.FILE).read_text("utf-8")


def test_a_file_of_an_earlier_edition_clears_when_it_may(workbook: Path, capsys: Any):
    head, sections = my_agent.written(only=("02.2",)).split("# -- 02.2", 1)
    part = "# -- 02.2" + sections.partition("\n# -- compact")[0]
    clears = """
    step = now.unchanged()
    if now.may_clear:
        recent, length = now.settings.keep_recent, now.settings.min_chars
        view = clear_view(now.messages, keep_recent=recent, min_chars=length)
        step = now.cleared(view)
    return step
"""
    old = f"{head}{part}\n# -- compact What the next request sends\ndef compact(now):{clears}"
    (workbook / yours.FILE).write_text(old, "utf-8")
    [run] = scoreboard.yours("02").values()
    assert "my_agent.py, line" not in capsys.readouterr().out
    assert any(step.texts for step in run.steps)


def test_the_terminal_says_which_line_raised(workbook: Path, capsys: Any):
    path = workbook / yours.FILE
    edit = swapped("    return with_results(", "    with_results(")
    path.write_text(edit(path.read_text("utf-8")), "utf-8")
    (workbook / "work").mkdir()
    (workbook / "work" / "a.py").write_text("x = 1\n", "utf-8")
    prompt = "Read every Python file one by one and write a report"
    assert main(["--engine", yours.FILE, "--workspace", "work", prompt]) == 1
    shown = capsys.readouterr()
    assert "my_agent.py runs clear (yours), summarise (yours)" in shown.out
    assert "my_agent.py, line" in shown.err
    assert "the view is None" in shown.err


def test_progress_counts_what_stands_in_the_file(workbook: Path):
    yours.keep("03.4", {"threshold": 27_200, "summary_tokens": 1_500})
    shown = progress(workbook)
    assert "  1 of" in next(
        each for each in shown.splitlines() if each.startswith("02")
    )
    assert "  3 of" in next(
        each for each in shown.splitlines() if each.startswith("03")
    )


def test_the_header_names_a_command_only_when_there_is_an_engine():
    assert "--engine" not in my_agent.written(only=("00.1",))
    assert "--engine workbook/my_agent.py " in my_agent.written(only=("01.3",))


def test_the_policy_stands_in_the_file_and_waits_to_be_listed(workbook: Path):
    verdict = check("08.4", my_agent.published()["08.4"])
    assert "list `clear_cold` there" in verdict.says
    text = (workbook / yours.FILE).read_text("utf-8")
    assert "stacked(clear, summarise, numbers=NUMBERS)" in text
    (workbook / yours.FILE).write_text(text.replace("(clear, s", "(clear_cold, s"))
    [run] = scoreboard.yours("03").values()
    assert run.checks["done"]
