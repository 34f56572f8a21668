"""A compaction by hand, the panel for its moment, and the picture of all moments."""

from dataclasses import replace

import pytest
from pandas import DataFrame, concat

from agentlib.estimation import prompt_tokens
from agentlib.settings import Settings
from course.checks.manual_compact import BY_HAND
from course.figures.moments import moment, moments
from course.rooms.manual_compact import moment_panel
from offline_api import violation
from session_report.playback import replay
from tests.runs import ERRAND
from windtunnel.runner import asked_at, play
from windtunnel.tasks.scenarios import SURVEY

START = Settings(micro="off", auto=False, manual=False).scaled(32_000)
ALL = "decisions, facts and rules of the user"


def test_the_model_compacts_once_the_first_piece_of_work_is_finished():
    start = Settings(micro="off").scaled(32_000)
    without, with_it = (
        play(ERRAND, replace(start, manual=has)) for has in (False, True)
    )
    assert [c.trigger for c in with_it.session.compactions] == ["manual"]
    assert without.session.compactions == []
    assert without.checks["done"]
    assert with_it.checks["done"]
    assert with_it.sent < 0.7 * without.sent


def test_compacting_by_hand_takes_place_after_the_turn_and_the_task_goes_on():
    run = play(ERRAND, START, compact_after=12)
    [done] = run.session.compactions
    assert (done.trigger, done.focus) == ("manual", "")
    assert run.session.requests[12].context[0] == run.step.summary
    assert violation(run.session.requests[12].context) is None
    assert run.checks["done"]
    assert run.turns == len(replay(run.session, run.session.settings))


def test_every_bill_is_counted_that_of_the_summary_too():
    run = play(ERRAND, START, compact_after=12)
    turns = sum(prompt_tokens(sent.usage) for sent in run.session.requests)
    assert len(run.usages) == run.turns + 1
    assert run.sent == turns + prompt_tokens(run.step.usage[0])


def test_a_turn_in_the_middle_of_a_request_will_do():
    run = play(ERRAND, START, compact_after=8)
    assert len(run.session.compactions) == 1
    assert run.checks["done"]


def test_a_turn_before_the_first_is_refused():
    with pytest.raises(ValueError, match=r"0: .* 1 to 19"):
        play(ERRAND, START, compact_after=0)


def test_a_focus_keeps_what_it_names():
    plain, named = (
        play(SURVEY, BY_HAND, compact_after=18, focus=focus).kept(SURVEY)
        for focus in ("", ALL)
    )
    assert (plain["facts"], plain["rule"]) == (2, False)
    assert (named["facts"], named["rule"]) == (7, True)


def test_a_rule_of_the_learners_compacts_and_the_chart_takes_its_run():
    answers = iter([None, None, None, "rules"])
    run = play(ERRAND, START, on_compact_call=lambda messages: next(answers, None))
    [done] = run.session.compactions
    assert (done.trigger, done.focus) == ("manual", "rules")
    table = run.table()
    assert len(table) == run.turns
    [turn] = [n for n, name in enumerate(table["compaction"], 1) if name == "manual"]
    assert turn == asked_at(run.session)[0]


def test_the_panel_moves_turn_length_and_focus_and_marks_what_came_of_it(unpainted):
    start = replace(BY_HAND, summary_tokens=320)
    files = {5: 8, 17: 4, 18: 8}
    rows = [
        {"turn": n, "from_report": n - 18, "described": d} for n, d in files.items()
    ]
    panel = moment_panel(SURVEY, start, DataFrame(rows).assign(files=8), after=17)
    plain = panel.text
    assert "describes 4 of 8 files, has 1 fact and breaks the rule" in " ".join(
        plain.split()
    )
    panel.words.value = " rules of the user "
    assert "keeps the rule" in " ".join(panel.text.split())
    panel.words.value = ""
    assert panel.text == plain
    panel.summary_tokens.value = 1_440
    assert "describes 8 of" in " ".join(panel.text.split())


def test_the_picture_is_broken_where_the_report_is_written():
    rows = [(1, -2, 1, 3, 4), (1, -1, 2, 1, 4), (1, 0, 3, 4, 4), (1, 1, 4, 4, 4)]
    names = ("seed", "from_report", "turn", "described", "files")
    table = DataFrame(rows, columns=names).assign(by="person")
    auto = DataFrame([(1, -1, 2, 1, 4)], columns=names).assign(by="auto")
    chart = moments(table, concat([table, auto]), title="t", at=(2, 1), name="here")
    own, others = chart.figure.axes
    before, after, *_ = own.lines
    assert [list(line.get_ydata()) for line in (before, after)] == [[3, 1], [4, 4]]
    ends = [list(line.get_ydata()) for line in others.lines]
    assert ends[:4] == [[75, 25], [75, 25], [100, 100], [100, 100]]
    assert ends[4] == [25]


@pytest.mark.parametrize(
    "at", [(2, 19), (20, 9), (35, 5), (36, 1), (36, 19), (37, 19), (38, 19)]
)
def test_the_name_of_the_mark_is_inside_the_picture_and_off_its_lines(
    at: tuple[int, int],
):
    rows = [
        {"turn": n, "from_report": n - 37, "described": 5, "files": 19}
        for n in range(2, 39)
    ]
    chart = moment(DataFrame(rows), title="t", at=at, name=f"yours: {at[1]}")
    chart.png()
    [axes] = chart.figure.axes
    written, name = (text.get_window_extent() for text in axes.texts)
    line = axes.transData.transform((36.5, 0))[0]
    assert axes.bbox.y0 < name.y0
    assert name.x1 < line
    assert not written.overlaps(name)
