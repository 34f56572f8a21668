"""With a stored file of `make real`, three lessons show its rows and a sentence; without
one, nothing.

The file is made here, and its model is called "made up by a test".
"""

import json
from pathlib import Path
from typing import Any

import pytest

from course import real_model
from course.rooms import an_hour, auto_compact, what_survives
from course.table import Table, as_table
from course.the_hour import measures, units
from windtunnel import play, real
from windtunnel.tasks.scenarios import REVIEW

MODEL = "made up by a test"
DAY = "2001-02-03"
NAME = f"{MODEL}, {DAY}"


def row(**marks: Any) -> dict[str, Any]:
    """Make a row of a run that kept nothing, but for these marks."""
    nothing = {"report": False, "rule": False, "facts": 0, "of": 4, "over_window": 0}
    counts: dict[str, Any] = {
        "turns": 7,
        "sent": 1_234,
        "compactions": {"done": 2, "failed": 1},
        "dollars": 0.01,
        "ended": "",
    }
    return {**counts, **nothing, **marks}


def run(which: str, policy: str, simulated: Any, real: Any) -> dict[str, Any]:
    return {"set": which, "policy": policy, "simulated": simulated, "real": real}


HOUR = [
    run("hour", "no layers", row(), row(over_window=16_500, ended="we ended it: …")),
    run("hour", "their numbers", row(report=True), row(report=True, rule=True)),
]
TASKS = [
    run("tasks", "no layers", row(), row()),
    run("tasks", "DEFAULT", row(report=True, rule=True, facts=4), row(report=True)),
    run("tasks", "DEFAULT", row(report=True, rule=True, facts=1), row(rule=True)),
]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """Collect what rooms display, and look for stored files in a folder of the test."""
    tables = list[Table]()
    monkeypatch.setattr(real, "FOLDER", tmp_path)
    monkeypatch.setattr(real_model, "display", tables.append)
    return tables


def store(folder: Path, runs: list[dict[str, Any]], endpoint: str = "another") -> None:
    record = {"model": MODEL, "date": DAY, "endpoint": endpoint, "runs": runs}
    text = json.dumps(record)
    (folder / f"made-up-by-a-test-{DAY}.json").write_text(text, encoding="utf-8")


def hour() -> Table:
    """An hour's table, with two runs of its three."""
    off = play(REVIEW, an_hour.OFF)
    return an_hour.rows({"no layers": off, "yours": off})


def test_without_a_file_nothing_changes_and_nothing_is_claimed(shown: list[Table]):
    off = play(REVIEW, an_hour.OFF)
    frame = dict.fromkeys(("no layers", "yours"), measures(off))
    before = as_table(frame, units=units(off), mark=["yours"])
    assert hour() == before
    auto_compact.show_real_runs()
    what_survives.show_real_runs()
    assert shown == []


def test_a_file_without_a_run_is_none(shown: list[Table], tmp_path: Path):
    plain = hour()
    store(tmp_path, [])
    auto_compact.show_real_runs()
    assert (hour(), shown) == (plain, [])


def test_an_hour_shows_its_rows_below_and_one_sentence(
    shown: list[Table], tmp_path: Path
):
    store(tmp_path, HOUR + TASKS)
    text = " ".join(hour().text.split())
    assert text.count(f"no layers: {NAME} 7 3 1,234 no we ended it") == 1
    assert text.count("their numbers: simulated 7 3 1,234 no yes") == 1
    assert text.count(f"their numbers: {NAME} 7 3 1,234 yes yes") == 1
    assert "in all 2 runs, and on whether the rule is kept in 1 of 2 runs" in text
    assert "(not with their numbers)" in text
    assert f"{NAME}, at an endpoint" in text


def test_03_and_10_show_both_models_and_what_each_lesson_asks(
    shown: list[Table], tmp_path: Path
):
    store(tmp_path, HOUR + TASKS, "Anthropic's")
    auto_compact.show_real_runs()
    what_survives.show_real_runs()
    third, tenth = (" ".join(table.text.split()) for table in shown)
    for text in (third, tenth):
        assert "DEFAULT: simulated 2 0 6 2 2 5 8 0.020" in text
        assert f"DEFAULT: {NAME} 2 0 6 1 1 0 8 0.020" in text
        assert "endpoint" not in text
    assert "every file in 2 of 3 runs (not in 1 with DEFAULT)" in third
    assert "the rule is kept in 2 of 3 runs" in third
    assert "all facts are kept in 2 of 3 runs (not in 1 with DEFAULT)" in tenth


def test_a_lesson_without_its_runs_shows_nothing(shown: list[Table], tmp_path: Path):
    store(tmp_path, HOUR)
    auto_compact.show_real_runs()
    assert shown == []
