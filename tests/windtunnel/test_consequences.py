"""Settings have consequences, and they come out by themselves: directions, not figures.

Each effect has the task that shows it.
"""

import re
from dataclasses import replace
from random import Random

import pytest

from agentlib.api.spending import PRICED_AS
from agentlib.presets import ALL, DEFAULT
from agentlib.settings import Settings
from windtunnel.runner import MAX_TURNS, Run, play
from windtunnel.tasks.scenarios import SURVEY, last_words
from windtunnel.tasks.varied import rename

BARE = Settings(auto=False, manual=False)
SMALL = Settings(micro="off", manual=False, summary_tokens=8_000).scaled(32_000)
RENAME = rename(Random(4), "rename")
"""A constant in 17 lines of five files."""
WINDOW = 24_000
"""The survey is larger."""


def renamed(keep_recent: int) -> Run:
    """The renaming task by KEEP_RECENT, nothing else forgotten."""
    return play(RENAME, replace(BARE, keep_recent=keep_recent))


def test_fewer_kept_results_are_more_repeated_calls() -> None:
    repeats = [renamed(keep).repeated for keep in (1, 3, 5, 20)]
    assert repeats == sorted(repeats, reverse=True)
    assert repeats[0] > 3 * repeats[1] > 3 * repeats[2]


def test_too_few_kept_results_leave_the_task_undone() -> None:
    run = renamed(1)
    assert not run.checks["done"]
    assert re.search(r"\b[1-9]\d* places are left", last_words(run.session.history))
    assert all(renamed(keep).checks["done"] for keep in (3, 5, 20))


def test_tokens_over_kept_results_are_a_u() -> None:
    assert renamed(1).sent > renamed(3).sent > renamed(5).sent < renamed(20).sent


def test_a_number_too_large_for_the_window_frees_nothing() -> None:
    """As if there were no layer: turn for turn, and to the same wall."""
    small = BARE.scaled(16_000)
    large = play(RENAME, replace(small, keep_recent=40))
    without = play(RENAME, replace(small, enabled=False))
    assert "prompt is too long" in large.refused
    assert large.session.context == without.session.context


def test_batches_beat_clearing_every_turn_in_dollars() -> None:
    """The cache is lost from the cleared result on: seldom and much costs less."""
    every = play(SURVEY, BARE)
    batches = play(SURVEY, replace(BARE, clear_at_least=12_000))
    assert every.checks["done"]
    assert batches.checks["done"]
    assert batches.sent > every.sent
    assert batches.dollars(PRICED_AS) < every.dollars(PRICED_AS)


def first_compaction(run: Run) -> int:
    """The length of the history when it was carried out."""
    return next(done.seen for done in run.session.compactions if done.failure is None)


def test_a_lower_threshold_compacts_no_later() -> None:
    thresholds = (24_000, 16_000, 10_000)
    runs = [
        play(SURVEY, replace(SMALL, threshold=threshold)) for threshold in thresholds
    ]
    first = [first_compaction(run) for run in runs]
    assert first == sorted(first, reverse=True)
    assert first[0] > first[-1]


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_preset_does_the_renaming_or_says_why_not(name: str) -> None:
    """Not done is an answer too, when it names what is missing."""
    run = play(RENAME, ALL[name].scaled(WINDOW))
    assert 0 < run.turns < MAX_TURNS
    if run.refused:
        assert "prompt is too long" in run.refused
    elif not run.checks["done"]:
        assert re.search(r"\b[1-9]\d* places are left", last_words(run.session.history))


def test_default_outlives_its_window() -> None:
    """The survey is larger than the window: bare it dies there, with the layers it is
    done."""
    bare = play(SURVEY, replace(BARE, micro="off").scaled(WINDOW))
    assert "prompt is too long" in bare.refused
    layered = play(SURVEY, DEFAULT.scaled(WINDOW))
    assert not layered.refused
    assert layered.session.compactions
    assert layered.checks["done"]
