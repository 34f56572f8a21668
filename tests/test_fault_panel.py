"""Bad days, and the panel of lesson 07: faults on request, and what became of the session."""

from dataclasses import replace

from agentlib.lab.api.faults import Fault
from agentlib.lab.play import asked_at, outcomes, play
from agentlib.lab.tasks.scenarios import SURVEY
from agentlib.settings import Settings

START = Settings(micro="off", manual=False, threshold_pct=65, summary_tokens=12_500).scaled(32_000)
LOW = replace(START, threshold=10_000)
DOWN = Fault("529", only="summary")


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
