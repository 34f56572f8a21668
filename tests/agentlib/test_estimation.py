"""Estimation: the seeds' two counts, the table by kind, and the meter that learns from
bills."""

import copy
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentlib
from agentlib.estimation import (
    KINDS,
    TokenMeter,
    breakdown,
    estimate_by_block,
    estimate_text,
    estimate_tokens,
    message_tokens,
    new_meter,
    prompt_tokens,
)
from offline_api.tokens import lay_out
from tests.builders import (
    CHINESE,
    IMAGE,
    SUMMARY,
    assistant,
    call,
    conversation,
    prose,
    reading,
    result,
    text,
    thinking,
    user,
)
from tests.strategies import histories

DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "data": "x" * 940},
}  # 1,000 written out
FULL = user(result("a", "x" * 99), result("b", [text("y" * 30), IMAGE]), "z" * 21)


@given(histories())
def test_the_seeds_count_is_the_length_of_the_python_text_over_four(history):
    assert estimate_tokens(history) == len(str(history)) // 4
    assert estimate_tokens(history, chars_per_token=2.0) == len(str(history)) // 2


def test_the_count_by_block_takes_texts_and_results_of_any_shape():
    called = assistant(thinking("t" * 600), "w" * 10, call("a", command="c" * 300))
    assert estimate_by_block([]) == 0
    assert (
        estimate_by_block([{"role": "user", "content": "w" * 10}]) == 4
    )  # 10 / 3, rounded up
    assert estimate_by_block([called]) == 4
    assert estimate_by_block([FULL]) == (99 + 30 + 21) / 3 == 50
    assert estimate_by_block([user(result("a", "[Previous: used bash]"))]) == 7


@pytest.mark.parametrize(
    ("kind", "message", "tokens"),
    [
        ("user", {"role": "user", "content": "x" * 1000}, 300),
        ("user", user("x" * 1000), 300),
        ("assistant", assistant("x" * 1000), 285),
        ("thinking", assistant(thinking("x" * 1000)), 290),
        ("thinking", assistant({"type": "redacted_thinking", "data": "x" * 1000}), 290),
        (
            "tool_use",
            assistant(call("a", command="x" * 985)),
            300 + 90,
        ),  # {'command': '…'} is 1,000
        ("tool_result", user(result("a", "x" * 1000)), 345),
        ("tool_result", user(result("a", [text("x" * 600), text("x" * 400)])), 345),
        ("tool_result", user({"type": "tool_result", "tool_use_id": "a"}), 0),
        ("image", user(IMAGE), 1_500),
        ("image", user(result("a", [IMAGE, IMAGE])), 3_000),
        ("placeholder", user(result("a", "[Previous: used " + "x" * 984)), 345),
        ("placeholder", user(result("a", [text("[Previous: used " + "x" * 984)])), 345),
        ("summary", user(SUMMARY + "x" * (1000 - len(SUMMARY))), 285),
        (
            "tool_use",
            assistant({**call("a", q="x" * 991), "type": "server_tool_use"}),
            300 + 90,
        ),
        ("tool_result", user(DOCUMENT), 345),
        ("tool_result", user(result("a", [DOCUMENT])), 345),
    ],
)
def test_each_kind_of_block_has_its_weight_and_its_place(kind, message, tokens):
    found = breakdown([message])
    assert found == {**dict.fromkeys(KINDS, 0), kind: tokens}
    assert message_tokens(message) == pytest.approx(tokens)


@given(histories())
def test_a_breakdown_misses_nothing_that_the_messages_weigh(history):
    before = copy.deepcopy(history)
    found = breakdown(history)
    assert sum(found.values()) == pytest.approx(
        sum(map(message_tokens, history)), abs=len(KINDS)
    )
    assert history == before


@pytest.mark.parametrize("character", ["中", "，", "あ", "カ", "한", "Ａ", "𠀀", "豈"])
def test_a_cjk_character_weighs_085(character):
    assert estimate_text(character * 100) == pytest.approx(85)
    assert estimate_text("x" * 100 + character * 100) == pytest.approx(34.5 + 85)


def test_a_bill_is_the_whole_prompt_whatever_the_cache_did():
    whole = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 75,
        "output_tokens": 9_000,
    }
    assert prompt_tokens(whole) == 100
    assert prompt_tokens({"input_tokens": 5, "cache_read_input_tokens": None}) == 5
    assert prompt_tokens({}) == 0


def test_before_the_first_bill_system_and_tools_count_by_their_size():
    assert TokenMeter(base_chars=1_000).estimate([]) == 300
    assert TokenMeter(base_chars=1_000).estimate([user("x" * 100)]) == 330


@given(histories(min_size=1), st.lists(st.integers(1, 30_000), min_size=9, max_size=9))
def test_after_a_bill_the_estimate_is_the_bill(history, bills):
    found = TokenMeter(base_chars=500)
    for n, billed in enumerate(bills, start=1):
        found.observe(history[:n], {"input_tokens": billed})
        assert found.estimate(history[:n]) == billed


@pytest.mark.parametrize("estimator", ["chars", "blocks"])
def test_without_an_anchor_nothing_is_billed(estimator):
    found = new_meter(estimator)
    history = conversation(3)
    found.observe(history, {"input_tokens": 9_000})
    assert found.billed(history) == (0, 0)


@given(histories(min_size=1))
def test_a_bill_without_a_prompt_teaches_nothing(history):
    found = TokenMeter()
    found.observe(history[:1], {"input_tokens": 900})
    expected = found.estimate(history)
    found.observe(history, {"output_tokens": 5})
    assert found.estimate(history) == expected


@given(histories(min_size=2))
def test_a_message_keeps_the_weight_it_was_billed_when_others_give_way(history):
    found = TokenMeter()
    summary = user(SUMMARY)
    found.observe(history[:1], {"input_tokens": 4_000})
    found.observe(history, {"input_tokens": found.estimate(history) * 2})
    kept = found.estimate(history) - found.estimate(history[:-2])
    anew = found.estimate([summary, *history[-2:]]) - found.estimate([summary])
    assert anew == pytest.approx(kept, abs=2)


def test_a_fall_that_nothing_explains_is_the_messages_and_not_the_base():
    meter = TokenMeter()
    messages = [user("x" * 1_000), assistant("y" * 1_000)]
    meter.observe(messages, {"input_tokens": 10_000})
    base = meter.base
    meter.observe(messages, {"input_tokens": 9_700})
    assert meter.base == base
    assert meter.estimate(messages) == 9_700
    meter.observe(messages, {"input_tokens": 9_900})  # but growth is not theirs
    assert (meter.base > base, meter.estimate(messages)) == (True, 9_900)


def test_a_bill_below_the_base_shows_a_smaller_base():
    meter = TokenMeter()
    messages = [user("x" * 1_000)]
    meter.observe(messages, {"input_tokens": 10_000})
    meter.observe(messages, {"input_tokens": 500})
    assert 0 < meter.base < 500
    assert meter.estimate(messages) == 500


@given(
    histories(min_size=2),
    st.sampled_from(["anchored", "chars", "blocks"]),
    st.integers(1, 90_000),
    st.integers(1, 90_000),
)
def test_a_refusal_is_believed_for_what_no_bill_has_seen(
    history, estimator, refused, billed
):
    found = new_meter(estimator, 500)
    old = history[:1]
    found.observe(old, {"input_tokens": 900})
    before = found.estimate(old)
    guess = found.estimate(history)
    found.believe(history, refused)
    assert found.estimate(history) == pytest.approx(max(refused, guess), abs=1)
    if estimator == "anchored":
        assert found.estimate(old) == before
    found.believe(history, 1)
    assert found.estimate(history) == pytest.approx(max(refused, guess), abs=1)
    found.observe(history, {"input_tokens": billed})
    if estimator == "anchored":
        assert found.estimate(history) == billed


def test_a_meter_weighs_only_messages_that_are_new():
    calls = []

    def weigh(message):
        calls.append(message)
        return 10.0

    found = TokenMeter(weigh=weigh)
    history = conversation(200)
    for start, stop in pairwise([1, *range(3, len(history) + 1, 2)]):
        before = len(calls)
        found.estimate(history[:stop])
        found.observe(history[:stop], {"input_tokens": 100 * stop})
        assert found.estimate(history[:stop]) == 100 * stop
        assert {id(m) for m in calls[before:]} == {
            id(m) for m in history[before and start : stop]
        }
    before = len(calls)
    cleared = user(result("toolu_7", "[Previous: used read_file]"))
    found.estimate([*history[:16], cleared, *history[17:]])
    assert calls[before:] == [cleared]


def test_bills_of_a_long_session_are_learned_without_weighing_it_again():
    looked_at = []

    class Counting(TokenMeter):
        def weights(self, messages):
            looked_at.append(len(messages))
            return super().weights(messages)

    found = Counting()
    history = conversation(300)
    for stop in range(1, len(history) + 1, 2):
        found.observe(history[:stop], {"input_tokens": 100 * stop})
    assert sum(looked_at) < 10 * len(history)
    assert found.estimate(history[:stop]) == 100 * stop


@given(histories())
def test_the_seeds_meters_count_as_the_seeds_do_and_learn_nothing(history):
    for name, count, off in (
        ("chars", estimate_tokens, 0),
        ("blocks", estimate_by_block, 1),
    ):
        found = new_meter(name, base_chars=9_000)
        found.observe(history[:1], {"input_tokens": 5_000})
        assert found.estimate(history) == pytest.approx(count(history), abs=off)


def counted(messages):
    system = "You are a coding agent at /workspace. Use tools to solve tasks. Be brief."
    return lay_out({"model": "m", "system": system, "messages": messages}).tokens


@pytest.mark.parametrize("said", ["by the person", "in a file"])
def test_twenty_thousand_chinese_characters_in_an_english_conversation(said):
    english = (
        Path(agentlib.__file__).with_name("messages.py").read_text(encoding="utf-8")
    )
    chinese = prose(20_000, CHINESE)
    history = [
        user("Explain this module."),
        assistant("I read it.", call("a", "read_file")),
    ]
    history += [
        user(result("a", english)),
        assistant("It asks questions. And the next?"),
    ]
    found = TokenMeter()
    found.observe(history[:1], {"input_tokens": counted(history[:1])})
    found.observe(history[:3], {"input_tokens": counted(history[:3])})
    if said == "by the person":
        history += [user(chinese)]
    else:
        history += [
            user("Yes."),
            assistant(call("b", "read_file")),
            user(result("b", chinese)),
        ]
    assert found.estimate(history) == pytest.approx(counted(history), rel=0.15)
    assert estimate_tokens(history) < 0.5 * counted(history)  # the alarm stays silent
    found.observe(history, {"input_tokens": counted(history)})
    history += [assistant("It is about forgetting."), user("Go on."), *reading(9)]
    assert found.estimate(history) == pytest.approx(counted(history), rel=0.02)


def test_a_file_that_begins_in_mid_conversation_makes_no_huge_base():
    gauge = TokenMeter()
    words = {"role": "user", "content": "x" * 1_000}
    gauge.observe([words], {"input_tokens": 150_000})
    assert gauge.estimate([words]) == 150_000
    assert gauge.base == 50_000
    assert gauge.estimate([{"role": "user", "content": "a summary"}]) < 51_000
    large = TokenMeter(
        base_chars=400_000
    )  # an agent that has told its system prompt and tools
    large.observe([words], {"input_tokens": 150_000})
    assert large.base > 140_000
