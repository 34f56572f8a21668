"""The controls of the what-if panel, and what settings their positions mean.

Every position has its settings or a ValueError that names both numbers; nothing is moved behind
the learner's back. Not here: what the settings do (replay, play) and the panel (whatif).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Mapping
from dataclasses import fields, replace
from math import gcd
from typing import Any

from agentlib import presets
from agentlib.lab.panels.wall import KEEP_RECENT, choice, slider
from agentlib.settings import Settings

RECORDED, COURSE = "as recorded", "course start"
LEFT, FIXED, SHARE = "window - reserve - buffer", "a fixed number", "a share of the window"
POINTS = (LEFT, FIXED, SHARE)
_ON: dict[str, Any] = {"enabled": True, "auto": True}
_SAME = ("keep_recent", "min_chars", "clear_at_least", "clear_when", "micro", "keep_exchanges")
"""Controls that are named like the field they set."""


def bases(recorded: Settings) -> dict[str, Settings]:
    """The policies to start from, by name, all at the window of the recorded one and all on."""
    window = recorded.context_window
    found = {COURSE: Settings().scaled(window)}
    found |= {name: preset.scaled(window) for name, preset in presets.ALL.items()}
    return {name: replace(each, **_ON) for name, each in {RECORDED: recorded, **found}.items()}


def positions(settings: Settings) -> dict[str, Any]:
    """Where the controls stand for these settings; `preset` is not among them.

    >>> positions(Settings(threshold=50_000))["point"]
    'a fixed number'
    """
    fixed, share = settings.threshold, settings.threshold_pct
    point = FIXED if fixed is not None else SHARE if share is not None else LEFT
    tokens = settings.threshold_tokens
    return {
        "point": point,
        "threshold": tokens,
        "share": round(share or 100 * tokens / settings.context_window),
        "window": settings.context_window,
        "reserve": settings.output_reserve,
        "buffer": settings.buffer,
        **{name: getattr(settings, name) for name in _SAME},
    }


def settings_at(known: Mapping[str, Settings], values: Mapping[str, Any]) -> Settings:
    """What the controls' positions mean. `known`: as `bases` makes it; `values`: all positions.

    What no control sets (the estimator, the summary's length) is the preset's. Raises ValueError
    with the offending numbers where the positions exclude each other.
    """
    point, base = values["point"], known[values["preset"]]
    unmoved = round(base.threshold_pct or 0) == values["share"]
    share = base.threshold_pct if unmoved else float(values["share"])
    return replace(
        base,
        context_window=values["window"],
        output_reserve=values["reserve"],
        buffer=values["buffer"],
        threshold=values["threshold"] if point == FIXED else None,
        threshold_pct=share if point == SHARE else None,
        **{name: values[name] for name in _SAME},
    )


def as_code(settings: Settings) -> str:
    """The settings as Python: only what differs from `Settings()`.

    >>> print(as_code(Settings(keep_recent=5, context_window=100_000)))
    Settings(context_window=100_000, keep_recent=5)
    """
    plain = Settings()
    changed = {f.name: getattr(settings, f.name) for f in fields(settings)}
    said = [f"{k}={_code(v)}" for k, v in changed.items() if v != getattr(plain, k)]
    return f"Settings({', '.join(said)})"


def _code(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def controls(start: Settings) -> dict[str, Any]:
    """A control for each of the numbers, standing where `start` is. Ranges go by its window."""
    at, window = positions(start), start.context_window
    step = _step(start)

    def tokens(field: str, meaning: str, high: int, low: int = 0, name: str = "") -> Any:
        span = (low // step * step, max(high, at[field]), step)
        return slider(name or field, at[field], span, f"{meaning}, in tokens")

    return {
        "preset": choice("preset", RECORDED, [*bases(start)], "what all other controls go to"),
        "point": choice("compacts at", at["point"], POINTS, "how the compaction point is set"),
        "threshold": tokens("threshold", "the compaction point", window * 3 // 2, step),
        "share": slider("share %", at["share"], (1, 100, 1), "the point in % of the window"),
        "window": tokens("window", "one request", window * 3 // 2, window // 4),
        "reserve": tokens("reserve", "kept for the answer", window // 2),
        "buffer": tokens("buffer", "room for one more turn", window // 2),
        "micro": choice("old results", at["micro"], _MICRO, "what is done to old results"),
        "keep_recent": slider("KEEP_RECENT", at["keep_recent"], (0, 40, 1), KEEP_RECENT),
        "min_chars": slider("smallest size", at["min_chars"], (0, 10_000, 100), _SMALLEST),
        "clear_at_least": tokens("clear_at_least", _LEAST, window // 2, name="clear at least"),
        "clear_when": choice("clear when", at["clear_when"], _WHEN, "always, or when cold"),
        "keep_exchanges": slider("exchanges", at["keep_exchanges"], (0, 10, 1), _EXCHANGES),
    }


_MICRO, _WHEN = ("clear", "truncate", "trim", "off"), ("always", "cold")
_SMALLEST = "results of so many characters or fewer stay whole"
_LEAST = "clear only when so much would go"
_EXCHANGES = "how many of the newest exchanges a compaction leaves word for word"


def _step(start: Settings) -> int:
    """A step of which the start and every preset are multiples: a browser shows no others."""
    amounts = [start.context_window // 200]
    for each in bases(start).values():
        at = positions(each)
        amounts += [at[name] for name in ("window", "threshold", "reserve", "buffer")]
        amounts.append(at["clear_at_least"])
    return max(1, gcd(*amounts))
