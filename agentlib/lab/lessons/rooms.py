"""Find the rooms. Each lesson has one: a module of this package, named as its notebook is.

A room holds all that belongs to its lesson alone: the exercises with their checks and hints, the
finished functions, the panels, and what its cells print and draw. It registers its exercises with
`exercise`. Nothing lists the rooms, so to add a lesson is to add its module.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from agentlib.lab.lessons.checking import EXERCISES, Exercise


def find(name: str) -> Exercise:
    """Return an exercise. Raises `ValueError` with the names there are if none fits."""
    if name not in EXERCISES:
        names = of_lesson(lesson_of(name))
        if name not in names:
            raise ValueError(f"there is no exercise {name!r}; choose one of {', '.join(names)}")
    return EXERCISES[name]


def of_lesson(lesson: str) -> list[str]:
    """Return the names of a lesson's exercises, in the lesson's order."""
    import_all()
    return sorted(name for name in EXERCISES if name.startswith(f"{lesson}."))


def lesson_of(name: str) -> str:
    """Return the lesson that a name begins with. Raises `ValueError` if there is no such lesson.

    >>> lesson_of("02.1")
    '02'
    """
    lesson = name.split(".")[0]
    if not any(each.startswith(f"{lesson}.") for each in EXERCISES):
        import_all()
        lessons = sorted({each.split(".")[0] for each in EXERCISES})
        if lesson not in lessons:
            listed = ", ".join(lessons)
            raise ValueError(f"{name!r} names no lesson; its first part is one of {listed}")
    return lesson


@cache
def import_all() -> None:
    """Import every room. A notebook imports its own, so it hardly ever needs the others."""
    for module in iter_modules([str(Path(__file__).parent)], "agentlib.lab.lessons."):
        import_module(module.name)
