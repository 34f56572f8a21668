"""The measure of tests/benchmarks/faults.py, in small: every session ends well, nothing is lost."""

from dataclasses import replace

import pytest
from benchmarks import faults as bench

from agentlib import presets

SMALL = presets.DEFAULT.scaled(bench.WINDOW)


@pytest.mark.parametrize("kind", bench.KINDS)
def test_whatever_becomes_of_the_summary_a_session_ends_well_and_loses_nothing(kind):
    (played,) = bench.cell(SMALL, kind, 1.0, 1)
    assert (played.completed, played.lost) == (True, 0)
    assert played.outcomes["failed"]
    assert played.outcomes["cut to size"]
    assert not played.outcomes["done"]


def test_a_summary_that_fails_now_and_then_is_made_the_next_time():
    played = bench.cell(SMALL, "empty", 0.5, 3)
    assert all(one.completed and not one.lost for one in played)
    assert sum(one.outcomes["done"] for one in played) >= 3


def test_without_recovery_a_session_would_not_have_ended():
    """That the measure can fail: nothing is compacted, and the window's end is the session's."""
    off = replace(SMALL, auto=False)
    (played,) = bench.cell(off, "empty", 1.0, 1)
    assert not played.completed
    assert played.lost == 0
