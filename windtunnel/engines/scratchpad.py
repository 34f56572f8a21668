"""Let the model think aloud before its summary, and take that off before the summary is
kept.

Who: Claude Code (`<analysis>`, then `<summary>`), gemini-cli (`<scratchpad>`),
hermes-agent. Source: https://github.com/google-gemini/gemini-cli,
`packages/core/src/context/chatCompressionService.ts`. Good for: models that write
better once they have gone through the conversation. The thoughts are paid for once, and
never sent again.
"""

import re
from typing import Any

from agentlib import pipeline
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, wishing

WISH = "First go through it between <analysis> and </analysis>. That part will be taken off."
_PAD = re.compile(r"<(analysis|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL)


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Ask for thoughts and a summary, and keep the summary."""
    ask = wishing(given["summarize"], settings, WISH)

    def without(messages: Messages, focus: str) -> str:
        return _PAD.sub("", ask(messages, focus)).strip()

    given["summarize"] = without
    return pipeline.compact(messages, settings, **given)
