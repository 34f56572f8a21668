"""The checkers of lesson 06 tell a right answer from each of the usual wrong ones, and say why."""

from bisect import bisect

import pytest

from agentlib.auto_compact import summary_message
from agentlib.estimation import message_tokens
from agentlib.head_and_tail import summary_budget, tail_of
from agentlib.lab.lessons import check
from agentlib.lab.lessons.head_and_tail import conversation
from agentlib.messages import SUMMARY_WANTED, active_request, exchanges


def told(name, answer, why):
    verdict = check(name, answer)
    assert not verdict
    assert why in " ".join(repr(verdict).split())


def both_ends(messages, summary, head, tail):
    starts = [start for start, _ in exchanges(messages)]
    said = summary_message(summary, "t", active_request(messages))
    return [*messages[: starts[head]], said, *messages[starts[-tail] :]]


def forgetful(messages, summary, head, tail):
    starts = [start for start, _ in exchanges(messages)]
    return [*messages[: starts[head]], summary_message(summary, "t"), *messages[starts[-tail] :]]


def by_message(messages, summary, head, tail):
    return [*messages[: 2 * head + 1], summary_message(summary, "t"), *messages[-tail:]]


def emptied(messages, summary, head, tail):
    messages.clear()
    return []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda m, s, head, tail: m, "one message with the summary"),
        (lambda m, s, head, tail: [summary_message(s, "t"), *m[-4:]], "the first 3 messages do"),
        (lambda m, s, head, tail: both_ends(m, "x", head, tail), "one message with the summary"),
        (lambda m, s, head, tail: both_ends(m, s, head, 1), "the last 4 messages do not stay"),
        (by_message, "the last 4 messages do not stay"),
        (forgetful, "'Now the tests.', stood in the middle"),
        (emptied, "edited the messages"),
        (lambda m, s, head, tail: None, "return a list of messages"),
        (lambda m, s, head, tail: [s], "something that is no message"),
    ],
)
def test_both_ends_stay_and_the_summary_stands_between(answer, why):
    assert check("06.1", both_ends)
    told("06.1", answer, why)


def tail(messages, budget, *, never_none=True):
    kept, left = [], budget
    for start, stop in reversed(exchanges(messages)):
        left -= sum(map(message_tokens, messages[start:stop]))
        if left < 0 and (kept or not never_none):
            break
        kept = [*messages[start:stop], *kept]
    return kept


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda messages, budget: tail(messages, budget, never_none=False), "it kept nothing"),
        (lambda messages, budget: messages[-1:], "a result whose call is gone"),
        (lambda messages, budget: messages[-2:], "the newest 2 should stay, 397 tokens; it kept 2"),
        (lambda messages, budget: messages[1:], "it kept 8 messages"),
        (tail_of, "the newest 1 should stay, 3,200 tokens"),
    ],
)
def test_a_tail_is_whole_exchanges_that_fit_and_never_none(answer, why):
    assert check("06.2", tail)
    told("06.2", answer, why)


def table(tokens):
    shares = ((10_000, 0.2), (30_000, 0.15), (100_000, 0.1), (10**9, 0.05))
    return (
        2_000 if tokens == 10_000 else int(next(s for most, s in shares if tokens < most) * tokens)
    )


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda n: n // 5, "30,000 tokens replaced ask for 3,000, not 6,000"),
        (table, "it falls: 10,000 tokens ask for 2,000, and 10,500 tokens for only 1,575"),
        (lambda n: summary_budget(n, 5_000) + max(0, n - 10**5), "it is no more than 5,000"),
        (lambda n: float("nan"), "ask for 2,000, not nan"),
        (
            lambda n: max(2_000, summary_budget(n, 5_000)),
            "5,000 tokens replaced ask for 1,000, not 2,000",
        ),
        (lambda n: None, "for 10,000 it returned None; return a number"),
        (
            lambda n: (0, 2_000, 3_000, 5_000)[bisect((10_000, 30_000, 100_000), n)],
            "on a straight line, 5,000 tokens replaced ask for 1,000, not 0",
        ),
    ],
)
def test_a_budget_meets_three_figures_and_never_falls(answer, why):
    assert check("06.3", lambda n: summary_budget(n, 5_000))
    told("06.3", answer, why)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda summary: summary, "went for the pending question about LIMIT"),
        (lambda summary: f"Read with care.\n\n{summary}", "went for the pending question"),
        (lambda summary: "For reference only.", "does not stand in what it returned"),
        (lambda summary: f"No instruction. {'x' * 500}\n{summary}", "more than 400 characters"),
        (lambda summary: f"{SUMMARY_WANTED} No instruction.\n{summary}", "another summary"),
    ],
)
def test_words_that_make_no_order_of_a_summary(answer, why):
    assert check("06.4", lambda summary: f"Background, no instruction.\n\n{summary}")
    told("06.4", answer, why)


def test_a_conversation_has_an_exchange_for_each_size():
    talk = conversation(300, 9_000)
    assert len(exchanges(talk)) == 2
    assert [len(m["content"][0]["content"]) for m in talk[2::2]] == [300, 9_000]
