"""Keep the newest 30 % word for word, and summarise the rest.

Who: gemini-cli (`COMPRESSION_PRESERVE_THRESHOLD` 0.3).
Source: https://github.com/google-gemini/gemini-cli,
`packages/core/src/context/chatCompressionService.ts`.
Good for: work in which the last steps matter most. The next compaction comes sooner.
"""

from dataclasses import replace
from typing import Any

from agentlib import pipeline
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages

SHARE = 0.3


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Make the tail as long as that share of what may be kept at all."""
    tail = int(SHARE * settings.threshold_tokens)
    return pipeline.compact(messages, replace(settings, tail_tokens=tail), **given)
