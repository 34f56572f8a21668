"""Dollars, checked on paper against the dated price file."""

import pytest

from agentlib.lab.cache import Part, PromptCache
from agentlib.lab.spending import (
    Cap,
    CapReached,
    dollars,
    estimate,
    expected_usages,
    model_facts,
    price_list,
    prompt_tokens,
    rates,
)
from agentlib.settings import MODEL

OPUS = "claude-opus-5-5"
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("kind", "price"),
    [
        ("input_tokens", 4.0),
        ("output_tokens", 20.0),
        ("cache_creation_input_tokens", 5.0),
        ("cache_read_input_tokens", 0.2),
    ],
)
def test_a_million_tokens_of_each_kind_cost_their_price(kind: str, price: float):
    assert dollars({kind: MILLION}, OPUS) == pytest.approx(price)


def test_a_write_that_lives_an_hour_costs_twice_the_input():
    usage = {
        "cache_creation_input_tokens": MILLION,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": MILLION},
    }
    assert dollars(usage, OPUS) == pytest.approx(8.0)
    usage["cache_creation"] = {"ephemeral_1h_input_tokens": MILLION // 2}
    assert dollars(usage, OPUS) == pytest.approx(6.5)


def test_missing_and_null_counts_are_nothing():
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": None, "cache_creation": None}
    assert dollars(usage, OPUS) == pytest.approx(0.004)
    assert prompt_tokens(usage) == 1_000


def test_a_long_prompt_makes_the_whole_request_five_times_dearer():
    short = {"input_tokens": 60_000, "cache_read_input_tokens": 40_000, "output_tokens": 1_000}
    longer = {**short, "cache_read_input_tokens": 40_001}
    assert dollars(short, MODEL) == pytest.approx(0.0069)
    assert dollars(longer, MODEL) == pytest.approx(0.0345, rel=1e-4)
    assert rates(OPUS, 900_000) == rates(OPUS, 1)


def test_a_dated_id_has_the_price_of_its_model():
    assert model_facts("claude-haiku-4-5-20251001") == model_facts("claude-haiku-4-5")


def test_a_model_without_a_price_is_an_error_that_names_those_that_have_one():
    with pytest.raises(ValueError, match=r"'gpt-x'; known: claude-.*claude-opus-5-5"):
        dollars({"input_tokens": 1}, "gpt-x")


def test_the_price_file_is_dated_whole_and_knows_the_model():
    prices = price_list()
    assert prices["collected"] == "2026-11-21"
    assert MODEL in prices["models"]
    for facts in prices["models"].values():
        assert facts["cache_write_5m"] == pytest.approx(1.25 * facts["input"])
        assert facts["cache_write_1h"] == pytest.approx(2 * facts["input"])
        assert 0 < facts["cache_read"] <= 0.1 * facts["input"] + 1e-12
        assert facts["context_window"] >= 200_000


def test_an_estimate_can_be_checked_on_paper():
    # Turn 1 writes 1,000 at $5 a million; turn 2 reads them at $0.20 and writes 1,000 more.
    assert estimate(OPUS, 2, base=1_000, growth=1_000, reply=0) == pytest.approx(0.0102)
    assert estimate(OPUS, 1, base=0, reply=1_000) == pytest.approx(0.02)


def test_an_estimate_bills_what_the_cache_would():
    cache = PromptCache()
    prompt = [Part("base", 6_000), *(Part(f"turn {i}", 2_000) for i in range(29))]
    for turn, usage in enumerate(expected_usages(30)):
        parts = prompt[: turn + 1]
        assert usage == cache.bill(parts, [0, turn], now=turn).usage(400)


def test_an_estimate_with_a_threshold_pays_for_summaries_and_smaller_prompts():
    shape = {"base": 10_000, "growth": 5_000, "threshold": 50_000, "summary": 2_000}
    usages = list(expected_usages(40, **shape))
    summaries = [usage for usage in usages if usage["output_tokens"] == 2_000]
    assert len(usages) == 40 + len(summaries)
    assert len(summaries) == 4
    assert max(map(prompt_tokens, usages)) == 55_000
    after = usages[usages.index(summaries[0]) + 1]
    assert (after["cache_read_input_tokens"], prompt_tokens(after)) == (10_000, 12_000)
    assert estimate(OPUS, 40, **shape) < estimate(OPUS, 40, base=10_000, growth=5_000)


@pytest.mark.parametrize("max_usd", [-0.01, float("nan")])
def test_a_cap_that_nothing_reaches_is_refused(max_usd: float):
    with pytest.raises(ValueError, match=r"max_usd=.*; take dollars, 0 or more"):
        Cap(max_usd)


def test_a_cap_stops_before_the_request_after_it_was_reached():
    cap = Cap(0.01)
    for _ in range(2):
        cap.check()
        cap.add({"input_tokens": 1_000}, OPUS)
    cap.check()
    assert cap.add({"input_tokens": 1_000}, OPUS) == pytest.approx(0.004)
    with pytest.raises(CapReached, match=r"cap of \$0.0100 is reached: \$0.0120 were spent"):
        cap.check()
