"""What a compaction took out, and how much of what was needed later a rule puts
back."""

from dataclasses import replace

import pytest

from agentlib import presets
from session_report.one import Row
from session_report.policies import KEEPS_ALL
from session_report.put_back import covered, forgotten, put_back
from windtunnel.runner import play
from windtunnel.tasks.generated import generated

COMPACTS = replace(presets.CLAUDE_CODE.scaled(32_000), restore_files=0)


def piece(at: str, tokens: int, needed: int, age: int = 1) -> Row:
    return {"at": at, "what": "calls", "tokens": tokens, "needed": needed, "age": age}


PIECES = [
    piece("a", 100, 1),
    piece("a", 500, 3),
    piece("b", 300, 2),
    piece("b", 400, 0, age=9),
]


def small(row: Row) -> int:
    return -row["tokens"]


def large(row: Row) -> int:
    return row["tokens"]


@pytest.mark.parametrize(
    ("rule", "room", "share"),
    [(small, 500, 3 / 6), (large, 500, 3 / 6), (small, 600, 6 / 6), (large, 50, 0)],
)
def test_each_compaction_has_the_room_and_a_piece_that_does_not_fit_is_left_out(
    rule: object, room: int, share: float
):
    assert covered(rule, PIECES, room) == share


def test_the_rule_does_not_see_what_is_needed_later():
    with pytest.raises(KeyError, match="needed"):
        put_back(lambda row: row["needed"], PIECES, 500)


def test_nothing_was_needed():
    with pytest.raises(ValueError, match="no later reply quotes one of these 1 pieces"):
        covered(small, [piece("a", 1, 0)], 500)


def test_what_a_replay_forgets_and_needs_is_found():
    session = play(generated(0), KEEPS_ALL).session
    rows = forgotten(session, COMPACTS)
    assert sum(row["needed"] for row in rows) == 25
    assert all(row["age"] >= 0 and row["tokens"] >= 0 for row in rows)
    assert len({row["at"] for row in rows}) > 1  # compactions
    assert forgotten(session, KEEPS_ALL) == []
