"""Means over tasks with their spreads, and what may be claimed of two of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from session_report.amounts import many

RESAMPLED = 2_000
MEASURES = (
    "cost",
    "dollars",
    "kept",
    "rule",
    "facts",
    "files",
    "done",
    "again",
    "compactions",
)
BASE = "no words"
"""DEFAULT with `words_tokens` 0: what the field's engines are built on."""
EQUAL = "not to be told apart: the spreads overlap"

Interval = tuple[float, float, float]
"""A mean, and the ends of its spread."""


@dataclass(frozen=True)
class Spread:
    """How an engine did over all tasks. `cost` is in percent of what forgetting nothing
    costs, and `kept` is in percent of what was to be kept."""

    means: dict[str, float]
    cost: Interval
    kept: Interval

    def __str__(self) -> str:
        parts = ", ".join(
            f"{n} {100 * self.means[n]:.0f} %" for n in ("rule", "facts", "files")
        )
        spreads = f"cost {in_words(self.cost)}, kept {in_words(self.kept)}"
        return f"{spreads}: {parts}; {self.means['compactions']:.1f} compactions a task"


def spread(rows: Sequence[Mapping[str, Any]]) -> Spread:
    """Return the means over tasks. 95 % of the means of 2,000 resamplings lie in a
    spread.

    >>> tasks = [dict.fromkeys(MEASURES, value) for value in (0.5, 1.0)]
    >>> spread(tasks).kept
    (0.75, 0.5, 1.0)
    """
    means = {name: fmean(row[name] for row in rows) for name in MEASURES}
    cost, kept = (_interval([row[name] for row in rows]) for name in ("cost", "kept"))
    return Spread({name: round(mean, 4) for name, mean in means.items()}, cost, kept)


def _interval(values: Sequence[float]) -> Interval:
    import numpy as np

    picks = np.random.default_rng(0).integers(
        len(values), size=(RESAMPLED, len(values))
    )
    low, high = np.quantile(np.array(values)[picks].mean(axis=1), (0.025, 0.975))
    return round(float(np.mean(values)), 4), round(float(low), 4), round(float(high), 4)


def in_words(percent: Interval) -> str:
    """Return a mean and its spread as text.

    >>> in_words((81.47, 76.55, 86.76))
    '81 % [77 to 87]'
    """
    return "{:.0f} % [{:.0f} to {:.0f}]".format(*percent)


def side(mine: Interval, other: Interval) -> int:
    """Return 1 if mine is surely larger, -1 if it is surely smaller, 0 if the spreads
    overlap."""
    return (mine[1] > other[2]) - (mine[2] < other[1])


def counted(mine: Sequence[float], other: Sequence[float]) -> str:
    """Say in how many tasks mine is larger and in how many it is smaller, task by task.

    >>> counted([3, 3, 2], [1, 2, 4])
    'more in 2 tasks, less in 1, of 3'
    """
    more = sum(one > two for one, two in zip(mine, other, strict=True))
    less = sum(one < two for one, two in zip(mine, other, strict=True))
    return f"more in {many(more, 'task')}, less in {less}, of {len(mine)}"


def compared(mine: Spread, other: Spread) -> str:
    """Say how mine compares with another.

    >>> a, b = (Spread({}, (cost, cost - 1, cost + 1), (0.9, 0.8, 1.0)) for cost in (50, 60))
    >>> compared(a, b), compared(a, a)
    ('cheaper; kept not to be told apart', 'not to be told apart: the spreads overlap')
    """
    cost = side(mine.cost, other.cost)
    kept = side(mine.kept, other.kept)
    if not (cost or kept):
        return EQUAL
    dollars = ("cost not to be told apart", "more expensive", "cheaper")[cost]
    keeps = ("kept not to be told apart", "keeps more", "keeps less")[kept]
    return f"{dollars}; {keeps}"


def beats(one: Spread, other: Spread) -> bool:
    """Return whether one is surely better in cost or in what is kept, and surely worse
    in none."""
    sides = (-side(one.cost, other.cost), side(one.kept, other.kept))
    return max(sides) > 0 <= min(sides)


def alike(spreads: Mapping[str, Any]) -> list[str]:
    """Return those that came to just the same as what they are built on, so that
    nothing here shows what they do.

    >>> alike({BASE: 1, "plan_put_back": 1, "spilled": 2})
    ['plan_put_back']
    """
    usual = spreads.get(BASE)
    return [other for other in spreads if other != BASE and spreads[other] == usual]


def front(spreads: Mapping[str, Spread]) -> list[str]:
    """Return those that nobody beats in both means, the cheapest first."""
    best = list[str]()
    names = sorted(spreads, key=lambda name: spreads[name].cost[0])
    for name in names:
        if not any(spreads[other].kept[0] >= spreads[name].kept[0] for other in best):
            best.append(name)
    return best
