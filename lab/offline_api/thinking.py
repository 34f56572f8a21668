"""Bind thinking blocks to the conversation before them, as the newest models do.

The signature of a block is a digest of the system prompt, the tools and the messages
before it. So the server needs no memory to notice a block that is sent back after a
changed conversation. It refuses the request, or drops the block if the request asks for
that. Earlier thinking doesn't count as conversation: a block can be dropped without the
later ones being refused. Changes inside a block are not checked.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from agentlib.messages import THINKING, Block, Message, blocks, last_assistant, of_type
from offline_api.errors import WORDINGS, invalid
from offline_api.tokens import pieces

Body = Mapping[str, Any]
BETA = "thinking-binding-controls-2026-08-01"
"""The value of the header `anthropic-beta` that a request with `block_binding`
needs."""
_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def thinking_mode(body: Body) -> str:
    """Return the `thinking.type` of a request: adaptive, enabled or, by default,
    disabled."""
    thinking: Body = body.get("thinking") or {}
    return thinking.get("type", "disabled")


def thought(content: list[Block], body: Body) -> Block:
    """Return a thinking block to put before `content`, signed for an answer to
    `body`."""
    calls = [block["name"] for block in content if block["type"] == "tool_use"]
    text = f"Next: {', '.join(calls)}." if calls else "I can answer now."
    *_, (_, _, signature) = _signed([*pieces(body), ("", "", {})])
    return {"type": "thinking", "thinking": text, "signature": signature}


def check_thinking(body: dict[str, Any], betas: str = "") -> dict[str, Any]:
    """Return the body without thinking that is sent after another conversation than its
    own.

    Raises a Refusal if there is such thinking and the request doesn't ask for
    `drop_block`. The thinking of the newest assistant message may stand after any
    conversation. A message that held nothing but dropped thinking goes too. `betas`:
    the header `anthropic-beta`. Without its value there, a `block_binding` counts as
    not given.
    """
    thinking: Body = body.get("thinking") or {}
    binding: Body = thinking.get("block_binding") or {}
    drops = BETA in betas and binding.get("prefix_mismatch_behavior") == "drop_block"
    paths = list(_unbound(body))
    if paths and not drops:
        raise invalid(f"{paths[0]}: {WORDINGS['bound']}")
    messages: list[Message] = []
    for i, message in enumerate(body["messages"] if paths else ()):
        whole = list(enumerate(blocks(message)))
        kept = [block for j, block in whole if f"messages.{i}.content.{j}" not in paths]
        same = len(kept) == len(whole)
        messages += (
            [message if same else {**message, "content": kept}] if kept or same else []
        )
    return {**body, "messages": messages} if paths else body


def _unbound(body: Body) -> Iterator[str]:
    """Yield the paths of unbound thinking blocks, and of the thinking right behind
    them."""
    if not any(of_type(message, "thinking") for message in body["messages"]):
        return
    newest = f"messages.{last_assistant(body['messages'])}."
    follows = False
    for path, block, expected in _signed(pieces(body)):
        is_bound = block.get("signature", expected) == expected or path.startswith(
            newest
        )
        follows = block.get("type") in THINKING and (follows or not is_bound)
        if follows:
            yield path


def _signed(
    whole: Iterable[tuple[str, str, Block]],
) -> Iterator[tuple[str, Block, str]]:
    """Yield each piece with its path and the signature of a block created at its
    place."""
    conversation = blake2b(digest_size=12)
    for path, role, block in whole:
        yield path, block, conversation.hexdigest()
        if block.get("type") not in THINKING:
            content = {
                name: value for name, value in block.items() if name != "cache_control"
            }
            conversation.update(f"{role} {_json(content)}\n".encode())
