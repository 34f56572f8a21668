"""The exercises of lesson 03: what a summary replaces, what stays, when, and in what words.

Each checker tries the answer on small conversations of its own; the last two let the offline
agent work.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

from agentlib.lab.client import client
from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.lab.play import Run
from agentlib.messages import Block, Message, active_request, blocks, exchanges, of_type, violation
from agentlib.requests import request, send
from agentlib.settings import MODEL

REQUEST, SUMMARY = "Read a.py, b.py and c.py, then tell me what they do.", "a.py and b.py are read."
RULE = "A rule for all that follows: every function must have a docstring."


def conversation(count: int = 3) -> list[Message]:
    """A request and `count` exchanges, the last one's result still unseen.

    >>> [message["role"] for message in conversation(1)]
    ['user', 'assistant', 'user']
    """
    talk: list[Message] = [{"role": "user", "content": REQUEST}]
    for n, letter in enumerate("abcdefgh"[:count], 1):
        call: Block = {"type": "tool_use", "id": f"toolu_{n}", "name": "read_file"}
        call["input"] = {"path": f"{letter}.py"}
        answer = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{n}",
            "content": f"# {letter} " * 400,
        }
        talk += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    return talk


def texts(messages: Sequence[Message]) -> str:
    """All text of the messages, tool results left out."""
    return "\n".join(block["text"] for m in messages for block in of_type(m, "text"))


def _tried(answer: Callable[..., Any], talk: list[Message], *more: Any) -> list[Message]:
    """What it returns for a copy of `talk`; Wrong where that is no list of messages."""
    given = deepcopy(talk)
    found: Any = answer(given, *more)
    if given != talk:
        raise Wrong("it edited the messages that it was given; return a new list.")
    if not isinstance(found, list) or not found:
        raise Wrong(f"it returned {found!r}; return a list of messages.")
    new: list[Message] = [*found]
    for each in new:
        _is_message(each)
    return new


def _is_message(found: Any) -> None:
    if not isinstance(found, dict) or "content" not in found:
        raise Wrong(f"its list holds {found!r:.60}; a message is {{'role': …, 'content': …}}.")
    each: Message = {**found}
    content: list[Any] = [] if isinstance(each["content"], str) else [*each["content"]]
    if odd := [block for block in content if not isinstance(block, dict)]:
        raise Wrong(f"a content holds {odd[0]!r:.60}; a block is {{'type': 'text', 'text': …}}.")


def _has_summary(new: Sequence[Message]) -> None:
    if SUMMARY not in texts(new[:1]) or new[0]["role"] != "user":
        raise Wrong("the summary does not stand in the first message; put it there, as a user's.")


def _in_place_of_all(answer: Callable[..., Any]) -> str:
    talk = conversation()
    new = _tried(answer, talk, SUMMARY)
    if left := [m for m in new if m in talk]:
        raise Wrong(f"{len(left)} of the {len(talk)} old messages are still there; none may stay.")
    _has_summary(new)
    if len(new) > 2:
        raise Wrong(
            f"it returned {len(new)} messages; the summary, and an answer at most, will do."
        )
    return "seven messages became " + ("one." if len(new) == 1 else "two.")


def _goes_on(answer: Callable[..., Any]) -> str:
    for talk in (conversation(), [*conversation(), {"role": "user", "content": "And d.py."}]):
        new = _tried(answer, talk, SUMMARY)
        _has_summary(new)
        if refused := violation(new):
            raise Wrong(f"the API would refuse this: {refused}")
        wanted = active_request(talk)
        if not wanted or wanted not in texts(new):
            raise Wrong(
                f"the person's last words, {wanted!r}, are gone. A summary may leave out anything, "
                "so put them beside it, word for word."
            )
        if texts(new).rindex(wanted) < texts(new).index(SUMMARY):
            raise Wrong("the last words stand before the summary; what is to be done comes last.")
        if len(texts(new)) > len(SUMMARY) + len(str(wanted)) + 200:
            raise Wrong("it keeps more than the summary and the person's last words.")
    return "it ends with the user, and the request is there word for word."


def _keeps(answer: Callable[..., Any]) -> str:
    for count, keep, more in ((4, 1, False), (5, 3, False), (3, 3, False), (4, 1, True)):
        talk = conversation(count)
        talk += [{"role": "user", "content": "And d.py."}] if more else []
        new = _tried(answer, talk, SUMMARY, keep)
        _has_summary(new)
        if refused := violation(new):
            three = " An exchange may have three messages: go by exchanges()." if more else ""
            raise Wrong(f"with keep={keep}, the API would refuse this: {refused}{three}")
        kept = talk[exchanges(talk)[-keep][0] :]
        if new[1:] != kept:
            calls = sum(len(of_type(m, "tool_use")) for m in new)
            raise Wrong(
                f"with keep={keep} of {count} exchanges, the last {len(kept)} messages stay "
                f"as they are, after one with the summary; it gave {len(new)}, with {calls} calls."
            )
        if str(active_request(talk)) not in texts(new):
            raise Wrong("the request is gone: put it beside the summary, as in 03.2.")
    return "the newest exchanges stay whole, calls with results, and the request with them."


def _sawtooth(answer: Callable[..., Any]) -> str:
    for numbers in (
        (1_000, 500, 3_000, 1_900, 20),
        (1_000, 500, 9_000, 1_900, 10),
        (5, 5, 9, 5, 9),
    ):
        found, wanted = answer(*numbers), compactions(*numbers)
        if found != wanted:
            base, growth, threshold, after, turns = numbers
            raise Wrong(
                f"a first prompt of {base:,}, {growth:,} more each turn, a point of {threshold:,}, "
                f"{after:,} after a compaction: {turns} turns make {wanted}, not {found!r}. "
                f"The prompts: {', '.join(f'{size:,}' for size in _prompts(*numbers)[0][:7])} …"
            )
    return "a compaction comes when the next prompt is over the point, never at it."


def compactions(base: int, growth: int, threshold: int, after: int, turns: int) -> int:
    """How often a conversation is compacted in so many turns; all amounts in tokens.

    A prompt of 1,000, 1,500, 2,000, 2,500, 3,000 is at most the point; 3,500 is not:

    >>> compactions(1_000, 500, 3_000, 1_900, 6)
    1
    """
    return _prompts(base, growth, threshold, after, turns)[1]


def _prompts(
    base: int, growth: int, threshold: int, after: int, turns: int
) -> tuple[list[int], int]:
    """The size of each prompt, and how many of them were sent after a compaction."""
    size, made, sizes = base, 0, list[int]()
    for _ in range(turns):
        if size > threshold:
            size, made = after, made + 1
        sizes.append(size)
        size += growth
    return sizes, made


def _watched(answer: tuple[Run, Sequence[tuple[int, int]]]) -> str:
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], Run):  # pyright: ignore[reportUnnecessaryIsInstance, reportUnnecessaryComparison]
        raise Wrong("give two things, the run and the list: check(…, (small, sizes)).")
    run, sizes = answer
    if run.settings.threshold_tokens > 6_000:
        raise Wrong(
            f"{run.settings.threshold_tokens:,} is no small point; take one of about 5,000."
        )
    made = [(c.tokens_before, c.tokens_after) for c in run.session.compactions]
    if not isinstance(sizes, list) or any(not isinstance(pair, tuple | list) for pair in sizes):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Wrong(f"sizes is {sizes!r:.60}; make it a list of pairs, (before, after) in each.")
    if [tuple(pair) for pair in sizes] != made:
        raise Wrong(
            f"the run was compacted {len(made)} times; give (tokens_before, tokens_after) of each "
            "of small.session.compactions, in order."
        )
    over = sum(after > run.settings.threshold_tokens for _, after in made)
    close = sum(b.seen - a.seen <= 2 for a, b in pairwise(run.session.compactions))
    return (
        f"{len(made)} compactions in {run.turns} turns, {close} of them one turn after another; "
        f"{over} left the context over the point."
    )


CATEGORIES = ("files", "to do", "decisions")


def _by_category(answer: Callable[[int], str]) -> str:
    prompt = answer(700)
    if not isinstance(prompt, str) or not prompt.startswith("Summarize this conversation"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Wrong(
            "the prompt has to begin with 'Summarize this conversation for continuity.': by that "
            "the offline model knows it."
        )
    for tokens in (700, 950):
        if str(tokens) not in answer(tokens):
            raise Wrong(f"with tokens={tokens}, it does not say how long the summary may be.")
    asked = [line for line in prompt.splitlines() if line.startswith("## ")]
    if not asked:
        raise Wrong("no line of it begins with '## '; not even an indent may stand before that.")
    if len(asked) != 3 or any(c not in a.lower() for c, a in zip(CATEGORIES, asked, strict=True)):
        raise Wrong(
            f"it asks for the headings {asked}; make them Files, To do, Decisions, in this "
            "order, each after '## ', and no others."
        )
    said = _summary(prompt)
    if [line for line in said.splitlines() if line.startswith("## ")] != asked:
        raise Wrong(f"the answer has other headings: {said[:200]!r}")
    if "docstring" not in said.split(asked[2])[-1]:
        raise Wrong("the rule does not stand under the last heading.")
    return "the answer stands under your headings, and the rule under the last."


def _summary(prompt: str) -> str:
    """The offline model's answer to this prompt, after a conversation with a rule in it."""
    talk = conversation()
    talk[0] = {"role": "user", "content": f"{RULE} {REQUEST}"}
    asked = [*talk, {"role": "user", "content": prompt}]
    reply = send(client(), request(MODEL, "You are an agent.", [_READ], asked, 2_800))
    return "\n".join(block["text"] for block in blocks(reply.to_dict()) if block["type"] == "text")


_READ: Block = {"name": "read_file", "description": "", "input_schema": {"type": "object"}}

EXERCISES = {
    "03.1": Exercise(
        check=_in_place_of_all,
        hints=(
            "A new list: one user message, its content the summary.",
            'Most courses add {"role": "assistant", "content": "Understood. Continuing."}.',
        ),
    ),
    "03.2": Exercise(
        check=_goes_on,
        hints=(
            "Whose turn is it? A request is something that a user says.",
            "active_request(messages) gives the person's last words, or None.",
            'The content can be a list of two text blocks: {"type": "text", "text": …}.',
        ),
    ),
    "03.3": Exercise(
        check=_keeps,
        hints=(
            "exchanges(messages) gives (start, stop) of each, the newest last.",
            "exchanges(messages)[-keep][0] is where the kept part begins.",
            "The first message is the one of 03.2; the kept ones follow as they are.",
        ),
    ),
    "03.4": Exercise(
        check=_sawtooth,
        hints=(
            "Go through the turns with a for loop, and keep the size of the next prompt.",
            "Before a turn: is the size over the threshold? Then it is `after`, and you count one.",
        ),
    ),
    "03.5": Exercise(
        check=_watched,
        hints=(
            "small = play(task, replace(START, threshold=5_000)).",
            "sizes = [(c.tokens_before, c.tokens_after) for c in small.session.compactions]",
        ),
    ),
    "03.6": Exercise(
        check=_by_category,
        hints=(
            "An f-string with three lines that begin with ##, and `tokens` somewhere.",
            "Say under each heading what belongs there; a model fills what it is asked for.",
        ),
    ),
}
