"""The pipeline over random conversations, played turn by turn: what holds whatever the settings."""

import copy
from dataclasses import replace
from itertools import pairwise

from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import (
    bill,
    conversation,
    histories,
    play,
    requests_of,
    short,
    some_settings,
    unseen_of,
)

from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import meter
from agentlib.messages import (
    active_request,
    changes,
    drop_newest_thinking,
    drop_thinking,
    is_summary,
    last_assistant,
    of_type,
    violation,
    with_results,
)
from agentlib.pipeline import compact
from agentlib.settings import Settings
from agentlib.transcripts import Session


def fails(messages, focus):
    raise SummaryFailed("the summary is empty")


def bare(messages):
    """Without any thinking, not even that of the newest turn."""
    return drop_newest_thinking(drop_thinking(messages, 0))


@given(histories(), some_settings)
def test_every_context_keeps_the_rules_the_request_and_the_unseen(history, settings):
    before = copy.deepcopy(history)
    steps = play(history, settings, manual=True)
    for step, stop in zip(steps, requests_of(history), strict=True):
        assert violation(step.messages) is None
        assert step.messages[-1]["role"] == "user"
        left = with_results(history[:stop], step.replaced if step.compaction else {})
        assert unseen_of(step.messages) == unseen_of(left)  # whole, or split by the tail
        assert active_request(step.messages) == active_request(history[:stop])
    assert history == before


@given(histories(min_size=3), some_settings)
@example(conversation(9), Settings())
@example(conversation(30), Settings(threshold=3_500, keep_recent=5))
def test_running_from_the_settled_edge_makes_the_same_view_as_from_the_start(history, settings):
    fast = play(history, settings, manual=True)
    slow = play(history, settings, manual=True, settled=False)
    for one, other in zip(fast, slow, strict=True):
        assert one.messages == other.messages
        assert (one.replaced, one.compaction) == (other.replaced, other.compaction)


@given(histories(min_size=3), some_settings)
def test_what_is_settled_is_never_touched_again_but_by_a_compaction(history, settings):
    for first, second in pairwise(play(history, settings)):
        assert 0 <= first.settled <= len(first.messages)
        if second.compaction in (None, "failed"):
            assert list(changes(first.messages[: first.settled], second.messages)) == []
            assert second.settled >= first.settled


@given(histories(min_size=5), some_settings)
def test_thinking_is_sent_only_where_it_was_thought_or_in_the_newest_turn(history, settings):
    sent, thought_after = [], {}
    for step in play(history, replace(settings, keep_recent=settings.keep_recent % 3)):
        newest = last_assistant(step.messages)
        for i, message in enumerate(step.messages):
            for block in of_type(message, "thinking"):
                place = thought_after.setdefault(block["thinking"], bare(sent))
                assert i == newest or bare(step.messages[:i]) == place
        sent = step.messages


@given(histories(min_size=1), some_settings, st.integers(0, 12))
def test_once_more_changes_nothing_more(history, settings, start):
    """Micro twice is once, and a compaction at once again has nothing to replace."""

    def again(messages, settled):
        calls = {"summarize": short, "archive": lambda: "t.jsonl", "idle": 1_000.0}
        known = meter(settings.estimator)
        return compact(messages, settings, meter=known, settled=settled, **calls)

    first = again(history, start)
    # A compaction clears what an edge made up here has held back: only the true one, 0, is tried.
    assume(start == 0 or first.compaction in (None, "failed"))
    for settled in {first.settled, 0 if start == 0 else first.settled}:
        second = again(first.messages, settled)
        assert len(first.messages) == len(second.messages)
        assert list(changes(first.messages, second.messages)) == []
        assert second.replaced == {}
        assert second.compaction is None or second.compaction == first.compaction == "failed"


@given(histories(min_size=1), some_settings, st.sampled_from(["auto", "manual"]), st.booleans())
def test_a_step_tells_all_that_was_done(history, settings, reason, failing):
    before, known = copy.deepcopy(history), meter(settings.estimator)
    known.observe(history[:1], bill(history[:1]))
    step = compact(
        history,
        settings,
        meter=known,
        summarize=fails if failing else short,
        archive=lambda: "t.jsonl",
        reason=reason,
        idle=999.0,
    )
    assert history == before
    assert step.cleared == tuple(step.replaced)
    assert step.tokens_before == known.estimate(history)
    assert step.tokens_after == known.estimate(step.messages)
    assert (step.compaction == "failed") == (step.failure is not None)
    assert (step.compaction is None) == (step.archive is None)
    view = with_results(history, step.replaced)
    if step.compaction == reason:
        *head, summary = step.messages[: step.settled]
        assert is_summary(summary["content"][0])
        assert step.kept[: len(head)] == tuple(range(len(head)))
        assert bare([*head, *step.messages[step.settled :]]) == bare([view[i] for i in step.kept])
    else:
        assert bare(step.messages) == bare(view)
        assert step.kept == ()
        assert step.tokens_after == step.tokens_before - step.tokens_cleared


@given(histories(min_size=3), some_settings)
def test_a_session_folds_what_a_step_tells_to_the_view_that_was_sent(history, settings):
    session, known = Session(session_id="s"), meter(settings.estimator, 800)
    for n, message in enumerate(history):
        if message["role"] == "assistant":
            step = compact(
                session.context,
                settings,
                meter=known,
                summarize=short,
                archive=lambda: "t.jsonl",
                reason="manual" if n % 7 == 6 else "auto",
                settled=session.settled,
                idle=999.0 * (n % 2),
            )
            session.take(step, at=float(n))
            assert session.context == step.messages
            session.reply(message, at=float(n), settled=step.settled)
        else:
            session.fold({"type": "user", "uuid": f"u{n}", "message": message})


@given(histories(min_size=2), some_settings, st.integers(1, 3_000), st.integers(1, 3_000))
def test_a_lower_threshold_never_compacts_later(history, settings, one, other):
    def first(threshold):
        steps = play(history, replace(settings, threshold=threshold, auto=True))
        return next((n for n, step in enumerate(steps) if step.compaction), len(history))

    assert first(min(one, other)) <= first(max(one, other))


@given(histories(), some_settings)
def test_a_conversation_under_the_threshold_stays_the_same_objects(history, settings):
    quiet = replace(settings, threshold=None, micro="off")
    for step, stop in zip(play(history, quiet), requests_of(history), strict=True):
        assert list(changes(history[:stop], step.messages)) == []
        assert len(step.messages) == stop
