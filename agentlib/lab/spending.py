"""What requests cost: prices per model from a dated file, dollars of a usage, an estimate, a cap.

`prices.json` says when its prices were collected and from where; a model that it does not name
has no price here, and no guess either. Not here: which tokens the cache read (cache), and
batches, fast mode or regional surcharges, which the course does not use.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from agentlib.lab.cache import Bill

MILLION = 1_000_000
Usage = Mapping[str, Any]


class CapReached(RuntimeError):
    """The dollars allowed are spent; nothing more is sent."""


@lru_cache(maxsize=1)
def price_list() -> dict[str, Any]:
    """The whole file: `collected` (a date), `currency`, `sources`, `models`."""
    return json.loads((files("agentlib.lab") / "prices.json").read_text(encoding="utf-8"))


def model_facts(model: str) -> dict[str, Any]:
    """Prices (USD per million tokens) and sizes of one model; a dated id finds its model.

    ValueError names the models known where this one is not.
    """
    models = price_list()["models"]
    found = models.get(model) or models.get(re.sub(r"-20\d{6}$", "", model))
    if found is None:
        raise ValueError(f"no price is known for the model {model!r}; known: {', '.join(models)}")
    return found


def rates(model: str, prompt_tokens: int = 0) -> dict[str, float]:
    """USD per million tokens by kind, for a request whose prompt has so many tokens.

    Where a model has a tier for long prompts, that tier's rates hold for the whole request.
    """
    facts = model_facts(model)
    tier = facts.get("long_prompt")
    row = tier if tier and prompt_tokens > tier["above"] else facts
    kinds = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
    return {kind: row[kind] for kind in kinds}


def prompt_tokens(usage: Usage) -> int:
    """Size of the prompt that was billed: uncached, written and read together."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


def dollars(usage: Usage, model: str) -> float:
    """USD of one response, from its `usage` as the API returned it (missing or null counts 0).

    Writes that live an hour cost more: `usage["cache_creation"]` says how many they are.

    >>> dollars({"input_tokens": 1_000, "output_tokens": 100}, "claude-opus-5-5")  # 4 and 20 / M
    0.006
    """
    rate = rates(model, prompt_tokens(usage))
    written = usage.get("cache_creation_input_tokens") or 0
    split: Usage = usage.get("cache_creation") or {}
    hour = split.get("ephemeral_1h_input_tokens") or 0
    total = (
        rate["input"] * (usage.get("input_tokens") or 0)
        + rate["cache_write_5m"] * (written - hour)
        + rate["cache_write_1h"] * hour
        + rate["cache_read"] * (usage.get("cache_read_input_tokens") or 0)
        + rate["output"] * (usage.get("output_tokens") or 0)
    )
    return total / MILLION


def expected_usages(
    turns: int,
    *,
    base: int = 6_000,
    growth: int = 2_000,
    reply: int = 400,
    threshold: int | None = None,
    summary: int = 2_000,
) -> Iterator[dict[str, Any]]:
    """The usages of a run that has not happened yet, all amounts in tokens.

    Each turn sends `base` (system prompt, tools, task) and what came before, read from a warm
    cache, writes `growth` more and answers with `reply`. Past `threshold` a summary is asked for
    on the live prefix and the prompt falls back to `base + summary`. Pauses longer than the
    cache's life are not foreseen: each costs one writing of the whole prompt.
    """
    prompt, cached = base, 0
    for _ in range(turns):
        if threshold is not None and prompt > threshold:
            yield Bill(cached, prompt - cached, 0).usage(summary)
            prompt, cached = base + summary, min(base, cached)
        yield Bill(cached, prompt - cached, 0).usage(reply)
        prompt, cached = prompt + growth, prompt


def estimate(model: str, turns: int, **shape: Any) -> float:
    """USD of a run before it is made; `shape` as in `expected_usages`.

    >>> estimate("claude-opus-5-5", 2, base=1_000, growth=1_000, reply=0)  # 5 and 0.2 / M
    0.0102
    """
    return sum(dollars(usage, model) for usage in expected_usages(turns, **shape))


@dataclass
class Cap:
    """Counts what was spent and stops before the request after `max_usd` was reached.

    What one request costs is known only from its answer: the cap is held to within one request.
    """

    max_usd: float
    spent: float = 0.0

    def __post_init__(self) -> None:
        if not self.max_usd >= 0:  # nor is nan, which nothing ever reaches
            raise ValueError(f"max_usd={self.max_usd!r}; take dollars, 0 or more")

    def check(self) -> None:
        """CapReached where the cap is reached; call it before each request."""
        if self.spent >= self.max_usd:
            raise CapReached(
                f"the cap of ${self.max_usd:.4f} is reached: ${self.spent:.4f} were spent. "
                "Nothing was sent; take a higher max_usd to go on."
            )

    def add(self, usage: Usage, model: str) -> float:
        """Count one response; returns its dollars."""
        price = dollars(usage, model)
        self.spent += price
        return price
