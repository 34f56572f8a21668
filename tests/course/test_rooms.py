"""Rooms are found by themselves, and lazily."""

import importlib
import sys

import pytest

import course as lessons
from course import checking, rooms
from course.checking import EXERCISES, Answer, exercise
from course.rooms import find, micro_compact, the_wall


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms.import_all()
    exercises = dict(EXERCISES)
    for module in (checking, rooms):
        monkeypatch.setattr(module, "EXERCISES", exercises)


def test_an_exercise_has_a_hint_for_each_paragraph_of_its_docstring():
    @exercise("77.1", "well done.", finished=len)
    def check(answer: Answer) -> None:
        """Count
        them.

        Use `len`.
        """

    found = find("77.1")
    assert found.hints == ("Count them.", "Use `len`.")
    assert (found.check, found.passed, found.finished) == (check, "well done.", len)


def test_other_rooms_are_imported_only_if_a_lesson_asks_for_them(
    monkeypatch: pytest.MonkeyPatch,
):
    for module in (the_wall, micro_compact):
        monkeypatch.delitem(sys.modules, module.__name__)
        monkeypatch.setattr(
            rooms, module.__name__.rpartition(".")[2], module
        )  # put back later
    rooms.EXERCISES.clear()
    rooms.import_all.cache_clear()
    importlib.import_module(the_wall.__name__)
    lessons.check("00.2", len)
    assert micro_compact.__name__ not in sys.modules
    lessons.check("02.4", len)
    assert micro_compact.__name__ in sys.modules
