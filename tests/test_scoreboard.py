"""The scorecard of the lessons."""

import re
from dataclasses import replace

import pytest

from agentlib.lab.play import repeated
from agentlib.lab.scoreboard import (
    DOLLARS,
    FOCUS,
    STAGES,
    WINDOW,
    played,
    row,
    scorecard,
)
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import of_type
from agentlib.settings import MODEL


@pytest.mark.parametrize(
    ("lesson", "rule", "done"),
    [
        ("00", "no", "no"),
        ("02", "yes", "yes"),
        ("03", "no", "yes"),
        ("04", "yes", "yes"),
        ("06", "yes", "yes"),
    ],
)
def test_each_layer_shows_in_its_row(lesson: str, rule: str, done: str):
    assert (row(lesson)["rule kept"], row(lesson)["done"]) == (rule, done)
    assert lesson == "00" or max(played(lesson).sizes) <= WINDOW


def test_the_bare_loop_is_refused_and_the_meter_stops_it_before_that():
    assert re.fullmatch(r"400 prompt is too long: \d+ tokens > 32000 maximum", played("00").ended)
    point = played("01").settings.threshold_tokens
    assert played("01").ended.startswith("stopped itself: ")
    assert max(played("01").sizes) <= point
    assert row("01")["turns"] < row("00")["turns"]


def test_a_focus_goes_through_the_same_compaction_as_the_automatic_one():
    (auto,), (manual,) = (played(lesson).session.compactions for lesson in ("03", "04"))
    assert (auto.trigger, auto.focus, auto.failure) == ("auto", "", None)
    assert (manual.trigger, manual.focus, manual.seen) == ("manual", FOCUS, auto.seen)
    assert row("03")["tokens sent"] < row("02")["tokens sent"]


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
