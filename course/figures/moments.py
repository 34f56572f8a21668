"""What is left of the work if the conversation is compacted at this turn or that
(lesson 04)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from typing import Any

from matplotlib.axes import Axes
from pandas import DataFrame

from session_report.style import BLUE, DARK, RED, Chart, plain


@plain
def moment(table: DataFrame, *, title: str, at: tuple[int, int], name: str) -> Chart:
    """Draw the files that a report describes, for each turn after which a person
    compacted.

    `table`: a row for each `turn`. Its `from_report` is 0 if the report has just been
    written. `at`: a turn and its files, marked in red as `name`.
    """
    chart = Chart(2.6, title)
    _curve(chart.frame(0.62, 0.5, 6.4, 1.6), table, at, name)
    return chart


@plain
def moments(
    table: DataFrame, others: DataFrame, *, title: str, at: tuple[int, int], name: str
) -> Chart:
    """Draw `moment`, and beside it other tasks: a thin line each, the median as a thick
    one.

    `others`: as `table`, a row for each `seed` and turn. Rows `by` "auto" are marked in
    red.
    """
    chart = Chart(3.3, title)
    _curve(chart.frame(0.62, 0.5, 3.35, 2.1, "The report on 19 files"), table, at, name)
    rows = others.assign(share=100 * others["described"] / others["files"])
    auto, person = (rows[rows["by"] == by] for by in ("auto", "person"))
    wide = person.pivot_table(index="from_report", columns="seed", values="share")
    axes = chart.frame(4.55, 0.5, 2.5, 2.1, f"{wide.shape[1]} other tasks")
    for part in (wide[wide.index < 0], wide[wide.index >= 0]):
        axes.plot(part, color="#CCCCCC", linewidth=1)
        axes.plot(part.median(axis=1), color=BLUE, linewidth=3)
    axes.plot(auto["from_report"], auto["share"], "o", color=RED, markersize=5)
    axes.axvline(-0.5, color=DARK, linewidth=1, linestyle=":")
    left = min(wide.index.min(), auto["from_report"].min()) - 0.5
    axes.set(ylim=(0, 108), xlim=(left, 1.5), xlabel="turns from the report")
    axes.set_ylabel("% of the files", labelpad=0)
    axes.locator_params(axis="x", nbins=6)
    axes.text(left + 0.4, 8, "thin: one task each\nthick: the median")
    axes.text(1.5, 115, "● lesson 03", color=RED, ha="right")
    return chart


def _curve(axes: Axes, table: DataFrame, at: tuple[int, int], name: str) -> None:
    for part in (table[table["from_report"] < 0], table[table["from_report"] >= 0]):
        axes.plot(part["turn"], part["described"], color=BLUE, linewidth=3)
    written = table["turn"][table["from_report"] == 0].iloc[0]
    axes.axvline(written - 0.5, color=DARK, linewidth=1, linestyle=":")
    files = table["files"].iloc[0]
    axes.text(
        written - 0.9, 1.15 * files, "the report is written", ha="right", va="center"
    )
    axes.plot(*at, "o", color=RED, markersize=9, zorder=5)
    ha, right = ("left", 4) if at[0] < 0.4 * written else ("right", -8)
    va, down = ("center", 0) if at[1] < 0.2 * files else ("top", -8)  # above the axis
    place: Any = {
        "xytext": (right, down),
        "textcoords": "offset points",
        "ha": ha,
        "va": va,
    }
    axes.annotate(name, (min(at[0], written - 0.5), at[1]), color=RED, **place)
    axes.set(ylim=(0, 1.25 * files), xlim=(1, table["turn"].max() + 0.5))
    axes.set(xlabel="compacted after turn", ylabel="files described")
