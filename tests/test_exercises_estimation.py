"""What the checkers of lesson 01 let pass, what they refuse, and what they say of it."""

import math

import pytest

from agentlib.estimation import TokenMeter, estimate_by_block, estimate_tokens
from agentlib.lab.lessons import Verdict
from agentlib.lab.lessons.checking import Wrong, find
from agentlib.messages import Message


def check(name: str, answer: object) -> Verdict:
    """As `teach.check`, and nothing is written."""
    try:
        return Verdict(name, True, find(name).check(answer))
    except Wrong as wrong:
        return Verdict(name, False, str(wrong))


def test_four_characters_a_token_passes_however_it_is_rounded():
    assert check("01.1", lambda messages: len(str(messages)) // 4)
    assert check("01.1", lambda messages: len(str(messages)) / 4)
    assert check("01.1", estimate_tokens)


def test_the_learners_own_estimate_is_shown_to_miss_the_wall():
    said = check("01.1", estimate_tokens).says
    assert "it sees 19,836 tokens; the API: prompt is too long: 36743 tokens > 32000" in said


def test_an_estimate_that_leaves_the_blocks_out_is_told_which_ones():
    def words_only(messages: list[Message]) -> int:
        return sum(len(str(m)) + 2 for m in messages if isinstance(m["content"], str)) // 4

    said = check("01.1", words_only)
    assert not said
    assert "a call, whose text is in a list of blocks" in said.says


@pytest.mark.parametrize(
    "count", [lambda m: 0, estimate_by_block, lambda m: None, lambda m: math.nan]
)
def test_another_count_is_no_chars_over_four(count: object):
    assert not check("01.1", count)


@pytest.mark.parametrize("text", ["中" * 500, "a\n" * 400, "9" * 300])
def test_a_text_of_short_tokens_is_far_off(text: str):
    assert check("01.2", text)


def test_english_is_not_far_off_and_both_counts_are_said():
    said = check("01.2", "The quick brown fox jumps over the lazy dog. " * 10)
    assert not said
    assert "chars/4 says 112, the offline API counts 147: -23 %" in said.says


def test_a_text_of_long_tokens_is_told_that_it_reads_high():
    assert "+4900 %. Its tokens are long, so chars/4 reads high" in check("01.2", "\n" * 400).says
    assert "A word is cheap in any alphabet" in check("01.2", "é" * 400).says


@pytest.mark.parametrize(
    ("answer", "what"), [("中" * 10, "10 characters"), (7, "of type int"), ("", "0 char")]
)
def test_a_text_of_the_wrong_size_is_refused_with_its_size(answer: object, what: str):
    assert what in check("01.2", answer).says


def test_an_alarm_between_half_and_two_thirds_rings_in_time():
    assert "one compaction" in check("01.3", 15_000).says


@pytest.mark.parametrize(
    ("threshold", "why"),
    [
        (27_360, "36743 tokens > 32000"),
        (11_000, "compacted 2 times"),
        (40_000, "from 1 to 32,000"),
        (True, "the answer is True"),
    ],
)
def test_a_threshold_too_high_or_too_low_is_refused_with_what_happened(threshold: int, why: str):
    said = check("01.3", threshold)
    assert not said
    assert why in said.says


def test_a_meter_that_starts_from_the_bill_passes():
    assert check("01.4", lambda billed, sent, m: billed + estimate_tokens(m[sent:]))


def test_a_meter_that_only_estimates_or_only_repeats_the_bill_does_not():
    assert "-80 %" in check("01.4", lambda billed, sent, m: estimate_tokens(m)).says
    assert not check("01.4", lambda billed, sent, m: billed)
    assert not check("01.4", lambda billed, sent, m: billed + estimate_tokens(m))
    assert "before any bill" in check("01.4", lambda billed, sent, m: billed or 0).says
    assert not check("01.4", lambda billed, sent, m: math.nan if sent else estimate_tokens(m))


def test_seven_percent_low_is_the_most_that_the_buffer_bears():
    assert "183,871" in check("01.5", -7).says
    assert "at -8 % it rings at 185,870" in check("01.5", -8).says
    assert "further off still" in check("01.5", -6).says
    assert not check("01.5", -7.5)


def test_what_the_lesson_works_out_on_paper():
    assert estimate_tokens([{"role": "user", "content": "goodbye"}]) == (38 + 2) // 4 == 10
    hello: Message = {"role": "user", "content": "x" * 100}
    answer: Message = {"role": "assistant", "content": "x" * 200}
    meter = TokenMeter()
    assert meter.estimate([hello]) == 30  # 100 * 0.30
    meter.observe([hello], {"input_tokens": 50})
    assert meter.estimate([hello, answer]) == 50 + 57 == 107  # 200 * 0.285
