"""Let a second model write the summary when the first one fails.

Who: hermes-agent, goose, cline, opencode, inspect_ai and others: a small model first,
the session's own after it. Source: https://github.com/NousResearch/hermes-agent,
`agent/context_compressor.py`. Good for: cheap models with small windows, which refuse
the longest conversations.
"""

from typing import Any

from agentlib import pipeline
from agentlib.auto_compact import Summarize
from agentlib.recovery import or_else, truncating
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Step
from windtunnel.engines.common import Messages


def falling_back(second: Summarize) -> ContextEngine:
    """Make an engine that asks `second` if the first summary fails."""

    def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
        given["summarize"] = or_else(given["summarize"], second)
        return pipeline.compact(messages, settings, **given)

    return compact


compact = falling_back(truncating("the model failed", 2_000))
"""Without a second model at hand, what was said stands there instead, cut to size."""
