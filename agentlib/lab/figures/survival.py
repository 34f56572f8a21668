"""The survival picture: where each compaction left what matters (lessons 03 and 06)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from agentlib.lab.figures.style import LOOKS, RED, Chart, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Places = Mapping[str, Sequence[str]]
"""Where each compaction left something, by its name, as `generations.places` gives it."""
_GREY, _PALE = "#666666", "#D8D8D8"
_LOOKS: Mapping[str, tuple[str, str, str]] = {
    "head": ("in the head", "s", LOOKS["user"].colour),
    "request": ("in the person's last words", "D", LOOKS["user"].colour),
    "tail": ("in the newest exchange", "s", LOOKS["tool_result"].colour),
    "summary": ("only in the summary", "o", LOOKS["summary"].colour),
    "lost": ("lost", "o", "white"),
}
"""The words, the marker and the colour of each place. Only what a model retold is round."""


@plain
def survival(runs: Mapping[str, Places], *, title: str) -> Chart:
    """Draw a row for each thing and a column for each compaction, with runs beside each other.

    `runs`: the places of each run by its name, which is written over it. The rows of the first run
    are the rows of all. If there is one run, its name is not written.
    """
    names = list(next(iter(runs.values())))
    columns = max(1, *(len(row) for places in runs.values() for row in places.values()))
    step, left = 0.34 if len(names) < 10 else 0.19, 0.3 + 0.085 * max(map(len, names))
    height, width, high = step * len(names), (7.15 - left) / len(runs), len(runs) > 1
    words = 0.9 if len(runs) < 4 else 0.66
    chart = Chart(height + 1.25 + 0.25 * high)
    chart.figure.text(0.012, 1 - 0.1 / chart.height, title, fontsize=13, weight="bold", va="top")
    for n, (heading, places) in enumerate(runs.items()):
        place = (left + n * width, 0.78, width - words, height)
        axes = chart.frame(*place, heading if high else "")
        axes.grid(False)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.set(xlim=(0.5, columns + 0.5), ylim=(len(names) - 0.5, -0.5), xlabel="compaction")
        axes.set_xticks(range(1, columns + 1, 1 + columns // 20))
        axes.set_yticks(range(len(names)), names if n == 0 else [""] * len(names))
        axes.tick_params(length=0)
        for row, thing in enumerate(names):
            _row(axes, row, places[thing], 220 * step)
    shown = {place for places in runs.values() for row in places.values() for place in row}
    chart.key([_dot(*look) for place, look in _LOOKS.items() if place in shown])
    return chart


def _row(axes: "Axes", row: int, places: Sequence[str], size: float) -> None:
    """Draw one thing's way through the compactions, and say what became of it."""
    kept = [n for n, place in enumerate(places, 1) if place not in ("", "lost")]
    axes.plot(kept, [row] * len(kept), color=_PALE, linewidth=size / 22, zorder=1)
    for n, place in enumerate(places, 1):
        if place:
            _, marker, colour = _LOOKS[place]
            look: Any = {"edgecolors": _PALE if place == "lost" else _GREY, "marker": marker}
            axes.scatter(n, row, size, colour, zorder=2, clip_on=False, linewidths=1, **look)
    words = fate(places)
    colour = RED if words.startswith("lost") else _GREY
    axes.text(len(places) + 0.5, row, f"  {words}", color=colour, fontsize=9, va="center")


def _dot(label: str, marker: str, colour: str) -> Line2D:
    look: Any = {"markerfacecolor": colour, "markeredgecolor": _GREY, "markersize": 8}
    return Line2D([], [], label=label, marker=marker, linestyle="", **look)


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
    fact 1             tail     kept
    """
    wide = max(map(len, places))
    lines = ("".join(f"{place:9}" for place in row) + fate(row) for row in places.values())
    return "\n".join(f"{name:{wide}}  {line}" for name, line in zip(places, lines, strict=True))
