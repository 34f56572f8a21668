"""A thousand turns in a window of 32,000 tokens: it completes, and the context stays bounded.

That the cost of a turn stays flat is a matter of time, so `make stress` shows it, over 10,000.
"""

from pathlib import Path

from benchmarks.stress import SETTINGS, WINDOW, blocks

from agentlib.messages import violation
from agentlib.transcripts import load

TURNS = 1_000


def test_a_thousand_turns_stay_within_the_window(tmp_path: Path) -> None:
    found = list(blocks(tmp_path, SETTINGS["default"], TURNS, TURNS // 4))
    assert [block.turns for block in found] == [250, 500, 750, 1_000]
    assert all(block.tokens <= WINDOW for block in found)
    # The last stretch is no larger than the second: nothing piles up.
    assert found[-1].messages <= 1.2 * found[1].messages
    session = load(tmp_path / "sessions" / "stress.jsonl")
    assert len(session.requests) == TURNS
    assert not session.pending
    assert len([c for c in session.compactions if c.message]) > 3
    assert [v for r in session.requests[-50:] if (v := violation(r.context))] == []
