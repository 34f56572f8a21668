"""Judge a rule for what to put back after a compaction, by what was needed later
(lesson 09).

A session is replayed with compactions, so its replies are given. A piece that a later
reply quotes, after the context has lost it, should have been put back.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from agentlib.estimation import message_tokens
from agentlib.settings import Settings
from agentlib.transcripts import Session
from session_report.need import (
    Row,
    calls_of,
    file_of,
    lost_quotes,
    named_blocks,
    what_of,
)
from session_report.playback import replay

Score = Callable[[Row], Any]
"""A rule: the piece with the highest score is put back first."""
NEEDED = "needed"


def forgotten(session: Session, settings: Settings) -> list[Row]:
    """Return what the compactions of a replay took out of the context, a row for each
    block.

    `what` it was, its `tool` and `file`, its `tokens`, the turns since it came (`age`),
    and how many later replies and calls `needed` it. `at` names the session and the
    compaction.

    On paper: a file is read at turn 2, a compaction before turn 5 drops it, and turn 7
    quotes it. Its age is 3, and it was needed once.
    """
    frames = replay(session, settings)
    calls = calls_of(session)
    came = dict[int, int]()
    lost = dict[int, Row]()
    for frame in frames:
        held = {key for message in frame.context for key, _ in named_blocks(message)}
        for message in frame.before:
            for key, block in named_blocks(message):
                came.setdefault(key, frame.turn)
                if frame.compaction and key not in held:
                    tokens = round(message_tokens({**message, "content": [block]}))
                    row = {"tokens": tokens, "age": frame.turn - came[key], NEEDED: 0}
                    where = f"{session.session_id}, turn {frame.turn}"
                    what = what_of(block, message, calls)
                    what |= {"file": file_of(block, calls)}
                    lost[key] = {"at": where, **what, **row}
        for quote in (
            q for qs in lost_quotes(session, frame.turn, frame.context) for q in qs
        ):
            if quote.source in lost:
                lost[quote.source][NEEDED] += 1
    return list(lost.values())


def put_back(score: Score, pieces: Iterable[Row], room: int) -> list[Row]:
    """Choose the pieces of one compaction that are put back, the highest score first.

    A piece that no longer fits into `room` tokens is left out. The rule doesn't see
    what is needed later.

    >>> small, large = {"tokens": 100, "needed": 1}, {"tokens": 900, "needed": 0}
    >>> put_back(lambda piece: piece["tokens"], [small, large], room=950)
    [{'tokens': 900, 'needed': 0}]
    """
    seen = [
        ({name: row[name] for name in row if name != NEEDED}, row) for row in pieces
    ]
    chosen = list[Row]()
    left = room
    for _, row in sorted(seen, key=lambda pair: score(pair[0]), reverse=True):
        if row["tokens"] <= left:
            chosen.append(row)
            left -= row["tokens"]
    return chosen


def covered(score: Score, pieces: Sequence[Row], room: int) -> float:
    """Return the share of all needs that the rule had put back, in `room` tokens each
    time.

    Raises ValueError if nothing was needed.
    """
    needed = sum(row[NEEDED] for row in pieces)
    if not needed:
        raise ValueError(f"no later reply quotes one of these {len(pieces)} pieces")
    groups = (list(group) for _, group in groupby(pieces, key=lambda row: row["at"]))
    return (
        sum(row[NEEDED] for group in groups for row in put_back(score, group, room))
        / needed
    )
