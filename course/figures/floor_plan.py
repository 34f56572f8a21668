"""The museum's map: rooms beside each other, and a dot for each mistake in them."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import textwrap
from collections.abc import Mapping
from itertools import count
from typing import Any

from matplotlib.patches import Rectangle

from session_report.style import (
    BLUE,
    DARK,
    GREY,
    LOOKS,
    OCHRE,
    RED,
    WIDTH,
    Chart,
    plain,
)

COSTS: Mapping[str, tuple[str, str]] = {
    "stopped": (DARK, "X"),
    "lost": (LOOKS["summary"].colour, "o"),
    "wrong": (OCHRE, "s"),
    "expensive": (BLUE, "D"),
    "unsafe": (RED, "^"),
}
"""What a mistake can cost, with a colour and a marker, in the order of the dots in a
room."""
LETTERS = 18
"""Characters of a line beside a dot."""


@plain
def floor_plan(rooms: Mapping[str, Mapping[str, str]], *, title: str) -> Chart:
    """Draw a column for each room, with its exhibits by number and name, in their
    order."""
    numbers = count(1)
    rows = max(map(len, rooms.values()))
    chart = Chart(0.36 * rows + 1.4, title)
    limits: Any = {"xlim": (0, len(rooms)), "ylim": (rows - 0.35, -1.6)}
    axes = chart.frame(0.1, 0.45, WIDTH - 0.2, 0.36 * rows + 0.45, **limits)
    axes.axis("off")
    for column, (room, exhibits) in enumerate(rooms.items()):
        wall: Any = {"facecolor": "#F6F7F8", "edgecolor": GREY, "linewidth": 0.8}
        axes.add_patch(Rectangle((column + 0.02, -1.55), 0.96, rows + 1.15, **wall))
        heading = textwrap.fill(room, 14)
        axes.text(
            column + 0.07,
            -1,
            heading,
            fontsize=10,
            weight="bold",
            color=DARK,
            va="center",
        )
        for row, (name, cost) in enumerate(exhibits.items()):
            colour, marker = COSTS[cost]
            axes.scatter(
                column + 0.1, row, 34, colour, marker=marker, linewidths=0, label=cost
            )
            numbered = f"{next(numbers)} {name}"
            words = textwrap.fill(numbered, LETTERS, break_on_hyphens=False)
            axes.text(column + 0.18, row, words, fontsize=7.5, color=DARK, va="center")
    chart.key(columns=len(COSTS))
    return chart
