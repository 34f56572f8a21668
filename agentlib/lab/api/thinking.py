"""Bind thinking blocks to the conversation before them, as the newest models do.

The signature of a block holds digests of the system prompt, the tools and the messages before it.
So the server needs no memory to refuse a block that is sent back after a changed conversation.
Earlier thinking doesn't count as conversation: a block can be dropped without the later ones being
refused. Changes inside a block are not checked.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from agentlib.lab.api.errors import invalid
from agentlib.messages import THINKING, Block, blocks, last_assistant

Body = Mapping[str, Any]
_PARTS = (
    "`system` prompt differs from the one",
    "`tools` differ from the ones",
    "`messages` before it differ from the ones",
)
_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". '
    "That setting requires the `thinking-binding-controls-2026-08-01` value in the "
    "`anthropic-beta` header. The {part} this block was created with."
)
_DROP = {"prefix_mismatch_behavior": "drop_block"}
_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def thinking_mode(body: Body) -> str:
    """Return the `thinking.type` of a request: adaptive, enabled or, by default, disabled."""
    thinking: Body = body.get("thinking") or {}
    return thinking.get("type", "disabled")


def thought(content: list[Block], body: Body) -> Block:
    """Return a thinking block to put before `content`, signed for an answer to `body`."""
    calls = [block["name"] for block in content if block["type"] == "tool_use"]
    text = f"Next: {', '.join(calls)}." if calls else "I can answer now."
    *_, signature = _signatures(body)
    return {"type": "thinking", "thinking": text, "signature": signature}


def check_thinking(body: Body) -> None:
    """Raise a Refusal if a thinking block is sent after another conversation than its own.

    Thinking of the newest assistant message may stand after any conversation. A request that asks
    for `drop_block` is never refused.
    """
    messages = body["messages"]
    thinking: Body = body.get("thinking") or {}
    thinks = any(block["type"] == "thinking" for m in messages for block in blocks(m))
    if not thinks or thinking.get("block_binding") == _DROP:
        return
    earlier = messages[: last_assistant(messages)]
    for i, (message, expected) in enumerate(zip(earlier, _signatures(body), strict=False)):
        for j, block in enumerate(blocks(message)):
            if block["type"] == "thinking" and block["signature"] != expected:
                signature = block["signature"].split(".")
                pairs = zip(_PARTS, signature, expected.split("."), strict=False)
                part = next((part for part, old, new in pairs if old != new), _PARTS[0])
                raise invalid(f"messages.{i}.content.{j}: {_BOUND.format(part=part)}")


def _signatures(body: Body) -> Iterator[str]:
    """Yield the signature of a block created at each message, and last at the end."""
    system = "".join(block["text"] for block in blocks({"content": body.get("system") or []}))
    frame = f"{_digest(system)}.{_digest(_json([*map(_unmarked, body.get('tools') or [])]))}"
    conversation = blake2b(digest_size=12)
    for message in body["messages"]:
        yield f"{frame}.{conversation.hexdigest()}"
        for block in blocks(message):
            if block["type"] not in THINKING:
                conversation.update(f"{message['role']} {_json(_unmarked(block))}\n".encode())
    yield f"{frame}.{conversation.hexdigest()}"


def _unmarked(block: Block) -> Block:
    return {name: value for name, value in block.items() if name != "cache_control"}


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
