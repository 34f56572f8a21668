"""See what a compaction would do, and take the last one back."""

from dataclasses import replace

from agentlib.around import Around
from agentlib.engine_check import run_engine
from agentlib.loop import Agent
from agentlib.pipeline import moment
from agentlib.session_extras import context_before, note_undo
from agentlib.step import Step


def preview(agent: Agent) -> Step:
    """Return what `agent.compact_now` would do, with a stand-in for the summary. Asks
    no model, notes nothing."""
    engine = agent.engine
    now = moment(
        agent.session,
        agent.settings,
        meter=agent.meter,
        summarize=lambda messages, focus: "…",
        reason="manual",
    )
    bare = engine.engine if isinstance(engine, Around) else engine
    return run_engine(bare, replace(now, archive=lambda: ""))


def undo(agent: Agent) -> None:
    """Take back the agent's last compaction. What came since stays.

    Raises ValueError if there is none, or if the context would be compacted again at
    once.
    """
    agent.open()
    settings = agent.settings
    size = agent.meter.estimate(context_before(agent.session))
    room = settings.threshold_tokens if settings.auto else settings.context_window
    if size > room:
        raise ValueError(
            f"the context before has {size:,} tokens, and there is room for {room:,}"
        )
    note_undo(agent.session, at=agent.now())
