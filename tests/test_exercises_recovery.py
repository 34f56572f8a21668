"""The exercises of lesson 07: right answers pass, and each likely mistake is told as what it is."""

from dataclasses import replace

import pytest

from agentlib.auto_compact import summary_message
from agentlib.lab.lessons import check
from agentlib.messages import active_request, exchanges, of_type, result_text
from agentlib.pipeline import compact


def careful(messages, ask):
    try:
        summary = ask(messages)
    except Exception:
        return messages
    new = [summary_message(summary, "t.jsonl", active_request(messages))]
    return new if summary.strip() else messages


def hasty(messages, ask):
    return [summary_message(ask(messages), "t.jsonl", active_request(messages))]


def credulous(messages, ask):
    try:
        return hasty(messages, ask)
    except Exception:
        return messages


def sorry(messages, ask):
    try:
        return hasty(messages, ask)
    except Exception:
        return []


def whole(text, stop, tokens, replaced):
    return stop in ("end_turn", "stop_sequence") and bool(text.strip()) and tokens < replaced


def is_open(outcomes, turns, limit, rest):
    return outcomes[-limit:] == ["failed"] * limit and turns < rest


def newest_error(messages):
    results = [r for m in messages for r in of_type(m, "tool_result") if r.get("is_error")]
    return [("last error", result_text(r)) for r in results[-1:]]


def patient(messages, settings, **known):
    if len(exchanges(messages)) < 5:
        settings = replace(settings, auto=False)
    return compact(messages, settings, **known)


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("07.1", careful),
        ("07.2", whole),
        ("07.3", is_open),
        ("07.4", newest_error),
        ("07.5", patient),
    ],
)
def test_a_right_answer_passes(exercise, answer):
    assert check(exercise, answer), check(exercise, answer)


@pytest.mark.parametrize(
    ("exercise", "answer", "says"),
    [
        ("07.1", hasty, "the session would end here"),
        ("07.1", credulous, "an empty summary took the place"),
        ("07.1", sorry, "it changed them"),
        ("07.1", lambda messages, ask: messages, "there was a good summary"),
        ("07.2", lambda text, stop, new, old: bool(text.strip()) and new < old, "it is cut off"),
        ("07.2", lambda text, stop, new, old: stop == "end_turn" and new < old, "it is empty"),
        ("07.2", lambda text, stop, new, old: whole(text, stop, new, old + 1), "as large as"),
        ("07.2", lambda text, stop, new, old: stop == "end_turn" and whole(text, stop, new, old),
         "it is fine"),
        ("07.3", lambda made, turns, limit, rest: made.count("failed") >= limit and turns < rest,
         "a success closes it"),
        ("07.3", lambda made, turns, limit, rest: made[-limit:] == ["failed"] * limit, "the probe"),
        ("07.3", lambda made, turns, limit, rest: is_open(made, turns, 3, 10), "`limit`"),
        ("07.4", lambda messages: [("all", str(messages))], "an older error"),
        ("07.4", lambda messages: newest_error(messages) or [("none", "")], "nothing to put back"),
        ("07.5", compact, "should be None"),
        ("07.5", lambda m, s, **known: compact(m, replace(s, auto=False), **known), "'auto'"),
        ("07.5", lambda messages, settings, **known: messages, "an engine returns a Step"),
    ],
)  # fmt: skip
def test_a_likely_mistake_is_told(exercise, answer, says):
    verdict = check(exercise, answer)
    assert not verdict
    assert says in verdict.says
