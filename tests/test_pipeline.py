"""The pipeline: the layers in order, and what the step says of them."""

import copy

import pytest
from strategies import (
    assistant,
    conversation,
    play,
    prose,
    reading,
    result,
    results_of,
    short,
    thinking,
    use,
    user,
)

from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import TokenMeter
from agentlib.messages import changes, of_type
from agentlib.pipeline import compact
from agentlib.presets import ALL
from agentlib.settings import Settings
from agentlib.step import Step

OFF = Settings(micro="off")
CLEARED = "[Previous: used read_file]"
TRIMMED = f"{prose(50)}\n\n[... 900 characters trimmed ...]\n\n{prose(1_000)[-50:]}"


def never(*unused):
    pytest.fail("called, with nothing to do")


def step(messages, settings, **more):
    calls = {"meter": TokenMeter(), "summarize": short, "archive": lambda: "t.jsonl"}
    return compact(messages, settings, **{**calls, **more})


def fails(messages, focus):
    raise SummaryFailed("the summary is empty")


def test_a_context_under_the_threshold_passes_unchanged():
    messages = conversation(5)
    found = step(messages, OFF, summarize=never, archive=never)
    assert list(changes(messages, found.messages)) == []
    assert len(found.messages) == len(messages)
    assert found == Step(
        messages=messages, tokens_before=found.tokens_after, tokens_after=found.tokens_after
    )


def test_switched_off_no_layer_does_anything():
    messages, off = conversation(9), Settings(threshold=1, enabled=False)
    found = step(messages, off, reason="manual", summarize=never, archive=never)
    assert found.messages == messages
    assert found.compaction is None
    assert found.tokens_before == found.tokens_after == TokenMeter().estimate(messages)


def test_clearing_is_told_by_id_content_and_tokens():
    messages = conversation(5)  # results of 1,000 characters, 345 tokens; a placeholder has 26
    found = step(messages, Settings())
    assert found.cleared == ("toolu_0", "toolu_1")
    assert found.replaced == {"toolu_0": CLEARED, "toolu_1": CLEARED}
    assert results_of(found.messages)["toolu_0"]["content"] == CLEARED
    assert found.tokens_cleared == pytest.approx(2 * (345 - 26 * 0.345), abs=1)
    assert found.tokens_after == found.tokens_before - found.tokens_cleared
    assert found.settled == 5  # before the call of toolu_2, the oldest that may still change
    again = step([*found.messages, *reading(5)], Settings(), settled=found.settled)
    assert again.cleared == ("toolu_2",)


@pytest.mark.parametrize(
    ("policy", "old", "cleared", "settled"),
    [
        ({"micro": "truncate"}, f"{prose(200)}... [truncated]", 2, 5),
        ({"micro": "truncate", "keep_messages": 4}, f"{prose(200)}... [truncated]", 3, 7),
        ({"micro": "truncate", "max_result_chars": 9}, f"{prose(9)}... [truncated]", 2, 5),
        ({"micro": "trim", "trim_over": 999, "trim_keep": 50}, TRIMMED, 4, 9),
        ({"micro": "trim", "trim_over": 1_000, "trim_keep": 50}, prose(1_000), 0, 9),
        ({"micro": "clear", "keep_recent": 2}, CLEARED, 3, 7),
        ({"micro": "clear", "keep_recent": 0}, CLEARED, 4, 9),
        ({"micro": "clear", "recall": True}, f"{CLEARED[:-1]}; recall toolu_0 returns it]", 2, 5),
        ({"micro": "clear", "min_chars": 1_000}, prose(1_000), 0, 5),
        ({"micro": "clear", "keep_tools": ("read_file",)}, prose(1_000), 0, 5),
        ({"micro": "off"}, prose(1_000), 0, 0),
    ],
)
def test_the_settings_choose_the_policy_and_its_numbers(policy, old, cleared, settled):
    found = step(conversation(5), Settings(**policy))
    assert results_of(found.messages)["toolu_0"]["content"] == old
    assert (len(found.cleared), found.settled) == (cleared, settled)


def test_clear_at_least_waits_until_enough_would_go_and_then_clears_it_all():
    waiting = Settings(clear_at_least=1_000)  # each cleared result saves 336
    steps = list(play(conversation(9), waiting))
    assert [len(s.cleared) for s in steps] == [0, 0, 0, 0, 0, 0, 3, 0, 0, 3]
    assert {s.settled for s in steps[1:6]} <= {0, 1}


def test_with_clear_at_least_0_results_go_whatever_the_bill_said_of_them():
    names = [f"toolu_{n}" for n in range(4)]
    messages = [user("Go."), assistant(*map(use, names))]
    messages += [user(*(result(n, prose(900)) for n in names)), assistant("Hm."), user("Go on.")]
    cheap = TokenMeter()
    cheap.observe(messages[:1], {"input_tokens": 500})
    cheap.observe(messages, {"input_tokens": 520})  # a bill far under the estimate
    assert step(messages, Settings(), meter=cheap).cleared == ("toolu_0",)


@pytest.mark.parametrize(("idle", "cleared"), [(0, 0), (300, 0), (300.1, 2), (9_000, 2)])
def test_cold_clears_only_when_the_cache_has_outlived_its_time(idle, cleared):
    found = step(conversation(5), Settings(clear_when="cold"), idle=idle)
    assert len(found.cleared) == cleared
    assert found.settled == (5 if cleared else 0)


def test_clearing_that_is_enough_spares_the_compaction():
    messages = conversation(9)
    size = TokenMeter().estimate(messages)
    found = step(messages, Settings(threshold=size - 100), summarize=never, archive=never)
    assert found.compaction is None
    assert step(messages, Settings(threshold=size - 100, micro="off")).compaction == "auto"


def test_the_threshold_itself_is_not_over_it():
    messages = conversation(4)
    size = TokenMeter().estimate(messages)
    assert step(messages, Settings(micro="off", threshold=size)).compaction is None
    assert step(messages, Settings(micro="off", threshold=size - 1)).compaction == "auto"
    quiet = Settings(micro="off", threshold=1, auto=False)
    assert step(messages, quiet, summarize=never).compaction is None


@pytest.mark.parametrize("reason", ["manual", "reactive"])
def test_what_is_asked_for_is_done_under_the_threshold_and_with_its_focus(reason):
    asked = []

    def summarize(messages, focus):
        asked.append((len(messages), focus))
        return "Did it."

    messages = conversation(5)
    found = step(messages, Settings(auto=False), reason=reason, focus="rules", summarize=summarize)
    assert asked == [(11, "rules")]
    assert (found.compaction, found.reason, found.focus) == (reason, reason, "rules")
    assert (found.archive, found.failure) == ("t.jsonl", None)
    assert found.kept == (9, 10)
    assert found.messages[1:] == messages[9:]
    assert found.settled == 1
    assert len(found.cleared) == 2  # micro first: the summary is asked for on that view
    assert found.tokens_after == TokenMeter().estimate(found.messages)
    assert found.tokens_cleared == pytest.approx(671, abs=2)


def test_asked_for_with_nothing_to_replace_it_is_no_compaction():
    found = step(conversation(1), Settings(), reason="manual", summarize=never, archive=never)
    assert (found.compaction, found.reason, found.archive) == (None, "manual", None)


def test_a_failed_summary_leaves_what_micro_made_and_says_why():
    messages, low = conversation(5), Settings(threshold=1)
    found = step(messages, low, summarize=fails)
    assert (found.compaction, found.reason) == ("failed", "auto")
    assert (found.failure, found.archive) == ("the summary is empty", "t.jsonl")
    plain = step(messages, Settings())
    assert found.messages == plain.messages
    assert (found.settled, found.kept) == (plain.settled, ())
    assert (found.replaced, found.tokens_after) == (plain.replaced, plain.tokens_after)
    for summary in ("", prose(20_000)):
        assert step(messages, low, summarize=lambda m, f, s=summary: s).compaction == "failed"


def test_any_other_error_passes_and_nothing_is_changed():
    def interrupted(messages, focus):
        raise KeyboardInterrupt

    messages = conversation(5)
    before = copy.deepcopy(messages)
    with pytest.raises(KeyboardInterrupt):
        step(messages, Settings(threshold=1), summarize=interrupted)
    assert messages == before


def test_thinking_goes_after_the_first_cleared_result_and_is_not_counted():
    def turn(n):
        called, answer = reading(n)
        return [assistant(thinking("t" * 1_000), *called["content"]), answer]

    messages = [user("Go."), *(m for n in range(5) for m in turn(n))]
    found = step(messages, Settings())
    assert [len(of_type(m, "thinking")) for m in found.messages[1::2]] == [1, 0, 0, 0, 1]
    assert found.tokens_after == TokenMeter().estimate(found.messages)
    assert found.tokens_cleared == pytest.approx(671 + 3 * 290, abs=2)


def test_a_compaction_that_left_the_context_over_the_threshold_waits_for_an_exchange_more():
    low = Settings(threshold=1, micro="off")
    first = step(conversation(3), low)
    assert first.compaction == "auto"
    assert first.tokens_after > low.threshold_tokens
    again = step(first.messages, low, summarize=never, archive=never)
    assert again.compaction is None
    assert step([*again.messages, *reading(3)], low).compaction == "auto"


@pytest.mark.parametrize("name", ALL)
def test_a_conversation_of_300_exchanges_stays_within_the_window(name):
    settings = ALL[name].scaled(32_000)
    history = conversation(300, size=2_000)  # about 240,000 tokens
    steps = list(play(history, settings, idle=(*[0.0] * 49, 9_000.0)))
    assert max(found.tokens_after for found in steps) <= settings.threshold_tokens
    assert max(found.tokens_before for found in steps) < settings.threshold_tokens + 2_000
    assert sum(found.compaction == "auto" for found in steps) >= 3
    assert all(found.compaction in (None, "auto") for found in steps)
