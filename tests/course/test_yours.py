"""The file that a learner writes by passing exercises."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import course
from agentlib import pipeline
from agentlib.cli.program import engine_named, whose
from agentlib.messages import last_assistant, of_type, tool_names, with_results
from agentlib.micro_compact import micro_compact
from course import check, file_at_work, scoreboard, so_far, use, yours
from course.checking import EXERCISES
from course.checks import find, import_all
from course.parts_list import PARTS
from course.progress import progress
from offline_api.faults import Fault
from tools import my_agent
from windtunnel import play
from windtunnel.tasks.scenarios import SURVEY

SETTINGS = scoreboard.STAGES["03"].settings.scaled(24_000)
"""In so small a window, `SURVEY` compacts."""

PARTS_OF_ENGINE = tuple(
    name for name in my_agent.published() if name not in ("00.1", "08.4")
)
"""All but the loop, whose check is a run of a task, and the policy that isn't listed."""


def clear_view(messages, keep_recent=3, min_chars=100):
    results = [r for m in messages for r in of_type(m, "tool_result")]
    new = messages[last_assistant(messages) + 1 :]
    unseen = [r for m in new for r in of_type(m, "tool_result")]
    old = results[: max(0, len(results) - max(keep_recent, len(unseen)))]
    ids = [r["tool_use_id"] for r in old if len(r["content"]) > min_chars]
    names = tool_names(messages)
    return with_results(messages, {i: f"[Previous: used {names[i]}]" for i in ids})


def my_hold(old, new):
    """A learner's name other than the stub's."""
    for line in old.splitlines():
        if line.startswith("- [rule]") and line not in new.splitlines():
            new = f"{new}\n{line}"
    return new


@pytest.fixture
def workbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is a workbook, with nobody's parts in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(course, "_said", set())
    (tmp_path / yours.MARK).write_text("{}", "utf-8")
    return tmp_path


def text(folder: Path) -> str:
    return (folder / yours.FILE).read_text("utf-8")


# -- what goes into the file -----------------------------------------------------------


def test_an_answer_that_passes_stands_in_the_file_and_runs_alone(workbook: Path):
    assert "stands in workbook/my_agent.py" in check("02.2", clear_view).says
    engine = engine_named(yours.FILE)
    assert whose("mine", engine) == "mine runs clear (yours), summarise (the course's)"
    run = play(SURVEY, SETTINGS, engine=engine)
    assert "[Previous: used" in str(run.session.context)


def test_a_wrong_answer_a_calculation_and_the_finished_function_do_not(workbook: Path):
    assert not check("02.2", lambda messages, keep_recent=3, min_chars=100: [])
    assert check("02.2", micro_compact)
    assert check("01.1", find("01.1").finished)
    assert not (workbook / yours.FILE).exists()


def test_nothing_is_written_outside_a_workbook_and_in_ci(
    workbook: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CI", "true")
    check("02.2", clear_view)
    monkeypatch.delenv("CI")
    (workbook / yours.MARK).unlink()
    check("02.2", clear_view)
    assert [*workbook.iterdir()] == []


def test_another_name_becomes_that_of_the_file(workbook: Path):
    check("03.3", my_hold)
    assert "def hold(old, new):" in text(workbook)
    assert "my_hold" not in text(workbook)


NEEDED = "- [rule]"


def closed_over(word):
    def hold(old, new):
        return my_hold(old, new) if word else new

    return hold


def with_a_global(old, new):
    rules = [line for line in old.splitlines() if line.startswith(NEEDED)]
    return "\n".join(
        [new, *(r for r in dict.fromkeys(rules) if r not in new.split("\n"))]
    )


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (lambda old, new: my_hold(old, new), "lambda"),
        (partial(my_hold), "partial"),
        (closed_over("rule"), "word"),
        (with_a_global, "NEEDED"),
    ],
)
def test_what_cannot_stand_alone_is_named_and_the_old_one_stays(
    workbook: Path, answer: Any, word: str
):
    check("03.3", my_hold)
    before = text(workbook)
    verdict = check("03.3", answer)
    assert verdict.passed
    assert word in verdict.says
    assert "stays" in verdict.says
    assert text(workbook) == before


def test_a_part_that_calls_another_waits_for_it(workbook: Path):
    answers = my_agent.published()
    verdict = check("06.1", answers["06.1"])
    assert verdict.passed
    assert "03.2" in verdict.says
    assert not (workbook / yours.FILE).exists()
    check("03.2", answers["03.2"])
    check("06.1", answers["06.1"])
    assert "with_head(messages, top, keep_last)" in text(workbook)


def test_numbers_are_shares_of_the_window(workbook: Path):
    check("02.2", clear_view)
    yours.keep("03.4", {"threshold": 27_200, "summary_tokens": 1_600})
    assert '"threshold": 0.85' in text(workbook)
    assert '"summary_tokens": 0.05' in text(workbook)
    assert "numbers=NUMBERS" in text(workbook)


def test_imports_that_nobody_needs_any_more_go(workbook: Path):
    check("02.2", clear_view)
    assert "tool_names" in text(workbook)
    check("02.2", shorter := my_agent.published()["02.2"])
    (workbook / yours.FILE).write_text(
        text(workbook).replace("    names = tool_names(messages)\n", ""), "utf-8"
    )
    check("03.3", my_hold)
    assert shorter
    assert "import" in text(workbook)
    assert "import last_assistant, of_type, tool_names" not in text(workbook)


def test_a_compact_of_ones_own_is_never_written_over(workbook: Path):
    check("02.2", clear_view)
    own = "def compact(now):\n    return now.compact(keep_recent=9)\n"
    start = text(workbook).index("def clear(now")
    (workbook / yours.FILE).write_text(text(workbook)[:start] + own, "utf-8")
    verdict = check("03.2", my_agent.published()["03.2"])
    assert "call `keep_last` in them yourself" in verdict.says
    assert text(workbook).endswith(own)


# -- on another day --------------------------------------------------------------------


def test_another_lesson_runs_with_the_part(workbook: Path, capsys: Any):
    check("02.2", clear_view)
    course._solved.clear()  # another kernel
    assert use("02.2").__module__ == "my_agent"
    engine = so_far("05")
    assert engine is not pipeline.compact
    says = capsys.readouterr().out
    assert "02.2 is solved in my_agent.py" in says
    assert "Yours: 02.2 clear_view" in " ".join(says.split())


def test_without_a_part_of_theirs_lessons_run_the_courses_engine(workbook: Path):
    assert so_far("07") is pipeline.compact
    assert scoreboard.yours("07") == {}


def test_use_never_writes(workbook: Path):
    use("02.2", clear_view)
    assert not (workbook / yours.FILE).exists()


def slip_in(folder: Path) -> None:
    check("02.2", clear_view)
    check("03.3", my_hold)
    (folder / yours.FILE).write_text(break_syntax(text(folder)), "utf-8")


def test_a_slip_in_one_part_stops_nothing_else(workbook: Path):
    slip_in(workbook)
    assert "02.2" in file_at_work.contents(workbook)
    assert "02.2" in progress(workbook)
    verdict = check("01.3", my_agent.published()["01.3"])
    assert f"workbook/{yours.FILE}" in verdict.says
    assert "01.3" in file_at_work.contents(workbook)
    assert "def clear_view((" in text(workbook)


def test_a_part_that_somebody_edited_in_the_file_is_not_written_over(workbook: Path):
    check("03.3", my_hold)
    edited = text(workbook).replace(
        "def hold(old, new):", "def hold(old, new):  # mine"
    )
    (workbook / yours.FILE).write_text(edited, "utf-8")
    verdict = check("03.3", my_agent.published()["03.3"])
    assert verdict.passed
    assert "edited" in verdict.says
    assert text(workbook) == edited
    check("02.2", clear_view)  # another part is written all the same
    assert "# mine" in text(workbook)
    assert "def clear_view" in text(workbook)
    assert "edited" in check("03.3", my_agent.published()["03.3"]).says


def test_a_heading_that_was_deleted_leads_to_no_second_function(workbook: Path):
    check("02.2", clear_view)
    check("03.3", my_hold)
    lines = text(workbook).splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("# -- 03.3")]
    (workbook / yours.FILE).write_text("".join(kept), "utf-8")
    verdict = check("03.3", my_hold)
    assert "stands below the heading of 02.2" in verdict.says
    assert text(workbook).count("def hold(") == 1


def break_import(file: str) -> str:
    return file.replace("from agentlib.messages", "from agentlib.massages", 1)


def break_syntax(file: str) -> str:
    return file.replace("def clear_view(", "def clear_view((", 1)


def break_answer(file: str) -> str:
    return file.replace("len(results)", "len(names)", 1).replace(
        "> min_chars", "> 9", 1
    )


@pytest.mark.parametrize("slip", [break_syntax, break_answer])
def test_a_slip_is_named_with_its_line_and_the_other_parts_still_run(
    workbook: Path, capsys: Any, slip: Any
):
    check("02.2", clear_view)
    check("03.3", my_hold)
    (workbook / yours.FILE).write_text(slip(text(workbook)), "utf-8")
    loaded = course.agent()
    assert {*loaded.functions} == {"03.3"}
    line = 1 + text(workbook)[: text(workbook).index("def clear_view")].count("\n")
    assert f"my_agent.py, line {line}" in capsys.readouterr().out
    assert loaded.engine
    assert play(SURVEY, SETTINGS, engine=loaded.engine).turns > 9


def test_a_part_is_checked_once_and_is_as_new_at_each_use(
    workbook: Path, monkeypatch: pytest.MonkeyPatch
):
    """A part that remembers something would change the next run."""
    lines = "calls = []\n\n\ndef clear_view(messages):\n    calls.append(1)\n"
    section = f"# -- 02.2 Clearing (yours)\n{lines}    return messages\n"
    (workbook / yours.FILE).write_text(section, "utf-8")
    checked = list[str]()

    def refusal(exercise: str, function: Any) -> str:
        checked.append(exercise)
        return ""

    monkeypatch.setattr("course._refusal", refusal)
    first, second = (course.agent().functions["02.2"] for _ in range(2))
    first([])
    assert first.__globals__["calls"] == [1]
    assert second.__globals__["calls"] == []
    assert checked == ["02.2"]


def test_a_bad_import_is_named_and_nothing_raises(workbook: Path, capsys: Any):
    check("02.2", clear_view)
    (workbook / yours.FILE).write_text(break_import(text(workbook)), "utf-8")
    course.agent()
    assert "massages" in capsys.readouterr().out


WRITES = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("has the lock", flush=True)
    input()
"""


def test_a_kernel_waits_for_another_that_writes_and_loses_nothing(workbook: Path):
    start = [sys.executable, "-c", WRITES, str(workbook / yours.LOCK)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ThreadPoolExecutor() as pool, subprocess.Popen(start, **pipes) as another:
        assert another.stdout
        assert another.stdout.readline() == "has the lock\n"
        kept = pool.submit(yours.keep, "02.2", clear_view)
        with pytest.raises(TimeoutError):
            kept.result(timeout=0.3)
        (workbook / yours.FILE).write_text(my_agent.written(only=("01.3",)), "utf-8")
        another.communicate("\n")
        assert "It stands in" in kept.result()
    assert yours.read(workbook).parts == ["01.3", "02.2"]


# -- the whole file --------------------------------------------------------------------


def test_the_published_file_is_that_of_the_published_solutions():
    assert my_agent.FILE.read_text("utf-8") == my_agent.written()


def test_a_file_that_is_read_and_written_stays_as_it_is():
    assert yours.parsed(my_agent.written()).text() == my_agent.written()


def test_its_engine_does_the_long_session(workbook: Path):
    (workbook / yours.FILE).write_text(my_agent.written(only=PARTS_OF_ENGINE), "utf-8")
    [(name, run)] = scoreboard.yours("07").items()
    assert name == "yours, 10 of 10 parts"
    assert run.checks["rule kept"]
    assert run.checks["facts"] == 4
    assert run.checks["described"] >= 20
    table = scoreboard.scorecard("07")
    assert table.index[-1] == name


def test_it_goes_on_when_there_is_never_a_summary(workbook: Path):
    (workbook / yours.FILE).write_text(my_agent.written(only=PARTS_OF_ENGINE), "utf-8")
    engine = course.agent().engine
    assert engine
    settings = scoreboard.STAGES["07"].settings.scaled(24_000)
    faults = [Fault("tool_use", only="summary")]
    run = play(SURVEY, settings, engine=engine, faults=faults)
    finished = play(SURVEY, settings, faults=faults)
    made = run.session.compactions
    assert [bool(each.failure) for each in made] == [True] * len(made) != []
    assert run.checks["done"]
    assert run.turns <= 1.5 * finished.turns


@pytest.mark.parametrize(
    "left_out", [name for name in PARTS if PARTS[name].is_of_engine]
)
def test_without_any_one_part_it_still_runs(workbook: Path, left_out: str):
    missing = {left_out, "06.1"} if left_out == "03.2" else {left_out}
    rest = tuple(name for name in PARTS_OF_ENGINE if name not in missing)
    (workbook / yours.FILE).write_text(my_agent.written(only=rest), "utf-8")
    loaded = course.agent()
    assert not loaded.problems
    assert loaded.count == (10 - len(missing), 10)
    assert loaded.engine
    assert play(SURVEY, SETTINGS, engine=loaded.engine).checks["done"]


def test_with_the_first_lessons_alone_it_runs(workbook: Path):
    first = tuple(name for name in my_agent.published() if name < "04")
    (workbook / yours.FILE).write_text(my_agent.written(only=first), "utf-8")
    engine = engine_named(f"{yours.FILE}:compact")
    assert play(SURVEY, SETTINGS, engine=engine).checks["done"]


# -- how far it has come ---------------------------------------------------------------


def test_progress_counts_what_the_cells_say(workbook: Path):
    import_all()
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# 02 · Micro-compact\n"]},
            {
                "cell_type": "code",
                "source": ["check(...)"],
                "outputs": [{"data": {"text/plain": ["02.2 passed: well done"]}}],
            },
        ]
    }
    (workbook / "02_micro_compact.ipynb").write_text(json.dumps(notebook), "utf-8")
    (workbook / "broken.ipynb").write_text("{", "utf-8")
    check("02.2", clear_view)
    shown = progress(workbook)
    of = sum(name.startswith("02.") for name in EXERCISES)
    assert f"02 Micro-compact     1 of {of}  clear_view yours" in shown
    assert "Next: 00.1" in shown
    assert "02.2  clear_view" in shown


def test_without_a_workbook_progress_says_so(tmp_path: Path):
    assert "make lab" in progress(tmp_path / "none")


def test_the_contents_are_a_line_for_each_part(workbook: Path):
    assert "no part yet" in file_at_work.contents(workbook)
    (workbook / yours.FILE).write_text(my_agent.written(), "utf-8")
    lines = file_at_work.contents(workbook).splitlines()
    assert len(lines) == 4 + len(PARTS)
    assert lines[-1].startswith("10 of the 10 parts")


def test_parts_are_taken_out_with_their_lines(workbook: Path):
    (workbook / yours.FILE).write_text(my_agent.written(), "utf-8")
    yours.remove(workbook, ["04.1", "04.4"])
    assert "focus_of" not in text(workbook)
    assert (
        "wish"
        not in text(workbook).partition("# -- compact")[2].partition("def summary(")[0]
    )
    assert yours.read(workbook).parts == [n for n in PARTS if n not in ("04.1", "04.4")]


def test_lesson_11_begins_from_the_file(workbook: Path):
    """With 08.4's layer in the list, because clearing at every turn costs too much."""
    listed = my_agent.written().replace("stacked(clear,", "stacked(clear_cold,")
    (workbook / yours.FILE).write_text(listed, "utf-8")
    mine = use("11.1", lambda now: None)
    assert isinstance(mine, pipeline.Stack)
    assert [layer.__module__ for layer in mine.layers] == ["my_agent"] * 3
