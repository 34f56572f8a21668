"""Settings have consequences, and they come out by themselves: directions, not figures.

Each effect has the task that shows it (issue 2; a prototype measured the same directions).
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playing import Played, play

from agentlib.lab.scenarios import RENAME, REVIEW, TRACE, Scenario, last_words
from agentlib.presets import ALL, DEFAULT
from agentlib.settings import Settings

BARE = Settings(auto=False, manual=False)
SMALL = Settings(micro="off", manual=False, summary_tokens=8_000).scaled(32_000)


@pytest.fixture(scope="module")
def renames(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Played]:
    """The renaming task by KEEP_RECENT, nothing else forgotten."""
    return {
        keep: play(RENAME, replace(BARE, keep_recent=keep), tmp_path_factory.mktemp("keep"))
        for keep in (1, 3, 5, 20)
    }


def test_fewer_kept_results_are_more_repeated_calls(renames: dict[int, Played]) -> None:
    repeats = [renames[keep].repeats for keep in sorted(renames)]
    assert repeats == sorted(repeats, reverse=True)
    assert repeats[0] > 3 * repeats[1] > 3 * repeats[2]


def test_too_few_kept_results_leave_the_task_undone(renames: dict[int, Played]) -> None:
    assert not renames[1].checks["done"]
    assert f"{renames[1].checks['left']} places are left" in last_words(renames[1].session.history)
    assert all(renames[keep].checks["done"] for keep in (3, 5, 20))


def test_tokens_over_kept_results_are_a_u(renames: dict[int, Played]) -> None:
    tokens = {keep: played.tokens for keep, played in renames.items()}
    assert tokens[1] > tokens[3] > tokens[5] < tokens[20]


def test_batches_beat_clearing_every_turn_in_dollars(tmp_path: Path) -> None:
    """The cache is lost from the cleared result on: seldom and much costs less."""
    every = play(REVIEW, BARE, tmp_path / "every")
    batches = play(REVIEW, replace(BARE, clear_at_least=12_000), tmp_path / "batches")
    assert every.checks["done"]
    assert batches.checks["done"]
    assert batches.tokens > every.tokens
    assert batches.usd < every.usd


def test_a_lower_threshold_compacts_no_later(tmp_path: Path) -> None:
    first: list[int] = []
    for threshold in (24_000, 16_000, 10_000):
        played = play(REVIEW, replace(SMALL, threshold=threshold), tmp_path / str(threshold))
        first.append(played.compactions[0])
    assert first == sorted(first, reverse=True)
    assert first[0] > first[-1]


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("scenario", [REVIEW, RENAME, TRACE], ids=lambda s: s.name)
def test_every_preset_does_every_task_or_says_why_not(
    name: str, scenario: Scenario, tmp_path: Path
) -> None:
    """Scaled to 32,000 tokens. Not done is an answer too, when it names what is missing."""
    played = play(scenario, ALL[name].scaled(32_000), tmp_path)
    assert played.turns
    if played.error:
        assert "prompt is too long" in played.error
    elif not played.checks["done"]:
        assert re.search(r"\b[1-9]\d* places are left", last_words(played.session.history))


def test_default_outlives_its_window(tmp_path: Path) -> None:
    """The review is larger than the window: bare it dies there, with the layers it is done."""
    bare = play(REVIEW, replace(BARE, micro="off").scaled(32_000), tmp_path / "bare")
    assert bare.error
    assert "prompt is too long" in bare.error
    layered = play(REVIEW, DEFAULT.scaled(32_000), tmp_path / "layered")
    assert layered.error is None
    assert layered.compactions
    assert layered.checks["done"]
