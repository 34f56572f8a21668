"""Lesson 01: its wrong answers, and its run with the published solutions."""

import json

from agentlib.estimation import estimate_tokens
from lessons.solved import Lesson


def words_only(messages):
    return sum(len(str(m)) + 2 for m in messages if isinstance(m["content"], str)) // 4


WRONG = {
    "01.1": [
        (words_only, "a call in a list"),
        (lambda messages: 0, "a request"),
        (lambda messages: len(json.dumps(messages)) // 4, "a result in Chinese"),
        (lambda messages: len(str(messages)) / 4, "the answer is 15, not 15."),
        (lambda messages: round(len(str(messages)) / 4), "the answer is"),
    ],
    "01.2": [
        (lambda threshold, off: threshold * (1 + off / 100), "is 200, not 50"),
        (lambda threshold, off: threshold * (1 - off / 100), "is 200, not 150"),
        (lambda threshold, off: threshold / (-off / 100), "20 % low"),
        (lambda threshold, off: threshold / (1 - abs(off) / 100), "it raised ZeroDivisionError"),
    ],
    "01.3": [
        (lambda billed, sent, messages: estimate_tokens(messages), "the first 3 messages"),
        (lambda billed, sent, messages: billed, "before any bill"),
        (lambda billed, sent, messages: billed + estimate_tokens(messages), "the first 3 messages"),
        (
            lambda billed, sent, messages: billed + 1_000 if billed else estimate_tokens(messages),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, messages: int(billed * 1.1) or estimate_tokens(messages),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, m: billed + estimate_tokens(m[-1:] if billed else m),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, m: billed + estimate_tokens(m[max(0, sent - 1) :]),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, m: billed + estimate_tokens(m[-2:] if billed else m),
            "only 4 have to be guessed",
        ),
    ],
    "01.4": [
        (-14, "with -14 the alarm rings past 184,000"),
        (-6, "with -6 the alarm rings in time"),
        (7, "negative means low"),
        ("-7", "is no whole number; give whole percent"),
        (-6.5, "-6.5 is no whole number; give whole percent"),
    ],
}


class TestEstimation(Lesson):
    wrong = WRONG
