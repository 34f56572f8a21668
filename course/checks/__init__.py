"""The exercises: what checks an answer, its hints, and what runs until it is solved.

Each lesson with exercises has a module, named as its notebook and its room are. A check is
a function of an answer. So nothing here draws, and a check needs neither numpy nor pandas
nor matplotlib: it also runs in a web page.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from course.checking import EXERCISES, Exercise


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
    """Import the exercises of every lesson. A notebook imports its own room's, so it
    hardly ever needs the others."""
    for module in iter_modules([str(Path(__file__).parent)], "course.checks."):
        import_module(module.name)
