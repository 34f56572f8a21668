"""Survival by kind: what requests still held, what the agent said, what it did (lesson 10)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Iterator, Mapping, Sequence

from matplotlib.collections import PolyCollection

from agentlib.lab.figures.style import DARK, LOOKS, RED, Chart, Look, patches, plain

Shares = Mapping[str, Sequence[tuple[float, float, float]]]
"""For each kind and generation the shares of tasks in which it was kept, told and acted on."""
_MARKS = {
    "stands in the request": LOOKS["summary"].colour,
    "told when asked": LOOKS["assistant"].colour,
    "acted on": DARK,
}
_WIDE, _HIGH = 0.24, 0.78
_Bar = list[tuple[float, float]]


@plain
def survival_by_kind(shares: Shares, *, title: str) -> Chart:
    """Draw a row for each kind, a column for each generation, and three bars in each cell.

    A full bar is all tasks. What stands in the request but isn't acted on is red.
    """
    chart = Chart(0.52 * len(shares) + 1.25, title)
    axes = chart.frame(1.25, 0.72, 5.8, 0.52 * len(shares), "")
    columns = max(map(len, shares.values()))
    axes.set(xlim=(0.45, columns + 0.55), ylim=(len(shares) - 0.1, -0.1), xlabel="compaction")
    axes.set_xticks(range(1, columns + 1))
    axes.set_yticks([row + 0.5 for row in range(len(shares))], list(shares))
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[["left", "bottom"]].set_visible(False)
    bars = {colour: list[_Bar]() for colour in ("#EEF0F2", *_MARKS.values(), RED)}
    for row, cells in enumerate(shares.values()):
        for column, cell in enumerate(cells, 1):
            for colour, bar in _bars(column, row + 0.88, cell):
                bars[colour].append(bar)
    for colour, shapes in bars.items():
        axes.add_collection(PolyCollection(shapes, facecolors=colour, linewidths=0))
    looks = {name: Look(colour) for name, colour in _MARKS.items()}
    chart.key(patches(looks | ({"kept, not acted on": Look(RED)} if bars[RED] else {})), 0.15)
    return chart


def _bars(column: int, floor: float, shares: Sequence[float]) -> Iterator[tuple[str, _Bar]]:
    """Yield the bars of a cell with their colours, from the back to the front."""
    for n, (share, colour) in enumerate(zip(shares, _MARKS.values(), strict=True)):
        left = column + (n - 1.5) * (_WIDE + 0.02)
        yield "#EEF0F2", _bar(left, floor, 0, 1)
        yield colour, _bar(left, floor, 0, share)
        if n == 2 and shares[0] > share:
            yield RED, _bar(left, floor, share, shares[0])


def _bar(left: float, floor: float, start: float, end: float) -> _Bar:
    low, high = floor - _HIGH * start, floor - _HIGH * end
    return [(left, low), (left + _WIDE, low), (left + _WIDE, high), (left, high)]
