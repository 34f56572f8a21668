"""Which keys and blocks a body may have, beyond what is on record as a wording."""

import copy
import json
import re
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from agentlib.lab import model
from agentlib.lab.api.errors import Refusal
from agentlib.lab.api.rules import check, read_body
from agentlib.lab.api.server import Server

Body = dict[str, Any]
KEY = {"x-api-key": "any"}
STRING = "Input should be a valid string"
MARK = {"type": "ephemeral"}
CALL = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}
INSIDE = [{"type": "text", "text": "ok"}]
ANSWER = {"type": "tool_result", "tool_use_id": "t", "content": INSIDE, "is_error": False}
WHOLE: Body = {
    "model": "m",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "s", "cache_control": MARK}],
    "tools": [{"name": "bash", "description": "Run.", "input_schema": {}, "cache_control": MARK}],
    "thinking": {"type": "adaptive"},
    "tool_choice": {"type": "auto"},
    "stream": False,
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, CALL]},
        {"role": "user", "content": [ANSWER, {"type": "text", "text": "On.", "citations": None}]},
    ],
}


def places(found: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value of a body."""
    keys = found if isinstance(found, dict) else range(len(found) if isinstance(found, list) else 0)
    for key in keys:
        yield (*way, key)
        yield from places(found[key], (*way, key))


def said(body: Body, **how: Any) -> str | None:
    try:
        check(body, model_ids=["m"], **how)
    except Refusal as refusal:
        return refusal.message
    return None


def asked(content: Any, **more: Any) -> Body:
    return {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": content}],
        **more,
    }


@pytest.mark.parametrize("name", ["model", "messages", "max_tokens"])
def test_a_missing_field_is_named(name: str):
    body = asked("Hi")
    del body[name]
    assert said(body) == f"{name}: Field required"


def test_counting_tokens_needs_no_max_tokens():
    body = asked("Hi")
    del body["max_tokens"]
    assert said(body, counts_only=True) is None


@pytest.mark.parametrize(
    ("body", "wording"),
    [
        (asked("Hi", betas=[]), "betas: Extra inputs are not permitted"),
        (asked("Hi", messages="Hi"), "messages: Input should be a valid list"),
        (asked("Hi", max_tokens="9"), "max_tokens: Input should be a valid integer, 0 or more"),
        (asked("Hi", max_tokens=-1), "max_tokens: Input should be a valid integer, 0 or more"),
        (asked(5), "messages.0.content: Input should be a text or a list of blocks"),
        (asked(["Hi"]), "messages.0.content.0: Input should be an object"),
        (asked([{"type": "text"}]), "messages.0.content.0.text.text: Field required"),
        (
            asked([{"type": "text", "text": "Hi", "uuid": "1"}]),
            "messages.0.content.0.text.uuid: Extra inputs are not permitted",
        ),
        (
            asked("Hi", tools=[{"name": "bash"}]),
            "tools.0.custom.input_schema: Field required",
        ),
        (
            asked("Hi", tools=[{"name": "bash", "input_schema": {}, "run": 1}]),
            "tools.0.custom.run: Extra inputs are not permitted",
        ),
        (
            asked("Hi", messages=[{"role": "user", "content": "Hi", "timestamp": 1}]),
            "messages.0.timestamp: Extra inputs are not permitted",
        ),
        (
            asked("Hi", messages=[{"role": "tool", "content": "Hi"}]),
            "messages.0.role: Input should be 'user' or 'assistant'",
        ),
        (asked("Hi", tools={}), "tools: Input should be a valid list"),
        (asked("Hi", thinking=True), "thinking: Input should be a valid dictionary"),
        (asked([{"type": "text", "text": 5}]), "messages.0.content.0.text.text: " + STRING),
        (
            asked([{"type": "document", "source": {}}]),
            "messages.0.content.0: documents are not simulated by the offline API",
        ),
        (
            asked(
                [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": 9}}]
            ),
            "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        ),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(body: Body, wording: str):
    assert said(body) == wording


@pytest.mark.parametrize("junk", [None, -1, 1.5, True, "中", [[]], {"type": ["x"]}], ids=repr)
def test_a_value_of_a_wrong_type_anywhere_is_no_fault_of_ours(junk: Any):
    server = Server(
        model.reply, model_ids=["m"]
    )  # the policy, too, has to bear what is let through
    whole = server.answer("POST", "/v1/messages", KEY, json.dumps(WHOLE).encode())
    assert whole.status == 200
    for path in list(places(WHOLE)):
        body = copy.deepcopy(WHOLE)
        *way, last = path
        reduce(getitem, way, body)[last] = junk
        for url in ("/v1/messages", "/v1/messages/count_tokens"):
            reply = server.answer("POST", url, KEY, json.dumps(body).encode())
            assert reply.status < 500, (path, reply.body)


@pytest.mark.parametrize("place", ["system", "result"])
def test_a_call_stands_neither_in_the_system_prompt_nor_in_a_result(place: str):
    call = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [call]}
    wording = said(asked("Hi", system=[call]) if place == "system" else asked([result]))
    assert wording is not None
    assert "Input tag 'tool_use' found" in wording


def test_an_unknown_block_is_answered_with_the_known_ones():
    wording = said(asked([{"type": "video"}]))
    assert wording is not None
    assert wording.startswith("messages.0.content.0: Input tag 'video' found using 'type'")
    assert "'tool_result'" in wording


def test_the_inside_of_a_result_is_looked_at_too():
    inside = [{"type": "text", "text": "ok", "id": 1}]
    call = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": inside}
    roles = ("user", "assistant", "user")
    turns = ("Hi", [call], [answer])
    messages = [{"role": r, "content": c} for r, c in zip(roles, turns, strict=True)]
    path = "messages.2.content.0.tool_result.content.0.text.id"
    assert said(asked("", messages=messages)) == f"{path}: Extra inputs are not permitted"


def test_an_unknown_model_is_not_found():
    with pytest.raises(Refusal, match="model: claude-x") as refusal:
        check(asked("Hi", model="claude-x"), model_ids=["m"])
    assert (refusal.value.status, refusal.value.type) == (404, "not_found_error")


@pytest.mark.parametrize(
    ("raw", "start"),
    [
        (b"{", "The request body is not valid JSON: "),
        (b"[]", "The request body is not valid JSON: it is not an object"),
        (rb'{"a": "\ude00"}', "The request body is not valid JSON: no low surrogate"),
        (rb'{"a": "\\\ud83d"}', "The request body is not valid JSON: no low surrogate"),
    ],
)
def test_what_is_no_json_object_is_refused(raw: bytes, start: str):
    with pytest.raises(Refusal, match=re.escape(start)):
        read_body(raw)


@pytest.mark.parametrize(
    "raw", [rb'{"a": "\ud83d\ude00"}', rb'{"a": "\\ud83d"}', b'{"a": "\xc3\xa9"}']
)
def test_a_whole_pair_and_a_written_escape_are_no_lone_surrogates(raw: bytes):
    assert isinstance(read_body(raw), dict)


@pytest.mark.parametrize("place", ["end", "system"])
def test_four_markers_are_taken(place: str):
    mark = {"cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": str(i), **mark} for i in range(3)]
    fourth = mark if place == "end" else {"system": [{"type": "text", "text": "s", **mark}]}
    assert said(asked([*content, {"type": "text", "text": "end"}], **fourth)) is None


def test_the_automatic_marker_is_the_fifth_unless_the_last_block_has_one():
    mark = {"type": "ephemeral"}
    content = [{"type": "text", "text": str(i), "cache_control": mark} for i in range(4)]
    assert said(asked(content, cache_control=mark)) is None
    plain = {"type": "text", "text": "end"}
    assert said(asked([*content, plain], cache_control=mark)) == (
        "A maximum of 4 blocks with cache_control may be provided. Found 5."
    )


def test_an_hour_before_five_minutes_is_taken_in_the_order_tools_system_messages():
    short, hour = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
    tool = {"name": "bash", "input_schema": {}, "cache_control": hour}
    system = [{"type": "text", "text": "s", "cache_control": short}]
    assert said(asked("Hi", tools=[tool], system=system)) is None
    late = [{"type": "text", "text": "s", "cache_control": hour}]
    wording = said(asked("Hi", tools=[{**tool, "cache_control": short}], system=late))
    assert wording is not None
    assert wording.startswith("system.0.cache_control.ttl: a ttl='1h'")
    automatic = said(asked("Hi", system=system, cache_control=hour))
    assert automatic is not None
    assert automatic.startswith("cache_control.ttl: a ttl='1h'")
