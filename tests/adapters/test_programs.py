"""Two programs of others in the wind tunnel, in a small window."""

from dataclasses import replace

from others import PYTHON

from windtunnel.programs.program import Program, from_known
from windtunnel.programs.run import run
from windtunnel.programs.task import task
from windtunnel.programs.verdict import Reading

WINDOW = 24_000
"""Small, so that the runs take seconds."""


def installed_here(name: str) -> Program:
    """Return a known program as it is installed for these tests, which have no session
    in a file."""
    program = from_known(name)
    return replace(program, run=(str(PYTHON), *program.run[1:]), again=())


def test_a_program_without_compaction_meets_the_wall():
    reading = Reading(run(installed_here("mini-swe-agent"), task(1, WINDOW), WINDOW))
    assert reading.compactions == []
    assert reading.findings_of_size
    assert "no report" in {each.kind for each in reading.findings}


def test_a_program_that_compacts_is_read():
    reading = Reading(run(installed_here("deepagents"), task(1, WINDOW), WINDOW))
    assert len(reading.compactions) >= 2
    assert all(each.by == "summary" for each in reading.compactions)
    assert reading.run.steps[0].result.report
