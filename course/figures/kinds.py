"""Survival by kind: what requests still held, what the agent said, what it did (lesson
10)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from session_report.style import DARK, LOOKS, RED, Chart, Look, patches, plain

Shares = Mapping[str, Sequence[tuple[float, float, float]]]
"""For each kind and generation the shares of tasks in which it was kept, told and acted
on."""
_MARKS = {
    "kept": Look(LOOKS["summary"].colour),
    "told": Look(LOOKS["assistant"].colour),
    "acted on": Look(DARK),
}
_GAP = "kept, not acted on"
_ACROSS = 5.8
_WIDE = 0.24
_HIGH = 0.78
"""Inches that the columns take, and the size of a bar in columns and rows."""


@plain
def survival_by_kind(shares: Shares, *, title: str) -> Chart:
    """Draw a row for each kind, a column for each generation, and three bars in each
    cell.

    A full bar is all tasks. What is kept, in the request, but isn't acted on is red.
    """
    chart = Chart(0.52 * len(shares) + 1.25, title)
    columns = np.arange(1, 1 + max(map(len, shares.values())))
    axes = chart.cells(
        list(shares), len(columns), 1.25, 0.75, _ACROSS, 0.52 * len(shares)
    )
    bar: Any = {"linewidth": 72 * _ACROSS * _WIDE / len(columns)}
    looks = dict(_MARKS)
    for row, cells in enumerate(shares.values()):
        floor = row + _HIGH / 2
        tops = floor - _HIGH * np.array(cells)
        for n, look in enumerate(_MARKS.values()):
            places = columns + (n - 1) * (_WIDE + 0.02)
            axes.vlines(places, floor, floor - _HIGH, "#EEF0F2", **bar)
            axes.vlines(places, floor, tops[:, n], look.colour, **bar)
        gap = tops[:, 2] > tops[:, 0]
        if gap.any():
            looks[_GAP] = Look(RED)
            axes.vlines(
                (columns + _WIDE + 0.02)[gap], tops[gap, 2], tops[gap, 0], RED, **bar
            )
    chart.key(patches(looks), left=0.15)
    return chart
