"""Find the rooms. Each lesson has one: a module of this package, named as its notebook is.

A room holds all that belongs to its lesson alone: the exercises with their checks and hints, the
finished functions, the panels, and what its cells print and draw. It registers its exercises with
`exercise`. Nothing lists the rooms, so to add a lesson is to add its module.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from agentlib.lab.lessons.checking import Answer

Check = Callable[[Answer], str | None]
"""Returns None for a right answer, or a sentence about it, and raises `Wrong` for any other."""


@dataclass(frozen=True)
class Exercise:
    """An exercise as its room registers it."""

    check: Check
    passed: str
    """What to say of a right answer of which the check says nothing."""
    finished: Any
    """What runs until the learner has solved it, or None."""
    hints: tuple[str, ...]
    """The paragraphs of the check's docstring, in the order in which they are given."""


EXERCISES: dict[str, Exercise] = {}
"""The exercises of the rooms that have been imported, by name."""


def exercise(name: str, passed: str = "", *, finished: Any = None) -> Callable[[Check], Check]:
    """Register the decorated check as the exercise `name`. Its docstring has the hints.

    A hint is a paragraph of its own.
    """

    def register(check: Check) -> Check:
        paragraphs = inspect.cleandoc(check.__doc__ or "").split("\n\n")
        hints = tuple(" ".join(each.split()) for each in paragraphs)
        EXERCISES[name] = Exercise(check, passed, finished, hints)
        return check

    return register


def find(name: str) -> Exercise:
    """Return an exercise. Raises `ValueError` with the names there are if none fits."""
    if name not in EXERCISES:
        import_all()
    if name not in EXERCISES:
        names = ", ".join(sorted(EXERCISES))
        raise ValueError(f"there is no exercise {name!r}; choose one of {names}")
    return EXERCISES[name]


@cache
def import_all() -> None:
    """Import every room. A notebook imports its own, so it hardly ever needs the others."""
    for module in iter_modules([str(Path(__file__).parent)], "agentlib.lab.lessons."):
        import_module(module.name)
