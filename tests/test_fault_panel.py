"""A bad day, and the panel of lesson 07: faults on request, and what became of the session."""

from dataclasses import replace

import pytest

from agentlib.lab import bad_day
from agentlib.lab.api.faults import Fault
from agentlib.lab.panels.fault_panel import KINDS, fault_panel
from agentlib.lab.play import rerun
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


def test_a_place_visited_before_is_not_run_again(panel):
    panel.move(rate=100, how="529")
    runs = rerun.cache_info().misses
    panel.move(rate=0, how="529")
    panel.move(rate=100, how="529")
    assert rerun.cache_info().misses == runs


def test_faults_are_part_of_what_a_run_is_remembered_by():
    assert rerun(SURVEY, LOW, faults=(DOWN,)) is rerun(SURVEY, LOW, faults=(DOWN,))
    assert rerun(SURVEY, LOW, faults=(DOWN,)) is not rerun(SURVEY, LOW)


def test_outcomes_and_requests_are_counted_by_what_the_session_notes():
    session = rerun(SURVEY, LOW, faults=(DOWN,)).session
    assert bad_day.outcomes(session) == {"failed": 3, "cut to size": 1}
    assert bad_day.asked(session) == [9, 10, 11]  # what was cut to size was not asked for


def test_a_day_tells_its_events_and_its_end():
    late = replace(START, threshold=27_000)
    day = bad_day.day(SURVEY, late, faults=[Fault("too_long", at=12, only="turn")])
    first = next(iter(day.told("compaction_begun")))
    assert first == "turn 12: compaction_begun: reactive at 20,848 tokens"
    assert (day.ended, day.checks["done"]) == ("", True)
    off = Settings(enabled=False).scaled(32_000)
    day = bad_day.day(SURVEY, off)
    assert day.ended.startswith("BadRequestError: ")
    assert "prompt is too long" in day.ended


def test_notes_are_put_back_and_outlive_the_summaries():
    short, [rule, *_] = replace(START, summary_tokens=300), SURVEY.prompts
    assert not rerun(SURVEY, short).checks["constraint"]
    day = bad_day.day(SURVEY, short, notes=f"- Rule: {rule}\n")
    assert day.checks["constraint"]
    assert "[Put back: NOTES.md]" in str(day.session.compactions[0].message)
