"""What an exercise is, and where those of a lesson are: one module a lesson, by the lesson's name.

Not the exercises themselves, and not what the learner calls; that is `agentlib.lab.lessons`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LESSONS = {
    "00": "wall",
    "01": "estimation",
    "02": "micro_compact",
    "03": "auto_compact",
    "04": "manual_compact",
    "05": "transcripts",
    "06": "head_and_tail",
    "07": "recovery",
}
"""A lesson's number, and the module here that holds `EXERCISES: dict[str, Exercise]`."""


class Wrong(Exception):
    """Raised by a checker: what is wrong with the answer, and why; a sentence for the learner."""


@dataclass(frozen=True)
class Exercise:
    """One question of a lesson.

    `check(answer)` returns why the answer is right, or raises `Wrong`. `hints` lead from the
    first step to the last but one; the solution itself stands folded in the notebook.
    """

    check: Callable[[Any], str]
    hints: tuple[str, ...] = ()


def lesson_of(name: str) -> str:
    """The lesson that a name begins with: lesson_of("02.1") == "02".

    Raises `ValueError` where there is no such lesson.
    """
    lesson = name.split(".")[0]
    if lesson not in LESSONS:
        raise ValueError(f"{name!r} begins with no lesson; there are {', '.join(LESSONS)}")
    return lesson


def of_lesson(lesson: str) -> dict[str, Exercise]:
    """The exercises of one lesson, by number: of_lesson("00")["00.1"]."""
    module = importlib.import_module(f"agentlib.lab.lessons.{LESSONS[lesson]}")
    return module.EXERCISES


def find(name: str) -> Exercise:
    """The exercise with this number; raises `ValueError`, with those there are, where none has it.

    find("00.1").hints[0] is the first hint of the first exercise of lesson 00.
    """
    exercises = of_lesson(lesson_of(name))
    if name not in exercises:
        raise ValueError(f"no exercise {name!r}; there are {', '.join(exercises)}")
    return exercises[name]
