"""What a learner is told: verdicts with reasons, hints in steps, predictions beside results."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from agentlib.lab import lessons as teach
from agentlib.lab.lessons import Verdict, check, compare, hint, predict, wall
from agentlib.lab.lessons import checking as exercises


@pytest.fixture(autouse=True)
def folder(tmp_path: Path):
    """A folder of its own for the progress, as the notebooks' is the kernel's."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)
    teach._said.clear()


def progress(folder: Path, lesson: str = "00") -> dict:
    return json.loads((folder / ".progress" / f"{lesson}.json").read_text(encoding="utf-8"))


def test_a_right_answer_passes_and_is_told_why():
    verdict = check("00.1", wall.refused_turn)
    assert verdict
    assert repr(verdict).startswith("00.1 passed: a prompt as large as the window still fits")


def test_a_wrong_answer_is_told_what_is_wrong_and_why():
    verdict = check("00.1", lambda base, growth, window: 4)
    assert not verdict
    assert "it says 4, but the prompt of turn 4 has 1,800 tokens, and that fits" in " ".join(
        repr(verdict).split()
    )


def test_an_answer_that_raises_is_wrong_and_no_traceback():
    def refused_turn(base, growth, window):
        return json.loads("1") / 0

    said = check("00.1", refused_turn).says
    assert said.startswith("it raised ZeroDivisionError('division by zero'), in line ")
    assert said.endswith(': return json.loads("1") / 0')


def test_an_error_that_is_not_in_the_answers_own_lines_names_none_of_them():
    assert check("00.1", math.comb).says.startswith("it raised TypeError(")
    assert "in line" not in check("00.1", math.comb).says


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("00.99", "no exercise '00.99'; there are 00.1, 00.2"),
        ("77.1", "'77.1' begins with no lesson; there are 00, 01, 02"),
    ],
)
def test_an_exercise_that_is_not_there_is_named_with_those_that_are(name, said):
    with pytest.raises(ValueError, match=said):
        check(name, None)


def test_a_verdict_is_shown_in_lines_a_notebook_has_room_for():
    lines = repr(Verdict("00.1", False, "much too long " * 20)).splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 72


def test_hints_come_in_steps_and_end():
    count = len(exercises.find("00.1").hints)
    assert hint("00.1").startswith(f"Hint 1 of {count}: The prompt of turn n")
    assert hint("00.1", 2) != hint("00.1", 1)
    for none in (count + 1, 0, -1):
        assert hint("00.1", none) == f"00.1 has {count} hints, and no hint {none}."


def test_a_prediction_stands_beside_the_result():
    assert predict("00.wall", turn=12) == "You say: turn 12."
    assert compare("00.wall", turn=17) == "turn: you said 12, it is 17"
    assert compare("00.wall", turn=12) == "turn: you said 12, and so it is"


def test_without_a_number_there_is_no_prediction_and_nothing_is_written(folder):
    assert predict("00.wall", turn=None) == "no prediction yet: put a number in place of None"
    assert compare("00.wall", turn=17) == "turn: you said nothing, it is 17"
    assert not (folder / ".progress").exists()


def test_a_prediction_outlives_the_process(folder):
    predict("00.wall", turn=12)
    teach._said.clear()  # as a new kernel has it
    assert compare("00.wall", turn=17) == "turn: you said 12, it is 17"
    assert progress(folder)["predicted"] == {"00.wall": {"turn": 12}}


def test_none_in_the_notebook_goes_before_an_older_prediction_in_the_file():
    predict("00.wall", turn=12)
    predict("00.wall", turn=None)
    assert compare("00.wall", turn=17) == "turn: you said nothing, it is 17"


def test_values_of_all_kinds_are_said_in_words():
    predict("00.row", tokens_sent=231_000, done=False, kept="no", dollars=0.5, share=87)
    actual = {"tokens_sent": np.int64(231_410), "done": False, "kept": False, "dollars": 0.0072}
    assert compare("00.row", **actual, share=87.0).splitlines() == [
        "tokens sent: you said 231,000, it is 231,410",
        "done: you said no, and so it is",
        "kept: you said no, and so it is",
        "dollars: you said 0.50, it is 0.01",
        "share: you said 87, and so it is",
    ]


def test_a_text_where_a_number_or_a_truth_is_compared_is_said_to_be_one():
    predict("00.row", turn="eighteen", done="False", ended="never")
    assert compare("00.row", turn=18, done=False, ended="at 9").splitlines() == [
        "turn: you said 'eighteen', a text; it is 18",
        "done: you said 'False', a text; it is no",
        "ended: you said never, it is at 9",
    ]


def test_what_was_passed_is_kept_and_what_was_not_is_not(folder):
    check("00.3", wall.tokens_sent)
    check("00.1", lambda *numbers: 0)
    assert progress(folder)["passed"] == {"00.3": True}


@pytest.mark.parametrize("torn", ['{"passed": {"0', "[1, 2]", '{"passed": 3, "predicted": [1]}'])
def test_a_torn_progress_file_is_begun_anew(folder, torn):
    (folder / ".progress").mkdir()
    (folder / ".progress" / "00.json").write_text(torn, encoding="utf-8")
    predict("00.wall", turn=12)
    assert progress(folder) == {"passed": {}, "predicted": {"00.wall": {"turn": 12}}}


def test_where_nothing_can_be_written_the_lesson_goes_on(folder):
    (folder / ".progress").write_text("a file in the place of the folder", encoding="utf-8")
    assert predict("00.wall", turn=12) == "You say: turn 12."
    assert compare("00.wall", turn=17) == "turn: you said 12, it is 17"


def test_what_is_said_shows_without_quotes():
    assert repr(hint("00.1")) == str(hint("00.1"))
