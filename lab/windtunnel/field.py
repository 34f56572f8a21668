"""The field on one picture: what engines cost against what they keep, each with its
spread."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import MultipleLocator

from session_report.style import BLUE, DARK, GREY, RED, Chart, Look, patches, plain
from windtunnel.judge.spreads import BASE, alike
from windtunnel.trade import EVIDENCE, TITLES, Spread, intervals

COLOURS = (GREY, BLUE, "#8757A8", "#2F7F62", "#B9741A")
"""The families' colours, in their order. Red is for the engine that is looked at."""
WIDEST = 126
"""The cost in percent at which the picture ends."""
_where: Any = np.where
_FOLD = 70
_BELOW = 0.36
"""Percent kept, below which the scale is closer, and the share of the height that it
takes there. Most engines keep more, and need the room."""


@plain
def field(
    dots: Mapping[str, Spread],
    families: Mapping[str, Sequence[str]],
    front: Sequence[str],
    *,
    mine: Sequence[str],
    title: str,
) -> Chart:
    """Draw each engine as a named dot: its cost to the right, what was kept upwards.

    Both are in percent, each with its spread. `families`: names by what they change, a
    colour each. `front`: those that nobody beats in both, to be joined by a line. Those
    in `mine` are red and joined in their order, and the last is the largest. Dots at
    nearly the same place have one name for all. An engine too expensive for the picture
    stands at its edge, with its cost. Engines that no task told from what they are
    built on have no dot and are named below. That has none either, beside DEFAULT's.
    """
    unshown = [name for name in alike(dots) if name not in mine]
    dots = {name: dot for name, dot in dots.items() if name not in (*unshown, BASE)}
    front = [name for name in front if name in dots]
    chart = Chart(5.75, title)
    axes = chart.frame(
        0.62, 1.44, 6.4, 3.84, xlabel="cost, % of what forgetting nothing costs"
    )
    low = min(cost[1] for cost, _ in dots.values())
    axes.set_yscale("function", functions=(_folded, _unfolded))
    axes.set(
        xlim=(low - 4, WIDEST + 2),
        ylim=(0, 101.5),
        ylabel="kept: rule, facts and files, %",
    )
    axes.xaxis.set_major_locator(MultipleLocator(10))
    axes.set_yticks([0, 20, 40, 60, 70, 80, 90, 100])
    axes.axhspan(0, _FOLD, color="#F3F4F5", zorder=0)
    words = f"below {_FOLD} % the scale is closer"
    axes.text(low - 3, 2, words, color=GREY, fontsize=8, va="bottom")
    colours = {
        n: c
        for c, names in zip(COLOURS, families.values(), strict=False)
        for n in names
    }
    axes.step(*zip(*(place(dots[name]) for name in front), strict=True), "-", where="post",
              color=DARK, linewidth=2, alpha=0.25, zorder=1)  # fmt: skip
    way = zip(*(place(dots[name]) for name in mine), strict=True)
    axes.plot(*way, color=RED, linewidth=1.4, alpha=0.5)
    shown = dict[str, Spread]()
    inks = dict[str, str]()
    for name in (*(name for name in dots if name not in mine), *mine):
        cost, kept = dots[name]
        far = f" ({cost[0]:.0f} %)" if cost[0] > WIDEST else ""
        words = TITLES.get(name, name.replace("_", " ")) + far
        shown[words] = [min(WIDEST, each) for each in cost], kept
        inks[words] = RED if name in mine else colours.get(name, GREY)
    intervals(axes, shown, inks, largest=list(shown)[-1])
    looks = {family: Look(c) for c, family in zip(COLOURS, families, strict=False)}
    chart.key(patches(looks), columns=3)
    notes = [EVIDENCE + "."]
    if unshown:
        names = ", ".join(name.replace("_", " ") for name in unshown)
        words = f"As DEFAULT with {BASE} in everything, because no task needs them: {names}."
        notes += textwrap.wrap(words, 100)
    small: Any = {"fontsize": 8, "color": GREY, "va": "bottom"}
    chart.figure.text(0.014, 0.5 / chart.height, "\n".join(notes), **small)
    return chart


def _folded(kept: Any) -> Any:
    """Return the share of the height at which so many percent stand."""
    above = _BELOW + (1 - _BELOW) * (kept - _FOLD) / (100 - _FOLD)
    return _where(kept < _FOLD, _BELOW * kept / _FOLD, above)


def _unfolded(height: Any) -> Any:
    above = _FOLD + (100 - _FOLD) * (height - _BELOW) / (1 - _BELOW)
    return _where(height < _BELOW, _FOLD * height / _BELOW, above)


def place(dot: Spread) -> tuple[float, float]:
    """Return where a dot stands: one that is too expensive for the picture stands at
    its edge."""
    return min(dot[0][0], WIDEST), dot[1][0]
