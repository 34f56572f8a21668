"""The chart of turns: tokens of each prompt by kind of block, under the window.

It draws the table of a replay, a row per turn (`replay.table` names the columns).
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy

from agentlib.lab.figures import style
from agentlib.lab.figures.style import DARK, GHOST, LOOKS, RED, Chart, many, plain, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

SIGNS = {
    "auto": ("auto-compaction", "v"),
    "manual": ("manual compaction", "D"),
    "reactive": ("compaction after a refusal", "^"),
    "failed": ("failed compaction", "X"),
}
"""What happened before a request: the words of the legend, and the sign above the turn."""
_ACROSS, _ABOVE, _APART = 4.85, 0.32, 0.62


class TurnChart(Chart):
    """Runs below each other on the same axes. `update` gives them other numbers.

    `tables`: by title, a row per turn. `top`: the top of the axis in tokens, and `turns`: the
    turns it has room for; by default, what these tables need. `also`: kinds of block and
    compactions for the legend that these tables don't have yet. `ghost`: tokens of each prompt
    had nothing been forgotten. `refused`: by title, the API's words about the request after the
    last turn. Raises ValueError for a table without rows.
    """

    @plain
    def __init__(
        self,
        tables: Mapping[str, "DataFrame"],
        *,
        top: float = 0,
        turns: int = 0,
        also: Iterable[str] = (),
        ghost: Sequence[float] = (),
        refused: Mapping[str, str] | None = None,
    ) -> None:
        runs, refused = list(tables.values()), refused or {}
        if any(table.empty for table in runs):
            raise ValueError("there is no turn to draw: the table has no rows")
        entries = _entries(runs, also, ghost)
        plot = 2.6 if len(runs) == 1 else 1.75
        foot = 0.65 + 0.2 * -(-len(entries) // style.COLUMNS)
        super().__init__(foot + len(runs) * (plot + _APART) - _APART + _ABOVE)
        top = top or 1.15 * max(max(*table["window"], *table["tokens"]) for table in runs)
        turns = turns or max(len(table) + (name in refused) for name, table in tables.items())
        bottom = foot + len(runs) * (plot + _APART)
        self.stacks: list[Stack] = []
        for title, table in tables.items():
            bottom -= plot + _APART
            axes = self.frame(0.84, bottom, _ACROSS, plot, title)
            axes.set(xlim=(0.5, turns + 0.5), ylim=(0, top), ylabel="tokens in the prompt")
            self.stacks.append(Stack(axes, ghost))
            self.stacks[-1].set(table)
            if title in refused:
                _refuse(axes, len(table) + 1, table["window"].iloc[-1], refused[title])
        self.figure.axes[-1].set_xlabel("turn (one request each)")
        self.key(entries, left=0.1)

    def update(self, *tables: "DataFrame") -> None:
        """Give the runs the numbers of other tables. `png` draws them."""
        if not self.moving:
            self.move(artist for stack in self.stacks for artist in stack.artists)
        for stack, table in zip(self.stacks, tables, strict=True):
            stack.set(table)


def turns(table: "DataFrame", *, title: str = "", **options: Any) -> TurnChart:
    """Draw one run. The options are those of `TurnChart`."""
    return TurnChart({title: table}, **options)


def compare(tables: Mapping[str, "DataFrame"], **options: Any) -> TurnChart:
    """Draw runs of the same task below each other. The options are those of `TurnChart`."""
    return TurnChart(tables, **options)


def wall_turn(tokens: Iterable[float], window: float) -> int | None:
    """Find the first turn whose prompt is larger than the window.

    >>> wall_turn([40, 90, 120, 130], 100)
    3
    """
    return next((turn for turn, size in enumerate(tokens, 1) if size > window), None)


def _entries(
    runs: Sequence["DataFrame"], also: Iterable[str], ghost: Sequence[float]
) -> list[Artist]:
    """The legend: what the tables have, and what they may have after the next update."""
    shown = {*also, *(kind for kind in LOOKS for table in runs if table[kind].any())}
    shown |= {name for table in runs for name in table["compaction"]}
    signs = [
        Line2D([], [], label=label, **_sign(marker))
        for name, (label, marker) in SIGNS.items()
        if name in shown
    ]
    ghosts = [Line2D([], [], label="nothing forgotten", **GHOST)] if ghost else []
    return [*style.kinds_in(shown), *signs, *ghosts]


def _sign(marker: str) -> dict[str, Any]:
    return {"marker": marker, "color": DARK, "linestyle": "none", "markersize": 6}


def _refuse(axes: "Axes", turn: int, window: float, words: str) -> None:
    """Draw the request that the API refused: a cross on the wall, and its words above."""
    third = int(3 * turn / (axes.get_xlim()[1] + 1))
    side, shift = (("left", -6), ("center", 0), ("right", 6))[third]
    axes.bar(turn, window, width=1, fill=False, edgecolor=RED, linestyle=":")
    axes.plot(turn, window, marker="X", color=RED, markersize=10, zorder=5)
    axes.annotate(words, (turn, window), xytext=(shift, 9), textcoords="offset points",
                  horizontalalignment=side, fontsize=9, color=RED)  # fmt: skip


class Stack:
    """The artists of one run: a step for each kind of block, the ghost, signs and two levels."""

    def __init__(self, axes: "Axes", ghost: Sequence[float] = ()) -> None:
        self.whole = ghost
        self.steps = {
            kind: axes.stairs([0.0], baseline=0.0, **look.fill()) for kind, look in LOOKS.items()
        }
        self.total = axes.stairs([0.0], baseline=None, color=DARK, linewidth=0.9)
        (self.ghost,) = axes.plot(
            [], [], drawstyle="steps-mid", marker="X", markersize=9, markerfacecolor=RED,
            markeredgecolor=RED, **GHOST,
        )  # fmt: skip
        above = offset_copy(axes.transData, axes.get_figure(root=True), y=6, units="points")
        self.signs = {
            name: axes.plot([], [], transform=above, clip_on=False, **_sign(marker))[0]
            for name, (_, marker) in SIGNS.items()
        }
        self.window = Level(axes, "window", "-", 2.2, "bottom")
        self.threshold = Level(axes, "compacts at", "--", 1.4, "top")

    @property
    def artists(self) -> list[Artist]:
        """Back to front."""
        levels = (self.window.line, self.window.text, self.threshold.line, self.threshold.text)
        return [*self.steps.values(), self.total, self.ghost, *levels, *self.signs.values()]

    def set(self, table: "DataFrame") -> None:
        """Take the numbers of a table."""
        edges = [turn + 0.5 for turn in range(len(table) + 1)]
        below = table["tokens"].to_numpy() * 0.0
        for kind, step in self.steps.items():
            above = below + table[kind].to_numpy()
            step.set_data(above, edges, below)
            step.set_visible(bool((above > below).any()))
            below = above
        tokens = list(table["tokens"])
        self.total.set_data(tokens, edges)
        heights = [max(pair) for pair in zip(tokens, [0, *tokens], strict=False)]
        for name, sign in self.signs.items():
            at = [turn for turn, done in enumerate(table["compaction"]) if done == name]
            sign.set_data([turn + 0.5 for turn in at], [heights[turn] for turn in at])
        self.window.set(table["window"].iloc[-1])
        self.threshold.set(table["threshold"].iloc[-1])
        self._set_ghost(table["window"].iloc[-1])

    def _set_ghost(self, window: float) -> None:
        """Draw the ghost up to a cross where it meets the wall."""
        end = wall_turn(self.whole, window)
        shown = [*self.whole] if end is None else [*self.whole[: end - 1], window]
        self.ghost.set_data(range(1, len(shown) + 1), shown)
        self.ghost.set_markevery([end - 1] if end else [])


class Level:
    """A line across the axes, named at its right end."""

    def __init__(self, axes: "Axes", name: str, style: str, width: float, side: str) -> None:
        self.name = name
        self.line = axes.axhline(0, color=DARK, linestyle=style, linewidth=width)
        place = axes.get_yaxis_transform()
        self.text = axes.text(1.012, 0, "", transform=place, fontsize=9, va=side)

    def set(self, tokens: float) -> None:
        """Move the line to `tokens`. Without such a level (NaN or 0) it isn't drawn."""
        for artist in (self.line, self.text):
            artist.set_visible(tokens > 0)
        self.line.set_ydata([tokens, tokens])
        self.text.set(y=tokens, text=f"{self.name} {tokens:,.0f}")


def sentence(table: "DataFrame") -> str:
    """Say what the chart shows, for those who can't see it.

    >>> from pandas import DataFrame
    >>> quiet = {"compaction": None, "summary_from": None, "billed_from": "recorded"}
    >>> print(sentence(DataFrame({"tokens": [40, 90], "cleared": [0, 2], "window": 100, **quiet})))
    2 turns, 130 tokens sent in all; largest prompt 90 tokens at turn 2, 90%
    of the window of 100; 0 compactions, 2 results cleared.
    """
    if table.empty:
        return "No request yet."
    window, sent = int(table["window"].iloc[-1]), [int(n) for n in table["tokens"]]
    done = table["compaction"].isin(["auto", "manual", "reactive"])
    stand_ins = int((done & (table["summary_from"] == "stand-in")).sum())
    compactions = many(int(done.sum()), "compaction")
    compactions += f" ({stand_ins} with a stand-in summary)" if stand_ins else ""
    parts = [
        f"{many(len(table), 'turn')}, {sum(sent):,} tokens sent in all",
        f"largest prompt {max(sent):,} tokens at turn {sent.index(max(sent)) + 1}, "
        f"{100 * max(sent) // window}% of the window of {window:,}",
        f"{compactions}, {many(int(table['cleared'].sum()), 'result')} cleared",
    ]
    if weighed := int((table["billed_from"] == "weighed").sum()):
        parts.append(f"{many(weighed, 'prompt')} weighed, not billed")
    if turn := wall_turn(sent, window):
        parts.append(f"at turn {turn} the prompt is over the window: the API would refuse it")
    return wrapped("; ".join(parts) + ".")
