"""Lesson 07: its wrong answers, and its run with the published solutions."""

from functools import partial

import anthropic
import pytest

from agentlib.api.refusals import excess
from agentlib.auto_compact import summary_message
from agentlib.estimation import estimate_tokens
from agentlib.messages import active_request, of_type
from agentlib.settings import Settings
from course.rooms.recovery import START, cut_to_size, fault_panel
from tests.course.rooms.solved import Lesson
from windtunnel.tasks.scenarios import REVIEW, SURVEY

WHOLE = ("end_turn", "stop_sequence")


class AllBut(tuple):
    """The reasons that aren't listed."""

    def __contains__(self, reason):
        return not super().__contains__(reason)


def careful(messages, ask, *, whole=WHOLE, caught=Exception, most=1.0, more=0):
    """Solve exercise 07.1, or one of its wrong answers."""
    try:
        reply = ask(messages)
    except caught:
        return messages
    text = "\n".join(block["text"] for block in of_type(reply, "text"))
    smaller = reply["usage"]["output_tokens"] < most * estimate_tokens(messages) + more
    if not (text.strip() and reply["stop_reason"] in whole and smaller):
        return messages
    return [summary_message(text, "t.jsonl", active_request(messages))]


def first_block(messages, ask):
    return [summary_message(ask(messages)["content"][0]["text"], "t.jsonl")]


def twice(messages, ask):
    new = careful(messages, ask)
    return new if new == messages else careful(messages, ask)


def no_bad_reason(messages, ask):
    return careful(messages, ask, whole=(*WHOLE, "tool_use", "pause_turn"))


BAD = AllBut(
    (
        "max_tokens",
        "refusal",
        "tool_use",
        "pause_turn",
        "model_context_window_exceeded",
    ),
)


def careful_until_it_works(messages, ask, caught=Exception):
    while True:
        try:
            return careful(messages, ask, caught=())
        except caught:
            continue


def is_open(outcomes, turns, limit, rest):
    return limit > 0 and without_limit_0(outcomes, turns, limit, rest)


def longest_row(outcomes, turns, limit, rest):
    rows = "".join("f" if each == "failed" else " " for each in outcomes).split()
    is_failing = outcomes[-1:] == ["failed"]
    return bool(limit and is_failing and max(map(len, rows)) >= limit and turns < rest)


def without_limit_0(outcomes, turns, limit, rest):
    return outcomes[-limit:] == ["failed"] * limit and turns < rest


def again(messages, ask, shrink, *, only=excess, most=2):
    """Solve exercise 07.3, or one of its wrong answers."""
    for _ in range(most - 1):
        try:
            return messages, ask(messages)
        except Exception as error:
            if not only(error):
                raise
            messages = shrink(messages)
    return messages, ask(messages)


def shrunk_first(messages, ask, shrink):
    smaller = shrink(messages)
    return again(messages, ask, lambda _: smaller)


def shrunk_twice(messages, ask, shrink):
    return again(messages, ask, lambda given: shrink(shrink(given)))


def same_again(messages, ask, shrink):
    try:
        return messages, ask(messages)
    except Exception:
        shrink(messages)
        return messages, ask(messages)


def asks_about(part):
    return lambda messages, ask: careful(
        messages, lambda all_of_them: ask(part(all_of_them))
    )


def without_a_name(messages, ask):
    new = careful(messages, ask)
    block = new[0]["content"][0] if len(new) == 1 else {}
    if "t.jsonl" in block.get("text", ""):
        block["text"] = block["text"].replace("t.jsonl", "", 1)
    return new


def the_first_error(messages, ask, shrink):
    try:
        return messages, ask(messages)
    except Exception as first:
        if not excess(first):
            raise
        smaller = shrink(messages)
        try:
            return smaller, ask(smaller)
        except Exception:
            raise first from None


def ends(lines, room, *, share=4, gap="[{} lines left out]"):
    """Solve exercise 07.4, or one of its wrong answers."""
    old = room // share
    new = len(lines) - (room - old)
    return (
        lines
        if room >= len(lines)
        else [*lines[:old], gap.format(new - old), *lines[new:]]
    )


def from_the_end(lines, room):
    gap = f"[{len(lines) - room} lines left out]"
    return (
        lines
        if room >= len(lines)
        else [*lines[: room // 4], gap, *lines[room // 4 - room :]]
    )


def counted(outcomes, turns, limit, rest):
    row = 0
    for outcome in outcomes:
        row = row + 1 if outcome == "failed" else 0
    return bool(limit) and row >= limit and not turns >= rest


WRONG = {
    "07.1": [
        (first_block, "it raised"),
        (lambda messages, ask: messages, "summary should be taken"),
        (
            lambda m, ask: careful(m, ask, caught=BaseException),
            "KeyboardInterrupt, which is Ctrl-C",
        ),
        (
            lambda m, ask: careful(m, ask, caught=ConnectionError),
            "RuntimeError('overloaded'), the error passes through",
        ),
        (
            lambda m, ask: careful(m, ask, caught=(RuntimeError, ValueError, OSError)),
            "if ask raises anthropic.OverloadedError",
        ),
        (
            lambda m, ask: careful(m, ask, caught=anthropic.APIError),
            "catch any Exception",
        ),
        (
            lambda m, ask: careful(m, ask, whole=("end_turn",)),
            "stop_reason is 'stop_sequence'",
        ),
        (lambda m, ask: careful(m, ask, most=100), "9,000 tokens"),
        (no_bad_reason, "calls a tool"),
        (lambda m, ask: careful(m, ask, whole=BAD), "stop_reason out_of_time"),
        (lambda m, ask: careful(m, ask, more=1), "525 tokens, as many as the messages"),
        (
            lambda m, ask: careful(m, ask, most=0.5),
            "524 tokens, one fewer than the messages",
        ),
        (twice, "it asked 2 times"),
        (careful_until_it_works, "it asked 5 times"),
        (partial(careful_until_it_works, caught=BaseException), "it asked 5 times"),
        *[
            (asks_about(part), "ask should get the messages, all and as they are")
            for part in (lambda m: [], lambda m: m[:-1], lambda m: m[-1:])
        ],
        (without_a_name, "give summary_message 't.jsonl'"),
    ],
    "07.2": [
        (lambda o, turns, limit, rest: is_open(o, turns, 3, rest), "if the limit is 1"),
        (longest_row, "after a success one failure is the first"),
        (
            lambda o, turns, limit, rest: is_open(
                o, turns, limit, rest and rest + len(o) - limit
            ),
            "the rest is as long after a fourth failure",
        ),
        (
            lambda o, turns, limit, rest: (
                is_open(o, turns, limit, rest) and len(o) < 2 * limit
            ),
            "after a seventh failure",
        ),
        (without_limit_0, "with a limit of 0"),
        (
            lambda o, turns, limit, rest: is_open(o, turns, limit, rest or 99),
            "a rest of 0 is over at once",
        ),
    ],
    "07.3": [
        (
            partial(again, only=lambda error: True),
            "overloaded, 1 request should be made, not 2",
        ),
        (partial(again, most=4), "both prompts are too long, 2 requests"),
        (same_again, "what shrink returned"),
        (shrunk_first, "takes the prompt, the calls of shrink should number 0, not 1"),
        (shrunk_twice, "is too long, the calls of shrink should number 1, not 2"),
        (the_first_error, "the second one's error should pass"),
    ],
    "07.4": [
        (partial(ends, share=2), "not ['a', 'b', '[4 lines left out]', 'g', 'h']"),
        (lambda lines, room: ends(lines, min(room, 7)), "all lines fit"),
        (
            lambda lines, room: lines if len(lines) <= room + 1 else ends(lines, room),
            "too many",
        ),
        (from_the_end, "no room at all"),
        (lambda lines, room: [*dict.fromkeys(ends(lines, room))], "twice stays twice"),
        (lambda lines, room: [s for s in ends(lines, room) if s], "empty lines count"),
    ],
}
RIGHT = {
    "07.1": [careful],
    "07.2": [counted],
    "07.3": [again],
    "07.4": [ends],
}


class TestRecovery(Lesson):
    wrong = WRONG
    right = RIGHT


def test_faults_change_the_fate_of_the_session(unpainted):
    start = Settings(micro="off", manual=False, threshold=10_000, summary_tokens=12_500)
    panel = fault_panel(SURVEY, start.scaled(32_000))
    assert panel.values == {"rate": 50, "length": 2_000, "how": "tool_use"}
    texts = {}
    for rate in (0, 100):
        panel.move(rate=rate, how="529")
        texts[rate] = panel.text.replace("\n", " ")
    assert "0 cut to size; 0 of " in texts[0]
    assert "compactions: 0 done, 1 cut to size" in texts[100]


def test_a_stand_in_that_has_no_room_says_so():
    said = [{"role": "user", "content": "Read every file, then report."}]
    assert (
        cut_to_size(ends, 100)(said, "", None)
        == "- [request] Read every file, then report."
    )
    for tokens in (0, -1):
        with pytest.raises(
            ValueError, match=f"not even one line .* fits into {tokens} tokens"
        ):
            cut_to_size(ends, tokens)(said, "", None)


def test_without_any_summary_a_short_stand_in_never_finishes_the_report(unpainted):
    panel = fault_panel(REVIEW, START)
    for length, done in ((1_250, "Not done."), (1_500, "Done.")):
        panel.move(rate=100, length=length)
        assert f". {done}" in panel.text.replace("\n", " ")
