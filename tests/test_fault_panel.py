"""Bad days, and the panel of lesson 07: faults on request, and what became of the session."""

from dataclasses import replace

import pytest

from agentlib.lab.api.faults import Fault
from agentlib.lab.panels.fault_panel import KINDS, fault_panel
from agentlib.lab.play import asked_at, outcomes, play
from agentlib.lab.tasks import generated
from agentlib.settings import Settings

START = Settings(micro="off", manual=False, threshold_pct=65, summary_tokens=12_500).scaled(32_000)
LOW, SURVEY = replace(START, threshold=10_000), generated.scenario(1015)
DOWN = Fault("529", only="summary")


@pytest.fixture(scope="module")
def panel():
    return fault_panel(SURVEY, LOW)


def test_it_starts_where_half_of_the_summaries_fail(panel):
    assert panel.values == {"rate": 50, "how": "empty"}
    assert (panel.rate.min, panel.rate.max) == (0, 100)
    assert not panel.rate.continuous_update


def test_a_time_out_is_no_choice_since_it_takes_seconds():
    assert "timeout" not in KINDS
    assert len(KINDS) == 8


def test_the_fate_of_the_session_is_told(panel):
    panel.move(rate=0, how="empty")
    assert "compactions: 4 done, 0 cut to size, 0 failed." in panel.text.replace("\n", " ")
    sound = panel.png
    panel.move(rate=100, how="529")
    assert "compactions: 0 done, 1 cut to size, 3 failed." in panel.text.replace("\n", " ")
    assert "Task done: yes" in panel.text
    assert panel.png != sound


def test_a_place_visited_before_is_not_run_again():
    made: list[object] = []

    def counted(folder):
        made.append(folder)
        SURVEY.make_workspace(folder)

    panel = fault_panel(replace(SURVEY, make_workspace=counted), LOW)
    for rate in (100, 0, 100):
        panel.move(rate=rate, how="529")
    assert len(made) == 3  # the two places, and where it starts


def test_outcomes_and_requests_are_counted_by_what_the_session_notes():
    session = play(SURVEY, LOW, faults=(DOWN,)).session
    assert outcomes(session) == {"failed": 3, "cut to size": 1}
    assert asked_at(session) == [9, 10, 11]  # what was cut to size was not asked for


def test_notes_are_put_back_and_outlive_the_summaries():
    short, [rule, *_] = replace(START, summary_tokens=300), SURVEY.prompts
    assert not play(SURVEY, short).checks["constraint"]
    run = play(SURVEY, short, notes=f"- Rule: {rule}\n")
    assert run.checks["constraint"]
    assert "[Put back: NOTES.md]" in str(run.session.compactions[0].message)
