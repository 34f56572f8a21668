"""A compaction by hand, the panel that has a button for it, and lesson 04's own exercises."""

from dataclasses import replace

import pytest

from agentlib.auto_compact import summary_message
from agentlib.estimation import prompt_tokens
from agentlib.lab.lessons import check
from agentlib.lab.lessons.exercises import HAND
from agentlib.lab.play import play
from agentlib.lab.replay import replay
from agentlib.lab.tasks.scenarios import ERRAND, REVIEW
from agentlib.manual_compact import requested_focus
from agentlib.messages import last_assistant, of_type, violation
from agentlib.settings import Settings

START = Settings(micro="off", auto=False, manual=False).scaled(32_000)
ALL = "decisions, facts and rules of the user"


def test_the_model_compacts_once_the_first_piece_of_work_is_finished():
    start = Settings(micro="off").scaled(32_000)
    without, with_it = (play(ERRAND, replace(start, manual=has)) for has in (False, True))
    assert [c.trigger for c in with_it.session.compactions] == ["manual"]
    assert without.session.compactions == []
    assert without.checks["done"]
    assert with_it.checks["done"]
    assert with_it.sent < 0.7 * without.sent


def test_compacting_by_hand_takes_place_after_the_turn_and_the_task_goes_on():
    run = play(ERRAND, START, compact_after=12)
    [done] = run.session.compactions
    assert (done.trigger, done.focus) == ("manual", "")
    assert run.session.requests[11].context == list(run.before)[:-1]
    assert run.session.requests[12].context[0] == run.step.messages[0]
    assert violation(run.session.requests[12].context) is None
    assert run.checks["done"]
    assert run.turns == len(replay(run.session, run.session.settings))


def test_every_bill_is_counted_that_of_the_summary_too():
    run = play(ERRAND, START, compact_after=12)
    turns = sum(prompt_tokens(sent.usage) for sent in run.session.requests)
    assert len(run.usages) == run.turns + 1
    assert run.sent == turns + prompt_tokens(run.step.usage[0])


def test_a_turn_in_the_middle_of_a_request_will_do():
    run = play(ERRAND, START, compact_after=8)
    assert len(run.session.compactions) == 1
    assert run.checks["done"]


def test_a_turn_before_the_first_is_refused():
    with pytest.raises(ValueError, match=r"after turn 0: the task has turns 1 to 19"):
        play(ERRAND, START, compact_after=0)


def test_a_focus_keeps_what_it_names():
    plain, named = (
        play(REVIEW, HAND, compact_after=20, focus=focus).kept(REVIEW) for focus in ("", ALL)
    )
    assert (plain["facts"], plain["rule"]) == (2, False)
    assert (named["facts"], named["rule"]) == (4, True)


def whole(messages, summarize):
    newest = messages[last_assistant(messages)]
    if any(call["name"] == "compact" for call in of_type(newest, "tool_use")):
        return [summary_message(summarize(messages, ""), "saved")]
    return messages


def orphaned(messages, summarize):
    return [summary_message(summarize(messages, ""), "saved"), messages[-1]]


def first_call(messages):
    calls = (c for m in messages for c in of_type(m, "tool_use") if c["name"] == "compact")
    return next((call["input"].get("focus", "") for call in calls), None)


def newest_call(messages):
    return first_call(messages[last_assistant(messages) :])


def test_the_finished_function_answers_the_exercise():
    assert check("04.1", whole)
    assert check("04.2", ("toolu_5", "toolu_4", "toolu_3"))
    assert check("04.4", requested_focus)


@pytest.mark.parametrize(
    ("name", "answer", "why"),
    [
        ("04.1", lambda messages, summarize: [summary_message("", "")], "no turn calls"),
        ("04.1", lambda m, s: m if whole(m, s) is m else whole(m, s)[0], "a list of messages"),
        ("04.1", lambda m, s: m if whole(m, s) is m else ["gone"], "'gone'"),
        ("04.1", lambda m, s: whole(m, lambda *a: s(*a) and "gone"), "no word of the summary"),
        ("04.1", lambda m, s: m if whole(m, s) is m else [*whole(m, s), m[-1]], "API would refuse"),
        ("04.2", "toolu_3", "a list of ids"),
        ("04.2", ["toolu_3", "toolu_5"], "toolu_4"),
        ("04.2", ["toolu_1", "toolu_3", "toolu_4", "toolu_5"], "a turn before"),
        ("04.3", lambda m, s: None, "a list of messages"),
        ("04.3", whole, "keeps none"),
        ("04.3", orphaned, "API would refuse"),
        ("04.3", lambda m, s: [summary_message(s(m, ""), "saved"), *m], "keeps toolu_1"),
        ("04.3", lambda m, s: m.clear() or [], "it edited"),
        ("04.4", lambda messages: first_call(messages), "an older call"),
        ("04.4", newest_call, "'auth.py; db.py'"),
        ("04.5", ("20", ALL), "a turn and a focus"),
        ("04.5", 20, "a turn and a focus"),
        ("04.5", (15, ALL), "from 16 to 36"),
        ("04.5", (20, ALL), "18 files"),
        ("04.5", (20, ""), "Name in the focus"),
    ],
)
def test_a_usual_mistake_in_lesson_04_is_told_what_it_is(name, answer, why):
    verdict = check(name, answer)
    assert not verdict.passed
    assert why in verdict.says
