"""The picture of the trade: what a task costs against what is left of it at the end.

The lessons show presets in it, and the bench the learner's own trials.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from session_report.amounts import cents
from session_report.style import DARK, GREY, RED, Chart, plain
from windtunnel.runner import EVIDENCE

Interval = Sequence[float]
"""A mean, and the ends of its spread."""
Spread = tuple[Interval, Interval]
"""How far a dot reaches across and upwards."""
NEAR = 1.2
FEW = 12
"""Percent within which dots share a name, and dots beside which there is room for
names."""
Dots = Mapping[str, tuple[float, float]]
"""By name: the dollars of a run, and how much of the task is left."""
_DOT = "#8A919B"
_FAR = [
    (x, y)
    for far in (22, 35, 48, 61, 74)
    for x, y in product((9, -9, 0, 30, -30), (far, -far))
]
_APART = 16
"""Pixels between two names in a row, or they would read as one."""
_CLEAR = 26
"""Pixels from a dot's middle within which its own line is not looked at."""
_SEEN_AT_ONCE = 8
"""Places of `_SIDES` where no line has to lead from a name to its dot. Such a place is
worth crossing an interval for, if there are many dots."""
_SIDES = [*product((9, -9), (0,)), *product((0, 9, -9), (9, -9)), *_FAR]
"""Where a name may stand beside its dot, in points; the first free place is taken."""


TITLES = {
    "learn-claude-code": "learn-claude-code's numbers",
    "learn-claude-code-ts": "its TypeScript's numbers",
    "java-l06": "the Java agent's numbers",
    "s24": "s24's numbers",
    "hermes": "Hermes's numbers",
    "claude-code": "Claude Code's numbers",
    "default": "DEFAULT",
}
"""What a picture calls a preset: numbers run in our agent, and no product."""


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
    """Draw each run as a named dot: dollars to the right, what is left of the task
    upwards.

    `trail`: the runs that the picture is about, in their order; the last one is the
    largest. `left`: the words of the upward axis, which ends at `most`. The dots of
    `hollow` lost something that their height doesn't show. A ring marks the `best`.
    """
    chart = Chart(3.7, title)
    low_edge = 0.55 + _with_evidence(chart, dots)
    labels: Any = {"xlabel": "price of the task", "ylabel": left}
    axes = chart.frame(0.72, low_edge, 6.2, 3.15 - low_edge, **labels)
    every = [*dots.values(), *trail.values()]
    low = min(x for x, _ in every)
    high = max(x for x, _ in every)
    wide = (high - low) or high or 1
    axes.set(xlim=(low - 0.18 * wide, high + 0.2 * wide), ylim=(0, 1.2 * most))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(lambda dollars, _: cents(dollars))
    axes.set_yticks([*range(0, most - most // 8, max(1, most // 4)), most])
    axes.plot(*zip(*trail.values(), strict=True), color=RED, linewidth=1.4, alpha=0.5)
    words = "↖ cheaper, and less lost" + "\n○ the rule or a fact is lost" * bool(hollow)
    axes.text(high, most / 2, words, color=_DOT, ha="right", va="bottom")
    taken = [text.get_window_extent() for text in axes.texts]
    last = list(trail)[-1]
    for name, dot in {**trail, **dots}.items():
        colour, size = (RED, 11 if name == last else 5) if name in trail else (_DOT, 9)
        looks: Any = {"mfc": "white"} if name in hollow else {}
        (mark,) = axes.plot(*dot, "o", color=colour, markersize=size, mew=1.6, **looks)
        if name == best:
            (mark,) = axes.plot(
                *dot, "o", color=DARK, markersize=16, mfc="none", mew=1.6
            )
        taken.append(mark.get_window_extent())
    places = axes.transData.transform([*trail.values()]).tolist()
    for start, end in pairwise(places):
        taken += _on_line(start, end)
    for name, dot in {**trail, **dots}.items():
        colour = RED if name in trail else GREY
        name_dot(axes, TITLES.get(name, name), dot, taken, color=colour)
    return chart


@plain
def policies(
    spreads: Mapping[str, Mapping[str, Sequence[float]]],
    mine: Collection[str],
    *,
    title: str,
    scale: Mapping[str, float] | None = None,
) -> Chart:
    """Draw policies as named dots with their intervals: dollars to the right, need
    upwards.

    `spreads`: by name, the mean of `dollars` (in percent) and of `need`, each with the
    ends of its interval. Those in `mine` are red. `scale`: names and their places on a
    line above, where the one named "" is the place that the picture is for.
    """
    dots = {name: (each["dollars"], each["need"]) for name, each in spreads.items()}
    chart = Chart(4.4 if scale else 3.7, title)
    if scale:
        _marked(chart.frame(0.72, 3.5, 6.2, 0.3), scale)
    low_edge = 0.55 + _with_evidence(chart, dots)
    above = "needed again, in 100 turns"
    axes = chart.frame(0.72, low_edge, 6.2, 3.15 - low_edge, ylabel=above)
    lows, highs = ([across[end] for across, _ in dots.values()] for end in (1, 2))
    top = max(up[2] for _, up in dots.values())
    axes.set(xlim=(min(lows) - 6, max(highs) + 6), ylim=(-0.2 * top, 1.1 * top))
    axes.set(xlabel="dollars, % of what forgetting nothing costs")
    titles = {name: TITLES.get(name, name) for name in dots}
    colours = {titles[name]: RED if name in mine else GREY for name in dots}
    intervals(axes, {titles[name]: dot for name, dot in dots.items()}, colours)
    return chart


def _with_evidence(chart: Chart, names: Collection[str]) -> float:
    """Say at the foot what systems' names stand for, and return the inches it takes: 0
    if there are none."""
    if not any(name in TITLES and name != "default" for name in names):
        return 0
    small: Any = {"fontsize": 8, "color": GREY, "va": "bottom"}
    chart.figure.text(0.014, 0.07 / chart.height, f"{EVIDENCE}.", **small)
    return 0.2


def intervals(
    axes: Axes,
    dots: Mapping[str, Spread],
    colours: Mapping[str, str],
    largest: str = "",
) -> None:
    """Draw dots with their intervals across and upwards, and name them.

    Names keep clear of dots, and of the intervals if there are at most `FEW` dots or if
    there is room for that. Dots at
    nearly the same place share the name of a red one or of the first, and say how many
    more are here.
    """
    taken = list[Bbox]()
    places = dict[tuple[float, float], list[str]]()
    crossed = list[Bbox]()
    has_room = len(dots) <= FEW
    for name, ((x, *across), (y, *up)) in dots.items():
        looks: Any = {"color": colours[name]}
        marks = axes.plot(across, [y, y], [x, x], up, linewidth=1, alpha=0.35, **looks)
        marks += axes.plot(
            x, y, "o", markersize=9 if name == largest or has_room else 7, **looks
        )
        taken.append(marks[-1].get_window_extent())
        lines = [mark.get_window_extent() for mark in marks[:-1]]
        (taken if has_room else crossed).extend(lines)
        near = (p for p in places if abs(p[0] - x) < NEAR and abs(p[1] - y) < NEAR)
        places.setdefault(next(near, (x, y)), []).append(name)
    halo: Any = {"path_effects": [withStroke(linewidth=2.5, foreground="white")]}
    halo |= {"fontsize": 9 if has_room else 8}
    ordered = sorted(
        places.items(), key=lambda each: RED not in {colours[name] for name in each[1]}
    )
    for place, names in ordered:
        first = next(
            (name for name in reversed(names) if colours[name] == RED), names[0]
        )
        more = f" + {len(names) - 1} here" if names[1:] else ""
        halo["color"] = colours[first]
        name_dot(axes, first + more, place, taken, crossed, **halo)


def _marked(axes: Axes, scale: Mapping[str, float]) -> None:
    """Draw a line with named marks, and a red one for the place without a name."""
    axes.set(ylim=(0, 1), yticks=[], xlim=(4, 61), xticks=[*scale.values()])
    axes.spines["left"].set_visible(False)
    for name, place in scale.items():
        axes.text(place, 0.65, name, ha="center", color=GREY)
    axes.plot(scale[""], 0.15, "v", markersize=10, color=RED)


def name_dot(
    axes: Axes,
    name: str,
    dot: tuple[float, float],
    taken: list[Bbox],
    crossed: Sequence[Bbox] = (),
    **looks: Any,
) -> None:
    """Write a name beside its dot where nothing else stands, or else on the side with
    more room.

    A line leads to a name that is far from its dot. A name stands on one of `crossed`
    only if there is no other place for it.
    """
    near = _SIDES[:_SEEN_AT_ONCE]
    if crossed and _named(axes, name, dot, near, taken, [*taken, *crossed], **looks):
        return
    for may_cross in (False, True):
        if _named(axes, name, dot, _SIDES, taken, taken, may_cross, **looks):
            return
    x, across = (9, "left") if dot[0] < sum(axes.get_xlim()) / 2 else (-9, "right")
    axes.annotate(
        name, dot, xytext=(x, 0), textcoords="offset points", ha=across, **looks
    )


def _along(axes: Axes, dot: tuple[float, float], box: Bbox) -> list[Bbox]:
    """Cover the line that leads from a dot to its name with small boxes, but for its
    two ends."""
    x, y = axes.transData.transform(dot)
    end = min(max(x, box.x0), box.x1)
    return _on_line((x, y), (end, box.y0 if box.y0 > y else box.y1))


def _on_line(start: Sequence[float], end: Sequence[float]) -> list[Bbox]:
    """Cover a line between two places with small boxes, but for its two ends."""
    x, y = start
    shares = np.linspace(0, 1, 12)[:-1]
    places = [(x + s * (end[0] - x), y + s * (end[1] - y)) for s in shares]
    return [
        Bbox.from_bounds(left - 3, low - 3, 6, 6)
        for left, low in places
        if math.hypot(left - x, low - y) > _CLEAR
    ]


def _named(
    axes: Axes,
    name: str,
    dot: tuple[float, float],
    sides: Sequence[tuple[int, int]],
    taken: list[Bbox],
    avoided: Sequence[Bbox],
    may_cross: bool = False,
    **looks: Any,
) -> bool:
    """Write a name on the first of these sides where it covers nothing of `avoided`, and
    return whether there is one.

    `may_cross`: the line that leads to the name may cross something.
    """
    line: Any = {
        "arrowstyle": "-",
        "linewidth": 0.6,
        "color": looks["color"],
        "shrinkA": 0,
    }
    # The line is drawn once the place is known, because cutting it to its two ends takes
    # ten times as long as placing the name.
    text = axes.annotate(name, dot, sides[0], textcoords="offset points", **looks)
    for x, y in sides:
        across = "left" if x > 0 else "right" if x else "center"
        up = "bottom" if y > 0 else "top" if y else "center"
        place: Any = {"xytext": (x, y), "ha": across, "va": up}
        text.xyann = (x, y)
        text.set(ha=across, va=up)
        box = text.get_window_extent()  # puts it in its place
        inside = (
            axes.bbox.x0 < box.x0
            and box.x1 < axes.bbox.x1
            and axes.bbox.y0 + 6 < box.y0
            and box.y1 < axes.bbox.y1 + 8
        )
        if not inside or any(box.overlaps(other) for other in avoided):
            continue
        line_on = _along(axes, dot, box) if abs(y) > 9 else []
        if not may_cross and any(b.overlaps(o) for b in line_on for o in taken):
            continue
        taken += [box.padded(_APART, 0), *line_on]
        if abs(y) > 9:
            text.remove()
            place["textcoords"] = "offset points"
            line["relpos"] = ({"left": 0, "right": 1, "center": 0.5}[across], 0.5)
            axes.annotate(name, dot, arrowprops=line, **place, **looks)
        return True
    text.remove()
    return False
