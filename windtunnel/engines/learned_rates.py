"""Estimate by characters, with a rate that each bill corrects a little.

Who: gemini-cli (a moving average: a fifth of each new rate, steps of 0.15 at most,
between a half and the double), inspect_ai. Source:
https://github.com/google-gemini/gemini-cli,
`packages/core/src/context/utils/adaptiveTokenCalculator.ts`. Good for: endpoints whose
bills come late or jump. One wrong bill moves the threshold by 15 %.
"""

from typing import Any
from weakref import WeakKeyDictionary

from agentlib import pipeline
from agentlib.estimation import TokenMeter, message_tokens
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages

SHARE, STEP, LEAST, MOST = 0.2, 0.15, 0.5, 2.0
_RATES = WeakKeyDictionary[TokenMeter, float]()


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Learn from what the bills said of these messages, and weigh them by the learned
    rate."""
    meter, rate = given["meter"], _RATES.get(given["meter"], 1.0)
    billed, guessed = (
        sum(meter.weights(messages)),
        sum(map(message_tokens, messages)) or 1.0,
    )
    change = SHARE * (billed / guessed - rate)
    rate = min(MOST, max(LEAST, rate + min(STEP, max(-STEP, change))))
    _RATES[meter] = rate
    learned = TokenMeter(
        weigh=lambda message: rate * message_tokens(message), anchored=False
    )
    learned.base = meter.base
    given["meter"] = learned
    return pipeline.compact(messages, settings, **given)
