"""Find the rooms. Each lesson has one: a module of this package, named as its notebook
is.

A room holds all that belongs to its lesson alone: the exercises with their checks and
hints, the finished functions, the panels, and what its cells print and draw. It
registers its exercises with `exercise`. Nothing lists the rooms, so to add a lesson is
to add its module.
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
    """Import every room. A notebook imports its own, so it hardly ever needs the
    others."""
    for module in iter_modules([str(Path(__file__).parent)], "course.rooms."):
        import_module(module.name)
