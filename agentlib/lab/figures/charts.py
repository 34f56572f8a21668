"""The chart of turns: tokens of each prompt by kind of block, under the window.

It draws the table of a replay, a row per turn (`replay.table` names the columns).
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle

from agentlib.lab.figures import style
from agentlib.lab.figures.style import DARK, GHOST, GREY, LOOKS, NAMES, RED, Chart, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from pandas import DataFrame

NOTES = {"auto": "never sent, summarised instead", "manual": "compacted on request",
         "reactive": "refused, then summarised"}  # fmt: skip
"""The words above the first ghost bar, by the reason to compact."""
_LEFT, _ACROSS, _HEAD, _FOOT, _APART = 0.68, 5.05, 0.45, 0.52, 0.62
_LINE, _GHOST = 12.5, 9.0
"""Points: the height of a line of words, the width of a ghost bar."""


class TurnChart(Chart):
    """Runs below each other on the same axes. `update` gives them other numbers.

    `tables`: by name, a row per turn. `top`: the top of the axis in tokens, and `turns`: the
    turns it has room for; by default, what these tables need. `refused`: by name, the API's words
    about the request after the last turn. `tiers`: shares of the window to mark. Raises ValueError
    for a table without rows.
    """

    @style.plain
    def __init__(
        self,
        tables: Mapping[str, "DataFrame"],
        *,
        title: str = "",
        top: float = 0,
        turns: int = 0,
        refused: Mapping[str, str] | None = None,
        tiers: Sequence[float] = (),
    ) -> None:
        runs, refused = list(tables.values()), refused or {}
        if any(table.empty for table in runs):
            raise ValueError("there is no turn to draw: the table has no rows")
        super().__init__(2.45 + 1.52 * len(runs), title)
        sizes = [_size(words, 0) for words in refused.values()]
        sizes += [t[name].max() for t in runs for name in ("window", "tokens", "replaced_tokens")]
        turns = turns or max(len(table) + (name in refused) for name, table in tables.items())
        head = (_HEAD if title else 0.08) + (0.32 if any(tables) else 0)
        plot = (self.height - head - _FOOT + _APART) / len(runs) - _APART
        self.stacks: list[Stack] = []
        for place, (name, table) in enumerate(tables.items(), 1):
            bottom = _FOOT + (len(runs) - place) * (plot + _APART)
            axes = self.frame(_LEFT, bottom, _ACROSS, plot, name)
            axes.set(xlim=(0.5, turns + 0.5), ylim=(0, top or 1.15 * max(sizes)))
            axes.set_ylabel("tokens in the prompt")
            axes.yaxis.set_major_formatter(
                lambda tokens, _: f"{tokens / 1_000:g}k" if tokens else "0"
            )
            self.stacks.append(Stack(axes, plot, refused.get(name, "")))
            self.stacks[-1].set(table)
            for share in tiers:
                size = share * table["window"].iloc[-1]
                axes.axhline(size, color=GREY, linestyle=":", linewidth=0.8)
                axes.text(0.7, size, f"{share:.0%}", fontsize=8, color=GREY, va="top")
        self.figure.axes[-1].set_xlabel("turn (one request each)")

    def update(self, *tables: "DataFrame") -> None:
        """Give the runs the numbers of other tables. `png` draws them."""
        if not self.moving:
            self.move(
                (artist for stack in self.stacks for artist in stack.artists),
                (text for stack in self.stacks for text in stack.words),
            )
        for stack, table in zip(self.stacks, tables, strict=True):
            stack.set(table)


def turns(table: "DataFrame", *, title: str = "", refused: str = "", **options: Any) -> TurnChart:
    """Draw one run. `refused`: the API's words. The other options are those of `TurnChart`."""
    return TurnChart({"": table}, title=title, refused={"": refused} if refused else {}, **options)


def compare(tables: Mapping[str, "DataFrame"], **options: Any) -> TurnChart:
    """Draw runs of the same task below each other. The options are those of `TurnChart`."""
    return TurnChart(tables, **options)


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


class Stack:
    """The artists of one run. `height`: inches of the axes; `words`: the API's, if it refused."""

    def __init__(self, axes: "Axes", height: float, words: str = "") -> None:
        self.refusal = words
        (_, end), (_, top) = axes.get_xlim(), axes.get_ylim()
        self.columns, self.top = round(end - 0.5), top
        self.column, self.point = 72 * _ACROSS / self.columns, top / (72 * height)
        self.steps = {
            kind: axes.stairs([0.0], baseline=0.0, **look.fill()) for kind, look in LOOKS.items()
        }
        self.total = axes.stairs([0.0], baseline=None, color=GREY, linewidth=0.8)
        self.veil = axes.add_patch(Rectangle((0, 0), 0, top, color="white", alpha=0.75))
        self.over = axes.stairs([0.0], baseline=0.0, fill=True, color=RED, alpha=0.45, zorder=2.5)

        def line(**looks: Any) -> "Line2D":
            return axes.plot([], [], **looks)[0]

        self.boxes, self.falls = line(**GHOST), line(color=RED, linewidth=1.8)
        self.poles = line(color=LOOKS["summary"].colour, linewidth=3, solid_capstyle="butt")
        self.heads = line(color=RED, marker="v", linestyle="", markersize=6)
        self.crosses = line(color=RED, marker="X", linestyle="", markersize=9, markeredgecolor="w")
        self.window = Level(axes, "window", "-", 2.6, DARK, "bottom")
        self.threshold = Level(axes, "compacts\nat", "--", 1.3, RED, "top")
        self.key = {kind: Entry(axes, NAMES[kind], look.colour) for kind, look in LOOKS.items()}
        self.key["pole"] = Entry(axes, "summary request", LOOKS["summary"].colour, "|")
        self.key["failed"] = Entry(axes, "failed attempt", RED, "X")
        looks: Any = {"fontsize": 9, "color": GREY, "clip_on": True}
        self.leader, self.note = line(color=GREY, linewidth=0.8), axes.text(0, 0, "", **looks)
        self.refused = axes.text(0, 0, "", fontsize=9, color=RED, clip_on=True)
        self.words = [text for text in axes.texts if not text.get_clip_on()]
        artists = [*axes.patches, *axes.lines, *axes.texts]
        moving = [artist for artist in artists if artist not in self.words]
        self.artists = sorted(moving, key=lambda artist: artist.get_zorder())

    def set(self, table: "DataFrame") -> None:
        """Take the numbers of a table."""
        tokens, window = table["tokens"].to_numpy(), float(table["window"].iloc[-1])
        edges = np.arange(len(table) + 1) + 0.5
        ends = np.cumsum([0 * tokens, *(table[kind] for kind in LOOKS)], axis=0)
        for step, below, above in zip(self.steps.values(), ends, ends[1:], strict=False):
            step.set_data(above, edges, below)
            step.set_visible(bool((above > below).any()))
        self.total.set_data(tokens, edges)
        self.window.set(window)
        self.threshold.set(table["threshold"].iloc[-1])
        self._set_compactions(table, tokens)
        self._set_refused(tokens, window)
        self._set_note(table, window)
        self._set_names(table, ends, window)

    def _set_compactions(self, table: "DataFrame", tokens: Any) -> None:
        """Draw the prompts that were compacted, the requests for summaries, and the falls."""
        names, sizes = table["compaction"].to_list(), table["replaced_tokens"].to_list()
        wide = _GHOST / self.column
        boxes, falls, heads = list[Any](), list[Any](), list[Any]()
        for turn, (name, size) in enumerate(zip(names, sizes, strict=True)):
            if name in NOTES:
                left, right = turn + 0.5, turn + 0.5 + wide
                middle, end = left + 0.64 * wide, tokens[turn]
                boxes += [(left, 0), (left, size), (right, size), (right, 0), (np.nan, 0)]
                falls += [(middle, size), (middle, end + 6 * self.point), (np.nan, 0)]
                heads += [(middle, end + 4 * self.point)]
        asked = [(n + 0.5 + 0.2 * wide, size) for n, size in enumerate(table["summary_request"])]
        poles = [p for x, size in asked if size for p in ((x, 0), (x, size), (np.nan, 0))]
        failed = [n for n, name in enumerate(names) if name == "failed"]
        crosses = [(n + 1, tokens[n] + 7 * self.point) for n in failed]
        lines = {self.boxes: boxes, self.poles: poles, self.falls: falls, self.heads: heads}
        lines[self.crosses] = crosses
        for line, corners in lines.items():
            line.set_data(*np.reshape(corners, (-1, 2)).T)

    def _set_refused(self, tokens: Any, window: float) -> None:
        """Draw the first refused prompt as a bar through the wall, and pale what follows it."""
        over, words = wall_turn(tokens, window), self.refusal
        turn = over or len(tokens) + 1
        size = tokens[over - 1] if over else _size(words, window)
        self.veil.set(x=turn + 0.5, width=len(tokens) - turn if over else 0)
        self.over.set_data([size], [turn - 0.5, turn + 0.5], 0)
        words = f"refused: {size:,.0f} tokens" if over else words
        for artist in (self.over, self.refused):
            artist.set_visible(bool(words))
        self.refused.set_text(words)
        high = min(size, self.top - 16 * self.point) + 4 * self.point
        self.refused.set_position((self._left(turn - points(words) / self.column / 2, words), high))

    def _set_note(self, table: "DataFrame", window: float) -> None:
        """Say above the window what the first ghost is, if nothing else stands there."""
        names, sizes = table["compaction"].to_list(), table["replaced_tokens"].to_list()
        first = next((n for n, name in enumerate(names) if name in NOTES), None)
        is_free = max(sizes) <= window and not self.refused.get_visible()
        for artist in (self.note, self.leader):
            artist.set_visible(first is not None and is_free)
        if first is not None:
            x, words = first + 0.5 + 0.5 * _GHOST / self.column, NOTES[names[first]]
            self.leader.set_data([x, x], [sizes[first], window + 5 * self.point])
            side = "left" if self._left(x, words) == x else "right"
            self.note.set(text=words, x=x, y=window + 6 * self.point, ha=side)

    def _left(self, x: float, words: str) -> float:
        """Return where words begin that are to begin at x, so that they end within the axes."""
        return max(0.5, min(x, self.columns + 0.5 - points(words) / self.column))

    def _set_names(self, table: "DataFrame", ends: Any, window: float) -> None:
        """Name each kind in its area if there is room, or else at the right."""
        names, threshold = table["compaction"].to_list(), float(table["threshold"].iloc[-1])
        roof = threshold if 0 < threshold < window else window
        busy = np.cumsum(ends[-1] > window) > 0  # from the refused prompt on
        for n in (n for n, name in enumerate(names) if name in NOTES):
            busy[n : n + int(-(-_GHOST // self.column))] = True
        there = {"pole": table["summary_request"].any(), "failed": "failed" in names}
        for kind, below, above in zip(LOOKS, ends, ends[1:], strict=False):
            low, high = np.where(busy, np.inf, below), above.clip(max=roof)
            span = int(-(-self.key[kind].width // self.column))
            is_named = self.key[kind].put(_place(low, high, span, _LINE * self.point))
            there[kind] = not is_named and (above - below > 1.2 * self.point).any()
        y, line = _LINE * self.point / 2, _LINE * self.point
        needed, reach = line * sum(map(bool, there.values())), 2.6 * line
        rise = reach * (needed > threshold - reach and window > window - threshold > reach)
        self.threshold.text.set_y(threshold + rise)  # the label stands above if the key needs room
        levels = (window - 0.6 * line, 2.2 * line), (threshold - reach + rise, 3.2 * line)
        for name, entry in self.key.items():
            while any(0 < y - low < high for low, high in levels):
                y += line / 4
            entry.list(self.columns + 0.5, y, 10 / self.column, is_there=bool(there[name]))
            y += line * bool(there[name])


def _place(low: Any, high: Any, span: int, height: float) -> tuple[float, float] | None:
    """Return the middle of the place with most room between two edges, None if it's too small.

    >>> _place(np.array([0, 0, 0, 0]), np.array([9, 20, 22, 9]), 2, 10)
    (2.5, 10.0)
    """
    if len(low) < span:
        return None
    view = np.lib.stride_tricks.sliding_window_view
    floor, roof = view(low, span).max(axis=1), view(high, span).min(axis=1)
    best = int((roof - floor).argmax())
    if roof[best] - floor[best] < height:
        return None
    return best + 0.5 + span / 2, float(floor[best] + roof[best]) / 2


class Entry:
    """The name of a kind: in its area, or at the right of the axes with a swatch."""

    def __init__(self, axes: "Axes", name: str, colour: str, marker: str = "s") -> None:
        sign, ink = ("$////$", GREY) if colour == "#FFFFFF" else (marker, colour)  # as the area is
        looks: Any = {"marker": sign, "color": ink, "markersize": 7, "clip_on": False, "mec": ink}
        looks |= {"mew": 3 if marker == "|" else 0.4 if sign != marker else 1}
        (self.swatch,) = axes.plot([], [], linestyle="", **looks)
        words: Any = {"s": name, "fontsize": 9, "va": "center_baseline", "visible": False}
        self.inside = axes.text(
            0, 0, color=style.ink_on(colour), ha="center", clip_on=True, **words
        )
        self.beside = axes.text(0, 0, color=DARK, **words)
        self.width = points(name) + 6

    def put(self, place: tuple[float, float] | None) -> bool:
        """Write the name at a place within the area, or nowhere."""
        self.inside.set_visible(place is not None)
        self.inside.set_position(place or (0, 0))
        return place is not None

    def list(self, x: float, y: float, step: float, *, is_there: bool) -> None:
        """Write the name at the right of x, behind its swatch."""
        self.swatch.set(visible=is_there, data=([x + step], [y]))
        self.beside.set(x=x + 1.7 * step, y=y, visible=is_there)


class Level:
    """A line across the axes, named at its right end."""

    def __init__(
        self, axes: "Axes", name: str, style: str, width: float, colour: str, side: str
    ) -> None:
        self.name = name
        self.line = axes.axhline(0, color=colour, linestyle=style, linewidth=width)
        looks: Any = {"fontsize": 9, "color": colour, "va": side, "linespacing": 1.1}
        self.text = axes.text(1.015, 0, "", transform=axes.get_yaxis_transform(), **looks)

    def set(self, tokens: float) -> None:
        """Move the line to `tokens`. Without such a level (NaN or 0) it isn't drawn."""
        for artist in (self.line, self.text):
            artist.set_visible(tokens > 0)
        self.line.set_ydata([tokens, tokens])
        self.text.set(y=tokens, text=f"{self.name} {tokens:,.0f}")


def sentence(table: "DataFrame") -> str:
    """Say what the chart shows, for those who can't see it.

    >>> from pandas import DataFrame
    >>> quiet = {"compaction": None, "summary_from": "", "billed_from": "", "summary_request": 0}
    >>> print(sentence(DataFrame({"tokens": [40, 90], "cleared": [0, 2], "window": 100, **quiet})))
    2 turns, 130 tokens sent in all; largest prompt 90 tokens at turn 2, 90%
    of the window of 100; 0 compactions, 2 results cleared.
    """
    if table.empty:
        return "No request yet."
    window, sent = int(table["window"].iloc[-1]), [int(n) for n in table["tokens"]]
    asked = int(table["summary_request"].sum())
    whole = f", {asked:,} of them to ask for summaries" if asked else ""
    done = table["compaction"].isin(["auto", "manual", "reactive"])
    stand_ins = int((done & (table["summary_from"] == "stand-in")).sum())
    compactions = style.many(int(done.sum()), "compaction")
    compactions += f" ({stand_ins} with a stand-in summary)" if stand_ins else ""
    parts = [
        f"{style.many(len(table), 'turn')}, {sum(sent) + asked:,} tokens sent in all{whole}",
        f"largest prompt {max(sent):,} tokens at turn {sent.index(max(sent)) + 1}, "
        f"{100 * max(sent) // window}% of the window of {window:,}",
        f"{compactions}, {style.many(int(table['cleared'].sum()), 'result')} cleared",
    ]
    if weighed := int((table["billed_from"] == "weighed").sum()):
        parts.append(f"{style.many(weighed, 'prompt')} weighed, not billed")
    if turn := wall_turn(sent, window):
        parts.append(f"at turn {turn} the prompt is over the window: the API would refuse it")
    return style.wrapped("; ".join(parts) + ".")
