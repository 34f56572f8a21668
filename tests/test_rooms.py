"""Rooms are found by themselves, and lazily."""

import subprocess
import sys

import pytest

from agentlib.lab.lessons import checking, rooms
from agentlib.lab.lessons.checking import EXERCISES, Answer, exercise
from agentlib.lab.lessons.rooms import find


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_other_rooms_are_imported_only_if_a_lesson_asks_for_them():
    code = """
import sys
from agentlib.lab.lessons import check, the_wall
for exercise in ("00.2", "02.4"):
    check(exercise, len)
    print("agentlib.lab.lessons.micro_compact" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\nTrue\n"
