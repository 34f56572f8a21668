"""Let a second model write the summary when the first one fails.

Who: hermes-agent, goose, cline, opencode, inspect_ai and others: a small model first, the session's
own after it.
Source: https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`.
Good for: cheap models with small windows, which refuse the longest conversations.
"""

from collections.abc import Sequence
from typing import Any

from agentlib import pipeline
from agentlib.auto_compact import Summarize, SummaryFailed
from agentlib.messages import Message
from agentlib.recovery import truncating
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Step


def falling_back(second: Summarize) -> ContextEngine:
    """Make an engine that asks `second` if the first summary fails."""

    def compact(messages: Sequence[Message], settings: Settings, **given: Any) -> Step:
        first = given["summarize"]

        def either(messages: Sequence[Message], focus: str) -> str:
            try:
                return first(messages, focus)
            except SummaryFailed:
                return second(messages, focus)

        given["summarize"] = either
        return pipeline.compact(messages, settings, **given)

    return compact


compact = falling_back(truncating("the model failed", 2_000))
"""Without a second model at hand, what was said stands there instead, cut to size."""
