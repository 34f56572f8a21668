"""The scorecard of the lessons, and presets compared over tasks."""

import re
from dataclasses import replace

import pandas
import pytest

from agentlib.lab.play import play, repeated
from agentlib.lab.scoreboard import (
    DOLLARS,
    FOCUS,
    PRICED_AS,
    STAGES,
    WINDOW,
    played,
    row,
    scorecard,
)
from agentlib.lab.tasks.scenarios import REVIEW, TRACE
from agentlib.messages import of_type
from agentlib.presets import CLAUDE_CODE, DEFAULT
from agentlib.settings import MODEL, Settings
from tests.benchmarks import generated
from tests.benchmarks.compare import as_table, compare, dominated, measures, rows, shown

SMALL = 10_000
SURVEY = generated.scenario(22)
"""A rule, seven facts and 11,000 tokens when nothing is forgotten."""
TWO = {"default": DEFAULT, "claude-code": CLAUDE_CODE}


def test_the_bare_loop_is_refused_and_has_nothing_to_show():
    assert re.fullmatch(r"400 prompt is too long: \d+ tokens > 32000 maximum", played("00").ended)
    assert (row("00")["rule kept"], row("00")["done"]) == ("no", "no")


def test_the_meter_stops_the_agent_past_the_point_and_before_the_wall():
    run = played("01")
    point = run.settings.threshold_tokens
    assert re.fullmatch(rf"stopped itself: .* next, {point:,} is the point", run.ended)
    assert row("01")["turns"] < row("00")["turns"]
    assert max(run.sizes) <= point


def test_clearing_old_results_brings_the_task_to_its_end():
    assert played("02").ended == ""
    assert (row("02")["rule kept"], row("02")["done"]) == ("yes", "yes")
    assert max(played("02").sizes) <= WINDOW


def test_auto_compact_sends_less_and_its_summary_loses_the_rule():
    (made,) = played("03").session.compactions
    assert (made.trigger, made.focus, made.failure) == ("auto", "", None)
    assert row("03")["tokens sent"] < row("02")["tokens sent"]
    assert (row("03")["rule kept"], row("03")["done"]) == ("no", "yes")


def test_a_focus_brings_the_rule_through_the_same_compaction():
    (made,) = played("04").session.compactions
    assert (made.trigger, made.focus) == ("manual", FOCUS)
    assert made.seen == played("03").session.compactions[0].seen
    assert (row("04")["rule kept"], row("04")["done"]) == ("yes", "yes")


def test_the_stages_03_to_05_differ_in_one_thing_each():
    auto, manual, recall = (STAGES[n].settings for n in ("03", "04", "05"))
    assert replace(auto, manual=True) == manual
    assert replace(manual, recall=True) == recall


def test_every_row_is_the_same_session():
    for lesson in STAGES:
        said = [m for m in played(lesson).session.history if m["role"] == "user"]
        texts = [block["text"] for m in said for block in of_type(m, "text")]
        assert texts == list(REVIEW.prompts)[: len(texts)]


def test_tokens_and_dollars_are_those_of_every_bill_the_summarys_too():
    run, shown = played("03"), row("03")
    assert len(run.usages) > run.turns
    assert shown["tokens sent"] == run.sent > sum(run.sizes)
    assert shown[DOLLARS] == pytest.approx(run.dollars(MODEL), abs=1e-4)
    assert MODEL.endswith(DOLLARS.removeprefix("$ "))


def test_a_row_a_lesson_up_to_the_one_asked_for():
    assert list(scorecard("00").index) == ["00"]
    assert list(scorecard("01")["turns"]) == [row("00")["turns"], row("01")["turns"]]
    assert max(map(len, scorecard("02").to_string().splitlines())) <= 72
    with pytest.raises(ValueError, match=r"no row for lesson '99'; there are 00, 01, 02"):
        scorecard("99")


def test_a_second_read_of_the_same_lines_counts_and_one_of_others_does_not():
    def read(path: str, **more: int) -> dict:
        return {"type": "tool_use", "name": "read_file", "input": {"path": path, **more}}

    calls = [read("a"), read("b"), read("a", offset=9), read("a"), read("a")]
    assert repeated([{"role": "assistant", "content": calls}], "read_file") == 2


@pytest.fixture(scope="module")
def table() -> pandas.DataFrame:
    return compare(TWO, [SURVEY, TRACE], window=SMALL)


def test_tokens_are_billed_once_each_and_dollars_are_the_models(table: pandas.DataFrame):
    assert list(table.index) == [(s, e) for s in ("survey 22", "trace") for e in TWO]
    row = table.loc[("survey 22", "default")]
    assert row["sent"] == row["uncached"] + row["written"] + row["read"]
    assert row["uncached"] + row["read"] / 20 < row["billed"] < row["sent"]
    run = play(SURVEY, DEFAULT.scaled(SMALL))
    assert row["$"] == pytest.approx(run.dollars(PRICED_AS), abs=1e-4)
    assert row["compactions"] == len(run.session.compactions) > 0


def test_a_run_that_the_api_ends_is_not_done_and_says_why():
    row = measures(SURVEY, Settings(enabled=False).scaled(SMALL))
    assert not row["done"]
    assert "prompt is too long" in row["ended"]
    assert (row["facts"], row["of"], row["rule"]) == (0, 7, False)


def test_pauses_are_kept_and_make_the_cache_cold():
    text = ("Read every Python file in this directory one by one.", "Rename a_b to c_d everywhere.")
    quick = replace(TRACE, prompts=text, pauses=(0.0, 0.0))
    slow = replace(quick, pauses=(0.0, 4_000.0))
    assert measures(slow, DEFAULT)["written"] > measures(quick, DEFAULT)["written"]


def test_a_comparison_broken_off_loses_one_run_alone():
    made: list[str] = []

    def counted(folder):
        made.append("made")
        TRACE.make_workspace(folder)

    def broken(folder):
        raise KeyboardInterrupt

    first = replace(TRACE, name="first", make_workspace=counted)
    second = replace(TRACE, name="second", make_workspace=broken)
    with pytest.raises(KeyboardInterrupt):
        compare({"default": DEFAULT}, [first, second])
    assert len(list(rows({"default": DEFAULT}, [first]))) == len(made) == 1


ROW = {"$": 1.0, "done": True, "rule": True, "facts": 2, "again": 1, "failures": 0}


def two(**other: object) -> pandas.DataFrame:
    return as_table(
        [
            {"scenario": "s", "engine": "default", **ROW},
            {"scenario": "s", "engine": "other", **ROW, "$": 0.75, **other},
        ]
    )


def test_dominated_is_cheaper_and_no_worse_in_anything():
    assert dominated(two()) == ["s: by other, 25.0% cheaper and no worse"]
    assert dominated(two(), "other") == []
    for worse in ({"$": 1.0}, {"done": False}, {"rule": False}, {"facts": 1}, {"again": 2}):
        assert dominated(two(**worse)) == [], worse
    assert dominated(two(failures=1)) == []


def test_what_is_shown_fits_and_says_what_the_table_says(table: pandas.DataFrame):
    text = shown(table, "survey 22")
    assert max(map(len, text.split("\n"))) <= 72
    assert PRICED_AS in text
    row = table.loc[("survey 22", "default")]
    line = next(line for line in text.split("\n") if line.startswith("default"))
    thousands = [f"{row[name] / 1000:.0f}" for name in ("sent", "billed")]
    assert re.split(" +", line)[1:4] == [*thousands, f"{row['$']:.3f}"]
    assert re.split(" +", line)[-3] == f"{row['facts']}/7"
    assert shown(table, "trace").count(" - ") == 4
