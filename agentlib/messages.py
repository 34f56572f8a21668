"""Messages as the wire has them: plain JSON dicts, and the questions the layers ask of them.

A message is `{"role": "user" | "assistant", "content": str | list of blocks}`; a block is a dict
with a `type`: text, thinking, tool_use, tool_result, image. Nothing here edits a message: a
function that changes one returns a new list that shares every message it did not touch.
Not here: how a request is put together (wire), how large a message is (estimation), and when
anything is forgotten (the layers).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, count, islice
from operator import is_not
from typing import Any

Block = dict[str, Any]
Message = dict[str, Any]

SUMMARY_HEADER = "[Conversation compressed. Transcript: "
SUMMARY_END = "[End of summary]"


def blocks(message: Message) -> list[Block]:
    """The content as blocks; a plain string is one text block.

    >>> blocks({"role": "user", "content": "hi"})
    [{'type': 'text', 'text': 'hi'}]
    """
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def of_type(message: Message, kind: str) -> list[Block]:
    """The message's blocks of one type, in order."""
    return [block for block in blocks(message) if block["type"] == kind]


def tool_names(messages: Sequence[Message]) -> dict[str, str]:
    """Which tool each call used: tool_use id -> name.

    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    >>> tool_names([{"role": "assistant", "content": [call]}])
    {'toolu_1': 'bash'}
    """
    return {call["id"]: call["name"] for m in messages for call in of_type(m, "tool_use")}


def result_text(result: Block) -> str:
    """The text of a tool_result, whether its content is a string or a list of blocks.

    >>> result_text({"type": "tool_result", "content": [{"type": "text", "text": "ok"}]})
    'ok'
    """
    content = result.get("content") or ""
    if isinstance(content, str):
        return content
    parts: list[Block] = content
    return "\n".join(
        part["text"] if part["type"] == "text" else f"[{part['type']}]" for part in parts
    )


def with_results(messages: Sequence[Message], new: Mapping[str, str]) -> list[Message]:
    """The messages with other content for some results (tool_use id -> content).

    >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
    >>> new = with_results([{"role": "user", "content": [result]}], {"toolu_1": "gone"})
    >>> new[0]["content"][0]["content"]
    'gone'
    """
    return [_with_results(message, new) if new else message for message in messages]


def _with_results(message: Message, new: Mapping[str, str]) -> Message:
    if message["role"] != "user" or not any(
        r["tool_use_id"] in new for r in of_type(message, "tool_result")
    ):
        return message
    return {
        **message,
        "content": [
            {**b, "content": new[b["tool_use_id"]]} if b.get("tool_use_id") in new else b
            for b in blocks(message)
        ],
    }


def changes(old: Sequence[Message], new: Sequence[Message], start: int = 0) -> Iterator[int]:
    """Where the two lists hold different objects, in order, as far as the shorter one goes.

    >>> a, b = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    >>> list(changes([a, a], [a, b]))
    [1]
    """
    pairs = map(is_not, islice(old, start, None), islice(new, start, None))
    return compress(count(start), pairs)  # all in C: a layer may ask this at every turn


def exchanges(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Where each exchange begins and ends: an assistant message and the user's answer to it.

    The unit that is kept or forgotten, so that no tool_use is parted from its tool_result.
    What stands before the first assistant message belongs to no exchange.

    >>> u, a = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
    >>> exchanges([u, a, u, a, u])
    [(1, 3), (3, 5)]
    """
    starts = [
        i
        for i, message in enumerate(messages)
        if message["role"] == "assistant" and (i == 0 or messages[i - 1]["role"] == "user")
    ]
    return list(zip(starts, [*starts[1:], len(messages)], strict=False))


def last_assistant(messages: Sequence[Message]) -> int:
    """Index of the newest assistant message, -1 where there is none."""
    for i in range(len(messages) - 1, -1, -1):
        if messages[i]["role"] == "assistant":
            return i
    return -1


def unanswered(messages: Sequence[Message]) -> tuple[str, ...]:
    """Ids of the calls in the newest assistant message that have no result yet."""
    newest = last_assistant(messages)
    if newest < 0:
        return ()
    results = [r for m in messages[newest + 1 :] for r in of_type(m, "tool_result")]
    done = {result["tool_use_id"] for result in results}
    return tuple(c["id"] for c in of_type(messages[newest], "tool_use") if c["id"] not in done)


def is_summary(block: Block) -> bool:
    """Whether this text block is what a compaction left, and not a person's words.

    A person who only quotes how one begins is told by the line, which goes on.
    """
    if block["type"] != "text" or not block["text"].startswith(SUMMARY_HEADER):
        return False
    return block["text"].partition("\n")[0].endswith("]")


def active_request(messages: Sequence[Message]) -> str | None:
    """The person's last words: no tool_result, no summary. They survive every compaction.

    >>> active_request([{"role": "user", "content": "Fix the bug."},
    ...                 {"role": "assistant", "content": "Which?"}])
    'Fix the bug.'
    """
    for message in reversed(messages):
        if message["role"] == "user":
            said = [b["text"] for b in of_type(message, "text") if not is_summary(b)]
            if said:
                return "\n\n".join(said)
    return None


def violation(messages: Sequence[Message]) -> str | None:
    """The first API rule broken if these were a request's messages now, in the API's words.

    The wordings are the API's own, collected from public reports of them (facts, api_errors).
    Two user messages in a row are no violation: the API merges them.

    >>> violation([])
    'messages: at least one message is required'
    """
    if not messages:
        return "messages: at least one message is required"
    return next(_broken_rules(messages), None)


def _broken_rules(messages: Sequence[Message]) -> Iterator[str]:
    for i, message in enumerate(messages):
        yield from _content_rules(messages, i, message)
    yield from _unique_ids(messages)
    yield from _pairing(messages)
    if messages[-1]["role"] == "assistant":
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def _content_rules(messages: Sequence[Message], i: int, message: Message) -> Iterator[str]:
    if not message["content"] and not (i == len(messages) - 1 and message["role"] == "assistant"):
        yield (
            f"messages.{i}: all messages must have non-empty content "
            "except for the optional final assistant message"
        )
    for block in blocks(message):
        kind, role = block["type"], message["role"]
        if kind == "text" and not block["text"]:
            yield "messages: text content blocks must be non-empty"
        elif kind == "text" and not block["text"].strip():
            yield "messages: text content blocks must contain non-whitespace text"
        elif kind == "tool_result" and role != "user":
            yield "`tool_result` blocks can only be in `user` messages"
        elif kind == "tool_use" and role != "assistant":
            yield "`tool_use` blocks can only be in `assistant` messages"


def _unique_ids(messages: Sequence[Message]) -> Iterator[str]:
    seen: set[str] = set()
    for i, message in enumerate(messages):
        for j, block in enumerate(blocks(message)):
            if block["type"] == "tool_use":
                if block["id"] in seen:
                    yield f"messages.{i}.content.{j}: `tool_use` ids must be unique"
                seen.add(block["id"])


def _pairing(messages: Sequence[Message]) -> Iterator[str]:
    """Every tool_use is answered once, at the beginning of the user turn that follows it."""
    asked: list[str] = []
    answered: set[str] = set()
    asked_at, opening = -1, False
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            fresh = i == 0 or messages[i - 1]["role"] == "user"
            if fresh:
                yield from _unanswered(asked_at, asked, answered)
            uses = [block["id"] for block in of_type(message, "tool_use")]
            asked = uses if fresh else [*asked, *uses]
            asked_at, answered, opening = i, set[str](), True
            continue
        for j, block in enumerate(blocks(message)):
            opening = opening and block["type"] == "tool_result"
            if block["type"] == "tool_result":
                yield from _answer(i, j, block["tool_use_id"], asked, answered)
                if opening:
                    answered.add(block["tool_use_id"])
    if messages[-1]["role"] == "user":
        yield from _unanswered(asked_at, asked, answered)


def _answer(i: int, j: int, name: str, asked: list[str], answered: set[str]) -> Iterator[str]:
    if name in answered:
        yield (
            f"messages.{i}.content.{j}: each tool_use must have a single result. "
            f"Found multiple `tool_result` blocks with id: {name}"
        )
    elif name not in asked:
        yield (
            f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: "
            f"{name}. Each `tool_result` block must have a corresponding `tool_use` block in the "
            "previous message."
        )


def _unanswered(at: int, asked: list[str], answered: set[str]) -> Iterator[str]:
    missing = [name for name in asked if name not in answered]
    if missing:
        yield (
            f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        )
