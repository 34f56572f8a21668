"""The API's rules on a list of messages: what may stand where, and which result has a call."""

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile

from agentlib.messages import Block, Message, blocks


def violation(messages: Sequence[Message]) -> str | None:
    """Return the first API rule that a request with these messages would break.

    The texts are the API's own, collected from public reports. Two user messages in a
    row break no rule: the API merges them.

    >>> violation([])
    'messages: at least one message is required'
    """
    if not messages:
        return "messages: at least one message is required"
    return next(_broken_rules(messages), None)


def _broken_rules(messages: Sequence[Message]) -> Iterator[str]:
    yield from _content_rules(messages)
    if messages[-1]["role"] == "assistant":
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )
    yield from _pairing_rules(messages)


def _content_rules(messages: Sequence[Message]) -> Iterator[str]:
    calls = set[str]()
    for i, message in enumerate(messages):
        is_reply = message["role"] == "assistant"
        if not message["content"] and not (is_reply and i == len(messages) - 1):
            yield (
                f"messages.{i}: all messages must have non-empty content "
                "except for the optional final assistant message"
            )
        for j, block in enumerate(blocks(message)):
            kind = block["type"]
            if kind == "text" and not block["text"]:
                yield "messages: text content blocks must be non-empty"
            elif kind == "text" and not block["text"].strip():
                yield "messages: text content blocks must contain non-whitespace text"
            elif kind == "tool_result" and is_reply:
                yield "`tool_result` blocks can only be in `user` messages"
            elif kind == "tool_use" and not is_reply:
                yield "`tool_use` blocks can only be in `assistant` messages"
            elif kind == "tool_use" and block["id"] in calls:
                yield f"messages.{i}.content.{j}: `tool_use` ids must be unique"
            elif kind == "tool_use":
                calls.add(block["id"])


def _pairing_rules(messages: Sequence[Message]) -> Iterator[str]:
    """Check that each tool_use has one result, before any text of the user turn that
    follows."""
    at = -1
    calls = list[str]()
    # A system message may follow the results, and belongs to the user's turn.
    for is_reply, members in groupby(
        enumerate(messages), lambda m: m[1]["role"] == "assistant"
    ):
        turn = [(i, j, block) for i, m in members for j, block in enumerate(blocks(m))]
        if is_reply:
            at = turn[-1][0]
            calls = [b["id"] for _, _, b in turn if b["type"] == "tool_use"]
            continue
        results = list[str]()
        for i, j, name in (
            (i, j, b["tool_use_id"]) for i, j, b in turn if _is_result(b)
        ):
            if name in results:
                yield (
                    f"messages.{i}.content.{j}: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {name}"
                )
            elif name not in calls:
                yield (
                    f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` "
                    f"blocks: {name}. Each `tool_result` block must have a corresponding "
                    "`tool_use` block in the previous message."
                )
            results.append(name)
        opening = sum(1 for _ in takewhile(_is_result, (b for _, _, b in turn)))
        if missing := [name for name in calls if name not in results[:opening]]:
            yield (
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message."
            )


def _is_result(block: Block) -> bool:
    return block["type"] == "tool_result"
