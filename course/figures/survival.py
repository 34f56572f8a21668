"""The survival picture: where each compaction left what matters (lessons 03 and 06)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from session_report.style import LOOKS, RED, Chart, plain

Places = Mapping[str, Sequence[str]]
"""Where each compaction left something, by its name, as `generations.places` gives
it."""
_GREY = "#666666"
_PALE = "#D8D8D8"
_LOOKS: Mapping[str, tuple[str, str, str]] = {
    "head": ("in the head", "s", LOOKS["user"].colour),
    "request": ("in the person's last words", "D", LOOKS["user"].colour),
    "tail": ("in the newest exchange", "s", LOOKS["tool_result"].colour),
    "summary": ("only in the summary", "o", LOOKS["summary"].colour),
    "lost": ("lost", "o", "white"),
}
"""The words, the marker and the colour of each place. Only what a model retold is
round."""
_WORDS = {"tail": "newest"}
"""A place's word in lines of text, if its name says less."""


@plain
def survival(runs: Mapping[str, Places], *, title: str) -> Chart:
    """Draw a row for each thing and a column for each compaction, with runs beside each
    other.

    `runs`: the places of each run by its name, which is written over it. The rows of
    the first run are the rows of all. If there is one run, its name is not written.
    """
    names = list(next(iter(runs.values())))
    columns = max(1, *(len(row) for places in runs.values() for row in places.values()))
    step = 0.34 if len(names) < 10 else 0.19
    left = 0.3 + 0.085 * max(map(len, names))
    height = step * len(names)
    width = (7.15 - left) / len(runs)
    high = len(runs) > 1
    words = 0.9 if len(runs) < 4 else 0.66
    chart = Chart(height + 1.25 + 0.25 * high, title)
    for n, (heading, places) in enumerate(runs.items()):
        rows = names if n == 0 else [""] * len(names)
        name = heading if high else ""
        place = (left + n * width, 0.75, width - words, height)
        axes = chart.cells(rows, columns, *place, title=name)
        for row, thing in enumerate(names):
            _fate(axes, row, places[thing], 10 * step)
        for place in _LOOKS:
            _dots(axes, place, [places[thing] for thing in names], 220 * step)
    chart.key()
    return chart


def _fate(axes: Axes, row: int, places: Sequence[str], width: float) -> None:
    """Join the compactions that a thing came through, and say what became of it."""
    kept = [n for n, place in enumerate(places, 1) if place not in ("", "lost")]
    axes.plot(kept, [row] * len(kept), color=_PALE, linewidth=width, zorder=1)
    words = fate(places)
    colour = RED if words.startswith("lost") else _GREY
    axes.text(len(places) + 0.5, row, f"  {words}", color=colour, va="center")


def _dots(axes: Axes, place: str, rows: Sequence[Sequence[str]], size: float) -> None:
    """Draw a dot wherever a compaction left something at this place."""
    label, marker, colour = _LOOKS[place]
    cells = [
        (n, y)
        for y, row in enumerate(rows)
        for n, each in enumerate(row, 1)
        if each == place
    ]
    if cells:
        looks: Any = {
            "edgecolors": _PALE if place == "lost" else _GREY,
            "linewidths": 1,
        }
        looks |= {"label": label, "marker": marker, "clip_on": False}
        across, down = zip(*cells, strict=True)
        axes.scatter(across, down, size, colour, zorder=2, **looks)


def fate(places: Sequence[str]) -> str:
    """Say what became of a thing.

    >>> fate(["tail", "summary", "lost", "lost"]), fate(["", "tail"])
    ('lost at 3', 'kept')
    """
    if not places or places[-1] != "lost":
        return "kept" if any(places) else "not found"
    kept = [n for n, place in enumerate(places, 1) if place != "lost"]
    return f"lost at {max(kept, default=0) + 1}"


def sentence(places: Places) -> str:
    """Write the same as lines of text.

    >>> print(sentence({"the rule": ["summary", "lost"], "fact 1": ["", "tail"]}))
    the rule  summary  lost     lost at 2
    fact 1             newest   kept
    """
    wide = max(map(len, places))
    lines = (
        "".join(f"{_WORDS.get(place, place):9}" for place in row) + fate(row)
        for row in places.values()
    )
    return "\n".join(
        f"{name:{wide}}  {line}" for name, line in zip(places, lines, strict=True)
    )
