"""Refusals on public record, in the words of the API. See test_messages for those of a
list."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from agentlib.settings import MODEL
from offline_api.faults import Fault
from offline_api.server import Reply, Server
from tests.builders import call, result, text
from tests.fakes import good

Body = dict[str, Any]
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
ADAPTIVE = {"thinking": {"type": "adaptive"}}


def asked(*turns: Any, **more: Any) -> Body:
    """A request whose messages alternate, the user first; a turn is a text or its
    blocks."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": turn} for i, turn in enumerate(turns)]
    return {"model": MODEL, "max_tokens": 100, "messages": messages, **more}


def send(body: Body | bytes, server: Server | None = None) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    server = server or Server(good, window=1_000)
    return server.answer("POST", "/v1/messages", {"authorization": "Bearer key"}, raw)


def thought_through(system: str = "s") -> tuple[Server, list[Any]]:
    """A server, and a conversation of two thoughtful answers that it would take up
    again."""
    server = Server(good)
    turns: list[Any] = ["Hi"]
    for _ in range(2):
        reply = send(asked(*turns, system=system, **ADAPTIVE), server)
        turns += [json.loads(reply.body)["content"], "And then?"]
    return server, turns


def changed_system() -> Reply:
    server, turns = thought_through()
    return send(asked(*turns, system="other", **ADAPTIVE), server)


def struck(kind: Any) -> Callable[[], Reply]:
    return lambda: send(asked("Hi"), Server(good, faults=[Fault(kind)]))


@dataclass(frozen=True)
class Entry:
    """A wording on record and the request, or the function, that brings it about."""

    status: int
    type: str
    wording: str
    case: Body | bytes | Callable[[], Reply]


def bad(wording: str, case: Any) -> Entry:
    return Entry(400, "invalid_request_error", wording, case)


BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
LIMIT = (
    "This request would exceed the rate limit for your organization "
    "(00000000-0000-0000-0000-000000000000) of 50,000 input tokens per minute. For details, refer "
    "to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current "
    "usage. Please reduce the prompt length or the maximum tokens requested, or try again later. "
    "You may also contact sales at https://www.anthropic.com/contact-sales to discuss your options "
    "for a rate limit increase."
)
ON_RECORD = [
    bad(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_2. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
        asked("Hi", [call("toolu_1"), call("toolu_2")], [result("toolu_1")]),
    ),
    bad(
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        asked("Hi", [call("call 1")], [result("call 1")]),
    ),
    bad("prompt is too long: 1504 tokens > 1000 maximum", asked("hi " * 1_000)),
    bad(
        "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for "
        + MODEL,
        asked("Hi", max_tokens=128_001),
    ),
    Entry(
        413,
        "invalid_request_error",
        "Request size exceeds model context window",
        asked("hi " * 7_000),
    ),
    bad(
        "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
        asked([text("", cache_control=MARK)]),
    ),
    bad(
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        asked([text(str(i), cache_control=MARK) for i in range(5)]),
    ),
    bad(
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come "
        "after a ttl='5m' cache_control block. Note that blocks are processed in the following "
        "order: `tools`, `system`, `messages`.",
        asked([text("a", cache_control=MARK), text("b", cache_control=HOUR)]),
    ),
    bad(BOUND, changed_system),
    bad(
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" '
        'and "output_config.effort" to control thinking behavior.',
        asked("Hi", thinking={"type": "enabled", "budget_tokens": 1_024}),
    ),
    bad(
        "messages.0.content.0.text.parsed_output: Extra inputs are not permitted",
        asked([text("Hi", parsed_output=None)]),
    ),
    bad(
        "The request body is not valid JSON: no low surrogate in string: line 1 column 22 "
        "(char 21)",
        rb'{"model": "cut \ud83d here"}',
    ),
    Entry(429, "rate_limit_error", LIMIT, struck("429")),
    Entry(529, "overloaded_error", "Overloaded", struck("529")),
    Entry(500, "api_error", "Overloaded", struck("500")),
]


@pytest.mark.parametrize("entry", ON_RECORD, ids=lambda e: e.wording[:50])
def test_each_refusal_has_the_status_type_and_wording_of_the_api(entry: Entry):
    reply = entry.case() if callable(entry.case) else send(entry.case)
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["type"]) == (entry.status, entry.type)
    assert error["message"] == entry.wording
