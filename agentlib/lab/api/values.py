"""Check the values in a request's body, whose shape is known to be right.

The checks here are of what the table of keys and types can't say.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from agentlib.lab.api.errors import WORDINGS, invalid
from agentlib.lab.api.thinking import thinking_mode
from agentlib.messages import Block, blocks

Body = Mapping[str, Any]
_TOP = ("anyOf", "oneOf", "allOf")
_NO_COUNT = ("max_tokens", "stream", "stop_sequences", "metadata", "service_tier")
_JsonType = Literal["object", "array", "string", "number", "integer", "boolean", "null"]


class _Schema(BaseModel, strict=True):
    """The parts of a JSON Schema that matter most."""

    type: _JsonType | list[_JsonType] = "object"
    required: list[str] = []
    properties: "dict[str, _Schema | bool]" = {}


def check_values(body: Body, counts_only: bool = False) -> None:
    """Raise the Refusal of the first value that the API would not take."""
    if problem := next(_problems(body, counts_only), None):
        raise invalid(problem)


def _problems(body: Body, counts_only: bool) -> Iterator[str]:
    for name in _NO_COUNT if counts_only else ():
        if body.get(name) is not None:
            yield f"{name}: Extra inputs are not permitted"
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) is not None and (name, body[name]) != ("temperature", 1):
            yield WORDINGS["sampling"].format(name)
    if not all(text.strip() for text in body.get("stop_sequences") or ()):
        yield "stop_sequences: each stop sequence must contain non-whitespace"
    yield from _tools(body.get("tools") or ())
    yield from _tool_choice(body)
    yield from _texts(body)


def _tools(tools: Sequence[Block]) -> Iterator[str]:
    for i, tool in enumerate(tools):
        path, schema = f"tools.{i}.custom.input_schema", tool["input_schema"]
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
    kind, names = choice["type"], [tool["name"] for tool in body.get("tools") or ()]
    if not names and kind != "none":
        yield "tool_choice: Tool choice may only be specified while providing `tools`."
    elif kind == "tool" and choice["name"] not in names:
        yield f"Tool '{choice['name']}' not found in provided tools"
    elif kind in ("tool", "any") and thinking_mode(body) == "adaptive":
        yield "Thinking may not be enabled when tool_choice forces tool use."


def _texts(body: Body) -> Iterator[str]:
    if not all(block["text"].strip() for block in _in_list(body.get("system"))):
        yield "system: text content blocks must contain non-whitespace text"
    if body["messages"] and body["messages"][0]["role"] == "system":
        yield "messages.0: the first message can't have the role 'system'"
    for i, message in enumerate(body["messages"]):
        for j, result in enumerate(blocks(message)):
            if result["type"] == "tool_result":
                yield from _result(f"messages.{i}.content.{j}.tool_result", result, message["role"])


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
