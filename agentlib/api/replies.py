"""A reply as it may be sent back, whatever the endpoint made of it.

The first-party API's replies need little: blank texts and extra keys go, which it
returns and refuses to take back. Other endpoints leave out ids, use them twice or send
blocks that no request can hold. `received` is where every reply comes in.
"""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any, cast

from agentlib.messages import EMPTY_REPLY, HALF, Block, tool_names

_KEYS = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
    "tool_use": ("type", "id", "name", "input"),
    "tool_result": ("type", "tool_use_id", "content", "is_error"),
}
"""The keys that the API takes back."""
MOST_TOKENS = 10**12
"""No request has more tokens. A larger count is none."""
_SIGN = re.compile("[^a-zA-Z0-9_-]")
"""A character that the API takes in no id and in no tool's name."""


def received(
    reply: Mapping[str, Any], taken: Collection[str] = (), most: float = math.inf
) -> dict[str, Any]:
    """Return an endpoint's reply with a `sendable` content, a usage and a stop_reason.

    A content that had to be mended stays beside the new one as `rawContent`, for a
    person to look at. One of more than `most` characters is cut, because no request
    could hold it. A reply with calls stops for `tool_use`, even if the endpoint says
    "end_turn" or nothing.

    >>> reply = received({"content": [{"type": "tool_use", "id": 7, "name": "ls", "input": {}}]})
    >>> reply["content"], reply["usage"], reply["stop_reason"]
    ([{'type': 'tool_use', 'id': '7', 'name': 'ls', 'input': {}}], {}, 'tool_use')
    """
    raw = reply.get("content")
    stop = str(reply.get("stop_reason") or "end_turn")
    content = _mended(raw, taken, most)
    if stop == "end_turn" and tool_names([{"content": content}]):
        stop = "tool_use"
    new = {
        "content": stripped(content),
        "usage": counts(reply.get("usage")),
        "stop_reason": stop,
    }
    return {**reply, **new} if content == raw else {**reply, **new, "rawContent": raw}


def counts(usage: object, most: float = MOST_TOKENS) -> Block:
    """Return a reply's usage without token counts that are no whole numbers, or above
    `most`.

    >>> counts({"input_tokens": 7, "output_tokens": "9", "cache_creation": [1]})
    {'input_tokens': 7, 'cache_creation': {}}
    """
    given = cast(Block, usage) if isinstance(usage, dict) else Block()
    split = {
        k: counts(v, most)
        for k, v in given.items()
        if k == "cache_creation" and v is not None
    }
    whole = {
        k: v
        for k, v in given.items()
        if "_tokens" not in k or v is None or (isinstance(v, int) and v <= most)
    }
    return {**whole, **split}


def sendable(content: object, taken: Collection[str] = ()) -> list[Block]:
    """Return a reply's content as it may be sent back, whatever the endpoint made of
    it.

    A call stays a call. Its id is changed if it is missing, was used before (`taken`),
    or has other characters than letters, digits, `_` and `-`, even if the endpoint
    itself would take it back. An input that is no object becomes `{"input": …}`. No
    tool takes that, so the result says what was wrong. Thinking without a signature is
    dropped. Any other block becomes a text.

    A signature of another endpoint looks like any other, so a session that changes its
    endpoint may still be refused for its thinking.

    >>> use = {"type": "tool_use", "id": "a.b:0", "name": "bash", "input": {"command": "ls"}}
    >>> [block["id"] for block in sendable([use, use])]
    ['a_b_0', 'a_b_0_1']
    """
    return stripped(_mended(content, taken))


def stripped(content: Sequence[Block]) -> list[Block]:
    """Drop blank texts and extra keys: the API returns both, and refuses both in a
    request."""
    kept = [b for b in content if b["type"] != "text" or b["text"].strip()]
    clean = [{k: v for k, v in b.items() if k in _KEYS.get(b["type"], b)} for b in kept]
    return clean or [{"type": "text", "text": EMPTY_REPLY}]


def is_content(content: object) -> bool:
    """Return whether a message of ours can have this content: text, or blocks that lack
    nothing.

    >>> is_content([{"type": "text", "text": "hi"}]), is_content([{"type": "text"}])
    (True, False)
    """
    if not isinstance(content, list):
        return isinstance(content, str) and bool(content.strip())
    parts = cast(list[Any], content)
    return all(map(_is_block, parts)) and stripped(parts) == parts


def _is_block(block: Any) -> bool:
    match block:
        case {"type": "tool_result", "tool_use_id": str()}:
            return is_content(cast(Block, block).get("content") or "none")
        case _:
            return _mended_block(block, ()) == [block]


def _mended(
    content: object, taken: Collection[str], most: float = math.inf
) -> list[Block]:
    """Mend each block. One that needs no mending stays equal, so the lists can be
    compared.

    A block with which there are more than `most` characters becomes a short text, the
    last one.
    """
    kept = list[Block]()
    ids = set(taken)
    for part in cast(list[object], content) if isinstance(content, list) else [content]:
        new = _mended_block(part, ids)
        most -= len(str(new))
        if most < 0:
            return [*kept, _unsendable(json.dumps(part))]
        kept = [*kept, *new]
        ids = ids | tool_names([{"content": new}]).keys()
    return kept


def _mended_block(part: object, taken: Collection[str]) -> list[Block]:
    text = HALF.sub("\ufffd", json.dumps(part, ensure_ascii=False))
    match block := json.loads(text, parse_constant=str):  # no request can hold NaN
        case {"type": "text", "text": str()} | {
            "type": "redacted_thinking",
            "data": str(),
        }:
            return [block]
        case {"type": "thinking", "thinking": str(), "signature": str(seal)} if seal:
            return [block]
        case {"type": "tool_use"}:
            name, word = (
                _SIGN.sub("_", str(block.get(key) or key)) for key in ("name", "id")
            )
            ids = (f"{word}_{n}" if n else word for n in count())
            given: Any = block.get("input")
            own = cast(Block, given) if isinstance(given, dict) else {"input": given}
            unused = next(each for each in ids if each not in taken)
            return [{**block, "id": unused, "name": name[:200], "input": own}]
        case {"type": "thinking" | "redacted_thinking"} | None:
            return []
        case _:
            return [_unsendable(text)]


def _unsendable(text: str) -> Block:
    return {"type": "text", "text": f"[a block that no request can hold: {text:.500}]"}
