"""Renew the price list from entries of litellm's form."""

import json
from typing import Any

from agentlib.api.spending import price_list
from tools.prices import LIST, renewed, row_of, written

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


def test_the_list_is_written_as_it_stands_with_a_line_for_each_model() -> None:
    text = LIST.read_text(encoding="utf-8")
    assert written(json.loads(text)) == text
    assert json.loads(text) == price_list()
    assert all(f'"{name}": {{' in text for name in price_list()["models"])
