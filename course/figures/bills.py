"""The pictures of bills: what requests read from the prompt cache and wrote, and their
price."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from pandas import DataFrame

from agentlib.api.spending import Usage, priced, rates
from session_report.style import BLUE, DARK, OCHRE, PALE, RED, Chart, plain

_BARS = {
    "read": ("read from the cache", PALE, "cache_read"),
    "written": ("written to the cache", BLUE, "cache_write_5m"),
    "uncached": ("not cached", OCHRE, "input"),
    "answers": ("answers", "#98A2AE", "output"),
}
"""How tokens are billed: the words of the label, the colour, and the name of the
price."""


@plain
def requests(
    runs: Mapping[str, Sequence[Usage]],
    model: str,
    *,
    title: str,
    span: range = range(1, 999),
) -> Chart:
    """Draw each request of two runs side by side: tokens of the prompt above, cents
    below.

    `span`: the numbers of these requests only, counted from 1. Up to twelve have their
    cents written above them. Raises ValueError if no run has so many.
    """
    last = max(map(len, runs.values()))
    if span.start > last:
        raise ValueError(
            f"no request has a number from {span.start} on; the last one is {last}"
        )
    chart = Chart(4.75, title)
    span = range(span.start, min(span.stop, last + 1))
    for row, label in enumerate(("thousand tokens", "cents")):
        for column, (name, usages) in enumerate(runs.items()):
            left = 0.78 + 3.32 * column
            bottom = (2.75, 0.97)[row]
            axes = chart.frame(left, bottom, 3.0, 1.4, "" if row else name)
            axes.set(ylabel="" if column else label, xlabel="request" if row else "")
            axes.set(xlim=(span.start - 0.6, span.stop - 0.4), ymargin=0.12)
            axes.tick_params(labelleft=not column)
            if column:
                axes.sharey(chart.figure.axes[-2])
            _stack(axes, usages, span, model, row)
    chart.key(columns=2)
    return chart


def _stack(
    axes: Axes, usages: Sequence[Usage], span: range, model: str, row: int
) -> None:
    """Draw the tokens of each prompt by how they are billed, or in row 1 the cents."""
    numbers = [n for n in span if n <= len(usages)]
    billed = [priced(usages[n - 1], model) for n in numbers]
    floor = np.zeros(len(numbers))
    scale = (1e-3, 100)[row]
    for kind, (words, colour, price) in list(_BARS.items())[: 3 + row]:
        sizes = np.array([scale * each[kind][row] for each in billed])
        if sizes.any():
            label = f"{words}, ${rates(model)[price]:.2f} per million"
            axes.bar(numbers, sizes, 0.78, floor, color=colour, label=label)
        floor = floor + sizes
    if row and len(span) <= 12:
        for number, cents in zip(numbers, floor, strict=True):
            axes.text(number, cents, f"{cents:.1f}", ha="center", va="bottom")


@plain
def spread(table: DataFrame, *, title: str, top: float = 11.5, **columns: str) -> Chart:
    """Draw what KEEP_RECENT does to each task, as multiples of the task's lowest value.

    `table`: a row for each `seed` and `keep_recent`, and whether the task was `done`.
    `columns`: two columns, and the title over each. `top`: the largest multiple that
    there is room for.
    """
    chart = Chart(3.75, title)
    done = table.pivot_table(index="keep_recent", columns="seed", values="done") == 1
    for place, (column, words) in enumerate(columns.items()):
        axes = chart.frame(0.62 + place * 3.35, 0.8, 3.1, 2.3, words)
        wide = table.pivot_table(index="keep_recent", columns="seed", values=column)
        times = wide / wide.min()
        places = range(len(wide))
        axes.plot(places, times, color="#CCCCCC", linewidth=1, label="one task")
        axes.plot(
            places, times.median(axis=1), color=BLUE, linewidth=3, label="the median"
        )
        if not done.all(axis=None):
            looks: Any = {
                "color": RED,
                "markersize": 7,
                "mew": 1.6,
                "label": "a task not done",
            }
            axes.plot(places, times.where(~done), "x", **looks)
        axes.set_yscale("log", base=2)
        axes.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axes.tick_params(labelleft=not place)
        axes.set(ylim=(0.93, top), xlabel="KEEP_RECENT")
        axes.set_xticks(places, [str(keep) for keep in wide.index])
    chart.figure.axes[0].set_ylabel("times the task's lowest")
    chart.key()
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
    words: str = "the formula",
) -> Chart:
    """Draw the cents that were saved up to each place, and where a formula says 0.

    `across`: the name of the axis. `span`: the cents that there is room for. `words`
    name the formula's dot.
    """
    chart = Chart(2.5, title)
    axes = chart.frame(0.75, 0.5, 6.2, 1.6, xlabel=across)
    axes.set(xlim=(0, places[-1]), ylim=span)
    axes.set_ylabel("cents saved so far" if across == "request" else "cents saved")
    axes.axhline(0, color=DARK, linewidth=1.2)
    axes.plot(places, saved, color=BLUE, linewidth=2.5)
    axes.plot(at, 0, "o", color=RED, markersize=10, clip_on=at > places[-1])
    is_late = at > 0.7 * places[-1]
    rises = saved[-1] > saved[0]
    shift, va = (
        (-1, "top") if is_late != rises else (span[1] / 20, "bottom")
    )  # off the curve
    left, ha = (min(at, places[-1]) - 1, "right") if is_late else (at + 1, "left")
    looks: Any = {"color": RED, "fontsize": 10, "clip_on": True, "va": va, "ha": ha}
    axes.text(left, shift, f"{words}: {at:.1f}" + " →" * (at > places[-1]), **looks)
    return chart
