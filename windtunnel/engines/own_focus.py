"""Make a focus from the person's last words, if nobody gave one.

Who: hermes-agent (the last three requests, at most 700 characters). Source:
https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`. Good for:
long sessions with changing tasks. What belongs to the present one is kept in detail.
"""

from typing import Any

from agentlib import pipeline
from agentlib.messages import active_request
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages

REQUESTS, LONGEST = 3, 700


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Compact with a focus on what the person asked for last."""
    words = [text for m in messages if (text := active_request([m]))]
    given["focus"] = given.get("focus") or " ".join(words[-REQUESTS:])[-LONGEST:]
    return pipeline.compact(messages, settings, **given)
