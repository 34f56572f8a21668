"""The chart of turns: tokens of each prompt by kind of block, under the window.

It draws the table of a replay, a row per turn (`replay.table` names the columns).
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from pandas import DataFrame

from session_report import style
from session_report.amounts import many
from session_report.style import DARK, GREY, LOOKS, NAMES, RED, Chart, level, points

NOTES = {"auto": "never sent, summarised instead", "manual": "compacted on request",
         "reactive": "refused, then summarised"}  # fmt: skip
"""The words above the first ghost bar, by the reason to compact."""
_LEFT = 0.68
_ACROSS = 5.05
_HEAD = 0.45
_FOOT = 1.03
_APART = 0.62
_LINE = 12.5
_GHOST = 9.0
"""Points: the height of a line of words, the width of a ghost bar."""
_GHOSTS: Any = {
    "color": GREY,
    "gapcolor": "white",
    "linestyle": (0, (1, 1)),
    "linewidth": 1.4,
}
"""The lines of prompts that were never sent."""


@style.plain
def compare(
    tables: Mapping[str, DataFrame],
    *,
    title: str = "",
    top: float = 0,
    turns: int = 0,
    refused: Mapping[str, str] | None = None,
    tiers: Sequence[float] = (),
) -> Chart:
    """Draw runs of the same task below each other on the same axes.

    `tables`: by name, a row per turn. `top`: the top of the axis in tokens, and
    `turns`: the turns it has room for. By default both are as these tables need.
    `refused`: by name, the API's words about the request after the last turn. `tiers`:
    shares of the window to mark. Raises ValueError for a table without rows.
    """
    runs = list(tables.values())
    refused = refused or {}
    if any(table.empty for table in runs):
        raise ValueError("there is no turn to draw: the table has no rows")
    chart = Chart(2.96 + 1.52 * len(runs), title)
    sizes = [_size(words, 0) for words in refused.values()]
    sizes += [
        t[name].max() for t in runs for name in ("window", "tokens", "replaced_tokens")
    ]
    turns = turns or max(
        len(table) + (name in refused) for name, table in tables.items()
    )
    head = (_HEAD if title else 0.08) + (0.32 if any(tables) else 0)
    plot = (chart.height - head - _FOOT + _APART) / len(runs) - _APART
    for place, (name, table) in enumerate(tables.items(), 1):
        bottom = _FOOT + (len(runs) - place) * (plot + _APART)
        axes = chart.frame(_LEFT, bottom, _ACROSS, plot, name)
        axes.set(xlim=(0.5, turns + 0.5), ylim=(0, top or 1.15 * max(sizes)))
        axes.set_ylabel("tokens in the prompt")
        axes.yaxis.set_major_formatter(
            lambda tokens, _: f"{tokens / 1_000:g}k" if tokens else "0"
        )
        _Run(axes, plot, table).draw(refused.get(name, ""), tiers)
    chart.figure.axes[-1].set_xlabel("turn (one request each)")
    chart.key(columns=5)
    return chart


def turns(table: DataFrame, **options: Any) -> Chart:
    """Draw one run. The options are those of `compare`."""
    return compare({"": table}, **options)


def _size(words: str, otherwise: float) -> float:
    """Take the size of the refused prompt from the API's words.

    >>> _size("prompt is too long: 36535 tokens > 32000 maximum", 0)
    36535.0
    """
    found = re.search(r"(\d+) tokens", words)
    return float(found[1]) if found else otherwise


def wall_turn(tokens: Iterable[float], window: float) -> int | None:
    """Find the first turn whose prompt is larger than the window.

    >>> wall_turn([40, 90, 120, 130], 100)
    3
    """
    return next((turn for turn, size in enumerate(tokens, 1) if size > window), None)


class _Run:
    """One run on its axes, which are `height` inches high.

    The legend has the artists with a label that doesn't begin with "_".
    """

    def __init__(self, axes: Axes, height: float, table: DataFrame) -> None:
        (_, end) = axes.get_xlim()
        (_, self.top) = axes.get_ylim()
        self.axes = axes
        self.columns = round(end - 0.5)
        # Points of the page that a turn takes, and tokens that a point stands for.
        self.column = 72 * _ACROSS / self.columns
        self.point = self.top / (72 * height)
        self.tokens = table["tokens"].to_numpy()
        self.replaced = table["replaced_tokens"].to_numpy()
        self.asked = table["summary_request"].to_numpy()
        self.names = list(table["compaction"])
        self.failed = table.get(
            "summary_failed", table["summary_request"] < 0
        ).to_numpy()
        self.compacted = np.flatnonzero(table["compaction"].isin(NOTES))
        self.window = float(table["window"].iloc[-1])
        self.threshold = float(table["threshold"].iloc[-1])
        self.ends = np.cumsum(
            [0 * self.tokens, *(table[kind] for kind in LOOKS)], axis=0
        )

    def draw(self, refusal: str, tiers: Sequence[float]) -> None:
        """Draw all of it. `refusal`: the API's words about the request after the last
        turn."""
        self._areas()
        over = wall_turn(self.tokens, self.window)
        if over or refusal:
            self._refused(over, refusal)
        self._compactions()
        level(self.axes, "window ", self.window, "bottom", color=DARK, lw=2.6)
        if self.threshold > 0:
            level(
                self.axes, "compacts\nat ", self.threshold, color=RED, ls="--", lw=1.3
            )
        if (
            len(self.compacted)
            and not (over or refusal)
            and max(self.replaced) <= self.window
        ):
            self._note(self.compacted[0])
        for share in tiers:
            size = share * self.window
            self.axes.axhline(size, color=GREY, linestyle=":", linewidth=0.8)
            self.axes.text(0.7, size, f"{share:.0%}", fontsize=8, color=GREY, va="top")

    def _areas(self) -> None:
        """Draw the kinds on each other. Those without room for their name go into the
        legend."""
        edges = np.arange(len(self.tokens) + 1) + 0.5
        for (kind, look), low, high in zip(
            LOOKS.items(), self.ends, self.ends[1:], strict=False
        ):
            if (high > low).any():
                area = self.axes.stairs(high, edges, baseline=low, **look.fill())
                is_thin = (high - low).max() <= 1.2 * self.point
                area.set_label(
                    f"_{kind}"
                    if self._named(kind, low, high) or is_thin
                    else NAMES[kind]
                )
        quiet: Any = {"color": GREY, "linewidth": 0.8}
        self.axes.stairs(self.tokens, edges, baseline=None, label="_total", **quiet)

    def _named(self, kind: str, below: Any, above: Any) -> bool:
        """Write the name of a kind into its area, if it has room somewhere."""
        roof = self.threshold if 0 < self.threshold < self.window else self.window
        busy = np.cumsum(self.ends[-1] > self.window) > 0  # from the refused prompt on
        busy |= self.asked > 0
        for n in self.compacted:
            busy[n : n + math.ceil(_GHOST / self.column)] = True
        span = math.ceil((points(NAMES[kind]) + 6) / self.column)
        low = np.where(busy, np.inf, below)
        high = above.clip(max=roof)
        place = _place(low, high, span, _LINE * self.point)
        if place:
            looks: Any = {"color": style.ink_on(LOOKS[kind].colour), "clip_on": True}
            self.axes.text(
                *place, NAMES[kind], ha="center", va="center_baseline", **looks
            )
        return bool(place)

    def _refused(self, over: int | None, words: str) -> None:
        """Draw the first refused prompt as a bar through the wall, and pale what
        follows it."""
        turn = over or len(self.tokens) + 1
        size = self.tokens[over - 1] if over else _size(words, self.window)
        if over:
            words = f"refused: {size:,.0f} tokens"
            pale: Any = {"alpha": 0.75, "label": "_veil"}
            self.axes.axvspan(over + 0.5, len(self.tokens) + 0.5, color="white", **pale)
        looks: Any = {"color": RED, "alpha": 0.45, "zorder": 2.5, "label": "_refused"}
        self.axes.stairs([size], [turn - 0.5, turn + 0.5], fill=True, **looks)
        wide = points(words) / self.column
        x = max(0.5, min(turn - wide / 2, self.columns + 0.5 - wide))
        y = min(size, self.top - 16 * self.point) + 4 * self.point
        self.axes.text(x, y, words, color=RED, clip_on=True)

    def _compactions(self) -> None:
        """Draw the prompts that were compacted, the requests for summaries, and the
        falls."""
        axes = self.axes
        wide = _GHOST / self.column
        left = self.compacted + 0.5
        high = self.replaced[self.compacted]
        right = left + wide
        middle = left + 0.64 * wide
        end = self.tokens[self.compacted]
        axes.plot(
            [left, left, right, right], [0 * high, high, high, 0 * high], **_GHOSTS
        )
        axes.vlines(middle, end + 6 * self.point, high, RED, linewidth=1.8)
        axes.plot(
            middle, end + 4 * self.point, "v", color=RED, markersize=6, label="_head"
        )
        asked = np.flatnonzero(self.asked)
        if len(asked):
            looks: Any = {"color": DARK, "label": "summary request"}
            axes.vlines(
                asked + 0.5 + 0.2 * wide, 0, self.asked[asked], linewidth=3, **looks
            )
        failed = np.flatnonzero([name == "failed" for name in self.names])
        # Cut to size after its request for a summary had failed, too.
        cut = [n for n in self.compacted if self.failed[n] and self.asked[n]]
        if len(failed) or cut:
            cross: Any = {
                "color": RED,
                "markersize": 9,
                "mec": "w",
                "label": "failed attempt",
            }
            x = [*(failed + 1), *(n + 0.5 + 0.2 * wide for n in cut)]
            heights = [*self.tokens[failed], *self.asked[cut]]
            y = [height + 7 * self.point for height in heights]
            axes.plot(x, y, "X", **cross)

    def _note(self, first: int) -> None:
        """Say above the window what the first ghost is."""
        x = first + 0.5 + 0.5 * _GHOST / self.column
        low = self.window + 5 * self.point
        self.axes.vlines(x, self.replaced[first], low, GREY, linewidth=0.8)
        side = "left" if x - 0.5 < self.columns / 2 else "right"
        self.axes.text(
            x, low + self.point, NOTES[self.names[first]], color=GREY, ha=side
        )


def _place(low: Any, high: Any, span: int, height: float) -> tuple[float, float] | None:
    """Return the middle of the place with most room between two edges, None if it's too
    small.

    >>> _place(np.array([0, 0, 0, 0]), np.array([9, 20, 22, 9]), 2, 10)
    (2.5, 10.0)
    """
    if len(low) < span:
        return None
    view = np.lib.stride_tricks.sliding_window_view
    floor = view(low, span).max(axis=1)
    roof = view(high, span).min(axis=1)
    best = int((roof - floor).argmax())
    if roof[best] - floor[best] < height:
        return None
    return best + 0.5 + span / 2, float(floor[best] + roof[best]) / 2


def sentence(table: DataFrame) -> str:
    """Say what the chart shows, for those who can't see it.

    >>> from pandas import DataFrame
    >>> quiet = {"compaction": None, "summary_request": 0}
    >>> print(sentence(DataFrame({"tokens": [40, 90], "cleared": [0, 2], "window": 100, **quiet})))
    2 turns, 130 tokens sent in all; largest prompt 90 tokens at turn 2, 90%
    of the window of 100; 0 compactions, 2 results cleared.
    """
    window = int(table["window"].iloc[-1])
    sent = [int(n) for n in table["tokens"]]
    asked = int(table["summary_request"].sum())
    largest = max(sent)
    text = f"{many(len(table), 'turn')}, {sum(sent) + asked:,} tokens sent in all"
    text += f", {asked:,} of them to ask for summaries" if asked else ""
    text += f"; largest prompt {largest:,} tokens at turn {sent.index(largest) + 1}, "
    text += f"{100 * largest // window}% of the window of {window:,}; "
    text += f"{many(int(table['compaction'].isin(NOTES).sum()), 'compaction')}, "
    return style.wrapped(
        f"{text}{many(int(table['cleared'].sum()), 'result')} cleared."
    )
