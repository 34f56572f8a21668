"""Exercises are found by themselves, lazily, and without what draws."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import course as lessons
from course import checking, checks
from course.checking import EXERCISES, Answer, Wrong, exercise, same_value
from course.checks import find, micro_compact, the_wall
from course.file_at_work import engine_before


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    checks.import_all()
    exercises = dict(EXERCISES)
    for module in (checking, checks):
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


def test_other_exercises_are_imported_only_if_a_lesson_asks_for_them(
    monkeypatch: pytest.MonkeyPatch,
):
    for module in (the_wall, micro_compact):
        monkeypatch.delitem(sys.modules, module.__name__)
        monkeypatch.setattr(
            checks, module.__name__.rpartition(".")[2], module
        )  # put back later
    checks.EXERCISES.clear()
    checks.import_all.cache_clear()
    importlib.import_module(the_wall.__name__)
    lessons.check("00.2", len)
    assert micro_compact.__name__ not in sys.modules
    lessons.check("02.4", len)
    assert micro_compact.__name__ in sys.modules


BLOCKED = """
import sys
from pathlib import Path

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())
from course import check, checks
checks.import_all()
print(len(checks.EXERCISES), bool(check("02.2", checks.find("02.2").finished)))
"""


def test_every_check_is_imported_without_what_draws_and_one_passes_so(tmp_path: Path):
    drawing = ["numpy", "pandas", "matplotlib", "IPython", "ipywidgets", "zstandard"]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *drawing],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.stdout.split() == [str(len(EXERCISES)), "True"], done.stderr


def test_a_function_that_edits_what_it_is_given_is_wrong():
    def sorts(numbers: list[int]) -> list[int]:
        numbers.sort()
        return numbers

    with pytest.raises(Wrong, match="it edited what it was given"):
        Answer(sorts).call([2, 1])
    assert Answer(sorted).call([2, 1]) == [1, 2]


@pytest.mark.parametrize(
    ("right", "given", "same"),
    [
        (100, 100.0, True),
        (100, 101, False),
        (0.5, 0.5 + 1e-08, True),
        (0.5, 0.501, False),
        (True, [1], True),
        ([1, 2], (1, 2), True),
    ],
)
def test_which_values_are_the_same(right: object, given: object, same: bool):
    assert same_value(right, given) == same


def test_a_part_that_is_not_there_is_named():
    mine = {"02.2": find("02.2").finished}
    _, says = engine_before("04", mine)
    assert "yours: 02.2 clear_view" in says.lower()
    assert "not in it yet" in says
    assert "course's" in engine_before("04", {})[1]
