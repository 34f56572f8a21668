"""Bind thinking blocks to the conversation before them, as the newest models do.

The signature of a block is a digest of the system prompt, the tools and the messages before it. So
the server needs no memory to refuse a block that is sent back after a changed conversation. Earlier
thinking doesn't count as conversation: a block can be dropped without the later ones being refused.
Changes inside a block are not checked.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from agentlib.lab.api.errors import invalid
from agentlib.lab.api.tokens import pieces
from agentlib.messages import THINKING, Block, last_assistant

Body = Mapping[str, Any]
_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". '
    "That setting requires the `thinking-binding-controls-2026-08-01` value in the "
    "`anthropic-beta` header."
)
"""The API adds which part of the conversation differs."""
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
    *_, (_, _, signature) = _signed([*pieces(body), ("", "", {})])
    return {"type": "thinking", "thinking": text, "signature": signature}


def check_thinking(body: Body) -> None:
    """Raise a Refusal if a thinking block is sent after another conversation than its own.

    Thinking of the newest assistant message may stand after any conversation. A request that asks
    for `drop_block` is never refused.
    """
    whole = list(pieces(body))
    thinking: Body = body.get("thinking") or {}
    thinks = any(block.get("type") == "thinking" for _, _, block in whole)
    if not thinks or thinking.get("block_binding") == _DROP:
        return
    newest = f"messages.{last_assistant(body['messages'])}."
    for path, block, expected in _signed(whole):
        is_bound = block.get("type") == "thinking" and not path.startswith(newest)
        if is_bound and block["signature"] != expected:
            raise invalid(f"{path}: {_BOUND}")


def _signed(whole: Iterable[tuple[str, str, Block]]) -> Iterator[tuple[str, Block, str]]:
    """Yield each piece with its path and the signature of a block created at its place."""
    conversation = blake2b(digest_size=12)
    for path, role, block in whole:
        yield path, block, conversation.hexdigest()
        if block.get("type") not in THINKING:
            content = {name: value for name, value in block.items() if name != "cache_control"}
            conversation.update(f"{role} {_json(content)}\n".encode())
