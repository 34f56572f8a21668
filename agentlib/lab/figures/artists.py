"""The parts of a chart of turns: the palette, and the artists that get new numbers.

Every kind of block has one colour and one pattern through the whole course, so that neither
stands alone. Not here: whole figures, and how they are shown (charts).
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from matplotlib.transforms import offset_copy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


@dataclass(frozen=True)
class Look:
    """How one kind of block is drawn: a colour of Okabe and Ito (or a grey), and a pattern."""

    colour: str
    pattern: str = ""


LOOKS: Mapping[str, Look] = {
    "system": Look("#8C8C8C"),
    "tools": Look("#D0D0D0", "////"),
    "user": Look("#D55E00"),
    "assistant": Look("#0072B2"),
    "thinking": Look("#56B4E9", "++++"),
    "tool_use": Look("#009E73", "\\\\\\\\"),
    "tool_result": Look("#E69F00"),
    "image": Look("#CC79A7", "xxxx"),
    "placeholder": Look("#FFFFFF", "...."),
    "summary": Look("#F0E442", "----"),
}
"""The kinds of block, from the bottom of the stack to its top."""


COLUMNS = 4
"""Of the legend."""


@dataclass(frozen=True)
class Mark:
    """A sign above a turn: filled, or hollow for a stand-in summary."""

    label: str
    compaction: str
    sign: str
    stand_in: bool = False


MARKS = (
    Mark("auto-compaction", "auto", "v"),
    Mark("auto, stand-in", "auto", "v", stand_in=True),
    Mark("manual compaction", "manual", "D"),
    Mark("manual, stand-in", "manual", "D", stand_in=True),
    Mark("reactive", "reactive", "^"),
    Mark("reactive, stand-in", "reactive", "^", stand_in=True),
    Mark("failed compaction", "failed", "X"),
)
"""The signs for what happened before a request."""

_DARK, _REFUSED = "#111111", "#A02C00"
_FAINT: dict[str, Any] = {"color": "#555555", "linestyle": (0, (1, 1)), "linewidth": 2.0}
_TICK: dict[str, Any] = {"marker": 0, "color": _DARK, "linestyle": "none", "markersize": 8}
"""A tier: a short line at the right edge, pointing into the chart."""


def places(table: "DataFrame") -> dict[Mark, tuple[list[float], list[float]]]:
    """Where each mark stands: on the left edge of its turn, at the higher of the two steps."""
    columns = (table["tokens"], table["compaction"], table["summary_from"])
    found: dict[Mark, tuple[list[float], list[float]]] = {mark: ([], []) for mark in MARKS}
    before = 0.0
    for turn, (tokens, compaction, summary) in enumerate(zip(*columns, strict=True), 1):
        for mark in MARKS if isinstance(compaction, str) else ():
            hollow = summary == "stand-in" and compaction != "failed"
            if (mark.compaction, mark.stand_in) == (compaction, hollow):
                found[mark][0].append(turn - 0.5)
                found[mark][1].append(max(before, tokens))
        before = tokens
    return found


def kinds_of(table: "DataFrame") -> list[str]:
    """The kinds of block that a table has any tokens of."""
    return [kind for kind in LOOKS if (table[kind] > 0).any()]


def headroom(table: "DataFrame") -> float:
    """The top of an axis that shows all of a table, with room above for signs and words."""
    return 1.15 * max(table["window"].max(), table["tokens"].max())


def frame(axes: "Axes", title: str, top: float, last: int) -> None:
    """What no number of a turn changes: axes, grid, title."""
    axes.set(xlim=(0.5, max(last, 1) + 0.5), ylim=(0, top), ylabel="tokens in the prompt")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 4, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def tiers_of(table: "DataFrame") -> list[float]:
    """Where the loop reports that the context is filling up, in tokens of this table's window."""
    return [share * table["window"].iloc[-1] for share in table.attrs.get("warn_at", ())]


def key(
    figure: Figure, kinds: Sequence[str], marks: Sequence[Mark], tiers: bool, ghost: bool = False
) -> None:
    """The legend, at the foot of the figure, in columns."""
    entries: list[Any] = [Patch(label=kind, **_filled(LOOKS[kind])) for kind in kinds]
    entries += [Line2D([], [], label=mark.label, **_signed(mark)) for mark in marks]
    entries += [Line2D([], [], label="warning tiers", **_TICK)] if tiers else []
    entries += [Line2D([], [], label="nothing forgotten", **_FAINT)] if ghost else []
    figure.legend(handles=entries, loc="lower left", bbox_to_anchor=(0.1, 0), ncols=COLUMNS,
                  fontsize=9, frameon=False, handlelength=1.6, columnspacing=1.4)  # fmt: skip


class Stack:
    """The artists that get new numbers: a step for each kind, two levels, the signs."""

    def __init__(self, axes: "Axes") -> None:
        self.axes = axes
        self.steps: dict[str, Any] = {
            kind: axes.stairs([0], baseline=0, animated=True, **_filled(look))
            for kind, look in LOOKS.items()
        }
        self.total = axes.stairs([0], baseline=None, color=_DARK, linewidth=0.9, animated=True)
        above = offset_copy(axes.transData, axes.get_figure(root=True), y=6, units="points")
        self.signs = {mark: Line2D([], [], transform=above, **_signed(mark)) for mark in MARKS}
        for sign in self.signs.values():
            sign.set(animated=True, clip_on=False)
            axes.add_artist(sign)
        edge = axes.get_yaxis_transform()
        self.tiers = Line2D([], [], transform=edge, animated=True, clip_on=False, **_TICK)
        axes.add_artist(self.tiers)
        self.window = Level(axes, "window", "-", 2.2, "bottom")
        self.threshold = Level(axes, "compacts at", "--", 1.4, "top")
        for height, artist in enumerate(self.artists):
            artist.set_zorder(3 + height / 100)  # above the frame, on the screen as in print

    def set(self, table: "DataFrame") -> None:
        """Take the numbers of a table; nothing is drawn yet."""
        edges: Sequence[float] = [n + 0.5 for n in range(len(table) + 1)]
        below = table["tokens"].to_numpy() * 0.0
        for kind, step in self.steps.items():
            above = below + table[kind].to_numpy()
            step.set_data(above, edges, below)
            step.set_visible(bool((above > below).any()))
            below = above
        self.total.set_data(table["tokens"].to_numpy(), edges)
        for mark, (across, up) in places(table).items():
            self.signs[mark].set_data(across, up)
        tiers = tiers_of(table)
        self.tiers.set_data([1.0] * len(tiers), tiers)
        self.window.set(table["window"].iloc[-1])
        self.threshold.set(table["threshold"].iloc[-1])

    def refused(self, turn: int, window: float, words: str) -> None:
        """The request that never came to be: a cross on the wall, and the API's words above it."""
        third = int(3 * turn / (self.axes.get_xlim()[1] + 1))
        side, shift = (("left", -6), ("center", 0), ("right", 6))[third]
        self.axes.bar(turn, window, width=1, fill=False, edgecolor=_REFUSED, linestyle=":")
        self.axes.plot(turn, window, marker="X", color=_REFUSED, markersize=10, zorder=5)
        self.axes.annotate(words, (turn, window), xytext=(shift, 9), textcoords="offset points",
                           horizontalalignment=side, fontsize=9, color=_REFUSED)  # fmt: skip

    @property
    def artists(self) -> list[Any]:
        """Back to front."""
        levels = [*self.window.artists, *self.threshold.artists]
        return [*self.steps.values(), self.total, self.tiers, *levels, *self.signs.values()]


class Ghost:
    """The same session with nothing forgotten: a dotted line, up to a cross at the wall."""

    def __init__(self, axes: "Axes", tokens: Sequence[float]) -> None:
        self.tokens = tokens
        self.edge: Any = axes.stairs([0], baseline=None, color="white", linewidth=3.6)
        self.line: Any = axes.stairs([0], baseline=None, **_FAINT)
        (self.cross,) = axes.plot([], [], marker="X", color=_REFUSED, markersize=9, animated=True)
        for height, artist in enumerate(self.artists):
            artist.set(animated=True, zorder=3.5 + height / 100)

    @property
    def artists(self) -> tuple[Any, ...]:
        """Back to front."""
        return (self.edge, self.line, self.cross)

    def dies(self, window: float) -> int | None:
        """The turn whose prompt is past the window, or None."""
        over = (turn for turn, tokens in enumerate(self.tokens, 1) if tokens > window)
        return next(over, None)

    def set(self, window: float) -> None:
        """Another wall."""
        dies = self.dies(window)
        alive = list(self.tokens if dies is None else self.tokens[: dies - 1])
        shown = alive if dies is None else [*alive, window]
        edges = [turn + 0.5 for turn in range(len(shown) + 1)]
        for artist in (self.edge, self.line):
            artist.set_data(shown, edges)
        self.cross.set_data([dies] if dies else [], [window] if dies else [])


class Level:
    """A line across the axes with its name at its right end, outside the data."""

    def __init__(self, axes: "Axes", name: str, style: str, width: float, side: str) -> None:
        self.name = name
        self.line = axes.axhline(0, color=_DARK, linestyle=style, linewidth=width, animated=True)
        place = axes.get_yaxis_transform()
        self.text = axes.text(1.012, 0, "", transform=place, fontsize=9, va=side, animated=True)
        self.artists = (self.line, self.text)

    def set(self, tokens: float) -> None:
        """Move the line to `tokens`; where there is no such level (NaN or 0) it is not drawn."""
        for artist in self.artists:
            artist.set_visible(tokens > 0)
        self.line.set_ydata([tokens, tokens])
        self.text.set(y=tokens, text=f"{self.name} {tokens:,.0f}")


def _filled(look: Look) -> dict[str, Any]:
    return {
        "fill": True,
        "facecolor": look.colour,
        "edgecolor": "#333333",
        "linewidth": 0,
        "hatch": look.pattern or None,
        "hatch_linewidth": 0.6,
    }


def _signed(mark: Mark) -> dict[str, Any]:
    return {
        "marker": mark.sign,
        "color": _DARK,
        "markerfacecolor": "white" if mark.stand_in else _DARK,
        "linestyle": "none",
        "markersize": 6,
    }
