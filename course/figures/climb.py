"""The course in one picture: what each lesson's agent costs, and what is left at its
end."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from session_report.amounts import many
from session_report.style import BLUE, DARK, GREY, RED, Chart, plain

FILES = 24
FACTS = 4
"""The most that the session's report can hold."""


@plain
def climb(rows: Mapping[str, Mapping[str, Any]], dollars: str) -> Chart:
    """Draw a dot for each lesson, from the column `dollars` and from `described`.

    `rows` are those of the scorecard, by lesson. A hollow dot has lost the rule, a
    cross is a run that isn't done. The learner's own is a square, larger than a dot and
    under it, so that both are seen in one place. Neighbours that differ in nothing but
    their dollars share a name.
    """
    last, row = list(rows.items())[-1]
    of = f"Lesson {last}" if last.isdigit() else f"With {last}"
    title = f"{of}: {_came_to(row)}"
    chart = Chart(3.5, title)
    # The same room in every lesson, so that the dots keep their places from one to the
    # next. Another model's prices may need more.
    right = max(0.23, 1.15 * max(each[dollars] for each in rows.values()))
    names = {"xlabel": "price of the session", "ylabel": "files described"}
    axes = chart.frame(0.72, 0.55, 6.2, 2.4, **names)
    axes.set(
        xlim=(-0.022 * right, right),
        ylim=(-2, FILES + 4),
        yticks=range(0, FILES + 1, 6),
    )
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(
        lambda value, _: f"${value:g}" if right > 1 else f"{100 * value:.0f} ¢"
    )
    done = [(r[dollars], r["described"]) for r in rows.values() if r["done"] == "yes"]
    axes.plot([x for x, _ in done], [y for _, y in done], color=GREY, linewidth=1)
    for name in sorted(rows, key=_is_own, reverse=True):
        each = rows[name]
        mark = _mark(each, _is_own(name))
        if mark["marker"] == "o" and any(map(_is_own, rows)):
            # A rim parts a dot from the square under it.
            mark["path_effects"] = [withStroke(linewidth=5, foreground="white")]
        axes.plot(each[dollars], each["described"], mew=1.8, **mark)
    _name(axes, rows, dollars, right, done)
    words = "● the rule is kept   ○ it is lost   × stopped, or a file isn't named"
    axes.text(-0.009 * right, FILES + 3.6, words, color=GREY, va="top")
    return chart


def _came_to(row: Mapping[str, Any]) -> str:
    """Say in a title what a row's agent came to."""
    if str(row["done"]).endswith(" named"):
        return f"{row['described']} files described, {row['done']}"
    if row["done"] != "yes":
        return "the work is not finished"
    rule = "kept" if row["rule kept"] == "yes" else "lost"
    kept = f"{row['described']} of {FILES} files, {row['facts']} of {FACTS} facts"
    return f"{kept}, rule {rule}"


def _is_own(name: str) -> bool:
    return name.startswith("yours")


def _mark(row: Mapping[str, Any], is_own: bool) -> dict[str, Any]:
    if row["done"] != "yes" and not is_own:
        return {"marker": "x", "mec": RED, "ms": 10}
    is_kept = row["rule kept"] == row["done"] == "yes"
    colours = {"mec": BLUE, "mfc": BLUE} if is_kept else {"mec": RED, "mfc": "white"}
    if is_own:
        return {"marker": "s", "ms": 16, **colours}
    return {"marker": "o", "ms": 10, **colours}


def _name(
    axes: Axes,
    rows: Mapping[str, Mapping[str, Any]],
    dollars: str,
    right: float,
    line: Sequence[tuple[float, float]],
) -> None:
    """Write lessons and facts over the dots that are higher than those before, else
    under them, and beside a dot if the `line` would cross its name."""
    highest = 0
    lessons = {n: row for n, row in rows.items() if not _is_own(n)}
    for name in rows.keys() - lessons.keys():
        own = rows[name]
        if own["done"] != "yes":
            axes.plot(own[dollars], own["described"], "x", ms=10, mew=1.8, mec=RED)
        words = f"□ yours: {many(own['facts'], 'fact')}"
        x, y = -0.009 * right, FILES + 1.6  # below the words on the marks
        axes.text(x, y, words, va="top", color=DARK)
    halo: Any = {"path_effects": [withStroke(linewidth=2.5, foreground="white")]}
    for group in _alike(lessons, dollars, right / 12):
        row = rows[group[0]]
        files = row["described"]
        x = sum(rows[lesson][dollars] for lesson in group) / len(group)
        words = ", ".join(group)
        words += f": {many(row['facts'], 'fact')}" if files else ""
        y, side = (1.2, "bottom") if files > highest or not files else (-1.4, "top")
        across = "center"
        if _crossed(line, x, files + 2 * y, right / 20):
            x, y, across, side = x + 0.016 * right, 0, "left", "center"
        axes.text(x, files + y, words, color=GREY, ha=across, va=side, **halo)
        highest = max(highest, files)


def _crossed(
    line: Sequence[tuple[float, float]], x: float, y: float, near: float
) -> bool:
    """Tell whether a line from dot to dot goes through a name at this place.

    >>> _crossed([(0, 0), (1, 9)], 0.5, 4, near=1), _crossed([(0, 0), (1, 9)], 5, 4, near=1)
    (True, False)
    """
    return any(
        min(low, high) < y < max(low, high)
        and min(left, right) - near < x < max(left, right) + near
        for (left, low), (right, high) in itertools.pairwise(line)
    )


def _alike(
    rows: Mapping[str, Mapping[str, Any]], dollars: str, near: float
) -> list[list[str]]:
    """Put neighbours together whose dots can hardly be told apart."""
    groups = list[list[str]]()
    for name, row in rows.items():
        before: Mapping[str, Any] = rows[groups[-1][-1]] if groups else {}
        same = all(before.get(each) == row[each] for each in ("described", "facts"))
        if same and abs(before[dollars] - row[dollars]) < near:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups
