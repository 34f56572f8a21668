"""The pictures of bills: what each request read from the prompt cache and wrote, and its price.

`bills` draws a table of `lab.replay.bills.table`. The others belong to lesson 02.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, StrMethodFormatter

from agentlib.lab.figures.style import (
    BLUE,
    DARK,
    GHOST,
    OCHRE,
    PALE,
    RED,
    Chart,
    Look,
    patches,
    plain,
    wrapped,
)
from agentlib.lab.replay.bills import KINDS
from agentlib.lab.spending import Usage, priced, rates

if TYPE_CHECKING:
    from pandas import DataFrame

_BARS = {
    "read": ("read from the cache", PALE, "cache_read"),
    "written": ("written to the cache", BLUE, "cache_write_5m"),
    "uncached": ("not cached", OCHRE, "input"),
    "answers": ("answers", "#98A2AE", "output"),
}
"""How tokens are billed: the words of the label, the colour, and the name of the price."""


@plain
def bills(table: "DataFrame", ghost: "DataFrame") -> Chart:
    """Draw two charts side by side: tokens and dollars up to each turn.

    `ghost`: the table of the same session with nothing forgotten, only the turns before the wall.
    A cross ends it if it has fewer turns.
    """
    chart, looks = Chart(3.3), {kind: Look(colour) for kind, (_, colour, _) in _BARS.items()}
    titles = {"": "Tokens billed so far", "$ ": f"Dollars, {table.attrs['model']}"}
    forms = (EngFormatter(sep=" "), StrMethodFormatter("${x:.4g}"))
    for n, (prefix, title) in enumerate(titles.items()):
        axes = chart.frame(0.68 + n * 3.67, 1.02, 2.7, 1.91, title)
        axes.yaxis.set_major_formatter(forms[n])
        edges, below = [turn + 0.5 for turn in range(len(table) + 1)], [0.0] * len(table)
        for kind, above in _so_far(table, prefix).items():
            axes.stairs(above, edges, baseline=below, **looks[kind].fill())
            below = above
        whole = _so_far(ghost, prefix)[KINDS[-1]]
        axes.plot(range(1, len(whole) + 1), whole, **GHOST)
        if 0 < len(whole) < len(table):
            axes.plot(len(whole), whole[-1], "X", color=RED, markersize=9)
        highest = 1.05 * max([*below, *whole])
        axes.set(xlim=(0.5, len(table) + 0.5), ylim=(0, highest), xlabel="turn (one request each)")
    shown = {_BARS[kind][0]: look for kind, look in looks.items() if table[kind].any()}
    chart.key([*patches(shown), Line2D([], [], label="nothing forgotten", **GHOST)])
    return chart


def _so_far(table: "DataFrame", prefix: str) -> dict[str, list[float]]:
    """For each kind the upper edge of its area: sums over the turns, upon the kinds below."""
    sums = table[[f"{prefix}{kind}" for kind in KINDS]].cumsum().cumsum(axis=1)
    return {kind: list(sums[f"{prefix}{kind}"]) for kind in KINDS}


def sentence(table: "DataFrame", ghost: "DataFrame", wall_turn: int | None = None) -> str:
    """Say what the picture shows. `wall_turn`: the turn that is refused if nothing is forgotten.

    >>> from pandas import DataFrame
    >>> row = {"read": 90, "written": 8, "uncached": 2, "answers": 5}
    >>> table = DataFrame([row | {f"$ {kind}": 0.25 for kind in row}])
    >>> table.attrs["model"] = "claude-opus-5-5"
    >>> print(sentence(table, table))
    100 prompt tokens billed: 90 read from the cache, 8 written to it, 2 not
    cached; 5 tokens of answers. $1.0000 in all at the prices of
    claude-opus-5-5, $0.2500 of it for what was read from the cache. With
    nothing forgotten: $1.0000 to the end.
    """
    read, written, rest, answers = (int(table[kind].sum()) for kind in KINDS)
    end = f"until turn {wall_turn} is refused" if wall_turn else "to the end"
    return wrapped(
        f"{read + written + rest:,} prompt tokens billed: {read:,} read from the cache, "
        f"{written:,} written to it, {rest:,} not cached; {answers:,} tokens of answers. "
        f"${total(table):.4f} in all at the prices of {table.attrs['model']}, "
        f"${table['$ read'].sum():.4f} of it for what was read from the cache. "
        f"With nothing forgotten: ${total(ghost):.4f} {end}."
    )


def total(table: "DataFrame") -> float:
    """Sum the dollars of all kinds and turns."""
    return float(table[[f"$ {kind}" for kind in KINDS]].sum().sum())


@plain
def requests(
    runs: Mapping[str, Sequence[Usage]], model: str, *, title: str, span: range = range(1, 999)
) -> Chart:
    """Draw each request of two runs side by side: tokens of the prompt above, cents below.

    `span`: the numbers of these requests only, counted from 1. Up to twelve have their cents
    written above them.
    """
    from pandas import DataFrame

    chart, rate = Chart(4.3, title), rates(model)
    last = min(span.stop, 1 + max(map(len, runs.values())))
    billed = [[priced(usage, model) for usage in usages[: last - 1]] for usages in runs.values()]
    for row, (label, scale) in enumerate({"thousand tokens": 1e-3, "cents": 100}.items()):
        shown = KINDS if row else KINDS[:-1]
        tables = [DataFrame([{k: scale * n[k][row] for k in shown} for n in run]) for run in billed]
        top = 1.12 * max(table.sum(axis=1)[span.start - 1 :].max() for table in tables)
        for column, (name, table) in enumerate(zip(runs, tables, strict=True)):
            left, bottom = 0.78 + 3.32 * column, (2.28, 0.5)[row]
            axes = chart.frame(left, bottom, 3.0, 1.4, "" if row else name)
            axes.set(ylabel="" if column else label, xlabel="request" if row else "")
            axes.set(xlim=(span.start - 0.6, last - 0.4), ylim=(0, top))
            axes.tick_params(labelleft=not column)
            ends = table.cumsum(axis=1)
            for kind in shown:
                words, colour, price = _BARS[kind]
                entry = f"{words}, ${rate[price]:.2f} per million" if table[kind].any() else None
                low = ends[kind] - table[kind]
                axes.bar(table.index + 1, table[kind], 0.78, low, color=colour, label=entry)
            if row and last - span.start <= 12:
                for number, cents in enumerate(ends["answers"][span.start - 1 :], span.start):
                    axes.text(number, cents, f"{cents:.1f}", fontsize=9, ha="center", va="bottom")
    key: Any = {"fontsize": 8, "frameon": False, "handlelength": 1, "borderaxespad": 0}
    handles, labels = chart.figure.axes[2].get_legend_handles_labels()
    chart.figure.axes[1].legend(handles, labels, loc="upper right", **key)
    return chart


@plain
def spread(table: "DataFrame", *, title: str, **columns: str) -> Chart:
    """Draw what KEEP_RECENT does to each task, as multiples of the task's lowest value.

    `table`: a row for each `seed` and `keep_recent`, and whether the task was `done`. `columns`:
    two columns, and the title over each. A thin line is a task, the thick one the median, and a
    cross a task that was not done.
    """
    chart = Chart(3.5, title)
    for place, (column, words) in enumerate(columns.items()):
        axes = chart.frame(0.62 + place * 3.35, 0.5, 3.1, 2.3, words)
        wide = table.pivot_table(index="keep_recent", columns="seed", values=column)
        done = table.pivot_table(index="keep_recent", columns="seed", values="done") == 1
        times, places = wide / wide.min(), range(len(wide))
        axes.plot(places, times, color="#CCCCCC", linewidth=1)
        axes.plot(places, times.median(axis=1), color=BLUE, linewidth=3)
        axes.plot(places, times.where(~done), "x", color=RED, markersize=7, markeredgewidth=1.6)
        axes.set_yscale("log", base=2)
        axes.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axes.tick_params(labelleft=not place)
        axes.set(ylim=(0.93, 11.5), xlabel="KEEP_RECENT")
        axes.set_xticks(places, [str(keep) for keep in wide.index])
    chart.figure.axes[0].set_ylabel("times the task's lowest")
    words = {"each thin line is one task": "#666666", "the thick one the median": BLUE}
    for row, (line, colour) in enumerate({**words, "✕ the task was not done": RED}.items()):
        chart.figure.text(0.24, 0.73 - 0.055 * row, line, color=colour, fontsize=9)
    return chart


@plain
def break_even(saved: Sequence[float], at: float, title: str) -> Chart:
    """Draw the cents that a clearing has saved up to each request, and where a formula says 0."""
    chart = Chart(2.5, title)
    axes = chart.frame(0.75, 0.5, 6.2, 1.6, "")
    axes.set(xlim=(0, len(saved)), ylim=(-20, 40), xlabel="request", ylabel="cents saved so far")
    axes.axhline(0, color=DARK, linewidth=1.2)
    axes.plot(range(1, len(saved) + 1), saved, color=BLUE, linewidth=2.5)
    axes.plot(at, 0, "o", color=RED, markersize=10)
    axes.text(at + 1, -1, f"the formula: {at:.1f}", color=RED, va="top", clip_on=True)
    return chart
