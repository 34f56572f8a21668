"""Send the last request once more, so that the prompt cache lives on (lesson 08)."""

from agentlib.api.replies import received
from agentlib.api.requests import request, send
from agentlib.loop import Agent
from agentlib.session.extras import Repeat, note_repeat

LATE = 10.0
"""Seconds that a request may take, after which its cache begins to live."""


def repeat(agent: Agent) -> Repeat:
    """Send the agent's last request once more. A read of the cache renews it.

    The request is the prefix of the next turn, and nothing is added to it. `max_tokens`
    is 0, or 1 where the API refuses 0. The answer is not kept, and the bill is in the
    session. Raises ValueError, and sends nothing, if the next request won't begin like
    the last one, because its messages, tools or system prompt changed, or if the cache
    has expired since.
    Source: aider's keep-alive pings, and
    https://github.com/anthropics/claude-code/issues/95728.
    """
    session = agent.session
    at = agent.now()
    sent = session.requests[-1].context if session.requests else []
    if not sent or session.context[: len(sent)] != sent:
        raise ValueError(
            "there is no request to repeat; the next one begins differently"
        )
    now = (agent.system, agent.tools)
    if session.changed or (session.system, session.tools) != now:
        raise ValueError(
            "the tools or the system prompt changed since the last request, and the cache "
            "begins with these"
        )
    idle = at - session.used_at
    if idle > agent.settings.cache_ttl + LATE:
        raise ValueError(
            f"the last request was {idle:,.0f} seconds ago, and the cache lives "
            f"{agent.settings.cache_ttl:g}"
        )
    body = request(agent.model, agent.system, agent.tools, sent, 0, session.settled)
    try:
        reply = send(agent.client, body)
    except Exception as refusal:
        if getattr(refusal, "status_code", None) != 400:
            raise
        reply = send(agent.client, {**body, "max_tokens": 1})
    usage = received(reply.to_dict(warnings=False))["usage"]
    return note_repeat(session, usage, at=at)
