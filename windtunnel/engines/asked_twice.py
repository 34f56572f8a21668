"""Ask a second time: the model sees its summary and says what it left out.

Who: gemini-cli, 2026. Source: https://github.com/google-gemini/gemini-cli,
`packages/core/src/context/chatCompressionService.ts`. Good for: facts that stand once
in a long conversation. It costs a second request, most of which the prompt cache pays
for.
"""

from typing import Any

from agentlib import pipeline
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, wishing

AGAIN = "Your summary stands above. Write it once more, with anything important that it left out."


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Ask for a summary, show it to the model, and ask again."""
    ask = given["summarize"]

    def twice(messages: Messages, focus: str) -> str:
        return wishing(ask, settings, AGAIN, ask(messages, focus))(messages, focus)

    given["summarize"] = twice
    return pipeline.compact(messages, settings, **given)
