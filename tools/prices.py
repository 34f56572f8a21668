"""Renew the price lists in `agentlib/api` from litellm's list: `make prices`.

litellm (https://github.com/BerriAI/litellm, MIT) keeps the list prices of all models in
one file, and each release has it. This takes the newest release from the package
registry. `prices.json` gets the models that it has already and any newer Claude model.
The lessons and the offline API know these. A model that litellm doesn't have keeps its
row. `prices_of_others.json` gets every other chat model, which session files may name.
`genai-prices` was looked at, too: it has no price for fast mode, for cache writes of an
hour, or for the least prompt that is cached.
"""

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentlib.api.spending import listed_name, lookups

LIST = Path(__file__).parents[1] / "agentlib" / "api" / "prices.json"
OTHERS = LIST.with_name("prices_of_others.json")
INSIDE = "litellm/model_prices_and_context_window_backup.json"
_NAMES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_write_5m": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
    "cache_read": "cache_read_input_token_cost",
}
_SIZES = {
    "context_window": "max_input_tokens",
    "max_output": "max_output_tokens",
    "min_cacheable_tokens": "prompt_cache_min_tokens",
}
_MODEL = re.compile(r"claude-[a-z]+-\d+(-\d{1,2})?")
_MODES = ("chat", "responses")
_TIERS = {"priority": "_priority", "flex": "_flex", "batch": "_batches"}
"""Service tiers, and how litellm's names of their prices end."""
_REGIONS = re.compile(
    r"(?:us|eu|au|jp|apac)\.anthropic\.(claude-[a-z0-9-]+?)(?:-20\d{6})?(?:-v\d)?(?::\d)?"
)
_MAKERS = [
    "dashscope",
    "deepseek",
    "gemini",
    "minimax",
    "mistral",
    "moonshot",
    "xai",
    "zai",
]
"""Makers of models whose names litellm writes behind theirs. Programs don't."""


def row_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's row in our list from its entry in litellm's.

    Prices are dollars per million tokens. `fast`, `us`, and service tiers such as
    `batch` say how many times as much such a request costs, `web_search` is dollars a
    search. Raises KeyError if a price is missing.
    """
    row: dict[str, Any] = {ours: _million(entry[n]) for ours, n in _NAMES.items()}
    row |= {ours: entry.get(theirs) for ours, theirs in _SIZES.items()}
    if above := _tier(entry):
        row["long_prompt"] = {"above": above} | {
            ours: _million(entry[f"{theirs}_above_{above // 1000}k_tokens"])
            for ours, theirs in _NAMES.items()
        }
    extras: dict[str, Any] = entry.get("provider_specific_entry") or {}
    row |= {name: extras[name] for name in ("fast", "us") if name in extras}
    row |= service_tiers(entry)
    searches: dict[str, Any] = entry.get("search_context_cost_per_query") or {}
    if "search_context_size_medium" in searches:
        row["web_search"] = searches["search_context_size_medium"]
    return row


def short_row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a model that session files may name: prices alone.

    Where litellm names none, reading the cache costs what the prompt costs, and so does
    writing to it. Raises KeyError without a price of the prompt or the answer.
    """
    row = _short(entry, "")
    if above := _tier(entry):
        row["long_prompt"] = {"above": above} | _short(
            entry, f"_above_{above // 1000}k_tokens"
        )
    return row | service_tiers(entry)


def _short(entry: Mapping[str, Any], end: str) -> dict[str, float]:
    row = {
        ours: _million(entry[f"{theirs}{end}"])
        for ours, theirs in _NAMES.items()
        if entry.get(f"{theirs}{end}") is not None or ours in ("input", "output")
    }
    row.setdefault("cache_read", row["input"])
    row.setdefault("cache_write_5m", row["input"])
    is_dearer = row["cache_write_5m"] > row["input"]
    row.setdefault(
        "cache_write_1h", round(row["cache_write_5m"] * (1.6 if is_dearer else 1), 6)
    )
    return row


def service_tiers(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many times as much each service tier costs: one number, or one for
    each kind of tokens if they differ."""
    tiers = dict[str, Any]()
    for tier, end in _TIERS.items():
        times = {
            ours: round(entry[f"{theirs}{end}"] / entry[theirs], 2)
            for ours, theirs in _NAMES.items()
            if entry.get(f"{theirs}{end}") is not None and entry.get(theirs)
        }
        if {"input", "output"} <= times.keys():
            is_one = len({*times.values()}) == 1
            tiers[tier] = times["input"] if is_one else times
    return tiers


def regional(listed: Mapping[str, Any], name: str) -> dict[str, float]:
    """Return how many times as much a model costs on Bedrock's endpoints of a region,
    nothing if that isn't more."""
    base = listed[name]["input_cost_per_token"]
    times = [
        round(entry["input_cost_per_token"] / base, 2)
        for place, entry in listed.items()
        if (found := _REGIONS.fullmatch(place)) and found[1] == name
    ]
    return {"regional": max(times)} if times and max(times) > 1 else {}


def others(listed: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of the chat models that our list doesn't know.

    A longer name is left out if what else is looked up for it has the same row. Claude
    models of before are on Bedrock's list alone, whose prices were Anthropic's own, so
    they have that row with its source.
    """
    rows = dict[str, Any]()
    for name, entry in listed.items():
        is_chat = entry.get("mode") in _MODES and listed_name(name) not in known
        prices = [entry.get(_NAMES[kind]) for kind in ("input", "output")]
        if is_chat and all(prices):
            rows[name.lower()] = row = short_row(entry)
            maker, _, rest = name.lower().partition("/")
            if maker in _MAKERS:
                rows.setdefault(rest, row)
            if name.startswith("anthropic."):
                source = entry.get("source") or f"litellm, {name}"
                rows[listed_name(name)] = {**row, "source": source}
    return {
        name: row for name, row in sorted(rows.items()) if not _is_known(name, rows)
    }


def _is_known(name: str, rows: Mapping[str, Any]) -> bool:
    """Return whether a model has the row of another name that is looked up for it."""
    other = {**rows, name: {}}
    found = next((row for n in lookups(name) if (row := other.get(n))), {})
    return rows[name] == {kind: of for kind, of in found.items() if kind != "source"}


def _million(dollars: float) -> float:
    return round(1_000_000 * dollars, 6)


def _tier(entry: Mapping[str, Any]) -> int:
    """Return the tokens above which a prompt costs more, 0 if there is no such tier."""
    tiers = (
        re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", n) for n in entry
    )
    return next((1_000 * int(tier[1]) for tier in tiers if tier), 0)


def renewed(
    old: Mapping[str, Any], listed: Mapping[str, Any], source: str, day: str
) -> dict[str, Any]:
    """Return our list with its rows from litellm's, and the Claude models that are
    new."""
    new = [name for name in listed if _MODEL.fullmatch(name)]
    rows = dict[str, Any]()
    for name in [*old["models"], *(name for name in new if name not in old["models"])]:
        try:
            rows[name] = row_of(listed[name]) | regional(listed, name)
        except KeyError:  # it lacks a price
            if name in old["models"]:
                rows[name] = old["models"][name]
    kept = [text for text in old["sources"] if not text.startswith("litellm ")]
    return {**old, "collected": day, "sources": [source, *kept], "models": rows}


def of_others(
    listed: Mapping[str, Any], known: Mapping[str, Any], source: str, day: str
) -> dict[str, Any]:
    """Return the list of the other models, in the form of ours."""
    head = {"currency": "USD per million tokens", "collected": day, "sources": [source]}
    return {**head, "models": others(listed, known)}


def written(prices: Mapping[str, Any]) -> str:
    """Write the list with a line for each model, so that a difference can be read."""
    rows = [f"  {json.dumps(n)}: {json.dumps(r)}" for n, r in prices["models"].items()]
    head = json.dumps({**prices, "models": {}}, indent=1)
    return head.removesuffix("{}\n}") + "{\n" + ",\n".join(rows) + "\n }\n}\n"


def main() -> None:
    """Download the newest release, and write the list again."""
    with tempfile.TemporaryDirectory() as folder:
        ask = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        subprocess.run([*ask, "--dest", folder, "litellm"], check=True)
        (wheel,) = Path(folder).glob("litellm-*.whl")
        listed = json.loads(zipfile.ZipFile(wheel).read(INSIDE))
    version = wheel.name.split("-")[1]
    source = f"litellm {version}, {Path(INSIDE).name} (MIT)"
    old = json.loads(LIST.read_text(encoding="utf-8"))
    prices = renewed(old, listed, source, f"{datetime.now(UTC):%Y-%m-%d}")
    rest = of_others(listed, prices["models"], source, prices["collected"])
    for path, each in ((LIST, prices), (OTHERS, rest)):
        path.write_text(written(each), encoding="utf-8")
        print(f"{path.name}: {len(each['models'])} models, {source}")


if __name__ == "__main__":
    main()
