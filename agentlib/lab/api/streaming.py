"""Turn a finished message into the events of a streamed answer."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

Body = dict[str, Any]


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
    yield {"type": "message_delta", "delta": ending, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _parts(block: Body) -> tuple[Body, list[Body]]:
    """Return the block without its content, and the deltas that fill it."""
    if block["type"] == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text}]
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
