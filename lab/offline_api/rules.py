"""Refuse the requests that the API refuses, in the API's own words.

`body_schema` checks keys and types by a table. The rules here are those that a table
can't say.

The rules are those of the first-party API for settings.MODEL in November 2026,
collected from public reports. `offline_api.violation` holds the rules that a list of
messages alone can break.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from agentlib.messages import Block, blocks
from agentlib.settings import MODEL
from offline_api.body_schema import Body, check_shape, without_server_tools
from offline_api.edits import broken_edits, since_compaction
from offline_api.errors import TABLE, WORDINGS, Refusal, invalid, too_long
from offline_api.message_rules import violation
from offline_api.thinking import check_thinking, thinking_mode
from offline_api.tokens import pieces

MAX_OUTPUT = 128_000
THINKING_FORMS: Mapping[str, Sequence[str]] = TABLE["thinking_forms"]
"""Model -> the values of `thinking.type` that it takes, for those that aren't the
newest."""
CHARS_PER_TOKEN = 20
"""No text packs more characters into a token. A request with more is refused
uncounted."""

_SURROGATE = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)", re.IGNORECASE)
"""An escaped backslash, an escaped pair, or (group 1) one half of a pair alone."""
_DATE = re.compile(r"-20\d{6}\Z")
_TOP = ("anyOf", "oneOf", "allOf")
EFFORT_BETAS = (
    "mid-conversation-output-config-2026-07-01",
    "per-turn-control-2026-07-01",
)
"""Each lets a system message among the others change the effort. The second one is what
Claude Code 2.1.332 sends.
https://platform.claude.com/docs/en/build-with-claude/effort-per-message"""
_NO_COUNT = ("max_tokens", "stream", "stop_sequences", "metadata", "service_tier")
_JsonType = Literal["object", "array", "string", "number", "integer", "boolean", "null"]


class _Schema(BaseModel, strict=True):
    """The parts of a JSON Schema that matter most."""

    type: _JsonType | list[_JsonType] = "object"
    required: list[str] = []
    properties: "dict[str, _Schema | bool]" = {}


def read_body(raw: bytes) -> Body:
    """Parse a request's body. Raises a Refusal if it is no JSON object."""
    try:
        if b"\\ud" in raw or b"\\uD" in raw:
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


def check(
    body: Body,
    models: Collection[str] = (MODEL,),
    *,
    counts_only: bool = False,
    betas: str = "",
) -> Body:
    """Return a request's body as the model gets it: without nulls and unbound thinking.

    Raises the Refusal of the first rule that the body breaks. `models`: the names of
    models that are known. `counts_only`: the body is for count_tokens, which needs no
    max_tokens. `betas`: the header `anthropic-beta`.
    """
    body = without_server_tools(body)
    check_shape(body)  # the checks after it rely on the shape
    if not {body["model"], base_model(body["model"])} & {*models}:
        raise Refusal(404, "not_found_error", f"model: {body['model']}")
    problem = next(_problems(body, counts_only, betas), None)
    body = since_compaction(_without_deferred(body))
    if problem := problem or violation(body["messages"]):
        raise invalid(problem)
    body = {key: value for key, value in body.items() if value is not None}
    is_bound = base_model(body["model"]) not in THINKING_FORMS
    return check_thinking(body, betas) if is_bound else body


def base_model(name: str) -> str:
    """Return the name of a model without a date.

    >>> base_model("claude-haiku-4-5-20251001")
    'claude-haiku-4-5'
    """
    return _DATE.sub("", name)


def _without_deferred(body: Body) -> Body:
    """Return the body without the tools that the model doesn't see before it searches
    for them."""
    tools: list[Block] = body.get("tools") or []
    seen = [tool for tool in tools if not tool.get("defer_loading")]
    return body if len(seen) == len(tools) else {**body, "tools": seen}


def check_size(chars: int, tokens: int, window: int) -> None:
    """Raise a Refusal for a prompt over the window: `chars` in the body, `tokens` as
    counted."""
    if tokens > window and chars > CHARS_PER_TOKEN * window:
        raise Refusal(
            413, "invalid_request_error", "Request size exceeds model context window"
        )
    if tokens > window:
        raise too_long(tokens, window)


def _each_block(body: Body) -> Iterator[tuple[str, Block]]:
    """Yield the tools and blocks with their paths, and the blocks inside results before
    these."""
    for path, _, block in pieces(body):
        inside = block.get("content") if block.get("type") == "tool_result" else None
        for k, inner in enumerate(_in_list(inside)):
            yield f"{path}.tool_result.content.{k}", inner
        yield path, block


def _cache_marks(body: Body) -> Iterator[str]:
    whole = list(_each_block(body))
    marked = [
        (f"{path}.", block) for path, block in whole if block.get("cache_control")
    ]
    for path, block in marked:
        if block.get("type") == "text" and not block["text"]:
            yield f"{path}text: cache_control cannot be set for empty text blocks"
    if body.get("cache_control") and not (whole and whole[-1][1].get("cache_control")):
        marked.append(("", body))
    if len(marked) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    for (_, earlier), (path, later) in pairwise(marked):
        if (
            later["cache_control"].get("ttl")
            == "1h"
            != earlier["cache_control"].get("ttl")
        ):
            yield f"{path}cache_control.ttl: {WORDINGS['ttl_order']}"


# -- values, texts and roles -----------------------------------------------------------


def _problems(body: Body, counts_only: bool, betas: str) -> Iterator[str]:
    for name in _NO_COUNT if counts_only else ():
        if body.get(name) is not None:
            yield f"{name}: Extra inputs are not permitted"
    if body.get("max_tokens") is None and not counts_only:
        yield "max_tokens: Field required"
    if (tokens := body.get("max_tokens") or 0) > MAX_OUTPUT:
        yield WORDINGS["max_tokens"].format(tokens, MAX_OUTPUT, body["model"])
    mode = thinking_mode(body)
    forms = THINKING_FORMS.get(base_model(body["model"]), ["adaptive"])
    if mode not in ("disabled", *forms):
        yield WORDINGS[f"{mode}_thinking"]
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) is not None and (name, body[name]) != ("temperature", 1):
            yield WORDINGS["sampling"].format(name)
    if not all(text.strip() for text in body.get("stop_sequences") or ()):
        yield "stop_sequences: each stop sequence must contain non-whitespace"
    yield from _tools(body.get("tools") or ())
    yield from _tool_choice(body)
    yield from _texts(body)
    for i, message in enumerate(body["messages"]):
        is_known = message["role"] == "system" and any(
            beta in betas for beta in EFFORT_BETAS
        )
        if "output_config" in message and not is_known:
            yield f"messages.{i}.output_config: Extra inputs are not permitted"
    yield from _cache_marks(body)
    yield from broken_edits(body, betas)


def _tools(tools: Sequence[Block]) -> Iterator[str]:
    for i, tool in enumerate(tools):
        path = f"tools.{i}.custom.input_schema"
        schema = tool["input_schema"]
        if any(name in schema for name in _TOP):
            yield f"{path}: {WORDINGS['top_level']}"
        try:
            _Schema.model_validate(schema)
        except ValidationError:
            yield f"{path}: {WORDINGS['bad_schema']}"
    if len({tool["name"] for tool in tools}) < len(tools):
        yield "tools: Tool names must be unique."


def _tool_choice(body: Body) -> Iterator[str]:
    choice: Block | None = body.get("tool_choice")
    if choice is None:
        return
    kind = choice["type"]
    names = [tool["name"] for tool in body.get("tools") or ()]
    if not names and kind != "none":
        yield "tool_choice: Tool choice may only be specified while providing `tools`."
    elif kind == "tool" and choice["name"] not in names:
        yield f"Tool '{choice['name']}' not found in provided tools"
    elif kind in ("tool", "any") and thinking_mode(body) != "disabled":
        yield "Thinking may not be enabled when tool_choice forces tool use."


def _texts(body: Body) -> Iterator[str]:
    if not all(block["text"].strip() for block in _in_list(body.get("system"))):
        yield "system: text content blocks must contain non-whitespace text"
    if body["messages"] and body["messages"][0]["role"] == "system":
        yield "messages.0: the first message can't have the role 'system'"
    for i, message in enumerate(body["messages"]):
        for j, result in enumerate(blocks(message)):
            if result["type"] == "tool_result":
                yield from _result(
                    f"messages.{i}.content.{j}.tool_result", result, message["role"]
                )


def _result(path: str, result: Block, role: str) -> Iterator[str]:
    content = result.get("content")
    if role == "system":
        yield "`tool_result` blocks can only be in `user` messages"
    if result.get("is_error") and not content:
        yield f"{path}: content cannot be empty if `is_error` is true"
    if not all(inner["text"].strip() for inner in _in_list(content)):
        yield "messages: text content blocks must contain non-whitespace text"


def _in_list(content: str | list[Block] | None) -> list[Block]:
    """Return the blocks of a content that is given as a list."""
    return content if isinstance(content, list) else []
