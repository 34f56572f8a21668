"""Renew `agentlib/api/prices.json` from litellm's list: `make prices`.

litellm (https://github.com/BerriAI/litellm, MIT) keeps the list prices of all models in
one file, and each release has it. This takes the newest release from the package
registry, and from its file the models that our list has and any newer Claude model. A
model that litellm doesn't have keeps its row. `genai-prices` was looked at, too: it has
no price for fast mode, for cache writes of an hour, or for the least prompt that is
cached.
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

LIST = Path(__file__).parents[1] / "agentlib" / "api" / "prices.json"
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


def row_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's row in our list from its entry in litellm's.

    Prices are dollars per million tokens. `fast` and `us` say how many times as much
    such a request costs, `web_search` is dollars a search.
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
    searches: dict[str, Any] = entry.get("search_context_cost_per_query") or {}
    if "search_context_size_medium" in searches:
        row["web_search"] = searches["search_context_size_medium"]
    return row


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
            rows[name] = row_of(listed[name])
        except KeyError:  # it lacks a price
            if name in old["models"]:
                rows[name] = old["models"][name]
    kept = [text for text in old["sources"] if not text.startswith("litellm ")]
    return {**old, "collected": day, "sources": [source, *kept], "models": rows}


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
    LIST.write_text(written(prices), encoding="utf-8")
    print(f"{LIST.name}: {len(prices['models'])} models, {source}")


if __name__ == "__main__":
    main()
