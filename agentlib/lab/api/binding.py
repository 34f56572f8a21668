"""How the offline model signs its thinking, and how a block that is sent back is checked.

The newest models bind a thinking block to the conversation it was created in. A signature here
says three things without any memory of the server: what was thought, under which system prompt
and tools, and after which messages. It is no secret and protects nothing; it only makes the
API's refusals happen for the same reasons. Older thinking does not count as conversation, so
that a block can be dropped without the later ones being refused.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from agentlib.messages import Block, blocks, last_assistant

_THINKING = ("thinking", "redacted_thinking")
_PARTS = ("`system` prompt differs from the one", "`tools` differ from the ones")
_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def sign(thinking: str, body: Mapping[str, Any]) -> str:
    """The signature of a thought that answers the request `body`: four digests, joined by dots."""
    *_, (_, prefix) = _prefixes(body["messages"])
    return ".".join((_digest(thinking), *_frame(body), prefix))


def broken_binding(body: Mapping[str, Any]) -> str | None:
    """What the API says to the first thinking block that can't be sent like this, or None.

    In the latest assistant message a block must be unmodified, and may stand after a changed
    conversation; in an earlier one it must also stand where it was created. The wording for a
    changed system prompt is the API's; those for tools and messages follow its pattern.
    """
    messages = body["messages"]
    if not any(b["type"] == "thinking" for m in messages for b in blocks(m)):
        return None
    latest, frame = last_assistant(messages), _frame(body)
    for (i, prefix), message in zip(_prefixes(messages), messages, strict=False):
        for j, block in enumerate(blocks(message)):
            if block["type"] == "thinking":
                problem = _problem(block, (*frame, prefix), i == latest)
                if problem:
                    return f"messages.{i}.content.{j}: {problem}"
    return None


def _problem(block: Block, now: tuple[str, ...], latest: bool) -> str | None:
    thought, *then = block["signature"].split(".")
    invalid = "Invalid `signature` in `thinking` block"
    if len(then) != len(now):
        return invalid
    if thought != _digest(block["thinking"]):
        return _MODIFIED if latest else invalid
    if latest or tuple(then) == now:
        return None
    differs = [a != b for a, b in zip(then, now, strict=True)].index(True)
    part = (*_PARTS, "`messages` before it differ from the ones")[differs]
    return f"{invalid}. {_BOUND} The {part} this block was created with."


def _prefixes(messages: list[Any]) -> Iterator[tuple[int, str]]:
    """For each message, and for the end, a digest of all that stands before it."""
    seen = blake2b(digest_size=12)
    for i, message in enumerate(messages):
        yield i, seen.hexdigest()
        for block in blocks(message):
            if block["type"] not in _THINKING:
                bare = {k: v for k, v in block.items() if k != "cache_control"}
                seen.update(f"{message['role']} {_json(bare)}\n".encode())
    yield len(messages), seen.hexdigest()


def _frame(body: Mapping[str, Any]) -> tuple[str, str]:
    system = blocks({"content": body.get("system") or []})
    tools: list[Block] = body.get("tools") or []
    return (
        _digest("".join(block["text"] for block in system)),
        _digest(_json([{k: v for k, v in t.items() if k != "cache_control"} for t in tools])),
    )


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()


_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
_BOUND = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
