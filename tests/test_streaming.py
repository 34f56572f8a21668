"""The events of a streamed answer, in the API's order, say the whole answer."""

import json
from typing import Any

from agentlib.lab.api.streaming import PIECE, events, stream

TEXT = "An answer in pieces: " + "七" * PIECE
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": TEXT},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls " * 20}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "stop_details": None,
    "usage": {"input_tokens": 7, "output_tokens": 99},
}


def test_the_events_come_in_the_order_of_the_api():
    kinds = [event["type"] for event in events(MESSAGE)]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    once = [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]
    assert once == ["message_start", "ping", *block * 3, "message_delta", "message_stop"]


def test_nothing_is_said_before_its_delta():
    start, *rest = (event for event in events(MESSAGE) if event["type"] != "ping")
    assert start["message"]["content"] == []
    assert start["message"]["stop_reason"] is None
    assert start["message"]["usage"] == {"input_tokens": 7, "output_tokens": 1}
    opened = [event["content_block"] for event in rest if event["type"] == "content_block_start"]
    assert opened == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}},
    ]


def test_the_deltas_put_together_are_the_answer():
    said: dict[str, str] = {}
    for event in events(MESSAGE):
        if event["type"] == "content_block_delta":
            for name, part in event["delta"].items():
                if name != "type":
                    said[name] = said.get(name, "") + part
    assert said.pop("partial_json") == json.dumps(MESSAGE["content"][2]["input"])
    assert said == {"thinking": "Hm.", "signature": "s", "text": TEXT}


def test_the_last_events_carry_the_stop_reason_and_the_whole_usage():
    *_, delta, stop = events(MESSAGE)
    assert delta["delta"]["stop_reason"] == "tool_use"
    assert delta["usage"] == MESSAGE["usage"]
    assert stop == {"type": "message_stop"}


def test_each_event_is_named_on_the_wire_and_ends_with_a_blank_line():
    wire = stream(MESSAGE).decode().split("\n\n")
    assert wire.pop() == ""
    for chunk, event in zip(wire, events(MESSAGE), strict=True):
        name, data = chunk.split("\n")
        assert name == f"event: {event['type']}"
        assert json.loads(data.removeprefix("data: ")) == event
