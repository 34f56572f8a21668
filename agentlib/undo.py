"""See what a compaction would do, and take the last one back."""

from agentlib.engine_check import run_engine
from agentlib.loop import Agent
from agentlib.pipeline import Now
from agentlib.session_extras import context_before, note_undo
from agentlib.step import Step


def preview(agent: Agent) -> Step:
    """Return what `agent.compact_now` would do, with a stand-in for the summary. Asks
    no model, notes nothing."""
    session = agent.session
    return run_engine(
        agent.engine,
        Now(
            session.context,
            agent.settings,
            meter=agent.meter,
            summarize=lambda messages, focus: "…",
            archive=lambda: "",
            reason="manual",
            settled=session.settled,
            persons=session.persons,
        ),
    )


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
