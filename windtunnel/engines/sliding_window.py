"""Let the oldest exchanges slide out of the window. No model is asked, no summary is
written.

Who: Microsoft's agent framework, deepagents and LangChain's trimming, Roo Code when no
summary can be made, learn-claude-code's s08 (`snip_compact`). Source:
https://github.com/RooCodeInc/Roo-Code, `src/core/context-management`. Good for:
conversations whose beginning doesn't matter. It forgets the rules first.
"""

from dataclasses import replace
from typing import Any

from agentlib import pipeline
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, writing

NOTE = "The oldest exchanges were left out to make room."


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Keep the newest exchanges that fill half of what may be kept, and drop the
    others."""
    half = replace(settings, tail_tokens=settings.threshold_tokens // 2)
    given["summarize"] = writing(NOTE)
    return pipeline.compact(messages, half, **given)
