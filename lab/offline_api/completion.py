"""Finish a reply of the model: thinking before it, ids for its calls, cut to the room
there is.

An answer goes out as one message or as the events of a stream.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from agentlib.messages import Block
from offline_api.body_schema import Body
from offline_api.faults import INVENTED, Kind
from offline_api.thinking import thinking_mode, thought
from offline_api.tokens import TEXT, block_tokens, text_tokens


def finished(
    reply: Body, body: Body, *, seed: str, room: int, fault: Kind | None = None
) -> tuple[list[Block], str]:
    """Return the content and stop_reason of the answer to `body`.

    `room`: tokens that the window has left after the prompt. The content is cut off at
    the smaller of max_tokens and room, and the stop_reason says which of the two it
    was. `seed`: the ids of calls without an id are made from it.
    """
    if fault in ("empty", "refusal"):
        return [], "refusal" if fault == "refusal" else "end_turn"
    if fault == "larger":
        text = "And so on. " * (len(str(body["messages"])) // 8)
        return [{"type": "text", "text": text}], "end_turn"
    if fault == "tool_use":
        reply = _call_instead(body)
    if fault in INVENTED and reply["content"]:
        *others, last = reply["content"]
        text = f"{last.get('text', '')}\n{INVENTED[fault]}"
        reply = {**reply, "content": [*others, {"type": "text", "text": text}]}
    content = [
        _with_id(block, f"{seed} {i}") for i, block in enumerate(reply["content"])
    ]
    if thinking_mode(body) != "disabled":
        content.insert(0, thought(content, body))
    limit = min(body["max_tokens"], room)
    if fault == "truncated":
        limit = min(limit, sum(map(block_tokens, content)) // 2)
    kept = fitting(content, limit)
    if kept == content:
        return content, reply["stop_reason"]
    if room < body["max_tokens"] and fault is None:
        return kept, "model_context_window_exceeded"
    return kept or _beginning(content, limit), "max_tokens"


def fitting(content: Sequence[Block], limit: int) -> list[Block]:
    """Return as much of the content as fits in `limit` tokens: a text is cut, a call is
    left out.

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


def _beginning(content: Sequence[Block], limit: int) -> list[Block]:
    """Return the first words of an answer for which there was hardly any room.

    The API counts no tokens for a block beside its text, so it returns a first word
    even for a `max_tokens` of 1.
    """
    texts = [block for block in content if block["type"] == "text"][:1]
    return [
        {**each, "text": _cut(each["text"], limit) or each["text"][:1]}
        for each in texts
    ]


def _cut(text: str, limit: int) -> str:
    lengths = range(len(text) + 1)
    return text[
        : max(0, bisect_right(lengths, limit, key=lambda k: text_tokens(text[:k])) - 1)
    ]


def _call_instead(body: Body) -> Body:
    """Answer with a line of text and a call of the first tool that the request
    offers."""
    names = [tool["name"] for tool in body.get("tools", [])[:1]]
    calls = [
        {"type": "tool_use", "name": name, "input": {"command": "ls"}} for name in names
    ]
    text = {
        "type": "text",
        "text": "I will look at the folder once more before I summarise.",
    }
    return {
        "content": [text, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
    }


def _with_id(block: Block, seed: str) -> Block:
    if block["type"] != "tool_use" or "id" in block:
        return block
    return {
        "type": "tool_use",
        "id": f"toolu_{sha256(seed.encode()).hexdigest()[:24]}",
        **block,
    }


# -- the answer as a stream ------------------------------------------------------------


def events(message: Body) -> Iterator[Body]:
    """Yield the events that stream a message. Each block comes in one piece.

    >>> message = {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
    ...            "stop_sequence": None, "usage": {"output_tokens": 1}}
    >>> [event["type"].removeprefix("content_block_") for event in events(message)]
    ['message_start', 'start', 'delta', 'stop', 'message_delta', 'message_stop']
    """
    ending = {name: message[name] for name in ("stop_reason", "stop_sequence")}
    empty: Body = {**dict.fromkeys(ending), "content": [], "usage": message["usage"]}
    yield {"type": "message_start", "message": {**message, **empty}}
    for index, block in enumerate(message["content"]):
        start, deltas = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    edits = {k: v for k, v in message.items() if k == "context_management"}
    yield {"type": "message_delta", "delta": ending, "usage": message["usage"], **edits}
    yield {"type": "message_stop"}


def _parts(block: Body) -> tuple[Body, list[Body]]:
    """Return the block without its content, and the deltas that fill it."""
    if block["type"] == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": text}
        ]
    if block["type"] == "compaction":
        delta = {"type": "compaction_delta", "content": block["content"]}
        return {**block, "content": None}, [delta]
    names = [name for name in ("text", "thinking", "signature") if name in block]
    deltas = [{"type": f"{name}_delta", name: block[name]} for name in names]
    return {**block, **dict.fromkeys(names, "")}, deltas


def server_sent(events: Iterable[Body]) -> str:
    """Write events in the format of text/event-stream.

    >>> server_sent([{"type": "ping"}])
    'event: ping\\ndata: {"type": "ping"}\\n\\n'
    """
    lines = ((event["type"], json.dumps(event, ensure_ascii=False)) for event in events)
    return "".join(f"event: {kind}\ndata: {data}\n\n" for kind, data in lines)
