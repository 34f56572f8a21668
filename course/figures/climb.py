"""The course in one picture: what each lesson's agent costs, and what is left at its
end."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes

from session_report.style import BLUE, GREY, RED, Chart, many, plain

FILES, FACTS = 24, 4
"""The most that the session's report can hold."""


@plain
def climb(rows: Mapping[str, Mapping[str, Any]], dollars: str) -> Chart:
    """Draw a dot for each lesson, from the column `dollars` and from `described`.

    `rows` are those of the scorecard, by lesson. A hollow dot has lost the rule, a
    cross is a run that didn't finish. Neighbours that differ in nothing but their
    dollars share a name.
    """
    last, row = list(rows.items())[-1]
    kept = f"{row['described']} of {FILES} files, {row['facts']} of {FACTS} facts, "
    kept += "rule kept" if row["rule kept"] == "yes" else "rule lost"
    title = (
        f"Lesson {last}: {kept if row['done'] == 'yes' else 'the work is not finished'}"
    )
    chart = Chart(3.5, title)
    names = {"xlabel": "price of the session", "ylabel": "files described"}
    axes = chart.frame(0.72, 0.55, 6.2, 2.4, **names)
    axes.set(xlim=(-0.005, 0.23), ylim=(-2, FILES + 4), yticks=range(0, FILES + 1, 6))
    axes.set_xticks([0, 0.05, 0.1, 0.15, 0.2])
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} ¢")
    done = [(r[dollars], r["described"]) for r in rows.values() if r["done"] == "yes"]
    axes.plot([x for x, _ in done], [y for _, y in done], color=GREY, linewidth=1)
    for each in rows.values():
        axes.plot(
            each[dollars], each["described"], markersize=10, mew=1.8, **_mark(each)
        )
    _name(axes, rows, dollars)
    words = "● the rule is kept   ○ it is lost   × not finished"
    axes.text(-0.002, FILES + 3.6, words, color=GREY, va="top")
    return chart


def _mark(row: Mapping[str, Any]) -> dict[str, Any]:
    if row["done"] != "yes":
        return {"marker": "x", "mec": RED}
    is_kept = row["rule kept"] == "yes"
    colours = {"mec": BLUE, "mfc": BLUE} if is_kept else {"mec": RED, "mfc": "white"}
    return {"marker": "o", **colours}


def _name(axes: Axes, rows: Mapping[str, Mapping[str, Any]], dollars: str) -> None:
    """Write lessons and facts over the dots that are higher than those before, else
    under them."""
    highest = 0
    for _, group in groupby(rows.items(), lambda item: _place(item[1], dollars)):
        lessons, same = zip(*group, strict=True)
        files, facts = same[0]["described"], same[0]["facts"]
        x = sum(row[dollars] for row in same) / len(same)
        words = ", ".join(lessons) + (f": {many(facts, 'fact')}" if files else "")
        y, side = (1.2, "bottom") if files > highest or not files else (-1.4, "top")
        axes.text(x, files + y, words, color=GREY, ha="center", va=side)
        highest = max(highest, files)


def _place(row: Mapping[str, Any], dollars: str) -> tuple[int, ...]:
    """Return the same place for dots that can hardly be told apart."""
    return round(row[dollars] / 0.02), row["described"], row["facts"]
