"""Which requests the offline model refuses, and in which words: those of the real API.

The rules are the first-party API's for settings.MODEL in November 2026, collected from public
reports. What a list of messages alone can break stands in agentlib.messages.violation; here is
the rest: settings, cache markers, size; shape, thinking and pictures have modules of their own.
Not here: errors that are no fault of the request (faults).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentlib.lab.api.binding import broken_binding
from agentlib.lab.api.body_schema import Body, broken_shape
from agentlib.lab.api.pictures import broken_picture
from agentlib.messages import Block, blocks, violation

MAX_BYTES = 32 * 1024 * 1024
MAX_OUTPUT = 128_000
CHARS_PER_TOKEN = 20
"""No text packs more characters into a token: a request past that is refused uncounted."""

_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_LONE = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_ENABLED = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
    '"output_config.effort" to control thinking behavior.'
)
_NO_THINKING = (
    "When thinking is disabled, an `assistant` message in the final position cannot contain "
    "`thinking`. To use thinking blocks, enable `thinking` in your request."
)
_TTL_ORDER = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that "
    "blocks are processed in the following order: `tools`, `system`, `messages`."
)


@dataclass(frozen=True)
class Refusal:
    """An error response: its HTTP status, and the error's type and message."""

    status: int
    type: str
    message: str


def invalid(message: str) -> Refusal:
    """400 invalid_request_error, the kind of nearly every refusal."""
    return Refusal(400, "invalid_request_error", message)


def read_body(raw: bytes) -> Body | Refusal:
    """The bytes as JSON, or what is wrong with them before anyone asks what they mean."""
    if len(raw) > MAX_BYTES:
        return Refusal(413, "request_too_large", "Request exceeds the maximum size")
    problem = None
    if rb"\ud" in raw or rb"\uD" in raw:
        problem = _lone_surrogate(raw.decode("utf-8", "replace"))
    try:
        body: Any = json.loads(raw)
    except ValueError as error:
        body, problem = None, problem or str(error)
    if problem is None and not isinstance(body, dict):
        problem = "it is no object"
    if problem:
        return invalid(f"The request body is not valid JSON: {problem}")
    return cast(Body, body)


def _lone_surrogate(text: str) -> str | None:
    found = _LONE.search(_PAIR.sub("x" * 12, text))
    if found is None:
        return None
    at = found.end()
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return f"no low surrogate in string: line {line} column {column} (char {at})"


def refusal(body: Body, *, models: Sequence[str], counts_only: bool = False) -> Refusal | None:
    """The first rule that a request's body breaks, or None.

    `counts_only`: a body for count_tokens, which needs no max_tokens.

    >>> refusal({"model": "m"}, models=["m"]).message
    'messages: Field required'
    """
    return next(_broken(body, models, counts_only), None)


def thinking_mode(body: Body) -> str:
    """What the request says of thinking: adaptive, enabled or, by default, disabled."""
    thinking: Body = body.get("thinking") or {}
    return thinking.get("type", "disabled")


def too_large(chars: int, tokens: int, window: int) -> Refusal | None:
    """A prompt over the window: `chars` as it came over the wire, `tokens` as counted."""
    if tokens <= window:
        return None
    if chars > CHARS_PER_TOKEN * window:
        return Refusal(413, "invalid_request_error", "Request size exceeds model context window")
    return invalid(f"prompt is too long: {tokens} tokens > {window} maximum")


def _broken(body: Body, models: Sequence[str], counts_only: bool) -> Iterator[Refusal]:
    """In this order each check may rely on the ones before it."""
    yield from map(invalid, broken_shape(body, counts_only))
    if body["model"] not in models:
        yield Refusal(404, "not_found_error", f"model: {body['model']}")
    yield from map(invalid, _settings(body))
    yield from map(invalid, _cache_marks(body))
    for problem in (broken_picture(body["messages"]), violation(body["messages"])):
        if problem:
            yield invalid(problem)
    if problem := broken_binding(body):
        yield invalid(problem)


def _settings(body: Body) -> Iterator[str]:
    asked = body.get("max_tokens", 1)
    if not isinstance(asked, int) or asked < 0:
        yield "max_tokens: Input should be a valid integer, 0 or more"
    if asked > MAX_OUTPUT:
        yield (
            f"max_tokens: {asked} > {MAX_OUTPUT}, which is the maximum allowed number of output "
            f"tokens for {body['model']}"
        )
    mode = thinking_mode(body)
    if mode == "enabled":
        yield _ENABLED
    if mode == "disabled" and body["messages"] and body["messages"][-1]["role"] == "assistant":
        for j, block in enumerate(blocks(body["messages"][-1])):
            if block["type"] in ("thinking", "redacted_thinking"):
                yield f"messages.{len(body['messages']) - 1}.content.{j}: {_NO_THINKING}"


def _cache_marks(body: Body) -> Iterator[str]:
    marked = [(path, block) for path, block in _markable(body) if block.get("cache_control")]
    for path, block in marked:
        if block.get("type") == "text" and not block["text"]:
            yield f"{path}.text: cache_control cannot be set for empty text blocks"
    marks = [(path, block["cache_control"]) for path, block in marked]
    if body.get("cache_control") and not _ends_marked(body):
        marks.append(("", body["cache_control"]))
    if len(marks) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
    short = False
    for path, mark in marks:
        if short and mark.get("ttl") == "1h":
            yield f"{path}.cache_control.ttl: {_TTL_ORDER}".lstrip(".")
        short = short or mark.get("ttl") != "1h"


def _markable(body: Body) -> Iterator[tuple[str, Block]]:
    system: str | list[Block] = body.get("system") or []
    for i, tool in enumerate(body.get("tools") or ()):
        yield f"tools.{i}", tool
    for i, block in enumerate([] if isinstance(system, str) else system):
        yield f"system.{i}", block
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(blocks(message)):
            yield f"messages.{i}.content.{j}", block


def _ends_marked(body: Body) -> bool:
    last = blocks(body["messages"][-1])[-1:] if body["messages"] else []
    return any("cache_control" in block for block in last)
