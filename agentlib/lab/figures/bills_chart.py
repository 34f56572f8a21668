"""The picture of the bills: tokens and dollars over the turns, cumulative, by how they are billed.

Draws a table of `bills.table` and nothing else. Cached and uncached stand apart; the ghost is the
same session with nothing forgotten, up to the request that the API would refuse.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.style
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from agentlib.lab.figures.artists import Look
from agentlib.lab.figures.charts import DPI, WIDTH, Chart, Kept
from agentlib.lab.replay.bills import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

LOOKS: Mapping[str, Look] = {
    "read": Look("#56B4E9", "////"),
    "written": Look("#0072B2"),
    "uncached": Look("#D55E00", "xxxx"),
    "answers": Look("#F0E442", "...."),
}
_NAMES = {
    "read": "read from the cache",
    "written": "written to the cache",
    "uncached": "not cached",
    "answers": "answers",
}
_GHOST: dict[str, Any] = {"color": "#111111", "linestyle": (0, (1, 1)), "linewidth": 2.0}
_COLUMNS = 72


class BillsChart:
    """Two charts side by side, tokens and dollars, which get new numbers by `update`.

    `table`: as `bills.table` makes it. `ghost`: the same of the session with nothing forgotten,
    only the turns before the wall; a cross ends it where it has fewer turns than the table. The
    axes grow where new numbers need it.
    """

    def __init__(self, table: "DataFrame", ghost: "DataFrame | None" = None) -> None:
        self.turns = len(table)
        model = table.attrs["model"]
        with matplotlib.style.context("default"):
            self.figure = Chart(figsize=(WIDTH, 3.3), dpi=DPI, facecolor="white")
            self.sides = [
                _Side(self._axes(0.095, "Tokens billed so far"), "", _tokens),
                _Side(self._axes(0.605, f"Dollars, {model}"), "$ ", _dollars),
            ]
            entries: list[Any] = [Patch(label=_NAMES[kind], **_look(kind)) for kind in KINDS]
            if ghost is not None:
                entries.append(Line2D([], [], label="nothing forgotten", **_GHOST))
            self.figure.legend(handles=entries, loc="lower left", bbox_to_anchor=(0.06, 0), ncols=3,
                               fontsize=9, frameon=False)  # fmt: skip
        self.kept = Kept(self.figure)
        self.update(table, ghost)

    def _axes(self, left: float, title: str) -> "Axes":
        axes = self.figure.add_axes((left, 0.31, 0.375, 0.58))
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
        axes.set(xlim=(0.5, self.turns + 0.5), xlabel="turn (one request each)")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.grid(axis="y", color="#E4E4E4", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        return axes

    def update(self, table: "DataFrame", ghost: "DataFrame | None" = None) -> None:
        """Give the artists the numbers of other tables; `png` draws them."""
        grown = [side.set(table, ghost) for side in self.sides]
        if any(grown):
            self.kept = Kept(self.figure)

    def png(self) -> bytes:
        """The picture as it is now."""
        return self.kept.png([artist for side in self.sides for artist in side.artists])


class _Side:
    """One of the two: a step for each kind, and the ghost."""

    def __init__(self, axes: "Axes", prefix: str, form: Any) -> None:
        self.axes, self.prefix, self.top = axes, prefix, 0.0
        axes.yaxis.set_major_formatter(FuncFormatter(form))
        self.steps: dict[str, Any] = {
            kind: axes.stairs([0], baseline=0, animated=True, **_look(kind)) for kind in KINDS
        }
        (self.line,) = axes.plot([], [], animated=True, **_GHOST)
        (self.cross,) = axes.plot([], [], "X", color="#A02C00", animated=True)
        for height, artist in enumerate(self.artists):
            artist.set_zorder(3 + height / 100)

    @property
    def artists(self) -> list[Any]:
        """Back to front."""
        return [*self.steps.values(), self.line, self.cross]

    def set(self, table: "DataFrame", ghost: "DataFrame | None") -> bool:
        """Take the numbers; True where the axis had to change."""
        whole = [] if ghost is None else _so_far(ghost, self.prefix)[-1]
        died = 0 < len(whole) < len(table)
        self.line.set_data(range(1, len(whole) + 1), whole)
        self.cross.set_data([len(whole)] if died else [], whole[-1:] if died else [])
        edges = [n + 0.5 for n in range(len(table) + 1)]
        below = [0.0] * len(table)
        for kind, above in zip(KINDS, _so_far(table, self.prefix), strict=True):
            self.steps[kind].set_data(above, edges, below)
            below = above
        highest = max([*below, *whole]) or 1.0
        if self.top / 3 <= highest <= self.top:
            return False
        self.top = 1.3 * highest
        self.axes.set_ylim(0, self.top)
        return True


def _so_far(table: "DataFrame", prefix: str) -> list[list[float]]:
    """For each kind the upper edge of its step: sums over the turns, upon the kinds below."""
    sums = table[[f"{prefix}{kind}" for kind in KINDS]].cumsum().cumsum(axis=1)
    return [list(sums[column]) for column in sums]


def _look(kind: str) -> dict[str, Any]:
    look = LOOKS[kind]
    return {"fill": True, "facecolor": look.colour, "edgecolor": "#333333", "linewidth": 0,
            "hatch": look.pattern or None, "hatch_linewidth": 0.6}  # fmt: skip


def _tokens(value: float, place: object) -> str:
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k" if value else "0"


def _dollars(value: float, place: object) -> str:
    return f"${value:.4g}"


def sentence(table: "DataFrame", ghost: "DataFrame | None" = None, dies: int | None = None) -> str:
    """What the chart shows, in words. `ghost`: as in `BillsChart`; `dies`: its last turn's next.

    >>> from pandas import DataFrame
    >>> row = {"read": 90, "written": 8, "uncached": 2, "answers": 5}
    >>> table = DataFrame([row | {f"$ {kind}": 0.25 for kind in row}])
    >>> table.attrs["model"] = "claude-opus-5-5"
    >>> print(sentence(table))
    100 prompt tokens billed: 90 read from the cache, 8 written to it, 2 not
    cached; 5 tokens of answers. $1.0000 in all at the prices of
    claude-opus-5-5, $0.2500 of it for what was read from the cache.
    """
    read, written, rest, answers = (int(table[kind].sum()) for kind in KINDS)
    model = table.attrs["model"]
    text = (
        f"{read + written + rest:,} prompt tokens billed: {read:,} read from the cache, "
        f"{written:,} written to it, {rest:,} not cached; {answers:,} tokens of answers. "
        f"${total(table):.4f} in all at the prices of {model}, ${table['$ read'].sum():.4f} of it "
        "for what was read from the cache."
    )
    if ghost is not None:
        end = f"until turn {dies} is refused" if dies else "to the end"
        text += f" With nothing forgotten: ${total(ghost):.4f} {end}."
    return textwrap.fill(text, _COLUMNS, break_on_hyphens=False)


def total(table: "DataFrame") -> float:
    """Dollars of all kinds and turns."""
    columns: Sequence[str] = [f"$ {kind}" for kind in KINDS]
    return float(table[columns].sum().sum())
