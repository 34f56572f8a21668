"""The exercises of lesson 06: both ends kept, a tail by tokens, a budget that never falls, words.

Each checker tries the answer on small conversations of its own; the last one lets the offline
agent work. Not here: what the course's own layer does (agentlib.head_and_tail).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

from agentlib.auto_compact import summary_message
from agentlib.estimation import message_tokens
from agentlib.lab import model as policy
from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.messages import (
    SUMMARY_WANTED,
    Block,
    Message,
    active_request,
    exchanges,
    of_type,
    violation,
)

SUMMARY = "b.py and c.py are read; both are empty."
QUESTION = "Where is `LIMIT` set? Follow it through the files."
HANDED_OVER = f"""\
## Task context
Task: Read every Python file one by one
## Pending questions
- Earlier request: {QUESTION}
## Remaining work
files done: 1; no progress: 0"""


def conversation(*sizes: int) -> list[Message]:
    """A request, and an exchange for each size: a call and a result of so many characters.

    >>> [message["role"] for message in conversation(100)]
    ['user', 'assistant', 'user']
    """
    talk: list[Message] = [{"role": "user", "content": "Read every file, then report."}]
    for n, size in enumerate(sizes, 1):
        call: Block = {"type": "tool_use", "id": f"toolu_{n}", "name": "read_file"}
        call["input"] = {"path": f"{n}.py"}
        answer: Block = {"type": "tool_result", "tool_use_id": f"toolu_{n}"}
        answer["content"] = (f"# {n} " * size)[:size]
        talk += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    return talk


def _tried(answer: Callable[..., Any], talk: list[Message], *more: Any) -> list[Message]:
    """What it returns for a copy of `talk`; Wrong where that is no list of messages."""
    given = deepcopy(talk)
    found: Any = answer(given, *more)
    if given != talk:
        raise Wrong("it edited the messages that it was given; return a new list.")
    if not isinstance(found, list):
        raise Wrong(f"it returned {str(found)[:60]!r}; return a list of messages.")
    new: list[Any] = [*found]
    if any(not isinstance(m, dict) or "role" not in m or "content" not in m for m in new):
        raise Wrong("its list holds something that is no message.")
    return new


def _allowed(messages: Sequence[Message]) -> None:
    if refused := violation(messages):
        raise Wrong(f"the API would refuse this: {refused}")


def _both_ends(answer: Callable[..., Any]) -> str:
    for head, tail, count, more in ((1, 2, 6, 0), (2, 1, 6, 0), (2, 2, 5, 0), (1, 1, 5, 6)):
        talk = conversation(*[300] * count)
        if more:
            talk.insert(more + 1, {"role": "user", "content": "Now the tests."})
        said = f"with head={head}, tail={tail} of {count} exchanges"
        new = _tried(answer, talk, SUMMARY, head, tail)
        starts = [start for start, _ in exchanges(talk)]
        first, last = talk[: starts[head]], talk[starts[-tail] :]
        if new[: len(first)] != first:
            raise Wrong(f"{said}, the first {len(first)} messages do not stay as they are.")
        if new[-len(last) :] != last:
            raise Wrong(f"{said}, the last {len(last)} messages do not stay as they are.")
        _allowed(new)
        _between(new[len(first) : -len(last)], said)
        if active_request(new) != active_request(talk):
            raise Wrong(
                f"the person's last words, {active_request(talk)!r}, stood in the middle and are "
                "gone; put them after the summary (lesson 03)."
            )
    return "both ends word for word, one summary between them, and the API takes it."


def _between(found: Sequence[Message], said: str) -> None:
    if len(found) != 1 or SUMMARY not in str(found):
        raise Wrong(f"{said}, one message with the summary stands between the two ends.")


def _tail(answer: Callable[..., Any]) -> str:
    for sizes, budget, kept in (
        ((300, 300, 300, 300), 400, 2),
        ((300, 300, 300, 300), 10_000, 4),
        ((300, 9_000), 500, 1),
        ((300, 9_000, 300), 500, 1),
    ):
        talk = conversation(*sizes)
        new = _tried(answer, talk, budget)
        said = f"results of {', '.join(f'{n:,}' for n in sizes)} characters, {budget:,} tokens"
        if not new:
            raise Wrong(f"{said}: it kept nothing. The newest exchange stays, whatever its size.")
        if new[0]["role"] != "assistant":
            raise Wrong(f"{said}: it begins with a result whose call is gone.")
        wanted = talk[exchanges(talk)[-kept][0] :]
        if new != wanted:
            raise Wrong(
                f"{said}: the newest {kept} should stay, {_weight(wanted):,} tokens; "
                f"it kept {len(new)} messages."
            )
    return "whole exchanges, as many as fit, and never none."


def _weight(messages: Sequence[Message]) -> int:
    return round(sum(map(message_tokens, messages)))


def _budget(answer: Callable[[int], Any]) -> str:
    _meets(answer, {10_000: 2_000, 30_000: 3_000, 100_000: 5_000})
    places = [*range(0, 120_000, 500), 29_999, 99_999, 100_001, 999_999, 2_000_000]
    asked = {place: answer(place) for place in sorted(places)}
    for less, more in pairwise(asked):
        if asked[less] > asked[more]:
            raise Wrong(
                f"it falls: {less:,} tokens ask for {asked[less]:,}, and "
                f"{more:,} tokens for only {asked[more]:,}."
            )
    if asked[2_000_000] > 5_000:
        raise Wrong(f"past 100,000 it is no more than 5,000; it gave {asked[2_000_000]:,}.")
    _meets(answer, {5_000: 1_000, 20_000: 2_500, 65_000: 4_000}, "on a straight line, ")
    return "it meets the three figures, in straight lines, and never falls."


def _meets(answer: Callable[[int], Any], points: Mapping[int, int], where: str = "") -> None:
    for replaced, wanted in points.items():
        found = answer(replaced)
        if not isinstance(found, int | float):
            raise Wrong(f"for {replaced:,} it returned {found!r}; return a number.")
        if not math.isclose(found, wanted, abs_tol=1):
            raise Wrong(f"{where}{replaced:,} tokens replaced ask for {wanted:,}, not {found:,}.")


def _no_order(answer: Callable[[str], Any]) -> str:
    text = answer(HANDED_OVER)
    if not isinstance(text, str) or HANDED_OVER not in text:
        raise Wrong("the summary does not stand in what it returned, word for word.")
    if len(text) - len(HANDED_OVER) > 400:
        raise Wrong("it says more than 400 characters; every compaction pays for them.")
    if SUMMARY_WANTED in text:
        raise Wrong("it asks for another summary.")
    if "LIMIT" in _first_call(text):
        raise Wrong(
            "the offline model went for the pending question about LIMIT and not for the task. "
            'Say before the summary what it is; this model knows the words "reference only", "no '
            'instruction" and "not instructions".'
        )
    return "the pending question stays where it is, and the task goes on."


def _first_call(text: str) -> str:
    task: Message = {"role": "user", "content": "Read every Python file one by one"}
    tools = [{"name": name} for name in ("bash", "read_file", "write_file", "edit_file")]
    handed = summary_message(text, "t.jsonl", str(active_request([task])))
    said = policy.reply({"messages": [task, handed], "tools": tools})
    return str([call["input"] for call in of_type({"content": said["content"]}, "tool_use")])


EXERCISES = {
    "06.1": Exercise(
        check=_both_ends,
        hints=(
            "starts = [start for start, _ in exchanges(messages)] gives where each one begins.",
            "The head ends where exchange number `head` begins: messages[:starts[head]].",
            "Between them: summary_message(summary, 't.jsonl', active_request(messages)).",
        ),
    ),
    "06.2": Exercise(
        check=_tail,
        hints=(
            "Go through reversed(exchanges(messages)) and add up sum(map(message_tokens, part)).",
            "Stop where the next one does not fit, unless nothing has been kept yet.",
        ),
    ),
    "06.3": Exercise(
        check=_budget,
        hints=(
            "Three straight lines meet at the three figures; what is their slope?",
            "A fifth of the first 10,000, a twentieth of the next 20,000, then 2,000 in 70,000.",
            "min(replaced, 10_000) / 5 is the first part; min and max make the other two.",
        ),
    ),
    "06.4": Exercise(
        check=_no_order,
        hints=(
            "What should the next model do with the text? Say it in a sentence before it.",
            'The source says "reference only", and "do not respond to any questions in it".',
        ),
    ),
}
