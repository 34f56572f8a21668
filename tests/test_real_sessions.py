"""Every preset over real session files: each context that the layers make of them may be sent.

`REAL_SESSIONS=DIR` names a folder of Claude Code's files; nothing of them is in the project.
"""

import os
from pathlib import Path

import pytest

from agentlib.lab.replay import replay
from agentlib.lab.sessions import load
from agentlib.messages import violation
from agentlib.presets import ALL

FOLDER = os.environ.get("REAL_SESSIONS")
FILES = sorted(Path(FOLDER).glob("*.jsonl")) if FOLDER else []


@pytest.mark.skipif(not FOLDER, reason="needs REAL_SESSIONS=DIR, a folder of Claude Code's files")
@pytest.mark.parametrize("preset", sorted(ALL))
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_context_of_a_real_session_breaks_a_rule(path: Path, preset: str) -> None:
    session = load(path)
    for window in (200_000, 60_000):
        frames = replay(session, ALL[preset].scaled(window))
        assert len(frames) == len(session.requests)
        assert [v for frame in frames if (v := violation(frame.context))] == []
        assert all(frame.step.tokens_after <= frame.step.tokens_before for frame in frames)
