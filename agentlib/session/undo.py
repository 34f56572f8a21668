"""Take the last compaction back."""

from agentlib.loop import Agent
from agentlib.session.extras import context_before, note_undo


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
