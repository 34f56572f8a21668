"""Refuse the requests that the API refuses, in the API's own words.

The rules are those of the first-party API for settings.MODEL in November 2026, collected from
public reports. `messages.violation` holds the rules that a list of messages alone can break.
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from agentlib.lab.api.body_schema import Body, check_shape
from agentlib.lab.api.edits import check_edits, since_compaction
from agentlib.lab.api.errors import WORDINGS, Refusal, invalid, too_long
from agentlib.lab.api.thinking import check_thinking, thinking_mode
from agentlib.lab.api.tokens import pieces
from agentlib.lab.api.values import check_values
from agentlib.messages import Block, blocks, violation
from agentlib.settings import MODEL

MAX_OUTPUT = 128_000
CHARS_PER_TOKEN = 20
"""No text packs more characters into a token. A request with more is refused uncounted."""

_SURROGATE = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)", re.IGNORECASE)
"""An escaped backslash, an escaped pair, or (group 1) one half of a pair alone."""


def read_body(raw: bytes) -> Body:
    """Parse a request's body. Raises a Refusal if it is no JSON object."""
    try:
        if b"\\ud" in raw.lower():
            _refuse_half_pairs(raw.decode("utf-8", "replace"))
        body: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise invalid(f"The request body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise invalid("The request body is not valid JSON: it is not an object")
    return body  # pyright: ignore[reportUnknownVariableType]


def _refuse_half_pairs(text: str) -> None:
    if lone := next((match for match in _SURROGATE.finditer(text) if match[1]), None):
        raise json.JSONDecodeError("no low surrogate in string", text, lone.end())


def check(body: Body, *, counts_only: bool = False, betas: str = "") -> Body:
    """Return a request's body as the model gets it: without nulls and unbound thinking.

    Raises the Refusal of the first rule that the body breaks. `counts_only`: the body is for
    count_tokens, which needs no max_tokens. `betas`: the header `anthropic-beta`.
    """
    check_shape(body)  # the checks after it rely on the shape
    if body["model"] != MODEL:
        raise Refusal(404, "not_found_error", f"model: {body['model']}")
    _check_max_tokens(body, counts_only)
    check_values(body, counts_only)
    if thinking_mode(body) == "enabled":
        raise invalid(WORDINGS["enabled_thinking"])
    _check_cache_marks(body)
    check_edits(body, betas)
    body = since_compaction(_without_deferred(body))
    if problem := violation(body["messages"]):
        raise invalid(problem)
    return check_thinking({k: value for k, value in body.items() if value is not None}, betas)


def _without_deferred(body: Body) -> Body:
    """Return the body without the tools that the model doesn't see before it searches for them."""
    tools: list[Block] = body.get("tools") or []
    seen = [tool for tool in tools if not tool.get("defer_loading")]
    return body if len(seen) == len(tools) else {**body, "tools": seen}


def check_size(chars: int, tokens: int, window: int) -> None:
    """Raise a Refusal for a prompt over the window: `chars` in the body, `tokens` as counted."""
    if tokens > window and chars > CHARS_PER_TOKEN * window:
        raise Refusal(413, "invalid_request_error", "Request size exceeds model context window")
    if tokens > window:
        raise too_long(tokens, window)


def _check_max_tokens(body: Body, counts_only: bool) -> None:
    if body.get("max_tokens") is None and not counts_only:
        raise invalid("max_tokens: Field required")
    if (tokens := body.get("max_tokens") or 0) > MAX_OUTPUT:
        what = WORDINGS["max_tokens"].format(tokens, MAX_OUTPUT, body["model"])
        raise invalid(f"max_tokens: {what}")


def _each_block(body: Body) -> Iterator[tuple[str, Block]]:
    """Yield the tools and blocks with their paths, and the blocks inside results before these."""
    for path, _, block in pieces(body):
        inside = block.get("content") if block.get("type") == "tool_result" else None
        for k, inner in enumerate(blocks({"content": inside or []})):
            yield f"{path}.tool_result.content.{k}", inner
        yield path, block


def _check_cache_marks(body: Body) -> None:
    *_, last = ("", "", body), *pieces(body)
    marked = [(f"{path}.", b) for path, b in _each_block(body) if b.get("cache_control")]
    for path, block in marked:
        if block.get("type") == "text" and not block["text"]:
            raise invalid(f"{path}text: cache_control cannot be set for empty text blocks")
    if body.get("cache_control") and not last[2].get("cache_control"):
        marked.append(("", body))
    if len(marked) > 4:
        raise invalid(
            f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
        )
    for (_, earlier), (path, later) in pairwise(marked):
        if later["cache_control"].get("ttl") == "1h" != earlier["cache_control"].get("ttl"):
            raise invalid(f"{path}cache_control.ttl: {WORDINGS['ttl_order']}")
