"""Put the agent's plan back after a compaction, as it wrote it last.

Who: gemini-cli, Claude Code (its plan and its list of things to do), hermes-agent, Roo
Code. Source: https://code.claude.com/docs/en/context-window. Good for: agents that keep
a plan. A summary tells the plan, and tells it a little differently each time. This one
stays as it was written.
"""

import re
from typing import Any

from agentlib import pipeline
from agentlib.hooks import Hooks, hooked
from agentlib.messages import of_type
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages

_PLAN = re.compile(r"plan|todo", re.IGNORECASE)


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Compact, and quote the newest plan beside the summary."""
    tokens = settings.restore_tokens
    given["summarize"] = hooked(
        given["summarize"], Hooks(restore=(plan,)), tokens, tokens
    )
    return pipeline.compact(messages, settings, **given)


def plan(messages: Messages) -> list[tuple[str, str]]:
    """Return the newest plan, by the name of the tool or of the file that it was
    written with."""
    for call in (
        c for m in reversed(messages) for c in reversed(of_type(m, "tool_use"))
    ):
        name = str(call["input"].get("path") or call["name"])
        text = call["input"].get("content") or call["input"].get("todos")
        if _PLAN.search(name) and text:
            return [(name, str(text))]
    return []
