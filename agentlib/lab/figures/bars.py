"""The bars of lesson 06: what each compaction left, as head, summary and tail."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence

from agentlib.lab.figures.style import LOOKS, Chart, patches, plain
from agentlib.lab.generations import Generation

_PARTS = {"head": LOOKS["user"], "summary": LOOKS["summary"], "tail": LOOKS["tool_result"]}


@plain
def bars(
    rows: Mapping[str, Sequence[Generation]], *, facts: int = 0, top: float | None = None
) -> Chart:
    """Draw the parts that each compaction left as stacked bars. The names are titles, one or two.

    `facts`: how many there are. Above each bar stands how many of them are left, and a cross if
    the rule is gone. With 0 nothing stands there. `top`: the top of the axis in tokens.
    """
    high = top or 1.2 * max(g.head + g.summary + g.tail for row in rows.values() for g in row)
    places = range(1, 1 + max(1, *map(len, rows.values())))
    chart = Chart(3.1)
    width = 6.1 / len(rows)
    for n, (title, row) in enumerate(rows.items()):
        axes = chart.frame(0.86 + n * width, 0.78, width - 0.25, 2.0, title)
        axes.set(xlim=(0.4, len(places) + 0.6), ylim=(0, high), xticks=places, xlabel="compaction")
        for place, each in zip(places, row, strict=False):
            below = 0
            for part, look in _PARTS.items():
                size = getattr(each, part)
                axes.bar(place, size, bottom=below, **look.fill(0.5))
                below += size
            if facts:
                text = f"{each.facts}/{facts}" + ("" if each.rule else "\n✗ rule")
                axes.text(place, below, text, ha="center", va="bottom", fontsize=7)
    chart.figure.axes[0].set_ylabel("tokens it left")
    for axes in chart.figure.axes[1:]:
        axes.tick_params(labelleft=False)
    chart.key(patches(_PARTS), left=0.1)
    return chart
