"""Bind thinking blocks to the conversation before them, as the newest models do.

The signature of a block is a digest of the system prompt, the tools and the messages before it. So
the server needs no memory to notice a block that is sent back after a changed conversation. It
refuses the request. Earlier thinking doesn't count as conversation: a client can drop a block
without the later ones being refused. Changes inside a block are not checked.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from agentlib.lab.api.errors import WORDINGS, invalid
from agentlib.lab.api.tokens import pieces
from agentlib.messages import THINKING, Block, last_assistant

Body = Mapping[str, Any]
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
    """Raise the Refusal of thinking that is sent after another conversation than its own.

    The thinking of the newest assistant message may stand after any conversation.
    """
    whole = list(pieces(body))
    if not any(block.get("type") == "thinking" for _, _, block in whole):
        return
    newest = f"messages.{last_assistant(body['messages'])}."
    for path, block, expected in _signed(whole):
        is_bound = block.get("signature", expected) == expected or path.startswith(newest)
        if block.get("type") == "thinking" and not is_bound:
            raise invalid(f"{path}: {WORDINGS['bound']}")


def _signed(whole: Iterable[tuple[str, str, Block]]) -> Iterator[tuple[str, Block, str]]:
    """Yield each piece with its path and the signature of a block created at its place."""
    conversation = blake2b(digest_size=12)
    for path, role, block in whole:
        yield path, block, conversation.hexdigest()
        if block.get("type") not in THINKING:
            content = {name: value for name, value in block.items() if name != "cache_control"}
            conversation.update(f"{role} {_json(content)}\n".encode())
