"""Refuse the requests that the API refuses, in the API's own words.

The rules are those of the first-party API for settings.MODEL in November 2026, collected from
public reports. `messages.violation` holds the rules that a list of messages alone can break.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from agentlib.lab.api.body_schema import Body, check_shape
from agentlib.lab.api.errors import Refusal, invalid, too_long
from agentlib.lab.api.thinking import check_thinking, thinking_mode
from agentlib.messages import THINKING, Block, blocks, violation

MAX_BYTES = 32 * 1024 * 1024
MAX_OUTPUT = 128_000
CHARS_PER_TOKEN = 20
"""No text packs more characters into a token. A request with more is refused uncounted."""

_SURROGATE = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)", re.IGNORECASE)
"""An escaped backslash, an escaped pair, or (group 1) one half of a pair alone."""
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


def read_body(raw: bytes) -> Body:
    """Parse a request's body. Raises a Refusal if it is too large or no JSON object."""
    if len(raw) > MAX_BYTES:
        raise Refusal(413, "request_too_large", "Request exceeds the maximum size")
    try:
        _check_surrogates(raw)
        body: Any = json.loads(raw)
    except ValueError as error:
        raise invalid(f"The request body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise invalid("The request body is not valid JSON: it is not an object")
    return body  # pyright: ignore[reportUnknownVariableType]


def _check_surrogates(raw: bytes) -> None:
    if rb"\ud" not in raw.lower():
        return
    text = raw.decode("utf-8", "replace")
    for match in _SURROGATE.finditer(text):
        if match[1]:
            raise json.JSONDecodeError("no low surrogate in string", text, match.end())


def check(body: Body, *, model_ids: Sequence[str], counts_only: bool = False) -> None:
    """Raise the Refusal of the first rule that a request's body breaks.

    `counts_only`: the body is for count_tokens, which needs no max_tokens.
    """
    check_shape(body)  # the checks after it rely on the shape
    if body["model"] not in model_ids:
        raise Refusal(404, "not_found_error", f"model: {body['model']}")
    if body.get("stream"):
        raise invalid("stream: streaming is not simulated by the offline API")
    if "max_tokens" in body or not counts_only:
        _check_max_tokens(body)
    if thinking_mode(body) == "enabled":
        raise invalid(_ENABLED)
    _check_final_thinking(body)
    _check_cache_marks(body)
    if problem := violation(body["messages"]):
        raise invalid(problem)
    check_thinking(body)


def check_size(chars: int, tokens: int, window: int) -> None:
    """Raise a Refusal for a prompt over the window: `chars` in the body, `tokens` as counted."""
    if tokens <= window:
        return
    if chars > CHARS_PER_TOKEN * window:
        raise Refusal(413, "invalid_request_error", "Request size exceeds model context window")
    raise too_long(tokens, window)


def _check_max_tokens(body: Body) -> None:
    if "max_tokens" not in body:
        raise invalid("max_tokens: Field required")
    tokens = body["max_tokens"]
    if not isinstance(tokens, int) or tokens < 0:
        raise invalid("max_tokens: Input should be a valid integer, 0 or more")
    if tokens > MAX_OUTPUT:
        raise invalid(
            f"max_tokens: {tokens} > {MAX_OUTPUT}, which is the maximum allowed number of output "
            f"tokens for {body['model']}"
        )


def _check_final_thinking(body: Body) -> None:
    end = len(body["messages"]) - 1
    if thinking_mode(body) != "disabled" or end < 0 or body["messages"][end]["role"] == "user":
        return
    for j, block in enumerate(blocks(body["messages"][end])):
        if block["type"] in THINKING:
            raise invalid(f"messages.{end}.content.{j}: {_NO_THINKING}")


def _check_cache_marks(body: Body) -> None:
    everything = list(_cacheable(body))
    marked = [(f"{path}.", block) for path, block in everything if block.get("cache_control")]
    for path, block in marked:
        if block.get("type") == "text" and not block["text"]:
            raise invalid(f"{path}text: cache_control cannot be set for empty text blocks")
    ends_marked = any("cache_control" in block for _, block in everything[-1:])
    if body.get("cache_control") and not ends_marked:
        marked.append(("", body))
    if len(marked) > 4:
        raise invalid(
            f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
        )
    after_short = False
    for path, block in marked:
        hour = block["cache_control"].get("ttl") == "1h"
        if hour and after_short:
            raise invalid(f"{path}cache_control.ttl: {_TTL_ORDER}")
        after_short = after_short or not hour


def _cacheable(body: Body) -> Iterator[tuple[str, Block]]:
    """Yield what can carry a marker with its path, in the order in which the API reads it."""
    for i, tool in enumerate(body.get("tools") or ()):
        yield f"tools.{i}", tool
    for i, block in enumerate(blocks({"content": body.get("system") or []})):
        yield f"system.{i}", block
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(blocks(message)):
            yield f"messages.{i}.content.{j}", block
