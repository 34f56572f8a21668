"""Which keys and blocks a body may have, beyond what is on record as a wording."""

import copy
import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from agentlib.settings import MODEL
from offline_api import model
from offline_api.errors import Refusal
from offline_api.rules import check, read_body
from offline_api.server import Server
from tests.builders import text

Body = dict[str, Any]
KEY = {"x-api-key": "any"}
MARK = {"type": "ephemeral"}
CALL = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}
INSIDE = [{"type": "text", "text": "ok"}]
ANSWER = {
    "type": "tool_result",
    "tool_use_id": "t",
    "content": INSIDE,
    "is_error": False,
}
WHOLE: Body = {
    "model": MODEL,
    "max_tokens": 9,
    "system": [{"type": "text", "text": "s", "cache_control": MARK}],
    "tools": [
        {
            "name": "bash",
            "description": "Run.",
            "input_schema": {"type": "object"},
            "cache_control": MARK,
        }
    ],
    "thinking": {"type": "adaptive"},
    "tool_choice": {"type": "auto"},
    "stream": False,
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, CALL]},
        {
            "role": "user",
            "content": [ANSWER, {"type": "text", "text": "On.", "citations": None}],
        },
    ],
}


def places(found: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value of a body."""
    keys = (
        found
        if isinstance(found, dict)
        else range(len(found) if isinstance(found, list) else 0)
    )
    for key in keys:
        yield (*way, key)
        yield from places(found[key], (*way, key))


def said(body: Body, **how: Any) -> str | None:
    try:
        check(body, **how)
    except Refusal as refusal:
        return refusal.message
    return None


def asked(content: Any, **more: Any) -> Body:
    return {
        "model": MODEL,
        "max_tokens": 9,
        "messages": [{"role": "user", "content": content}],
        **more,
    }


TURN = {"role": "user", "content": "Hi"}
EXTRA: Body = {"name": "bash", "input_schema": {"type": "object"}, "run": 1}
TTL = {"type": "ephemeral", "ttl": 9}
AT = "messages.0.content.0"
TAGS = "does not match any of the expected tags"


@pytest.mark.parametrize(
    ("body", "wording"),
    [
        ({"model": MODEL, "max_tokens": 9}, "messages: Field required"),
        ({"model": MODEL, "messages": [TURN]}, "max_tokens: Field required"),
        (asked("Hi", messages="Hi"), "messages: Input should be a valid list"),
        (asked("Hi", max_tokens="9"), "max_tokens: Input should be a valid integer"),
        (asked(5), "messages.0.content: Input should be a valid list"),
        (asked([text(5)]), f"{AT}.text.text: Input should be a valid string"),
        (asked([{"type": "document"}]), f"not simulated: document ({AT})"),
        (
            asked("Hi", system=[CALL]),
            f"system.0: Input tag 'tool_use' found using 'type' {TAGS}: 'text'",
        ),
        (
            asked([{**ANSWER, "content": [text("ok", id=1)]}]),
            f"{AT}.tool_result.content.0.text.id: Extra inputs are not permitted",
        ),
        (
            asked("Hi", tools=[EXTRA]),
            "tools.0.custom.run: Extra inputs are not permitted",
        ),
        (
            asked("Hi", messages=[{**TURN, "timestamp": 1}]),
            "messages.0.timestamp: Extra inputs are not permitted",
        ),
        (
            asked("Hi", messages=[{**TURN, "role": "tool"}]),
            "messages.0.role: Input should be 'user', 'assistant' or 'system'",
        ),
        (
            asked("Hi", thinking=True),
            "thinking: Input should be a valid dictionary or object to extract fields from",
        ),
        (
            asked([text("Hi", cache_control=TTL)]),
            f"{AT}.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        ),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(body: Body, wording: str):
    assert said(body) == wording


@pytest.mark.parametrize(
    "junk", [None, -1, 1.5, True, "中", [[]], {"type": ["x"]}], ids=repr
)
def test_a_value_of_a_wrong_type_anywhere_is_no_fault_of_ours(junk: Any):
    server = Server(model.reply)  # the policy, too, has to bear what is let through
    whole = server.answer("POST", "/v1/messages", KEY, json.dumps(WHOLE).encode())
    assert whole.status == 200
    for path in list(places(WHOLE)):
        body = copy.deepcopy(WHOLE)
        *way, last = path
        reduce(getitem, way, body)[last] = junk
        for url in ("/v1/messages", "/v1/messages/count_tokens"):
            reply = server.answer("POST", url, KEY, json.dumps(body).encode())
            assert reply.status < 500, (path, reply.body)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"{", "The request body is not valid JSON: "),
        (b"[]", "The request body is not valid JSON: it is not an object"),
        (rb'{"a": "\ude00"}', "The request body is not valid JSON: no low surrogate"),
        (rb'{"a": "\\\ud83d"}', "The request body is not valid JSON: no low surrogate"),
        (rb'{"a": "\ud83d\ude00"}', ""),
        (rb'{"a": "\\ud83d"}', ""),
        (b'{"a": "\xc3\xa9"}', ""),
    ],
)
def test_only_a_json_object_without_lone_surrogates_is_read(raw: bytes, problem: str):
    with pytest.raises(Refusal, match=re.escape(problem)) if problem else nullcontext():
        assert isinstance(read_body(raw), dict)


def test_four_markers_are_accepted_and_the_automatic_one_counts():
    marked = [text(str(i), cache_control=MARK) for i in range(4)]
    assert said(asked(marked, cache_control=MARK)) is None
    assert said(asked([*marked[:3], text("end")], cache_control=MARK)) is None
    assert str(said(asked([*marked, text("end")], cache_control=MARK))).endswith(
        "Found 5."
    )


def test_markers_of_an_hour_come_first_in_the_order_tools_system_messages():
    hour = {"type": "ephemeral", "ttl": "1h"}
    tool = {"name": "bash", "input_schema": {"type": "object"}, "cache_control": hour}
    system = [text("s", cache_control=MARK)]
    assert said(asked("Hi", tools=[tool], system=system)) is None
    late = [text("s", cache_control=hour)]
    short = {**tool, "cache_control": MARK}
    start = "cache_control.ttl: a ttl='1h'"
    assert str(said(asked("Hi", tools=[short], system=late))).startswith(
        f"system.0.{start}"
    )
    assert str(said(asked("Hi", system=system, cache_control=hour))).startswith(start)
