"""The field on one picture: what engines cost against what they keep, each with its
spread."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from session_report.style import BLUE, DARK, GREY, RED, Chart, Look, patches, plain
from windtunnel.trade import Spread, intervals

COLOURS = (GREY, BLUE, "#8757A8", "#2F7F62", "#B9741A")
"""The families' colours, in their order. Red is for the engine that is looked at."""
WIDEST = 140
"""The cost in percent at which the picture ends."""
_BEND = 1.6
"""The power of the upward scale. Most engines keep much, so there is more room at the
top."""


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
    stands at its edge, with its cost.
    """
    chart = Chart(5.35, title)
    axes = chart.frame(
        0.62, 1.0, 6.4, 3.9, xlabel="cost, % of what forgetting nothing costs"
    )
    low = min(cost[1] for cost, _ in dots.values())
    axes.set_yscale("function", functions=(_bent(_BEND), _bent(1 / _BEND)))
    axes.set(
        xlim=(low - 4, WIDEST + 2),
        ylim=(0, 106),
        ylabel="kept: rule, facts and files, %",
    )
    axes.set_yticks([25, 50, 75, 90, 100])
    colours = {
        n: c
        for c, names in zip(COLOURS, families.values(), strict=False)
        for n in names
    }
    axes.step(*zip(*(place(dots[name]) for name in front), strict=True), "-", where="post",
              color=DARK, linewidth=2, alpha=0.25, zorder=1)  # fmt: skip
    way = zip(*(place(dots[name]) for name in mine), strict=True)
    axes.plot(*way, color=RED, linewidth=1.4, alpha=0.5)
    shown, inks = dict[str, Spread](), dict[str, str]()
    for name in (*(name for name in dots if name not in mine), *mine):
        cost, kept = dots[name]
        far = f" ({cost[0]:.0f} %)" if cost[0] > WIDEST else ""
        words = name.replace("_", " ") + far
        shown[words] = [min(WIDEST, each) for each in cost], kept
        inks[words] = RED if name in mine else colours.get(name, GREY)
    intervals(axes, shown, inks, largest=list(shown)[-1])
    looks = {family: Look(c) for c, family in zip(COLOURS, families, strict=False)}
    chart.key(patches(looks), columns=3)
    return chart


def _bent(power: float) -> Callable[[Any], Any]:
    return lambda heights: abs(heights) ** power


def place(dot: Spread) -> tuple[float, float]:
    """Return where a dot stands: one that is too expensive for the picture stands at
    its edge."""
    return min(dot[0][0], WIDEST), dot[1][0]
