"""Finish a reply of the model: thinking before it, ids for its calls, cut to the room there is."""

from bisect import bisect_right
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from agentlib.lab.api.faults import Kind
from agentlib.lab.api.thinking import thinking_mode, thought
from agentlib.lab.api.tokens import TEXT, block_tokens, text_tokens
from agentlib.messages import Block

Body = dict[str, Any]


def finished(
    reply: Body, body: Body, *, seed: str, room: int, fault: Kind | None = None
) -> tuple[list[Block], str]:
    """Return the content and stop_reason of the answer to `body`.

    `room`: tokens that the window has left after the prompt. The content is cut off at the smaller
    of max_tokens and room, and the stop_reason says which of the two it was. `seed`: the ids of
    calls without an id are made from it.
    """
    if fault in ("empty", "refusal"):
        return [], "refusal" if fault == "refusal" else "end_turn"
    if fault == "larger":
        text = "And so on. " * (len(str(body["messages"])) // 8)
        return [{"type": "text", "text": text}], "end_turn"
    if fault == "tool_use":
        reply = _call_instead(body)
    content = [_with_id(block, f"{seed} {i}") for i, block in enumerate(reply["content"])]
    if thinking_mode(body) == "adaptive":
        content.insert(0, thought(content, body))
    limit = min(body["max_tokens"], room)
    if fault == "truncated":
        limit = min(limit, sum(map(block_tokens, content)) // 2)
    kept = fitting(content, limit)
    if kept == content:
        return content, reply["stop_reason"]
    window_is_full = room < body["max_tokens"] and fault is None
    return kept, "model_context_window_exceeded" if window_is_full else "max_tokens"


def fitting(content: Sequence[Block], limit: int) -> list[Block]:
    """Return as much of the content as fits in `limit` tokens: a text is cut, a call is left out.

    >>> fitting([{"type": "text", "text": "one two three"}], TEXT + 2)  # "one" is 1.55
    [{'type': 'text', 'text': 'one '}]
    """
    kept: list[Block] = []
    for block in content:
        size = block_tokens(block)
        if size > limit:
            text = _cut(block["text"], limit - TEXT) if block["type"] == "text" else ""
            return [*kept, {**block, "text": text}] if text.strip() else kept
        kept.append(block)
        limit -= size
    return kept


def _cut(text: str, limit: int) -> str:
    lengths = range(len(text) + 1)
    return text[: max(0, bisect_right(lengths, limit, key=lambda k: text_tokens(text[:k])) - 1)]


def _call_instead(body: Body) -> Body:
    """Answer with a line of text and a call of the first tool that the request offers."""
    names = [tool["name"] for tool in body.get("tools", [])[:1]]
    calls = [{"type": "tool_use", "name": name, "input": {"command": "ls"}} for name in names]
    text = {"type": "text", "text": "I will look at the folder once more before I summarise."}
    return {"content": [text, *calls], "stop_reason": "tool_use" if calls else "end_turn"}


def _with_id(block: Block, seed: str) -> Block:
    if block["type"] != "tool_use" or "id" in block:
        return block
    return {"type": "tool_use", "id": f"toolu_{sha256(seed.encode()).hexdigest()[:24]}", **block}
