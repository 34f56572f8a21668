"""When compaction fails: less is asked, it rests, it is cut to size; and no message is lost."""

from dataclasses import replace

import pytest

from agentlib.auto_compact import SummaryFailed, SummaryTooLong, summary_message
from agentlib.estimation import TokenMeter, text_tokens
from agentlib.messages import active_request, blocks, violation
from agentlib.pipeline import compact
from agentlib.recovery import (
    Breaker,
    breaker,
    emergency,
    memory_first,
    truncating,
    with_less,
    without_oldest,
)
from agentlib.session_file import Request, compactions_of
from agentlib.settings import Settings
from agentlib.step import Step

SETTINGS = Settings(context_window=10_000, output_reserve=1_000, buffer=1_000, micro="off")
"""Compacts past 8,000 tokens; past 9,500 it is an emergency."""


def user(text: str):
    return {"role": "user", "content": text}


def turn(n: int, said: str = "", size: int = 3_000):
    """The agent reads a file; the result is about `size` / 3 tokens."""
    call = {"type": "tool_use", "id": f"toolu_{n}", "name": "read_file", "input": {"path": "a"}}
    text = [{"type": "text", "text": said}] if said else []
    result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "x" * size}
    return [{"role": "assistant", "content": [*text, call]}, {"role": "user", "content": [result]}]


def talk(turns: int, said: str = "Noted {}.", size: int = 3_000):
    told = [m for n in range(1, turns + 1) for m in turn(n, said.format(n), size)]
    return [user("Read it all. Never push."), *told]


def fails(messages, focus):
    raise SummaryFailed("no model to be had")


def step(messages, settings=SETTINGS, summarize=fails, reason="auto"):
    known = {"meter": TokenMeter(), "summarize": summarize, "archive": lambda: "t.jsonl"}
    return compact(messages, settings, reason=reason, **known)


def text(message) -> str:
    return blocks(message)[0]["text"]


# -- with less ------------------------------------------------------------------------------------


def refusing(times: int, seen: list):
    def summarize(messages, focus):
        seen.append(messages)
        if len(seen) <= times:
            raise SummaryTooLong("prompt is too long")
        return "At last."

    return summarize


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_refused_for_its_size_it_is_asked_again_with_less(times):
    seen = []
    history = talk(10)
    assert with_less(refusing(times, seen))(history, "") == "At last."
    sizes = [len(messages) for messages in seen]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == times + 1
    for messages in seen:
        assert active_request(messages) == active_request(history)
        assert messages[-2:] == history[-2:]
        assert violation(messages) is None


def test_after_three_more_tries_it_gives_up():
    seen = []
    with pytest.raises(SummaryTooLong):
        with_less(refusing(9, seen), 3)(talk(10), "")
    assert len(seen) == 4


def test_any_other_failure_is_not_tried_again():
    seen = []

    def summarize(messages, focus):
        seen.append(messages)
        raise SummaryFailed("empty")

    with pytest.raises(SummaryFailed):
        with_less(summarize)(talk(10), "")
    assert len(seen) == 1


def test_where_there_is_no_less_it_fails_at_once():
    seen = []
    with pytest.raises(SummaryTooLong):
        with_less(refusing(9, seen))(talk(1), "")
    assert len(seen) == 1


LEFT_OUT = "[Left out, to fit: the oldest exchanges, 1 in number.]"


def test_an_earlier_summary_is_never_left_out():
    history = [summary_message("Once upon a time.", "t"), *talk(5)[1:]]
    less = without_oldest(without_oldest(history))
    assert less[0] is history[0]
    assert [text(m) for m in less[1:3]] == [LEFT_OUT] * 2
    assert less[3:] == history[5:]


def test_nor_is_one_that_follows_a_head():
    history = [*talk(1), summary_message("Once upon a time.", "t"), *talk(5)[3:]]
    less = without_oldest(history)
    assert text(less[0]) == LEFT_OUT
    assert less[1:3] == [history[0], history[3]]
    assert less[3:] == history[4:]
    assert history[3] in without_oldest(less)


def test_the_note_never_stands_for_the_words_of_the_person():
    history = talk(6)
    newer = [*history[:3], user("Now the tests."), *history[3:]]
    assert active_request(without_oldest(history)) == active_request(history)
    assert active_request(without_oldest(newer)) == "Now the tests."
    assert active_request(without_oldest(without_oldest(newer))) == "Now the tests."


# -- the breaker ----------------------------------------------------------------------------------


def noted(outcomes: str, settings=SETTINGS):
    """f: failed, s: helped, o: left it over the threshold, r: cut to size while it rested."""
    found = []
    for seen, outcome in enumerate(outcomes, 1):
        made = Step(messages=[user("s")], compaction="auto", tokens_after=100)
        if outcome == "f":
            made = replace(made, compaction="failed", failure="empty")
        elif outcome == "o":
            made = replace(made, tokens_after=settings.threshold_tokens + 1)
        elif outcome == "r":
            made = replace(made, failure="compaction rests after 3 failures")
        found += compactions_of(made, 0.0, seen)
    return found


def asked(last: int):
    bare = {"context": [], "usage": {}, "reply": user(""), "at": 0.0}
    return [Request(**bare, seen=n) for n in range(1, last + 1)]


@pytest.mark.parametrize(
    ("outcomes", "failures"),
    [
        ("", 0),
        ("ff", 2),
        ("fff", 3),
        ("fsff", 2),
        ("fffs", 0),
        ("ooo", 3),
        ("fof", 3),
        ("fffrr", 3),
    ],
)
def test_failures_in_a_row_are_counted_and_success_resets_them(outcomes, failures):
    state = breaker(noted(outcomes), asked(len(outcomes)), SETTINGS)
    assert state.failures == failures
    assert state.is_open == (failures >= 3)


def test_it_rests_for_so_many_turns_and_then_tries_once():
    tried = noted("fff")
    opened = [breaker(tried, asked(3 + n), SETTINGS).is_open for n in range(12)]
    assert opened == [True] * 9 + [False] * 3  # the request of the third failure is the first
    again = [*tried, *noted("...........ff")[-1:]]
    assert breaker(again, asked(14), SETTINGS).is_open


def test_a_limit_of_0_is_no_breaker():
    assert not breaker(noted("ffffff"), asked(6), replace(SETTINGS, breaker_failures=0)).is_open


def test_while_it_rests_nothing_is_asked_and_only_an_emergency_compacts():
    resting = Breaker(failures=3, turns=2, limit=3, rest=10)
    assert resting.in_force(SETTINGS).threshold_tokens == 9_500
    with pytest.raises(SummaryFailed, match="rests after 3 failures, 8 turns more"):
        resting.guard(lambda messages, focus: "never asked")([], "")
    closed = replace(resting, failures=2)
    assert closed.in_force(SETTINGS) is SETTINGS
    assert closed.guard(lambda messages, focus: "asked")([], "") == "asked"


# -- the emergency --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "reason", "changed", "urgent"),
    [
        (9_500, "auto", {}, False),
        (9_501, "auto", {}, True),
        (9_501, "manual", {}, False),
        (100, "reactive", {}, True),
        (9_501, "auto", {"auto": False}, False),
        (9_999, "auto", {"emergency_at": None}, False),
        (9_600, "auto", {"threshold": 9_700}, False),
    ],
)
def test_what_is_an_emergency(tokens, reason, changed, urgent):
    """Only an emergency goes on without a model."""
    meter = TokenMeter()
    meter.estimate = lambda messages: tokens
    calls = {"meter": meter, "summarize": fails, "archive": lambda: "t.jsonl"}
    done = compact(talk(9), replace(SETTINGS, **changed), reason=reason, **calls)
    assert (done.compaction == reason) == urgent


def test_an_emergency_clears_whatever_can_be():
    patient = replace(SETTINGS, micro="clear", clear_when="cold", clear_at_least=9_000)
    told = talk(9)
    assert step(told[:-2], patient).cleared == ()
    found = step(told, patient)
    assert len(found.cleared) == 6
    assert found.compaction is None  # and so no summary was needed


def test_an_emergency_keeps_half_the_tail():
    keeps = replace(SETTINGS, keep_exchanges=4)
    short = lambda messages, focus: "Short."  # noqa: E731
    assert len(step(talk(8), keeps, short).kept) == 8
    assert len(step(talk(9), keeps, short).kept) == 4
    assert emergency(replace(SETTINGS, tail_tokens=900)).tail_tokens == 450


def test_without_a_model_a_failure_is_a_failure_until_it_is_an_emergency():
    calm = step(talk(8))
    assert (calm.compaction, calm.failure) == ("failed", "no model to be had")
    assert calm.messages == talk(8)
    found = step(talk(9))
    assert (found.compaction, found.failure) == ("auto", "no model to be had")
    assert found.tokens_after < 2_000
    assert found.archive == "t.jsonl"
    cut = text(found.messages[0])
    assert "[No summary: no model to be had. What was said stands here instead" in cut
    assert "- Earlier request: Read it all. Never push.\nNoted 1.\nNoted 2.\n" in cut
    assert active_request(found.messages) == "Read it all. Never push."
    assert violation(found.messages) is None


def test_the_middle_is_cut_out_in_whole_lines():
    lines = [f"Noted {n}: something of some length." for n in range(100)]
    told = [m for n, line in enumerate(lines) for m in turn(n, line)]
    cut = truncating("why", 200)([user("Go."), *told], "").splitlines()
    assert cut[0] == "[No summary: why. What was said stands here instead, cut to size.]"
    assert cut[1:3] == ["- Earlier request: Go.", lines[0]]
    assert cut[-1] == lines[-1]
    gap = next(line for line in cut if line.startswith("[…"))
    assert gap == f"[… {101 - (len(cut) - 2)} lines left out …]"
    assert 150 < text_tokens("\n".join(cut[1:]), "summary") < 220
    assert set(cut[2:]) - {gap} <= set(lines)


def test_what_an_earlier_summary_said_is_carried_on():
    summary = "Rule: never push.\n\n[Put back: a.txt]\nall of it"
    told = [summary_message(summary, "t", "Go."), *talk(3)[1:]]
    cut = truncating("why", 500)(told, "").splitlines()
    assert cut[1:4] == ["Rule: never push.", "- Earlier request: Go.", "Noted 1."]


# -- session memory -------------------------------------------------------------------------------


def test_notes_kept_as_it_went_stand_in_for_a_summary():
    summarize = memory_first(fails, 200)
    assert summarize(talk(3), "") == (
        "- Earlier request: Read it all. Never push.\nNoted 1.\nNoted 2.\nNoted 3."
    )


@pytest.mark.parametrize(
    ("told", "focus", "tokens"),
    [
        (talk(3), "auth.py", 200),
        (talk(3), "", 5),
        ([*talk(2), *turn(3), *turn(4, "Noted.")], "", 200),
        (talk(1), "", 200),
    ],
    ids=["a focus", "too long", "a gap", "nothing yet"],
)
def test_where_they_do_not_suffice_the_model_is_asked(told, focus, tokens):
    assert memory_first(lambda messages, focus: "Asked.", tokens)(told, focus) == "Asked."
