"""A summary with its threads: each line joined to the message that it rests on (lesson
10)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from session_report.style import DARK, LOOKS, RED, Chart, cut, plain

SPEAKERS = {
    "person": LOOKS["user"].colour,
    "file": "#C9973F",
    "model": LOOKS["assistant"].colour,
    "summary": LOOKS["summary"].colour,
    "nobody": RED,
}
"""Who said something, and the colour of their threads."""
_STEP = 0.19
_LEFT = 2.9
_RIGHT = 4.05
"""Inches: the height of a row, and the places of the two columns' edges."""
_LONGEST = 46
"""Characters of a line's words that are shown."""
_PALE = ("#C9CDD2", "#9AA1A9", "")
"""Dot, ink and label of a message from which nothing came through."""
_WORDS: Any = {"fontsize": 8, "va": "center"}


@plain
def threads(
    messages: Sequence[tuple[str, str]],
    lines: Sequence[tuple[str, int | None]],
    *,
    title: str,
) -> Chart:
    """Draw messages on the left, the summary's lines on the right, and threads between
    them.

    `messages`: (speaker, words). `lines`: (words, the index of the message that it
    rests on, None if there is none). Messages from which nothing came through are pale.
    """
    rows = max(len(messages), len(lines))
    chart = Chart(_STEP * rows + 0.98, title)
    limits: Any = {"xlim": (0.1, 7.1), "ylim": (rows - 0.4, -0.6)}
    axes = chart.frame(0.1, 0.46, 7.0, _STEP * rows, **limits)
    axes.axis("off")
    used = {at for _, at in lines}
    apart = (rows - 1) / max(1, len(lines) - 1)
    for row, (speaker, words) in enumerate(messages):
        colour, ink, label = (
            (SPEAKERS[speaker], DARK, speaker) if row in used else _PALE
        )
        axes.plot(_LEFT, row, "o", color=colour, markersize=4, label=label)
        axes.text(
            _LEFT - 0.1, row, cut(words, _LONGEST), ha="right", color=ink, **_WORDS
        )
    for n, (words, at) in enumerate(lines):
        _line(axes, words, n * apart, at, "nobody" if at is None else messages[at][0])
    chart.key()
    return chart


def _line(axes: Axes, words: str, row: float, at: int | None, speaker: str) -> None:
    """Write a line of the summary, and draw its thread to the row of a message."""
    colour = SPEAKERS[speaker]
    nobody = at is None
    if at is not None:
        middle = (_LEFT + _RIGHT) / 2
        points = [(_LEFT, at), (middle, at), (middle, row), (_RIGHT, row)]
        curve = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        axes.add_patch(
            PathPatch(curve, fill=False, edgecolor=colour, linewidth=1.1, alpha=0.8)
        )
    axes.plot(
        _RIGHT, row, "s" if nobody else "o", color=colour, markersize=4, label=speaker
    )
    looks: Any = {
        "color": RED if nobody else DARK,
        "weight": "bold" if nobody else "normal",
    }
    axes.text(_RIGHT + 0.1, row, cut(words, _LONGEST), **looks, **_WORDS)
