"""The pipeline: the layers in order, and what the step says of them."""

import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import TokenMeter, new_meter
from agentlib.messages import (
    active_request,
    changes,
    is_summary,
    last_assistant,
    of_type,
    result_text,
    with_results,
)
from agentlib.pipeline import Now, compact
from agentlib.presets import ALL
from agentlib.session.file import timestamp
from agentlib.settings import Settings
from agentlib.step import drop_newest_thinking, drop_thinking
from agentlib.transcripts import Session, load
from offline_api import violation
from tests.benchmarks.stress import SETTINGS, WINDOW, blocks
from tests.builders import assistant, call, conversation, prose, reading, result, user
from tests.strategies import (
    bill,
    histories,
    play,
    requests_of,
    results_of,
    seen,
    short,
    some_settings,
    unseen_of,
)

CLEARED = "[Previous: used read_file]"
TRIMMED = f"{prose(50)}\n\n[... 900 characters trimmed ...]\n\n{prose(1_000)[-50:]}"


def never(*unused):
    pytest.fail("called, with nothing to do")


def step(messages, settings, **more):
    calls = {"meter": TokenMeter(), "summarize": short, "archive": lambda: "t.jsonl"}
    return seen(compact(Now(messages, settings, **{**calls, **more})), messages)


def fails(messages, focus):
    raise SummaryFailed("the summary is empty")


def test_the_results_of_a_head_are_never_cleared():
    messages = conversation(6)
    without = step(messages, Settings(keep_recent=1))
    kept = step(messages, Settings(keep_recent=1, head_tokens=600))
    assert "toolu_0" in without.cleared
    assert "toolu_0" not in kept.cleared
    assert "toolu_4" in kept.cleared


def test_switched_off_no_layer_does_anything():
    messages = conversation(9)
    off = Settings(threshold=1, enabled=False)
    found = step(messages, off, reason="manual", summarize=never, archive=never)
    assert found.view == messages
    assert found.compaction is None
    assert found.tokens_before == found.tokens_after == TokenMeter().estimate(messages)


def test_clearing_is_told_by_id_content_and_tokens():
    messages = conversation(
        5
    )  # results of 1,000 characters, 345 tokens; a placeholder has 26
    found = step(messages, Settings())
    assert found.cleared == ("toolu_0", "toolu_1")
    assert found.texts == {"toolu_0": CLEARED, "toolu_1": CLEARED}
    assert results_of(found.view)["toolu_0"]["content"] == CLEARED
    assert found.tokens_cleared == pytest.approx(2 * (345 - 26 * 0.345), abs=1)
    assert found.tokens_after == found.tokens_before - found.tokens_cleared
    assert (
        found.settled == 5
    )  # before the call of toolu_2, the oldest that may still change
    again = step([*found.view, *reading(5)], Settings(), settled=found.settled)
    assert again.cleared == ("toolu_2",)


@pytest.mark.parametrize(
    ("policy", "old", "cleared", "settled"),
    [
        ({"micro": "truncate"}, f"{prose(200)}... [truncated]", 2, 5),
        (
            {"micro": "truncate", "keep_messages": 4},
            f"{prose(200)}... [truncated]",
            3,
            7,
        ),
        (
            {"micro": "truncate", "max_result_chars": 9},
            f"{prose(9)}... [truncated]",
            2,
            5,
        ),
        ({"micro": "trim", "trim_over": 999, "trim_keep": 50}, TRIMMED, 4, 9),
        ({"micro": "trim", "trim_over": 1_000, "trim_keep": 50}, prose(1_000), 0, 9),
        ({"micro": "clear", "keep_recent": 2}, CLEARED, 3, 7),
        ({"micro": "clear", "keep_recent": 0}, CLEARED, 4, 9),
        (
            {"micro": "clear", "recall": True},
            f"{CLEARED[:-1]}; recall toolu_0 returns it]",
            2,
            5,
        ),
        ({"micro": "clear", "min_chars": 1_000}, prose(1_000), 0, 5),
        ({"micro": "clear", "keep_tools": ("read_file",)}, prose(1_000), 0, 5),
        ({"micro": "off"}, prose(1_000), 0, 0),
    ],
)
def test_the_settings_choose_the_policy_and_its_numbers(policy, old, cleared, settled):
    found = step(conversation(5), Settings(**policy))
    assert results_of(found.view)["toolu_0"]["content"] == old
    assert (len(found.cleared), found.settled) == (cleared, settled)


def test_clear_at_least_waits_until_enough_would_go_and_then_clears_it_all():
    waiting = Settings(clear_at_least=1_000)  # each cleared result saves 336
    steps = list(play(conversation(9), waiting))
    assert [len(s.cleared) for s in steps] == [0, 0, 0, 0, 0, 0, 3, 0, 0, 3]
    assert {s.settled for s in steps[1:6]} <= {0, 1}


def test_with_clear_at_least_0_results_go_whatever_the_bill_said_of_them():
    names = [f"toolu_{n}" for n in range(4)]
    messages = [user("Go."), assistant(*map(call, names))]
    messages += [
        user(*(result(n, prose(900)) for n in names)),
        assistant("Hm."),
        user("Go on."),
    ]
    cheap = TokenMeter()
    cheap.observe(messages[:1], {"input_tokens": 500})
    cheap.observe(messages, {"input_tokens": 520})  # a bill far under the estimate
    assert step(messages, Settings(), meter=cheap).cleared == ("toolu_0",)


@pytest.mark.parametrize(
    ("idle", "cleared"), [(0, 0), (300, 0), (300.1, 2), (9_000, 2)]
)
def test_cold_clears_only_when_the_cache_has_outlived_its_time(idle, cleared):
    found = step(conversation(5), Settings(clear_when="cold"), idle=idle)
    assert len(found.cleared) == cleared
    assert found.settled == (5 if cleared else 0)


def test_clearing_that_is_enough_spares_the_compaction():
    messages = conversation(9)
    size = TokenMeter().estimate(messages)
    found = step(
        messages, Settings(threshold=size - 100), summarize=never, archive=never
    )
    assert found.compaction is None
    assert (
        step(messages, Settings(threshold=size - 100, micro="off")).compaction == "auto"
    )


def test_the_threshold_itself_is_not_over_it():
    messages = conversation(4)
    size = TokenMeter().estimate(messages)
    assert step(messages, Settings(micro="off", threshold=size)).compaction is None
    assert (
        step(messages, Settings(micro="off", threshold=size - 1)).compaction == "auto"
    )
    quiet = Settings(micro="off", threshold=1, auto=False)
    assert step(messages, quiet, summarize=never).compaction is None


@pytest.mark.parametrize("reason", ["manual", "reactive"])
def test_what_is_asked_for_is_done_under_the_threshold_and_with_its_focus(reason):
    asked = []

    def summarize(messages, focus):
        asked.append((len(messages), focus))
        return "Did it."

    messages = conversation(5)
    found = step(
        messages,
        Settings(auto=False),
        reason=reason,
        focus="rules",
        summarize=summarize,
    )
    assert asked == [(11, "rules")]
    assert (found.compaction, found.reason, found.focus) == (reason, reason, "rules")
    assert (found.archive, found.failure) == ("t.jsonl", None)
    assert found.kept == (9, 10)
    assert found.view[1:] == messages[9:]
    assert found.settled == 1
    assert len(found.cleared) == 2  # micro first: the summary is asked for on that view
    assert found.tokens_after == TokenMeter().estimate(found.view)
    assert found.tokens_cleared == pytest.approx(671, abs=2)


def test_a_failed_summary_leaves_what_micro_made_and_says_why():
    messages = conversation(5)
    low = Settings(threshold=1)
    found = step(messages, low, summarize=fails)
    assert (found.compaction, found.reason) == ("failed", "auto")
    assert (bool(found.failure), found.archive) == (True, "t.jsonl")
    plain = step(messages, Settings())
    assert found.view == plain.view
    assert (found.settled, found.kept) == (plain.settled, ())
    assert (found.texts, found.tokens_after) == (plain.texts, plain.tokens_after)
    for summary in ("", prose(20_000)):
        assert (
            step(messages, low, summarize=lambda m, f, s=summary: s).compaction
            == "failed"
        )


def test_a_compaction_that_left_the_context_over_the_threshold_waits_for_an_exchange_more():
    low = Settings(threshold=1, micro="off")
    first = step(conversation(3), low)
    assert first.compaction == "auto"
    assert first.tokens_after > low.threshold_tokens
    again = step(first.view, low, summarize=never, archive=never)
    assert again.compaction is None
    assert step([*again.view, *reading(3)], low).compaction == "auto"


@pytest.mark.parametrize("name", ALL)
def test_a_conversation_of_300_exchanges_stays_within_the_window(name):
    settings = ALL[name].scaled(32_000)
    history = conversation(300, size=2_000)  # about 240,000 tokens
    steps = list(play(history, settings, idle=(*[0.0] * 49, 9_000.0)))
    assert max(found.tokens_after for found in steps) <= settings.threshold_tokens
    assert (
        max(found.tokens_before for found in steps) < settings.threshold_tokens + 2_000
    )
    assert sum(found.compaction == "auto" for found in steps) >= 3
    assert all(found.compaction in (None, "auto") for found in steps)


# -- whatever the conversation and the settings ----------------------------------------


def bare(messages):
    """Without any thinking, not even that of the newest turn."""
    return drop_newest_thinking(drop_thinking(messages, 0))


@given(histories(min_size=3), some_settings)
@example(conversation(9), Settings())
@example(conversation(30), Settings(threshold=3_500, keep_recent=5))
def test_running_from_the_settled_edge_makes_the_same_view_as_from_the_start(
    history, settings
):
    fast = play(history, settings, manual=True)
    slow = play(history, settings, manual=True, settled=False)
    for one, other in zip(fast, slow, strict=True):
        assert one.view == other.view
        assert (one.texts, one.compaction) == (other.texts, other.compaction)


@given(histories(min_size=3), some_settings)
def test_what_is_settled_is_never_touched_again_but_by_a_compaction(history, settings):
    for first, second in pairwise(play(history, settings)):
        assert 0 <= first.settled <= len(first.view)
        if second.compaction in (None, "failed"):
            assert list(changes(first.view[: first.settled], second.view)) == []
            assert second.settled >= first.settled


@given(histories(min_size=5), some_settings)
def test_thinking_is_sent_only_where_it_was_thought_or_in_the_newest_turn(
    history, settings
):
    sent = []
    thought_after = {}
    for step in play(history, replace(settings, keep_recent=settings.keep_recent % 3)):
        newest = last_assistant(step.view)
        for i, message in enumerate(step.view):
            for block in of_type(message, "thinking"):
                place = thought_after.setdefault(block["thinking"], bare(sent))
                assert i == newest or bare(step.view[:i]) == place
        sent = step.view


@given(histories(min_size=1), some_settings, st.integers(0, 12))
def test_once_more_changes_nothing_more(history, settings, start):
    """Micro twice is once, and a compaction at once again has nothing to replace."""

    def again(messages, settled):
        calls = {"summarize": short, "archive": lambda: "t.jsonl", "idle": 1_000.0}
        known = new_meter(settings.estimator)
        now = Now(messages, settings, meter=known, settled=settled, **calls)
        return seen(compact(now), messages)

    first = again(history, start)
    # A compaction clears what an edge made up here has held back: only the true one, 0,
    # is tried.
    assume(start == 0 or first.compaction in (None, "failed"))
    for settled in {first.settled, 0 if start == 0 else first.settled}:
        second = again(first.view, settled)
        assert len(first.view) == len(second.view)
        assert list(changes(first.view, second.view)) == []
        assert second.texts == {}
        assert (
            second.compaction is None
            or second.compaction == first.compaction == "failed"
        )


@given(
    histories(min_size=1),
    some_settings,
    st.sampled_from(["auto", "manual"]),
    st.booleans(),
)
def test_a_step_tells_all_that_was_done(history, settings, reason, failing):
    before = copy.deepcopy(history)
    known = new_meter(settings.estimator)
    known.observe(history[:1], bill(history[:1]))
    now = Now(
        history,
        settings,
        meter=known,
        summarize=fails if failing else short,
        archive=lambda: "t.jsonl",
        reason=reason,
        idle=999.0,
    )
    step = seen(compact(now), history)
    assert history == before
    assert step.cleared == tuple(step.texts)
    assert step.tokens_before == known.estimate(history)
    assert step.tokens_after == known.estimate(step.view)
    assert (step.compaction == "failed") == (step.failure is not None)
    assert (step.compaction is None) == (step.archive is None)
    view = with_results(history, step.texts)
    if step.compaction == reason:
        *head, summary = step.view[: step.settled]
        assert is_summary(summary["content"][0])
        assert step.kept[: len(head)] == tuple(range(len(head)))
        assert bare([*head, *step.view[step.settled :]]) == bare(
            [view[i] for i in step.kept]
        )
    else:
        assert bare(step.view) == bare(view)
        assert step.kept == ()
        assert step.tokens_after == step.tokens_before - step.tokens_cleared


@given(histories(min_size=1), some_settings, st.floats(1.01, 9), st.booleans())
def test_after_a_refusal_unseen_results_are_cut_if_nothing_else_makes_them_fit(
    history, settings, times, failing
):
    known = new_meter(settings.estimator)
    session = Session(session_id="s")
    most = replace(settings, context_window=12_000, output_reserve=500, buffer=500)
    for n, message in enumerate(history):
        session.fold(
            {
                "type": message["role"],
                "uuid": f"u{n}",
                "message": message,
                "timestamp": timestamp(0),
            }
        )
    history = list(session.history)
    before = copy.deepcopy(session.history)
    known.observe(history[:1], bill(history[:1]))
    known.believe(history, int(times * 12_000))
    now = Now(
        session.context,
        most,
        meter=known,
        summarize=fails if failing else short,
        archive=lambda: "t.jsonl",
        reason="reactive",
    )
    step = seen(compact(now), now.messages)
    session.take(step, at=0.0)
    assert session.context == step.view
    assert session.history == history == before
    assert violation(step.view) is None
    assert active_request(step.view) == active_request(history)
    whole = unseen_of(history)
    cut = unseen_of(step.view)
    # After an answer nothing is unseen, and a head may end with results that were seen.
    assert whole.keys() <= cut.keys()
    shortened = [name for name in whole if cut[name] != whole[name]]
    assert set(shortened) <= step.texts.keys()
    assert all("characters trimmed" in result_text(cut[name]) for name in shortened)
    if shortened and settings.tail_tokens is None:
        assert step.compaction == "failed"
        assert step.tokens_after < step.tokens_before


@given(
    histories(min_size=2), some_settings, st.integers(1, 3_000), st.integers(1, 3_000)
)
def test_a_lower_threshold_never_compacts_later(history, settings, one, other):
    def first(threshold):
        steps = play(history, replace(settings, threshold=threshold, auto=True))
        return next(
            (n for n, step in enumerate(steps) if step.compaction), len(history)
        )

    assert first(min(one, other)) <= first(max(one, other))


@given(histories(), some_settings)
def test_a_conversation_under_the_threshold_stays_the_same_objects(history, settings):
    quiet = replace(settings, threshold=None, micro="off")
    for step, stop in zip(play(history, quiet), requests_of(history), strict=True):
        assert list(changes(history[:stop], step.view)) == []
        assert len(step.view) == stop


# -- many turns in a window of 32,000 tokens (for 10,000 and the cost of each, see `make stress`) --

TURNS = 200


def test_hundreds_of_turns_stay_within_the_window(tmp_path: Path) -> None:
    found = list(blocks(tmp_path, SETTINGS["default"], TURNS, TURNS // 4))
    assert [block.turns for block in found] == [50, 100, 150, 200]
    assert all(block.tokens <= WINDOW for block in found)
    # The last stretch is no larger than the second: nothing piles up.
    assert found[-1].messages <= 1.2 * found[1].messages
    session = load(tmp_path / "sessions" / "stress.jsonl")
    assert len(session.requests) == TURNS
    assert not session.pending
    assert len([c for c in session.compactions if c.message]) > 3
    assert [v for r in session.requests[-50:] if (v := violation(r.context))] == []
