"""Preview and undo: what a compaction would take away, and the way back from it."""

from dataclasses import replace

import pytest

from agentlib.compaction.around import preview
from agentlib.loop import Agent
from agentlib.session.undo import undo
from agentlib.step import drop_thinking
from agentlib.transcripts import load
from offline_api import violation
from session_report.playback import replay
from tests.fakes import Clock, client, worker
from tests.runs import SMALL, go, state

LARGE = replace(SMALL, context_window=16_000)
"""Room for everything, so that only the person compacts."""


@pytest.fixture
def agent(workspace, session) -> Agent:
    """An agent that has read a file three times."""
    go(worker(3), workspace, session, settings=LARGE)
    return Agent(client(worker(0)), workspace, session, LARGE, clock=Clock())


def test_a_preview_keeps_what_compacting_keeps_and_changes_nothing(agent: Agent):
    before = list(agent.session.context)
    size = agent.session.path.stat().st_size
    shown = preview(agent)
    assert agent.session.context == before
    assert agent.session.path.stat().st_size == size
    step = agent.compact_now()
    assert shown.kept == step.kept
    assert shown.summary != step.summary


def test_undone_is_the_context_from_before_and_what_came_since(agent: Agent):
    before = list(agent.session.context)
    agent.compact_now()
    assert agent.session.context != before
    list(agent.run("And now?"))
    newer = agent.session.history[len(before) :]
    undo(agent)
    assert agent.session.context == drop_thinking([*before, *newer], 0)
    assert (
        violation([*agent.session.context, {"role": "user", "content": "Go on."}])
        is None
    )


def test_an_undo_is_one_line_of_the_file_and_resumes_and_replays(agent: Agent):
    agent.compact_now()
    lines = agent.session.count
    undo(agent)
    assert agent.session.count == lines + 1
    loaded = load(agent.session.path)
    assert state(loaded) == state(agent.session) | {"count": loaded.count}
    list(agent.run("And now?"))
    frames = replay(load(agent.session.path), LARGE)
    assert [frame.context for frame in frames] == [
        r.context for r in agent.session.requests
    ]


def test_what_cannot_be_undone_says_why(agent: Agent):
    with pytest.raises(ValueError, match="nothing to undo"):
        undo(agent)
    agent.compact_now()
    agent.settings = replace(LARGE, threshold=900)
    with pytest.raises(
        ValueError, match=r"the context before has \d,\d+ tokens, and there is room"
    ):
        undo(agent)
    agent.settings = LARGE
    undo(agent)
    with pytest.raises(ValueError, match="nothing to undo"):
        undo(agent)


def test_a_file_that_lost_a_line_loads_whatever_was_undone(workspace, session):
    go(worker(2), workspace, session, settings=LARGE)
    agent = Agent(client(worker(0)), workspace, session, LARGE, clock=Clock())
    agent.compact_now()
    undo(agent)
    lines = session.path.read_text(encoding="utf-8").splitlines(keepends=True)
    for lost in range(len(lines) - 1):  # without its last line the file is only older
        rest = [*lines[:lost], *lines[lost + 1 :]]
        session.path.write_text("".join(rest), encoding="utf-8")
        loaded = load(session.path)
        assert loaded.damage or loaded.context == session.context
        ends = [*loaded.context, {"role": "user", "content": "Go on."}]
        assert violation(ends) is None or loaded.pending
