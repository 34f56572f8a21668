"""The positions of controls that the web pages offer, if not all: a page can't hold
them."""

from collections.abc import Mapping, Sequence
from typing import Any

STOPS: Mapping[str, Mapping[str, Any]] = {
    "01_estimation": {
        "window": (100_000, 200_000, 400_000),
        "reserve": (0, 16_000, 32_000),
        "buffer": (0, 13_000, 26_000),
        "off": (-80, -60, -40, -20, 0, 20, 50, 100),
    },
    "02_micro_compact": {
        "keep_recent": (0, 1, 2, 3, 5, 8, 40),
        "min_chars": (100, 4_000),
        "cleared": range(4_000, 40_001, 4_000),
        "behind": (2_000, 3_000, *range(6_000, 40_001, 4_000)),
    },
    "03_auto_compact": {
        "threshold": (4_000, 8_800, 12_000, 16_000, 20_800, 27_360),
        "summary_tokens": (100, 400, 1_000, 2_000, 4_000),
    },
    "04_manual_compact": {
        "after": (2, 14, 26, 32, 36, 37),
        "summary_tokens": (480, 1_000, 1_440),
        "words": ("", "rules of the user"),
    },
    "05_transcripts": {"search": ("",)},
    "06_head_and_tail": {
        "summary_tokens": (150, 300, 450, 600, 750, 900, 1_200, 1_600)
    },
    "07_recovery": {
        "rate": (0, 70, 100),
        "length": (750, 1_250, 1_500),
        "how": ("529", "truncated", "tool_use"),
    },
    "08_cost": {
        "cleared": (5_000, 10_000, 20_000, 30_000, 40_000),
        "behind": (2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000),
        "size": (100_000, 400_000),
        "ratio": (5, 8, 10, 12.5, 15, 18, 20, 21, 22, 23, 25, 30, 40, 50, 60),
    },
    "an_hour": {
        "threshold": (3_000, 4_000, 6_000, 10_400, 13_000),
        "keep_recent": (0, 3, 8),
    },
    "what_if": {
        "default": {
            "clear_when": ("always", "cold", "never"),
            "keep_recent": (0, 1, 3, 5, 8, 20),
            "summary_tokens": (800, 1_440),
        },
        "course start": {
            "keep_recent": (*range(7), 8, 12, 20),
            "clear_when": ("always", "never"),
        },
        "": {"keep_recent": (0, 3, 8, 20)},
    },
}
"""Positions that pages offer, by notebook and control. Any other control has all of its
own.

Those of the bench are by preset: "" stands for any other.
"""

SECONDS: Mapping[str, int] = {
    "what_if": 32,
    "02_micro_compact": 24,
    "11_your_engine": 23,
    "04_manual_compact": 19,
    "07_recovery": 19,
    "08_cost": 18,
    "an_hour": 18,
    "03_auto_compact": 16,
    "06_head_and_tail": 16,
    "museum": 14,
    "05_transcripts": 13,
    "10_what_survives": 11,
    "01_estimation": 10,
    "09_sessions": 9,
}
"""How long one core needs to record a notebook, the longest first."""
USUAL = 6
"""Seconds of any other notebook."""


def with_own(value: Any, stops: Sequence[Any]) -> list[Any]:
    """List the stops and a control's own value: numbers in order, words as they are."""
    values = [*dict.fromkeys([*stops, value])]
    return values if isinstance(value, str) else sorted(values)
