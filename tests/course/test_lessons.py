"""Verdicts with reasons, hints in steps, predictions beside results, the learner's
function."""

import json
import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import course as lessons
from course import Verdict, check, compare, hint, predict, use
from course.asked import ASKED, is_label, settled
from course.checks.the_wall import added_up

ROOT = Path(__file__).parents[2]
NOTHING = "you said nothing, it is"
RIGHT = "and so it is"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "_predictions", {})


def tokens_sent(base: int, growth: int, turns: int) -> int:
    return sum(base + growth * turn for turn in range(turns))


def stub(base: int, growth: int, turns: int) -> int:
    return 1


def broken(base: int, growth: int, turns: int) -> float:
    return json.loads("1") / 0


def test_a_right_answer_passes_with_a_reason():
    verdict = check("00.2", tokens_sent)
    assert verdict
    assert repr(verdict).startswith("00.2 passed: 40 turns instead of 20 send four")


def test_a_wrong_answer_is_told_the_case():
    verdict = check("00.2", stub)
    assert not verdict
    assert (
        "with base=600, growth=400, turns=3 the answer is 3,000, not 1" in verdict.says
    )


def test_an_answer_that_raises_is_wrong_and_its_own_line_is_named():
    says = check("00.2", broken).says
    given = "base=600, growth=400, turns=3"
    error = "ZeroDivisionError('division by zero')"
    assert says.startswith(f"it raised {error} with {given}, in line ")
    assert says.endswith(': return json.loads("1") / 0')
    assert "in line" not in check("00.2", math.comb).says


def test_what_has_passed_runs_though_the_given_answer_does_not_pass(capsys):
    assert check("04.3", "decisions")
    assert use("04.3", "keep everything important") == "decisions"
    assert "04.3 is solved: your answer runs." in capsys.readouterr().out


def test_a_value_without_a_name_is_told_the_name_that_is_asked():
    assert "predict('10.gate', compactions=3)" in predict("10.gate", 3)


def test_an_answer_that_is_no_function_is_told_so():
    assert "give check the function's name" in check("02.2", None).says


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("00.99", "there is no exercise '00.99'; choose one of 00.1, 00.2"),
        ("77.1", "there is no exercise '77.1'; choose one of 00.1, 00.2"),
    ],
)
def test_an_exercise_that_does_not_exist_is_named_with_those_that_do(name, reason):
    with pytest.raises(ValueError, match=reason):
        check(name, None)


def test_a_verdict_is_wrapped_to_the_width_of_a_notebook():
    lines = repr(Verdict("00.2", False, "much too long " * 20)).splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 72


def test_a_solved_exercise_runs_with_the_learners_function(capsys):
    assert use("00.2", tokens_sent) is tokens_sent
    assert capsys.readouterr().out == "00.2 is solved: your tokens_sent runs.\n"


@pytest.mark.parametrize("function", [None, stub, broken, "tokens_sent"])
def test_an_unsolved_exercise_runs_with_the_finished_function_and_says_so(
    function, capsys
):
    assert use("00.2", function) is added_up
    line = "00.2 is not solved yet, so the finished added_up runs.\n"
    assert capsys.readouterr().out == line


def test_hints_come_in_steps_and_end():
    assert hint("00.2").startswith("Hint 1 of 2: Each request sends")
    assert hint("00.2", 2).startswith("Hint 2 of 2: sum(…)")
    assert repr(hint("00.2")) == str(hint("00.2"))
    for step in (3, 0, -1):
        assert hint("00.2", step) == f"00.2 has no hint {step}. Its last is hint 2."


def test_without_a_number_there_is_no_prediction():
    assert (
        predict("00.wall", turn=None)
        == "no prediction yet: put your guess in place of None"
    )
    assert compare("00.wall", turn=17) == f"turn: {NOTHING} 17"


def test_a_prediction_stands_beside_the_result():
    assert predict("00.wall", turn=12) == "You say: turn 12."
    assert compare("00.wall", turn=17).endswith(" 12, it is 17, 5 more")
    assert compare("00.wall", turn=12).endswith(f" 12, {RIGHT}")


def test_none_takes_back_an_earlier_prediction():
    predict("00.wall", turn=12)
    predict("00.wall", turn=None)
    assert compare("00.wall", turn=17) == f"turn: {NOTHING} 17"


def test_values_of_all_kinds_are_compared_in_words():
    predict("00.row", tokens_sent=231_000, done=False, dollars=0.5, share=87)
    actual = {
        "tokens_sent": np.int64(231_410),
        "done": False,
        "dollars": 0.0072,
        "share": 87.0,
    }
    assert compare("00.row", **actual).splitlines() == [
        "tokens sent: you said 231,000, it is 231,410, 0.18% more",
        f"done: you said no, {RIGHT}",
        "dollars: you said 0.50, it is 0.01, 0.49 less",
        f"share: you said 87, {RIGHT}",
    ]


def test_a_text_in_place_of_a_number_or_a_truth_is_told_what_to_give():
    predict("00.row", answered="22", finishes="yes", remarks="all")
    assert compare(
        "00.row", answered=22, finishes=True, remarks="all"
    ).splitlines() == [
        "answered: you said the text '22'. Give a number. It is 22",
        "finishes: you said the text 'yes'. Give True or False. It is yes",
        f"remarks: you said all, {RIGHT}",
    ]


def test_a_misspelt_or_unnamed_prediction_is_told_so():
    assert predict("00.wall", 18) == (
        "Name your prediction, as in predict('00.wall', turns=18)."
    )
    predict("00.wall", trun="nine", done=True)
    assert compare("00.wall", turn=18, done="later").splitlines() == [
        f"turn: {NOTHING} 18",
        "done: you said yes, it is later",
        "trun: not asked, only turn, done",
    ]


def test_an_answer_that_never_ends_is_stopped_with_a_sentence(monkeypatch):
    def forever(messages, ask, workspace):
        while messages[-1]["role"] == "user":
            pass

    monkeypatch.setattr(lessons, "SECONDS", 0.2)
    verdict = lessons.check("00.1", forever)
    assert not verdict
    assert "stopped after 0.2 seconds" in verdict.says


def test_ctrl_c_in_an_answer_is_ctrl_c(monkeypatch):
    def pressed(base, growth, turns):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lessons.check("00.2", pressed)


def test_a_prediction_that_is_no_answer_is_refused_at_once():
    said = str(predict("07.careful", finish=True, asks="sometimes"))
    assert "finish: not asked, only finishes, asks" in said
    assert '"once" or "every turn"' in said.replace("\n", " ")
    assert "you said nothing" in compare("07.careful", asks="once")
    assert "a number" in predict("07.breaker", asked="four")
    assert "True or False" in predict("07.disaster", finishes=1)


@pytest.mark.parametrize("value", [-1, 20, float("nan"), 1e9, True])
def test_a_number_that_nothing_can_come_to_is_refused_at_once(value):
    assert predict("04.tool", described=value) == (
        f"described: {value} is no answer; say a number from 0 to 19."
    )
    assert compare("04.tool", described=19) == f"described: {NOTHING} 19"


def test_a_share_is_in_percent_and_a_count_is_no_less_than_nothing():
    assert "a number from 0 to 100" in predict("02.transcript", percent_left=101)
    assert "a number, 0 or more" in predict("00.twice", answered=-1)
    assert "inf is no answer" in predict("00.twice", answered=float("inf"))
    assert predict("02.transcript", percent_left=0.5).startswith("You say")


def test_a_word_in_other_capitals_and_a_label_in_quotes_are_what_they_mean():
    predict("07.careful", finishes=False, asks="Every Turn")
    assert RIGHT in compare("07.careful", asks="every turn")
    predict("11.changes", left="2", down="Neither")
    left, down = compare("11.changes", left=1, down="neither").splitlines()
    assert left.endswith(" 2, it is 1")
    assert down.endswith(f" neither, {RIGHT}")


def test_every_prediction_of_the_lessons_says_what_it_may_be():
    asked = {}
    lessons = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    for path in (*lessons, ROOT / "notebooks/an_hour.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        for cell in cells:
            if match := re.match(r'predict\("(.+?)", (.+)\)$', cell.source):
                asked[match[1]] = re.findall(r"(\w+)=None", match[2])
    assert {name: [*values] for name, values in ASKED.items()} == asked


def test_every_number_that_came_of_a_lesson_could_have_been_predicted():
    wrong = []
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and (
                asked := re.search(r'compare\("(.+?)"', cell.source)
            ):
                texts = "".join(each.get("text", "") for each in cell.outputs)
                said = re.findall(rf"^(.+): {NOTHING} ([\d.,]+)$", texts, re.MULTILINE)
                values = {
                    key.replace(" ", "_"): float(number.replace(",", ""))
                    for key, number in said
                    if not is_label(asked[1], key.replace(" ", "_"))
                }
                wrong += settled(asked[1], values)[1]
    assert wrong == []


def test_a_check_in_the_middle_of_a_cell_is_printed_and_one_at_its_end_once():
    shell = InteractiveShell.instance()
    for code in ("check('00.2', 3)\nx = 1", "check('00.2', 3)"):
        with capture_output() as shown:
            shell.run_cell(f"from course import check\n{code}")
        shows = shown.stdout + "".join(str(each) for each in shown.outputs)
        assert shows.count("00.2 not yet") == 1
    InteractiveShell.clear_instance()
