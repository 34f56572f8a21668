"""The pictures of bills: what requests read from the prompt cache and wrote, and their price."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentlib.lab.figures.style import BLUE, DARK, OCHRE, PALE, RED, Chart, plain
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
def requests(
    runs: Mapping[str, Sequence[Usage]], model: str, *, title: str, span: range = range(1, 999)
) -> Chart:
    """Draw each request of two runs side by side: tokens of the prompt above, cents below.

    `span`: the numbers of these requests only, counted from 1. Up to twelve have their cents
    written above them. Raises ValueError if no run has so many.
    """
    from pandas import DataFrame

    chart, rate = Chart(4.3, title), rates(model)
    last = min(span.stop, 1 + max(map(len, runs.values())))
    if span.start >= last:
        raise ValueError(
            f"no request has a number from {span.start} on; the last one is {last - 1}"
        )
    billed = [[priced(usage, model) for usage in usages[: last - 1]] for usages in runs.values()]
    for row, (label, scale) in enumerate({"thousand tokens": 1e-3, "cents": 100}.items()):
        shown = KINDS if row else KINDS[:-1]
        tables = [DataFrame([{k: scale * n[k][row] for k in shown} for n in run]) for run in billed]
        reaching = [table[span.start - 1 :] for table in tables if len(table) >= span.start]
        top = 1.12 * max(table.sum(axis=1).max() for table in reaching)
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
def spread(table: "DataFrame", *, title: str, top: float = 11.5, **columns: str) -> Chart:
    """Draw what KEEP_RECENT does to each task, as multiples of the task's lowest value.

    `table`: a row for each `seed` and `keep_recent`, and whether the task was `done`. `columns`:
    two columns, and the title over each. A thin line is a task, the thick one the median, and a
    cross a task that was not done. `top`: the largest multiple that there is room for.
    """
    chart = Chart(3.5, title)
    done = table.pivot_table(index="keep_recent", columns="seed", values="done") == 1
    for place, (column, words) in enumerate(columns.items()):
        axes = chart.frame(0.62 + place * 3.35, 0.5, 3.1, 2.3, words)
        wide = table.pivot_table(index="keep_recent", columns="seed", values=column)
        times, places = wide / wide.min(), range(len(wide))
        axes.plot(places, times, color="#CCCCCC", linewidth=1)
        axes.plot(places, times.median(axis=1), color=BLUE, linewidth=3)
        axes.plot(places, times.where(~done), "x", color=RED, markersize=7, markeredgewidth=1.6)
        axes.set_yscale("log", base=2)
        axes.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axes.tick_params(labelleft=not place)
        axes.set(ylim=(0.93, top), xlabel="KEEP_RECENT")
        axes.set_xticks(places, [str(keep) for keep in wide.index])
    chart.figure.axes[0].set_ylabel("times the task's lowest")
    words = {"each thin line is one task": "#666666", "the thick one the median": BLUE}
    words |= {} if bool(done.all(axis=None)) else {"✕ the task was not done": RED}
    for row, (line, colour) in enumerate(words.items()):
        chart.figure.text(0.24, 0.73 - 0.055 * row, line, color=colour, fontsize=9)
    return chart


@plain
def savings(
    places: Sequence[float],
    saved: Sequence[float],
    at: float,
    title: str,
    *,
    across: str = "request",
    span: tuple[float, float] = (-20, 40),
) -> Chart:
    """Draw the cents that were saved up to each place, and where a formula says 0.

    `across`: the name of the axis. `span`: the cents that there is room for.
    """
    chart = Chart(2.5, title)
    axes = chart.frame(0.75, 0.5, 6.2, 1.6, "")
    axes.set(xlim=(0, places[-1]), ylim=span, xlabel=across)
    axes.set_ylabel("cents saved so far" if across == "request" else "cents saved")
    axes.axhline(0, color=DARK, linewidth=1.2)
    axes.plot(places, saved, color=BLUE, linewidth=2.5)
    axes.plot(at, 0, "o", color=RED, markersize=10)
    shift, side = (-1, "top") if saved[-1] > 0 else (span[1] / 20, "bottom")
    axes.text(at + 1, shift, f"the formula: {at:.1f}", color=RED, va=side, clip_on=True)
    return chart
