"""Prepare the summary before it is needed, and put it in at the threshold without waiting.

Who: Claude Code since August 2026, gemini-cli ("Async Background GC"), senpi.
Source: https://github.com/anthropics/claude-code/issues/71254. A measurement: a compaction took
24 s when it was needed, and 1 s when it was prepared (https://github.com/earendil-works/pi, 160).
Good for: the person who waits. What happens after the preparation stays word for word, so the tail
is longer than it need be.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from agentlib import pipeline
from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import TokenMeter
from agentlib.lab.engines.common import writing
from agentlib.messages import Message, exchanges
from agentlib.settings import Settings
from agentlib.step import Step

FROM = 0.85
"""Share of the threshold from which a summary is prepared."""
_READY = WeakKeyDictionary[TokenMeter, tuple[Message, int, str]]()


def compact(messages: Sequence[Message], settings: Settings, **given: Any) -> Step:
    """Summarise ahead of the threshold, and use that summary at it."""
    meter, turns = given["meter"], len(exchanges(messages))
    first, before, summary = _READY.get(meter, ({}, 0, ""))
    size, point = meter.estimate(messages), settings.threshold_tokens
    if first is messages[0] and before < turns and size > point:
        ready = replace(settings, head_tokens=0, tail_tokens=None, keep_exchanges=turns - before)
        given["summarize"] = writing(summary)
        return pipeline.compact(messages, ready, **given)
    if first is not messages[0] and settings.auto and FROM * point < size <= point:
        with suppress(SummaryFailed):  # it is tried again before the next request
            _READY[meter] = (messages[0], turns - 1, given["summarize"](messages, ""))
    return pipeline.compact(messages, settings, **given)
