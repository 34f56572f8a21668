"""The scorecard: one session, a row for the layers of each lesson."""

import pytest

from agentlib.lab import scoreboard
from agentlib.lab.scoreboard import played, row, scorecard
from agentlib.lab.tasks import scenarios
from agentlib.messages import of_type


def test_the_bare_loop_is_refused_and_has_nothing_to_show():
    assert played("00").ended.startswith("400 prompt is too long: ")
    assert played("00").ended.endswith(" tokens > 32000 maximum")
    assert row("00")["turns"] == len(played("00").session.requests)
    assert (row("00")["rule kept"], row("00")["done"]) == ("no", "no")


def test_the_meter_stops_the_agent_past_the_point_and_before_the_wall():
    run = played("01")
    point = run.session.settings.threshold_tokens
    assert run.ended.startswith("stopped itself: ")
    assert run.ended.endswith(f"{point:,} is the point")
    assert row("01")["turns"] < row("00")["turns"]
    assert max(map(scoreboard.prompt_tokens, run.usages)) <= point


def test_clearing_old_results_brings_the_task_to_its_end():
    assert played("02").ended == "done"
    assert (row("02")["rule kept"], row("02")["done"]) == ("yes", "yes")
    assert max(map(scoreboard.prompt_tokens, played("02").usages)) <= scoreboard.WINDOW


def test_auto_compact_sends_less_and_its_summary_loses_the_rule():
    run = played("03")
    assert run.ended == "done"
    (made,) = run.session.compactions
    assert (made.trigger, made.focus, made.failure) == ("auto", "", None)
    assert row("03")["tokens sent"] < row("02")["tokens sent"]
    assert (row("03")["rule kept"], row("03")["done"]) == ("no", "yes")


def test_a_focus_brings_the_rule_through_the_same_compaction():
    (made,) = played("04").session.compactions
    assert (made.trigger, made.focus) == ("manual", scoreboard.FOCUS)
    assert made.seen == played("03").session.compactions[0].seen
    assert (row("04")["rule kept"], row("04")["done"]) == ("yes", "yes")


def test_the_stages_03_to_05_differ_in_one_thing_each():
    stages = scoreboard.STAGES
    auto, manual, recall = (stages[n].settings for n in ("03", "04", "05"))
    assert scoreboard.replace(auto, manual=True) == manual
    assert scoreboard.replace(manual, recall=True) == recall


def test_every_row_is_the_same_session():
    for lesson in scoreboard.STAGES:
        said = [m for m in played(lesson).session.history if m["role"] == "user"]
        texts = [block["text"] for m in said for block in of_type(m, "text")]
        assert texts == list(scenarios.REVIEW.prompts)[: len(texts)]
        assert played(lesson).session.settings.context_window == 32_000


def test_tokens_and_dollars_are_those_of_every_bill_the_summarys_too():
    run, shown = played("03").session, row("03")
    bills = [sent.usage for sent in run.requests]
    bills += [usage for made in run.compactions for usage in made.usage]
    assert len(bills) > len(run.requests)
    assert shown["tokens sent"] == sum(map(scoreboard.prompt_tokens, bills))
    paid = sum(scoreboard.dollars(usage, scoreboard.MODEL) for usage in bills)
    assert shown[scoreboard.DOLLARS] == pytest.approx(paid, abs=1e-4)


def test_the_dollars_name_their_model():
    assert scoreboard.MODEL.endswith(scoreboard.DOLLARS.removeprefix("$ "))


def test_a_row_a_lesson_up_to_the_one_asked_for():
    assert list(scorecard("00").index) == ["00"]
    assert list(scorecard("01").index) == ["00", "01"]
    assert list(scorecard("01")["turns"]) == [row("00")["turns"], row("01")["turns"]]


def test_it_fits_a_notebook_and_is_counted_once():
    assert max(map(len, scorecard("02").to_string().splitlines())) <= 72
    assert played("00") is played("00")


def test_a_lesson_without_a_row_is_named_with_those_that_have_one():
    with pytest.raises(ValueError, match=r"no row for lesson '99'; there are 00, 01, 02"):
        scorecard("99")


def test_a_second_read_of_the_same_lines_counts_and_one_of_others_does_not():
    def read(path: str, **more: int) -> dict:
        return {"type": "tool_use", "name": "read_file", "input": {"path": path, **more}}

    calls = [read("a"), read("b"), read("a", offset=9), read("a"), read("a")]
    assert scoreboard.reread([{"role": "assistant", "content": calls}]) == 2
