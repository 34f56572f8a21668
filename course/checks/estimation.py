"""The exercises of lesson 01."""

from collections.abc import Sequence
from random import Random
from typing import Any

from agentlib.estimation import estimate_tokens
from agentlib.messages import Message
from course.checking import Answer, conversation, drawn, exercise


@exercise("01.1", "all of the text counts, brackets and all.", finished=estimate_tokens)
def _chars_over_four(answer: Answer) -> None:
    """str(messages) is the text of the whole list, as Python writes it.

    len(…) counts its characters; // 4 divides, rounding down.
    """
    messages = conversation("读" * 400, 3_600)
    cases = dict[str, Sequence[Any]]()
    names = (
        "a request, its role and its brackets",
        "a call in a list",
        "a result in Chinese",
    )
    for count, name in enumerate((*names, "another call", "a result in English"), 1):
        cases[name] = (estimate_tokens(messages[:count]), messages[:count])
    answer.agree(cases)


def rings_at(threshold: float, off: float) -> float:
    """Return the real tokens at which an alarm rings whose estimate is `off` percent
    off.

    >>> round(rings_at(171_000, -60)), round(rings_at(171_000, 100))
    (427500, 85500)
    """
    return threshold / (1 + off / 100)


@exercise(
    "01.2", "so many tokens are really there when the alarm rings.", finished=rings_at
)
def _rings(answer: Answer) -> None:
    """An estimate that reads 60 % low sees 40 % of what is there: real * 0.4.

    It rings when real * (1 + off / 100) reaches the threshold. Solve for real.
    """
    cases = {
        "it reads half, so it sees 100 when 200 are there": (200, 100, -50),
        "it reads 20 % low": (50_000, 40_000, -20),
        "it reads a quarter, so it rings past any window": (684_000, 171_000, -75),
        "it is right": (171_000, 171_000, 0),
        "it reads twice too high": (85_500, 171_000, 100),
    }
    answer.agree(cases | drawn(rings_at, _alarm), within=1)


def _alarm(random: Random) -> tuple[int, int]:
    return random.randint(1_000, 200_000), random.randint(-90, 200)


def last_bill(billed: int, sent: int, messages: list[Message]) -> int:
    """Add an estimate of the new messages to the last bill."""
    return billed + estimate_tokens(messages[sent:])


@exercise(
    "01.3",
    "the bill is exact, and only the new messages are guessed.",
    finished=last_bill,
)
def _anchored(answer: Answer) -> None:
    """`billed` is the size of the first `sent` messages, system prompt and tools and
    all.

    What is new is messages[sent:], and estimate_tokens can guess that.
    """
    messages = conversation(*[3_600] * 20)
    first = estimate_tokens(messages[:3])
    cases = {"before any bill there is only the estimate": (first, 0, 0, messages[:3])}
    for sent, new in ((3, 2), (5, 2), (5, 4), (21, 2), (39, 2), (5, 0)):
        name = (
            f"the first {sent} messages were billed, so only {new} have to be guessed"
        )
        now = messages[: sent + new]
        billed = 9_000 + 800 * sent
        cases[name] = (
            billed + estimate_tokens(messages[sent : sent + new]),
            billed,
            sent,
            now,
        )
    answer.agree(cases, within=3)


@exercise("01.4", "it rings at 183,871. One percent more, and it is 185,870: too late.")
def _error(answer: Answer) -> None:
    """The alarm has to ring at 184,000 tokens at the latest.

    171,000 / 184,000 is the share that the estimate has to see. How far below 100 % is
    it?
    """
    late = (
        "with {} the alarm rings past 184,000, the window without the answer's 16,000."
    )
    more = "and it would with a larger error, too; negative means low."
    in_time = f"with {{}} the alarm rings in time, {more}"
    answer.hit(-7, how="give whole percent", low=late, high=in_time)
