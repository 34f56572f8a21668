"""Renew the price list from entries of litellm's form."""

import json
from typing import Any

from agentlib.api.spending import price_list
from tools.prices import LIST, OTHERS, others, renewed, row_of, service_tiers, written

ENTRY: dict[str, Any] = {
    "input_cost_per_token": 4e-06,
    "output_cost_per_token": 2e-05,
    "cache_creation_input_token_cost": 5e-06,
    "cache_creation_input_token_cost_above_1hr": 8e-06,
    "cache_read_input_token_cost": 2e-07,
    "max_input_tokens": 1_000_000,
    "max_output_tokens": 128_000,
    "prompt_cache_min_tokens": 512,
    "provider_specific_entry": {"us": 1.1, "fast": 2},
    "search_context_cost_per_query": {"search_context_size_medium": 0.01},
}
LONG = {
    f"{name}_above_100k_tokens": 5 * dollars
    for name, dollars in ENTRY.items()
    if "cost" in name and isinstance(dollars, float)
}


def test_an_entry_becomes_a_row_with_its_surcharges() -> None:
    row = row_of(ENTRY)
    assert row["input"] == 4
    assert row["cache_write_1h"] == 8
    assert (row["fast"], row["us"], row["web_search"]) == (2, 1.1, 0.01)
    assert "long_prompt" not in row


def test_a_tier_for_long_prompts_is_found() -> None:
    tier = row_of(ENTRY | LONG)["long_prompt"]
    assert tier["above"] == 100_000
    assert tier["output"] == 100


def test_a_model_that_the_source_lacks_keeps_its_row_and_a_new_one_comes() -> None:
    old = {"sources": ["litellm 1", "a page"], "models": {"claude-own-1": {"input": 9}}}
    listed = {"claude-new-9": ENTRY, "gpt-9": ENTRY, "claude-torn-1": {}}
    prices = renewed(old, listed, "litellm 2", "2027-01-01")
    assert prices["models"]["claude-own-1"] == {"input": 9}
    assert prices["models"]["claude-new-9"] == row_of(ENTRY)
    assert len(prices["models"]) == 2
    assert prices["sources"] == ["litellm 2", "a page"]
    assert prices["collected"] == "2027-01-01"


CHAT = {
    "mode": "chat",
    "input_cost_per_token": 2e-06,
    "output_cost_per_token": 8e-06,
}


def test_other_models_have_prices_alone_and_longer_names_of_them_are_left_out() -> None:
    listed = {
        "gpt-9": {**CHAT, "cache_read_input_token_cost": 1e-06},
        "azure/gpt-9": {**CHAT, "cache_read_input_token_cost": 1e-06},
        "dear/gpt-9": {**CHAT, "input_cost_per_token": 9e-06},
        "xai/grok-9": CHAT,
        "anthropic.claude-old-1-20250101-v1:0": CHAT,
        "us.anthropic.claude-old-1-20250101-v1:0": CHAT,
        "claude-own-1": CHAT,
        "a-picture": {**CHAT, "mode": "image_generation"},
        "free": {**CHAT, "input_cost_per_token": 0},
    }
    rows = others(listed, {"claude-own-1": {}})
    assert [*rows] == ["claude-old-1", "dear/gpt-9", "gpt-9", "grok-9"]
    assert rows["gpt-9"]["cache_read"] == 1
    assert rows["grok-9"] == {
        "input": 2,
        "output": 8,
        "cache_read": 2,
        "cache_write_5m": 2,
        "cache_write_1h": 2,
    }
    assert rows["claude-old-1"]["source"].startswith("litellm, anthropic.")


def test_a_service_tier_is_one_number_or_one_for_each_kind() -> None:
    tiers = {
        f"{name}{end}": times * CHAT[name]
        for name in ("input_cost_per_token", "output_cost_per_token")
        for end, times in (("_priority", 2), ("_flex", 0.5))
    }
    assert service_tiers({**CHAT, **tiers}) == {"priority": 2, "flex": 0.5}
    odd = {**CHAT, **tiers, "output_cost_per_token_flex": 4.8e-06}
    assert service_tiers(odd)["flex"] == {"input": 0.5, "output": 0.6}


def test_a_region_of_bedrock_that_costs_more_is_noted() -> None:
    listed = {"claude-new-9": ENTRY, "us.anthropic.claude-new-9-v1:0": {
        "input_cost_per_token": 4.4e-06}}  # fmt: skip
    old = {"sources": [], "models": {}}
    prices = renewed(old, listed, "litellm 2", "2027-01-01")
    assert prices["models"]["claude-new-9"]["regional"] == 1.1


def test_the_list_is_written_as_it_stands_with_a_line_for_each_model() -> None:
    text = LIST.read_text(encoding="utf-8")
    assert written(json.loads(text)) == text
    assert json.loads(text) == price_list()
    assert all(f'"{name}": {{' in text for name in price_list()["models"])
    rest = OTHERS.read_text(encoding="utf-8")
    assert written(json.loads(rest)) == rest
