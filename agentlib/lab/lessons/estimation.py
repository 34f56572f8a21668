"""The exercises of lesson 01: an estimate, the text it misreads, a meter, a threshold.

Each checker runs the answer, and says what came out and why that is not enough.
"""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentlib import loop
from agentlib.estimation import estimate_tokens, prompt_tokens
from agentlib.lab import client
from agentlib.lab.api.tokens import text_tokens
from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.lab.replay.estimates import rings_at
from agentlib.lab.tasks import scenarios
from agentlib.messages import Message
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session

WINDOW = 32_000

_CALL: Message = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "x" * 900}}],
}
_RESULT: Message = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "y" * 3_600}],
}
_ASKED: Message = {"role": "user", "content": "Please list the files. " * 40}


def chars_over_four(count: Any) -> str:
    """01.1: a function that does what the seeds' estimate does."""
    for what, messages in {
        "no message": [],
        "a person's words": [_ASKED],
        "a call, whose text is in a list of blocks": [_ASKED, _CALL],
        "a result, whose text is in a block": [_ASKED, _CALL, _RESULT],
    }.items():
        said, right = count(messages), estimate_tokens(messages)
        if not isinstance(said, int | float):
            raise Wrong(f"for {what} it returns {said!r}; return a number.")
        if not math.isclose(said, right, abs_tol=3):
            raise Wrong(
                f"for {what} it says {said:,.0f}; the characters of the list's text over four "
                f"are {right:,}. All of the text counts: roles, names, brackets and all."
            )
    run = _renamed(Settings().scaled(WINDOW).threshold_tokens)
    return (
        "four characters a token, over everything in the messages; nothing beside them. Of the "
        f"prompt refused above it sees {count(run.last):,.0f} tokens; the API: {run.refused}."
    )


def furthest_off(text: Any) -> str:
    """01.2: a text of which chars/4 sees at most two fifths."""
    if not isinstance(text, str) or not 200 <= len(text) <= 2_000:
        what = f"{len(text):,} characters" if isinstance(text, str) else f"of type {_kind(text)}"
        raise Wrong(f"the answer is {what}; give a text of 200 to 2,000 characters.")
    guess, counted = len(text) / 4, text_tokens(text)
    off = 100 * (guess - counted) / counted
    told = f"chars/4 says {guess:,.0f}, the offline API counts {counted:,}: {off:+.0f} %"
    if off > 0:
        raise Wrong(
            f"{told}. Its tokens are long, so chars/4 reads high; find short ones. A word is cheap "
            "in any alphabet; digits, signs and Chinese characters are counted one by one."
        )
    if off > -60:
        raise Wrong(f"{told}. It takes -60 % or lower: find a text of shorter tokens.")
    return f"{told}. A token here is hardly more than a character, and chars/4 cannot see that."


def _kind(value: Any) -> str:
    return type(value).__name__


_BASE, _CHARS_PER_TOKEN = 9_000, 2.5


def _bill(messages: Sequence[Message]) -> int:
    return round(_BASE + sum(len(str(m)) + 2 for m in messages) / _CHARS_PER_TOKEN)


def anchored(meter: Any) -> str:
    """01.4: meter(billed, sent, messages) -> tokens of the next prompt."""
    whole = [_ASKED, *[_CALL, _RESULT] * 20]
    first, plain = meter(0, 0, whole[:3]), estimate_tokens(whole[:3])
    if not isinstance(first, int | float) or not math.isclose(first, plain, abs_tol=10):
        raise Wrong(
            f"before any bill (billed 0, sent 0) it says {first}; all that it can do there "
            f"is estimate_tokens of all messages, {plain:,}."
        )
    for sent in range(3, len(whole) - 1, 2):
        messages = whole[: sent + 2]
        said, right = meter(_bill(messages[:sent]), sent, messages), _bill(messages)
        off = 100 * (said - right) / right
        if not math.isclose(off, 0, abs_tol=8):
            raise Wrong(
                f"{sent} messages were billed {_bill(messages[:sent]):,}; with two more it says "
                f"{said:,.0f} and the bill is {right:,}: {off:+.0f} %. Start from the bill, and "
                "guess only messages[sent:]."
            )
    return (
        "what was billed is known, and only two messages are guessed. They are still guessed "
        "too low, but they are a small part of the whole."
    )


@dataclass(frozen=True)
class _Run:
    """A run of the renaming task: `refused` is what the API said, `last` what it was asked."""

    compactions: int
    largest: int
    refused: str
    last: list[Message]


@lru_cache(maxsize=32)
def _renamed(threshold: int) -> _Run:
    """The renaming task with this alarm, by chars/4."""
    import anthropic

    base = Settings(estimator="chars", micro="off", reactive=False).scaled(WINDOW)
    settings, task = replace(base, threshold=threshold), scenarios.RENAME
    largest, done, refused = 0, 0, ""
    with tempfile.TemporaryDirectory() as name:
        place, clock = Path(name) / "parcels", scenarios.Clock()
        task.make_workspace(place)
        session = Session(session_id="alarm", archives=Path(name), clock=clock, settings=settings)
        llm = client.client(window=WINDOW)
        turns = loop.run(
            llm, task.prompts[0], Workspace(place), settings=settings, session=session, clock=clock
        )
        try:
            for turn in turns:
                largest = max(largest, *map(prompt_tokens, turn.usages))
                done += turn.step.compaction == "auto"
        except anthropic.BadRequestError as error:
            body: Any = error.body
            refused = body["error"]["message"]
    return _Run(done, largest, refused, session.context)


def rings_in_time(threshold: Any) -> str:
    """01.3: a threshold for chars/4 with which the renaming task ends, and compacts once."""
    if type(threshold) is not int or not 1 <= threshold <= WINDOW:
        raise Wrong(f"the answer is {threshold!r}; give whole tokens, from 1 to {WINDOW:,}.")
    run = _renamed(threshold)
    if run.refused:
        raise Wrong(
            f"the run was refused: {run.refused}. By chars/4 the alarm at {threshold:,} was not "
            "due yet: it reads low, so it has to be set lower."
        )
    if run.compactions > 1:
        raise Wrong(
            f"the run ends, but it compacted {run.compactions} times where once is enough: at "
            f"{threshold:,} the alarm rings too early, and every compaction forgets."
        )
    return (
        f"one compaction, largest prompt {run.largest:,}. It fits this task: in another one "
        "chars/4 is off by another share."
    )


def largest_error(percent: Any) -> str:
    """01.5: the lowest whole percent with which 171,000 still rings below 184,000."""
    if not isinstance(percent, int) or not -99 <= percent <= 0:
        raise Wrong(f"the answer is {percent!r}; give whole percent, from -99 (reads low) to 0.")
    settings = Settings()
    latest = settings.context_window - settings.output_reserve
    rings, next_one = (rings_at(settings.threshold_tokens, n) for n in (percent, percent - 1))
    if rings > latest:
        raise Wrong(
            f"at {percent} % it rings at {rings:,}, and the latest is {latest:,}: "
            f"{settings.context_window:,} less the answer's {settings.output_reserve:,}."
        )
    if next_one <= latest:
        raise Wrong(f"at {percent} % it rings at {rings:,}, in time; it may be further off still.")
    return f"it rings at {rings:,}. One percent more, and it is {next_one:,}: too late."


EXERCISES: dict[str, Exercise] = {
    "01.1": Exercise(
        chars_over_four,
        (
            "str(messages) is the text of the whole list, as Python writes it.",
            "len(…) counts its characters; // 4 divides, rounding down.",
        ),
    ),
    "01.2": Exercise(
        furthest_off,
        (
            "Look at the table above: in which text is the error largest?",
            "Write one character of that text many times over: '…' * 500.",
        ),
    ),
    "01.3": Exercise(
        rings_in_time,
        (
            "The estimate sees a share of the real tokens. Multiply the real limit by it.",
            "The real limit is 27,360 of 32,000, and the estimate sees a bit over half.",
        ),
    ),
    "01.4": Exercise(
        anchored,
        (
            "`billed` is the size of the first `sent` messages, system prompt and tools and all.",
            "What is new is messages[sent:]; estimate_tokens can guess that.",
        ),
    ),
    "01.5": Exercise(
        largest_error,
        (
            "An estimate that reads low by a share has seen the rest when it rings.",
            "171,000 / 184,000 is the share that it has to see.",
        ),
    ),
}
