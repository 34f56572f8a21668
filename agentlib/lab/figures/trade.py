"""The picture of the trade: what a task costs against what is left of it at the end.

The lessons show presets in it, and the bench the learner's own trials.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import MaxNLocator

from agentlib.lab.figures.style import DARK, GREY, RED, Chart, cents, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

Dots = Mapping[str, tuple[float, float]]
"""By name: the dollars of a run, and how much of the task is left."""
_DOT = "#8A919B"
_SIDES = [*product((9, -9), (0,)), *product((0, 9, -9), (9, -9)), *product((9, -9, 0), (22, -22))]
"""Where a name may stand beside its dot, in points; the first free place is taken."""


@plain
def trade(
    dots: Dots,
    trail: Dots,
    *,
    title: str,
    left: str,
    most: int,
    hollow: Collection[str] = (),
    best: str = "",
) -> Chart:
    """Draw each run as a named dot: dollars to the right, what is left of the task upwards.

    `trail`: the runs that the picture is about, in their order; the last one is the largest.
    `left`: the words of the upward axis, which ends at `most`. The dots of `hollow` lost something
    that their height doesn't show. A ring marks the `best`.
    """
    chart = Chart(3.7, title)
    axes = chart.frame(0.72, 0.55, 6.2, 2.6, "")
    every = [*dots.values(), *trail.values()]
    low, high = min(x for x, _ in every), max(x for x, _ in every)
    wide = (high - low) or high or 1
    axes.set(xlim=(low - 0.18 * wide, high + 0.2 * wide), ylim=(0, 1.2 * most))
    axes.set(xlabel="price of the task", ylabel=left)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(lambda dollars, _: cents(dollars))
    axes.set_yticks([*range(0, most - most // 8, max(1, most // 4)), most])
    axes.plot(*zip(*trail.values(), strict=True), color=RED, linewidth=1.4, alpha=0.5)
    words = "↖ cheaper, and less lost" + "\n○ the rule or a fact is lost" * bool(hollow)
    axes.text(high, most / 2, words, color=_DOT, fontsize=9, ha="right", va="bottom")
    taken = [text.get_window_extent() for text in axes.texts]
    last = list(trail)[-1]
    for name, dot in {**trail, **dots}.items():
        colour, size = (RED, 11 if name == last else 5) if name in trail else (_DOT, 9)
        looks: Any = {"mfc": "white"} if name in hollow else {}
        (mark,) = axes.plot(*dot, "o", color=colour, markersize=size, mew=1.6, **looks)
        if name == best:
            (mark,) = axes.plot(*dot, "o", color=DARK, markersize=16, mfc="none", mew=1.6)
        taken.append(mark.get_window_extent())
    for name, dot in {**trail, **dots}.items():
        colour, size = (RED, 10) if name in trail else (GREY, 9)
        name_dot(axes, name, dot, taken, color=colour, fontsize=size)
    return chart


@plain
def policies(
    spreads: Mapping[str, Mapping[str, Sequence[float]]],
    mine: Collection[str],
    *,
    title: str,
    scale: Mapping[str, float] | None = None,
) -> Chart:
    """Draw policies as named dots with their intervals: dollars to the right, need upwards.

    `spreads`: by name, the mean of `dollars` (in percent) and of `need`, each with the ends of its
    interval. Those in `mine` are red. `scale`: names and their places on a line above, where the
    one named "" is the place that the picture is for.
    """
    chart, every = Chart(4.4 if scale else 3.7, title), spreads.values()
    if scale:
        _marked(chart.frame(0.72, 3.5, 6.2, 0.3, ""), scale)
    axes = chart.frame(0.72, 0.55, 6.2, 2.6, "")
    top = max(each["need"][2] for each in every)
    axes.set(ylim=(-0.12 * top, 1.1 * top), ylabel="needed again, in 100 turns")
    axes.set(xlabel="dollars, % of what forgetting nothing costs")
    axes.set_xlim(
        min(each["dollars"][1] for each in every) - 6, max(each["dollars"][2] for each in every) + 6
    )
    taken = list["Bbox"]()
    for name, each in spreads.items():
        (x, *across), (y, *up) = each["dollars"], each["need"]
        looks: Any = {"color": RED if name in mine else _DOT}
        lines = axes.plot(across, [y, y], [x, x], up, linewidth=1, alpha=0.5, **looks)
        lines += axes.plot(x, y, "o", markersize=9, **looks)
        taken += [line.get_window_extent() for line in lines]
    for name, each in spreads.items():
        colour, dot = RED if name in mine else GREY, (each["dollars"][0], each["need"][0])
        name_dot(axes, name, dot, taken, color=colour, fontsize=9)
    return chart


def _marked(axes: "Axes", scale: Mapping[str, float]) -> None:
    """Draw a line with named marks, and a red one for the place without a name."""
    axes.set(ylim=(0, 1), yticks=[], xlim=(4, 61), xticks=[*scale.values()])
    axes.tick_params(labelsize=9)
    axes.spines["left"].set_visible(False)
    for name, place in scale.items():
        axes.text(place, 0.65, name, ha="center", fontsize=9, color=GREY)
    axes.plot(scale[""], 0.15, "v", markersize=10, color=RED)


def name_dot(
    axes: "Axes", name: str, dot: tuple[float, float], taken: "list[Bbox]", **looks: Any
) -> None:
    """Write a name beside its dot where nothing else stands, or else to the right of it."""
    for x, y in _SIDES:
        across = "left" if x > 0 else "right" if x else "center"
        up = "bottom" if y > 0 else "top" if y else "center"
        place: Any = {"xytext": (x, y), "textcoords": "offset points", "ha": across, "va": up}
        text = axes.annotate(name, dot, **place, **looks)
        box = text.get_window_extent()
        inside = axes.bbox.x0 < box.x0 and box.x1 < axes.bbox.x1
        if inside and not any(box.overlaps(other) for other in taken):
            taken.append(box)
            return
        text.remove()
    axes.annotate(name, dot, xytext=(9, 0), textcoords="offset points", **looks)
