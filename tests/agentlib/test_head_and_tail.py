"""Head and tail: what stays at both ends, what a tail splits, and what a hand-off is
asked for."""

import copy
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import message_tokens
from agentlib.head_and_tail import (
    head_and_tail,
    head_length,
    parts,
    tail_of,
)
from agentlib.messages import active_request, exchanges, is_summary, of_type
from agentlib.settings import Settings
from agentlib.step import drop_thinking
from offline_api import violation
from tests.builders import (
    IMAGE,
    assistant,
    call,
    conversation,
    prose,
    reading,
    result,
    user,
)
from tests.strategies import histories, results_of, short

# A reading of 1,000 characters weighs 441 tokens: 345, 90 for the call, the rest its
# words.
EACH = sum(map(message_tokens, reading(0)))


def archive():
    return "t.jsonl"


def never(*unused):
    pytest.fail("called, with nothing to replace")


def both(head, tail, **more):
    return Settings(head_tokens=head, tail_tokens=tail, summary_tokens=5_000, **more)


def compacted(messages, head=500, tail=900, summarize=short, **more):
    return head_and_tail(messages, summarize, archive, both(head, tail, **more))


# -- head ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "length"),
    [
        (0, 0),
        (4, 0),
        (12, 1),
        (EACH, 1),
        (EACH + 12, 3),
        (2 * EACH + 12, 5),
        (10**6, 5),
    ],
)
def test_the_head_is_the_first_words_and_up_to_two_exchanges_that_fit(tokens, length):
    assert head_length(conversation(6), tokens) == length


@given(histories(), st.sampled_from([30, 400, 4_000]))
def test_the_head_never_shrinks_while_the_conversation_grows(history, tokens):
    lengths = [head_length(history[:n], tokens) for n in range(len(history) + 1)]
    assert lengths == sorted(lengths)


# -- tail ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "kept"), [(0, 1), (EACH, 1), (2 * EACH, 2), (10**6, 6)]
)
def test_the_tail_is_the_newest_exchanges_that_fit_and_never_none(tokens, kept):
    tail = tail_of(conversation(6), tokens)
    assert [m["role"] for m in tail] == ["assistant", "user"] * kept
    assert tail == conversation(6)[-2 * kept :] or tokens == 0


def test_a_result_larger_than_the_tail_is_split_and_not_dropped():
    messages = [*conversation(3), *reading(3, size=20_000)]  # 6,900 tokens
    [called, answer] = tail_of(messages, 1_000)
    text = answer["content"][0]["content"]
    assert called is messages[-2]
    gone = int(
        re.findall(r"\n\n\[\.\.\. (\d+) characters trimmed \.\.\.\]\n\n", text)[0]
    )
    kept = (20_000 - gone) // 2
    assert text.startswith(prose(20_000)[:kept])
    assert text.endswith(prose(20_000)[-kept:])
    assert 600 < sum(map(message_tokens, [called, answer])) <= 1_000


def test_what_the_model_has_not_seen_yet_may_be_given_more_room_than_the_tail():
    messages = [*conversation(3), *reading(3, size=5_000)]  # the newest: 1,821 tokens
    assert tail_of(messages, 1_000, 2_000) == messages[-2:]
    assert sum(map(message_tokens, tail_of(messages, 1_000, 1_500))) <= 1_500
    assert tail_of(messages, 2_500, 100) == tail_of(messages, 2_500)


def test_an_older_result_is_split_only_while_enough_of_it_is_left():
    messages = [*conversation(1), *reading(1, size=20_000), *reading(2)]
    assert (
        len(tail_of(messages, 2_000)) == 4
    )  # 1,000 left for it: over 2 x 800 characters
    assert len(tail_of(messages, 900)) == 2  # and here less
    assert len(tail_of(messages, 900, least=100)) == 4


def test_what_is_no_result_is_never_split():
    messages = [*conversation(2), assistant(prose(9_000)), user(prose(9_000))]
    assert tail_of(messages, 100) == messages[-2:]
    pictures = [*conversation(2), assistant(call("a")), user(result("a", [IMAGE]))]
    assert tail_of(pictures, 100) == pictures[-2:]


# -- both ------------------------------------------------------------------------------


def test_the_middle_gives_way_to_a_summary_between_head_and_tail():
    messages = conversation(8)
    view = compacted(messages, reference_only=False)
    summary = user(
        "[Conversation compressed. Transcript: t.jsonl]\n\nDid it.\n[End of summary]"
    )
    assert view == [*messages[:3], summary, *messages[-4:]]
    assert all(a is b for a, b in zip(view[:3], messages, strict=False))
    assert all(a is b for a, b in zip(view[-4:], messages[-4:], strict=True))


def test_without_tail_tokens_the_tail_is_the_newest_exchanges():
    messages = conversation(8)
    assert compacted(messages, tail=None)[4:] == messages[-2:]
    assert compacted(messages, tail=None, keep_exchanges=3)[4:] == messages[-6:]


@pytest.mark.parametrize(
    ("summary", "words"),
    [("", "is empty"), (" \n", "is empty"), (prose(9_000), "is larger")],
)
def test_a_summary_that_is_none_fails(summary, words):
    with pytest.raises(SummaryFailed, match=words):
        compacted(conversation(8), summarize=lambda asked, focus: summary)


# -- whatever the conversation ---------------------------------------------------------

heads = st.sampled_from([0, 30, 400, 4_000])
tails = st.sampled_from([None, 0, 150, 600, 16_000])


@given(histories(min_size=1), heads, tails, st.integers(0, 2))
def test_a_hand_off_keeps_both_ends_the_request_the_pairs_and_the_rules(
    history, head, tail, keep
):
    before = copy.deepcopy(history)
    try:
        view = compacted(history, head, tail, keep_exchanges=keep)
    except SummaryFailed:
        view = history
    assert history == before
    assert violation(view) is None
    assert active_request(view) == active_request(history)
    assert sum(is_summary(b) for m in view for b in of_type(m, "text")) <= 1
    length = head_length(history, head)
    assert all(a is b for a, b in zip(view[:length], history[:length], strict=True))
    calls = {c["id"] for m in view for c in of_type(m, "tool_use")}
    assert calls == set(results_of(view)) <= set(results_of(history))


@given(histories(min_size=1), heads, tails)
def test_the_parts_are_the_whole_in_order(history, head, tail):
    first, middle, last = parts(history, both(head, tail))
    assert len(first) + len(middle) + len(last) == len(history)
    assert [*first, *middle] == history[: len(first) + len(middle)]
    if tail is not None:
        newest = [start for start, _ in exchanges(history)][-1]
        assert len(first) + len(middle) <= newest
        assert last[0]["role"] == "assistant"
        fits = sum(map(message_tokens, last)) <= tail
        assert fits or len(last) == len(history) - newest


@given(histories(min_size=1), heads, tails, st.integers(0, 2))
def test_a_hand_off_again_at_once_has_nothing_to_replace(history, head, tail, keep):
    same = both(head, tail, keep_exchanges=keep)
    try:
        view = head_and_tail(history, short, archive, same)
    except SummaryFailed:
        return
    assert drop_thinking(head_and_tail(view, never, never, same), 0) == drop_thinking(
        view, 0
    )
