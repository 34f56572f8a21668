"""The picture of the bills: tokens and dollars up to each turn, by how they are billed.

It draws a table of `lab.replay.bills.table`.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, StrMethodFormatter

from agentlib.lab.figures.style import GHOST, RED, Chart, Look, patches, plain, wrapped
from agentlib.lab.replay.bills import KINDS

if TYPE_CHECKING:
    from pandas import DataFrame

_AREAS: Mapping[str, tuple[str, Look]] = {
    "read": ("read from the cache", Look("#56B4E9", "////")),
    "written": ("written to the cache", Look("#0072B2")),
    "uncached": ("not cached", Look("#D55E00", "xxxx")),
    "answers": ("answers", Look("#F0E442", "....")),
}
"""How tokens are billed: the words of the legend, and the look."""


@plain
def bills(table: "DataFrame", ghost: "DataFrame") -> Chart:
    """Draw two charts side by side: tokens and dollars up to each turn.

    `ghost`: the table of the same session with nothing forgotten, only the turns before the wall.
    A cross ends it if it has fewer turns.
    """
    chart = Chart(3.3)
    titles = {"": "Tokens billed so far", "$ ": f"Dollars, {table.attrs['model']}"}
    forms = (EngFormatter(sep=" "), StrMethodFormatter("${x:.4g}"))
    for n, (prefix, title) in enumerate(titles.items()):
        axes = chart.frame(0.68 + n * 3.67, 1.02, 2.7, 1.91, title)
        axes.yaxis.set_major_formatter(forms[n])
        edges, below = [turn + 0.5 for turn in range(len(table) + 1)], [0.0] * len(table)
        for kind, above in _so_far(table, prefix).items():
            axes.stairs(above, edges, baseline=below, **_AREAS[kind][1].fill())
            below = above
        whole = _so_far(ghost, prefix)[KINDS[-1]]
        axes.plot(range(1, len(whole) + 1), whole, **GHOST)
        if 0 < len(whole) < len(table):
            axes.plot(len(whole), whole[-1], "X", color=RED, markersize=9)
        highest = 1.05 * max([*below, *whole])
        axes.set(xlim=(0.5, len(table) + 0.5), ylim=(0, highest), xlabel="turn (one request each)")
    chart.key([*patches(dict(_AREAS.values())), Line2D([], [], label="nothing forgotten", **GHOST)])
    return chart


def _so_far(table: "DataFrame", prefix: str) -> dict[str, list[float]]:
    """For each kind the upper edge of its area: sums over the turns, upon the kinds below."""
    sums = table[[f"{prefix}{kind}" for kind in KINDS]].cumsum().cumsum(axis=1)
    return {kind: list(sums[f"{prefix}{kind}"]) for kind in KINDS}


def sentence(table: "DataFrame", ghost: "DataFrame", wall_turn: int | None = None) -> str:
    """Say what the picture shows. `wall_turn`: the turn that is refused if nothing is forgotten.

    >>> from pandas import DataFrame
    >>> row = {"read": 90, "written": 8, "uncached": 2, "answers": 5}
    >>> table = DataFrame([row | {f"$ {kind}": 0.25 for kind in row}])
    >>> table.attrs["model"] = "claude-opus-5-5"
    >>> print(sentence(table, table))
    100 prompt tokens billed: 90 read from the cache, 8 written to it, 2 not
    cached; 5 tokens of answers. $1.0000 in all at the prices of
    claude-opus-5-5, $0.2500 of it for what was read from the cache. With
    nothing forgotten: $1.0000 to the end.
    """
    read, written, rest, answers = (int(table[kind].sum()) for kind in KINDS)
    end = f"until turn {wall_turn} is refused" if wall_turn else "to the end"
    return wrapped(
        f"{read + written + rest:,} prompt tokens billed: {read:,} read from the cache, "
        f"{written:,} written to it, {rest:,} not cached; {answers:,} tokens of answers. "
        f"${total(table):.4f} in all at the prices of {table.attrs['model']}, "
        f"${table['$ read'].sum():.4f} of it for what was read from the cache. "
        f"With nothing forgotten: ${total(ghost):.4f} {end}."
    )


def total(table: "DataFrame") -> float:
    """Sum the dollars of all kinds and turns."""
    return float(table[[f"$ {kind}" for kind in KINDS]].sum().sum())
