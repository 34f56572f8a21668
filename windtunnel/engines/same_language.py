"""Ask for the summary in the person's language.

Who: hermes-agent, Roo Code. Source: https://github.com/NousResearch/hermes-agent,
`agent/context_compressor.py`. Good for: everyone who doesn't write English. The prompt
of the summary is English, and models answer in the language of the last prompt. After
it they often stay in it.
"""

from typing import Any

from agentlib import pipeline
from agentlib.messages import active_request
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, wishing

WISH = "Write it in the language in which the user writes, as here: {}"


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Compact, and quote the person's words as an example of their language if it isn't
    ASCII."""
    words = (active_request(messages) or "")[:80]
    if not words.isascii():
        given["summarize"] = wishing(given["summarize"], settings, WISH.format(words))
    return pipeline.compact(messages, settings, **given)
