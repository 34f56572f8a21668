"""Stop compacting when the window refills three times in a row, and say so.

Who: Claude Code since 2.1.89. Source: its change log,
https://github.com/anthropics/claude-code, `CHANGELOG.md`. Good for: not paying for
ever. If a few results fill the window again at once, the next summary won't help
either, and a person has to look.
"""

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from agentlib import pipeline
from agentlib.estimation import TokenMeter
from agentlib.messages import exchanges
from agentlib.settings import Settings
from agentlib.step import Outcome, Step
from windtunnel.engines.common import Messages

TIMES, SOON = 3, 2
"""So often, and within so many exchanges after the last compaction."""
FAILURE = (
    "the window was full again right after three compactions; ask for less at a time"
)
_REFILLS = WeakKeyDictionary[TokenMeter, tuple[int, int]]()


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Compact, but for the fourth time in a row that this was needed at once."""
    meter, turns = given["meter"], len(exchanges(messages))
    times, left = _REFILLS.get(meter, (0, -9))
    soon, is_auto = turns - left <= SOON, given.get("reason", "auto") == "auto"
    if (
        soon
        and times >= TIMES
        and is_auto
        and meter.estimate(messages) > settings.threshold_tokens
    ):
        _REFILLS[meter] = (times, turns)
        step = pipeline.compact(messages, replace(settings, auto=False), **given)
        return replace(step, compaction=Outcome.FAILED, failure=FAILURE)
    step = pipeline.compact(messages, settings, **given)
    if step.compaction not in (None, Outcome.FAILED):
        _REFILLS[meter] = (times + 1 if soon else 1, len(exchanges(step.messages)))
    return step
