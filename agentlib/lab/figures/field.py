"""The field on one picture: what engines cost against what they keep, each with its spread."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.patheffects import withStroke

from agentlib.lab.figures.style import BLUE, DARK, GREY, RED, WIDTH, Chart, plain, points
from agentlib.lab.figures.trade import name_dot

if TYPE_CHECKING:
    from matplotlib.transforms import Bbox

Interval = tuple[float, float, float]
"""A mean, and the ends of its spread."""
COLOURS = (GREY, BLUE, "#8757A8", "#2F7F62", "#B9741A")
"""The families' colours, in their order. Red is for the engine that is looked at."""
NEAR, WIDEST = 1.2, 140
"""Percent within which dots share a name, and the cost at which the picture ends."""
_BEND = 1.6
"""The power of the upward scale. Most engines keep much, so there is more room at the top."""


@plain
def field(
    dots: Mapping[str, tuple[Interval, Interval]],
    families: Mapping[str, Sequence[str]],
    front: Sequence[str],
    *,
    mine: Sequence[str] = (),
    title: str,
) -> Chart:
    """Draw each engine as a named dot: its cost to the right, what was kept upwards.

    Both are in percent, each with its spread. `families`: names by what they change, a colour each.
    `front`: those that nobody beats in both, to be joined by a line. Those in `mine` are red
    and joined in their order, and the last is the largest. Dots at nearly the same place have one
    name for all. An engine too expensive for the picture stands at its
    edge, with its cost.
    """
    chart = Chart(5.2, title)
    axes = chart.frame(0.62, 0.85, 6.4, 3.9, "")
    low = min(cost[1] for cost, _ in dots.values())
    axes.set_yscale("function", functions=(_bent(_BEND), _bent(1 / _BEND)))
    axes.set(xlim=(low - 4, WIDEST + 2), ylim=(0, 106), ylabel="kept: rule, facts and files, %")
    axes.set(xlabel="cost, % of what forgetting nothing costs")
    axes.set_yticks([25, 50, 75, 90, 100])
    colours = {n: c for c, names in zip(COLOURS, families.values(), strict=False) for n in names}
    axes.step(*zip(*(place(dots[name]) for name in front), strict=True), "-", where="post",
              color=DARK, linewidth=2, alpha=0.25, zorder=1)  # fmt: skip
    axes.plot(*zip(*[place(dots[name]) for name in mine] or [((), ())], strict=True), color=RED,
              linewidth=1.4, alpha=0.5)  # fmt: skip
    taken, places = list["Bbox"](), dict[tuple[float, float], list[str]]()
    for name, (cost, kept) in sorted(dots.items(), key=lambda each: each[0] in mine):
        x, y = place(dots[name])
        looks: Any = {"color": RED if name in mine else colours.get(name, GREY)}
        ends = [min(WIDEST, end) for end in cost[1:]]
        axes.plot(ends, [y, y], [x, x], kept[1:], linewidth=1, alpha=0.35, **looks)
        (mark,) = axes.plot(x, y, "o", markersize=9 if name in mine[-1:] else 7, **looks)
        taken.append(mark.get_window_extent())
        near = (p for p in places if abs(p[0] - x) < NEAR and abs(p[1] - y) < NEAR)
        places.setdefault(next(near, (x, y)), []).append(name)
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for at, names in places.items():
        words = _words(names, mine, dots)
        colour = RED if {*mine} & {*names} else colours.get(names[0], GREY)
        name_dot(axes, words, at, taken, color=colour, fontsize=8, path_effects=halo)
    left = 0.3
    for colour, family in zip(COLOURS, families, strict=False):
        looks = {"color": colour, "fontsize": 9}
        chart.figure.text(left / WIDTH, 0.03, f"● {family}", **looks)
        left += points(family) / 72 + 0.3
    return chart


def _bent(power: float) -> Callable[[Any], Any]:
    return lambda heights: abs(heights) ** power


def place(dot: tuple[Interval, Interval]) -> tuple[float, float]:
    """Return where a dot stands: one that is too expensive for the picture stands at its edge."""
    return min(dot[0][0], WIDEST), dot[1][0]


def _words(
    names: Sequence[str], mine: Sequence[str], dots: Mapping[str, tuple[Interval, Interval]]
) -> str:
    """Name the dots of one place: yours or the first of them, and how many more there are."""
    first = next((name for name in reversed(mine) if name in names), names[0])
    cost = dots[first][0][0]
    far = f" ({cost:.0f} %)" if cost > WIDEST else ""
    return first.replace("_", " ") + far + (f" + {len(names) - 1} equal" if names[1:] else "")
