"""Charts: the table of a replay in, a matplotlib figure out (`replay.table` names its columns).

One drawing code for the screen and for print: a `TurnChart` is laid out once and then only gets
new numbers, which is what makes a slider quick. Not here: any number that is not in the table,
the parts of the picture (artists), and pyplot, whose global state a notebook doesn't need.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import io
import struct
import textwrap
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agentlib.lab.figures import artists
from agentlib.lab.figures.artists import COLUMNS, LOOKS, MARKS, Mark, Stack

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from pandas import DataFrame

WIDTH, DPI = 7.2, 100
"""Inches, and pixels per inch: every picture is 720 pixels wide."""
_COLUMNS = 72
"""Characters that a notebook shows in one line beside the file browser on a small screen."""
_LEFT, _ACROSS, _ABOVE, _APART = 0.84, 4.85, 0.32, 0.62


class Chart(Figure):
    """A figure that a notebook shows as a picture, without pyplot."""

    def _repr_png_(self) -> bytes:
        return png(self)


class Kept:
    """A figure laid out once, of which only what moves is drawn anew: so a slider is quick."""

    def __init__(self, figure: Figure) -> None:
        self.canvas = FigureCanvasAgg(figure)
        self._ground: Any = None

    def png(self, moving: "Iterable[Artist]") -> bytes:
        """The picture with these artists as they are now; they are animated ones."""
        if self._ground is None:
            with matplotlib.style.context("default"):
                self.canvas.draw()
            self._ground = self.canvas.copy_from_bbox(self.canvas.figure.bbox)
        self.canvas.restore_region(self._ground)
        for artist in moving:
            if artist.axes:
                artist.axes.draw_artist(artist)
        return encoded(np.asarray(self.canvas.buffer_rgba())[:, :, :3])


class TurnChart:
    """Tokens over the turns by kind of block, under the wall. `update` gives it other numbers.

    `table`: a row a turn, as `replay.table` makes it. `top`: the top of the axis in tokens, so
    that pictures compare; by default what this table needs. `kinds`, `marks`: what the legend
    names beside what this table has. `ghost`: the tokens of each turn had nothing been forgotten,
    drawn until they meet the wall. Raises ValueError for a table without rows.
    """

    def __init__(
        self,
        table: "DataFrame",
        *,
        title: str = "",
        top: float | None = None,
        kinds: Iterable[str] = (),
        marks: Iterable[Mark] = (),
        ghost: Sequence[float] = (),
    ) -> None:
        known = (kinds, marks, bool(ghost))
        self.figure, (self.stack,) = _layout({title: table}, len(table), top, *known)
        self.ghost = artists.Ghost(self.stack.axes, ghost) if ghost else None
        self.kept = Kept(self.figure)
        self.update(table)

    def update(self, table: "DataFrame") -> None:
        """Give the artists the numbers of another table; `png` draws them."""
        self.stack.set(table)
        if self.ghost:
            self.ghost.set(table["window"].iloc[-1])

    def png(self) -> bytes:
        """The picture as it is now."""
        return self.kept.png([*self.stack.artists, *(self.ghost.artists if self.ghost else ())])


def turns(table: "DataFrame", *, title: str = "") -> Chart:
    """Tokens of each prompt over the turns, by kind of block, with window and compaction point."""
    return TurnChart(table, title=title).figure


def compare(
    tables: Mapping[str, "DataFrame"], *, refused: Mapping[str, str] | None = None
) -> Chart:
    """Runs of the same task below each other, on the same axes; the names are their titles.

    `refused`: by name, the API's words where it refused the request after a run's last turn.
    """
    refused = refused or {}
    last = max(len(table) + (name in refused) for name, table in tables.items())
    figure, stacks = _layout(tables, last)
    for stack, (name, table) in zip(stacks, tables.items(), strict=True):
        if name in refused:
            with matplotlib.style.context("default"):
                stack.refused(len(table) + 1, table["window"].iloc[-1], refused[name])
    return figure


def _layout(
    tables: Mapping[str, "DataFrame"],
    last: int,
    top: float | None = None,
    kinds: Iterable[str] = (),
    marks: Iterable[Mark] = (),
    ghost: bool = False,
) -> tuple[Chart, list[Stack]]:
    """A figure with a stack for each table, one above the other, and the legend below them."""
    known = list(tables.values())
    if any(table.empty for table in known):
        raise ValueError("there is no turn to draw: the table has no rows")
    shown = {*kinds, *(kind for table in known for kind in artists.kinds_of(table))}
    signs = [sign for table in known for sign in artists.places(table).items()]
    there = {*marks, *(mark for mark, (across, _) in signs if across)}
    tiers = any(map(artists.tiers_of, known))
    rows = -(-(len(shown) + len(there) + tiers + ghost) // COLUMNS)
    top = top or max(map(artists.headroom, known))
    plot, foot = 2.6 if len(known) == 1 else 1.75, 0.65 + 0.2 * rows
    high = foot + len(known) * plot + (len(known) - 1) * _APART + _ABOVE
    with matplotlib.style.context("default"):
        figure = Chart(figsize=(WIDTH, high), dpi=DPI, facecolor="white")
        stacks: list[Stack] = []
        for n, (title, table) in enumerate(tables.items()):
            bottom = high - _ABOVE - plot - n * (plot + _APART)
            axes = figure.add_axes((_LEFT / WIDTH, bottom / high, _ACROSS / WIDTH, plot / high))
            artists.frame(axes, title, top, last)
            stacks.append(Stack(axes))
            stacks[-1].set(table)
        figure.axes[-1].set_xlabel("turn (one request each)")
        signs_shown = [m for m in MARKS if m in there]
        artists.key(figure, [k for k in LOOKS if k in shown], signs_shown, tiers, ghost)
    return figure, stacks


def encoded(pixels: "np.ndarray[Any, Any]") -> bytes:
    """Rows of red, green and blue as PNG, each row as what it adds to the one above.

    Pillow weighs all five filters for every row and takes twice as long for the same size.
    """
    high, wide, _ = pixels.shape
    rows = pixels.reshape(high, 3 * wide)
    lines = np.full((high, 1 + 3 * wide), 2, np.uint8)  # 2: PNG's filter "up"
    lines[:1, 1:] = rows[:1]
    np.subtract(rows[1:], rows[:-1], out=lines[1:, 1:])
    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    parts = {b"IHDR": head, b"IDAT": zlib.compress(lines.tobytes(), 1), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    )


def png(figure: Figure) -> bytes:
    """A figure as PNG, whole, without a date: the same numbers give the same bytes."""
    buffer = io.BytesIO()
    with matplotlib.style.context("default"):
        figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def sentence(table: "DataFrame") -> str:
    """What the chart shows, in words: for those who can't see it, and to be sure of it.

    >>> from pandas import DataFrame
    >>> quiet = {"compaction": None, "summary_from": None, "billed_from": "recorded"}
    >>> print(sentence(DataFrame({"tokens": [40, 90], "cleared": [0, 2], "window": 100, **quiet})))
    2 turns, 130 tokens sent in all; largest prompt 90 tokens at turn 2, 90%
    of the window of 100; 0 compactions, 2 results cleared.
    """
    if table.empty:
        return "No request yet."
    window, sent = int(table["window"].iloc[-1]), [int(n) for n in table["tokens"]]
    peak, over = max(sent), [turn for turn, n in enumerate(sent, 1) if n > window]
    parts = [
        f"{_count(len(table), 'turn')}, {sum(sent):,} tokens sent in all",
        f"largest prompt {peak:,} tokens at turn {sent.index(peak) + 1}, "
        f"{100 * peak // window}% of the window of {window:,}",
        _forgotten(table),
    ]
    if weighed := int((table["billed_from"] == "weighed").sum()):
        parts.append(f"{_count(weighed, 'prompt')} weighed, not billed")
    if over:
        parts.append(f"at turn {over[0]} the prompt is over the window: the API would refuse it")
    return textwrap.fill("; ".join(parts) + ".", _COLUMNS)


def _forgotten(table: "DataFrame") -> str:
    done = table["compaction"].isin(["auto", "manual", "reactive"])
    stand_ins = int((done & (table["summary_from"] == "stand-in")).sum())
    text = _count(int(done.sum()), "compaction")
    text += f" ({stand_ins} with a stand-in summary)" if stand_ins else ""
    return f"{text}, {_count(int(table['cleared'].sum()), 'result')} cleared"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def svg(figure: Figure) -> bytes:
    """A figure as SVG for print, words as paths; the same numbers give the same bytes."""
    buffer = io.BytesIO()
    with matplotlib.style.context(["default", {"svg.hashsalt": "agentlib"}]):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
