"""An answer as server-sent events, in the order in which the API sends them.

message_start, then for each block its start, its deltas and its stop, then message_delta with
the stop reason and the whole usage, then message_stop. Not here: what the answer says (offline).
"""

import json
from collections.abc import Iterator
from typing import Any

from agentlib.messages import Block

PIECE = 40
"""Characters of text in one delta."""


def stream(message: dict[str, Any]) -> bytes:
    """The body of a streamed response that says the same as `message` does."""
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(message))
    return "".join(lines).encode()


def events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of one answer; put together again they give `message`."""
    begun: dict[str, Any] = {**message, "content": [], "stop_reason": None}
    begun["usage"] = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": _opened(block)}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _opened(block: Block) -> Block:
    empty: Block = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {name: empty.get(name, value) for name, value in block.items()}


def _deltas(block: Block) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": part} for part in _pieces(block["text"]))
        case "thinking":
            for part in _pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": part}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            for part in ("", *_pieces(json.dumps(block["input"]))):
                yield {"type": "input_json_delta", "partial_json": part}


def _pieces(text: str) -> Iterator[str]:
    return (text[i : i + PIECE] for i in range(0, len(text), PIECE))
