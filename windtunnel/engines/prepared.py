"""Prepare the summary before it is needed, and put it in at the threshold without
waiting.

Who: Claude Code since August 2026, gemini-cli ("Async Background GC"), senpi. Source:
https://github.com/anthropics/claude-code/issues/71254. In a measurement a compaction
took 24 s when it was needed, and 1 s when it was prepared: earendil-works/pi, pull
request 160. Good for: the person who waits. What happens after the preparation stays
word for word, so the tail is longer than it need be.
"""

from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from agentlib import pipeline
from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import TokenMeter
from agentlib.messages import Message, exchanges
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, summary_of_all_but, wishing, writing

FROM, UPDATE = (
    0.85,
    "If an earlier summary stands above, update it: carry over what still holds.",
)
"""Share of the threshold from which a summary is prepared, and a sentence of its
request."""
_READY = WeakKeyDictionary[TokenMeter, tuple[Message, int, str]]()


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Summarise ahead of the threshold, and use that summary at it."""
    meter, turns, first = given["meter"], len(exchanges(messages)), messages[0]
    opening, before, summary = _READY.get(meter, ({}, 0, ""))
    share = meter.estimate(messages) / settings.threshold_tokens
    if opening is not first and settings.auto and FROM < share <= 1:
        with suppress(SummaryFailed):  # it is tried again before the next request
            ask = wishing(given["summarize"], settings, UPDATE)
            _READY[meter] = (first, turns - 1, ask(messages, ""))
    elif opening is first and share > 1:
        settings = summary_of_all_but(turns - before, settings)
        given["summarize"] = writing(summary)
    return pipeline.compact(messages, settings, **given)
