"""Lesson 08: its wrong answers, and its run with the published solutions."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from agentlib.messages import of_type, with_results
from agentlib.micro_compact import micro_compact as clear
from lessons.solved import Lesson


def summary_pays(
    left: float,
    read: float,
    write: float,
    answer: float,
    answer_as: str = "answer",
    reads_it: bool = True,
    gone: Callable[[float], float] = lambda left: 1 - left,
) -> float:
    """Solve exercise 08.2, or one of its wrong answers."""
    answer = write if answer_as == "write" else answer
    return (read * reads_it + (answer + write - read) * left) / (read * gone(left))


def kept_alive(
    pause: float,
    read: float,
    write: float,
    repeats: Callable[[float], float] = lambda pause: pause // 270,
    expired: Callable[[float], bool] = lambda pause: pause >= 300,
) -> float:
    """Solve exercise 08.3, or one of its wrong answers."""
    return (write - read) * expired(pause) - repeats(pause) * read


def knows_the_end(pause: float) -> int:
    """Repeat only as often as the pause needs, as if its end were known."""
    return max(0, math.ceil((pause - 300) / 270))


def clear_unseen_too(messages: list[Any], idle: float) -> list[Any]:
    ids = [r["tool_use_id"] for m in messages for r in of_type(m, "tool_result")]
    return with_results(messages, dict.fromkeys(ids, "[gone]")) if idle > 300 else messages


WRONG = {
    "08.1": [
        (lambda gone, behind, read, write: write * behind / (read * gone), "not 12.5"),
        (lambda gone, behind, read, write: (write - read) * gone / (read * behind), "not 48.0"),
        (lambda gone, behind, read, write: 24 * behind / gone, "at Haiku 4.5"),
    ],
    "08.2": [
        (
            lambda left, read, write, answer: (write - read) * left / (read * (1 - left)),
            "half is left",
        ),
        (
            lambda *given: summary_pays(*given) + given[0] / (1 - given[0]),
            "the answer is 126.0, not 12",
        ),
        (partial(summary_pays, answer_as="write"), "half is left"),
        (partial(summary_pays, reads_it=False), "half is left"),
        (partial(summary_pays, gone=lambda left: 1.0), "half is left"),
        (partial(summary_pays, gone=lambda left: 0.5), "a tenth is left"),
        (lambda left, *prices: (1 + 124 * left) / (1 - left), "at the prices of Haiku 4.5"),
    ],
    "08.3": [
        (partial(kept_alive, repeats=lambda pause: math.ceil(pause / 270)), "takes one repeat"),
        (lambda pause, read, write: kept_alive(pause, read, write + read), "takes one repeat"),
        (partial(kept_alive, expired=lambda pause: True), "after 200 seconds"),
        (partial(kept_alive, repeats=knows_the_end), "is -0.2, not 0.0"),
        (lambda *given: max(0.0, kept_alive(*given)), "a repeat was sent at 270"),
        (partial(kept_alive, expired=lambda pause: pause > 300), "at 300 it is gone"),
        (
            partial(kept_alive, repeats=lambda pause: knows_the_end(pause) or pause // 270),
            "at 270 and 540",
        ),
    ],
    "08.4": [
        (lambda messages, idle: messages, "it costs 100 % of forgetting nothing"),
        (lambda messages, idle: clear(messages, keep_recent=5), "at most 95 %"),
        (lambda messages, idle: clear(messages, keep_recent=0), "4.5 pieces are needed again"),
        (
            lambda messages, idle: clear(messages, keep_recent=0) if idle > 300 else messages,
            "4.5 pieces are needed again",
        ),
        (
            lambda messages, idle: messages if idle > 300 else clear(messages, keep_recent=5),
            "at most 95 %",
        ),
        (lambda messages, idle: messages[-5:], "the API would refuse this"),
        (
            lambda messages, idle: [messages[0], *messages[-4:]] if idle > 300 else messages,
            "pieces are needed again",
        ),
        (clear_unseen_too, "the newest result should stay"),
    ],
}


class TestCost(Lesson):
    wrong = WRONG
