"""Check the values in a request's body, whose shape is known to be right.

`rules.toml` lists the values that a key may have, and the patterns of names. The checks here are
of what a table can't say.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from agentlib.lab.api.errors import TABLE, WORDINGS, invalid
from agentlib.lab.api.thinking import thinking_mode
from agentlib.messages import Block, blocks, of_type

Body = Mapping[str, Any]
_VALUES: Mapping[str, Sequence[Any]] = TABLE["values"]
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_TYPED = re.compile(r".*_(\d{8}|latest)|mcp_toolset")
_TOP = ("anyOf", "oneOf", "allOf")
_JSON = ("object", "array", "string", "number", "integer", "boolean", "null")
_NO_COUNT = ("max_tokens", "stream", "stop_sequences", "metadata", "service_tier")


def check_values(body: Body, counts_only: bool = False) -> None:
    """Raise the Refusal of the first value that the API would not take."""
    if problem := next(_problems(body, counts_only), None):
        raise invalid(problem)


def is_typed(tool: Any) -> bool:
    """Return whether a tool is one that the API itself defines, such as bash_20250124."""
    kind = cast(Block, tool).get("type") if isinstance(tool, dict) else None
    return isinstance(kind, str) and bool(_TYPED.fullmatch(kind))


def _problems(body: Body, counts_only: bool) -> Iterator[str]:
    for name in _NO_COUNT if counts_only else ():
        if body.get(name) is not None:
            yield f"{name}: Extra inputs are not permitted"
    for path, allowed in _VALUES.items():
        value = _at(body, path)
        if value is not None and (value not in allowed or isinstance(value, bool)):
            yield f"{path}: Input should be {_either(allowed)}"
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) is not None and (name, body[name]) != ("temperature", 1):
            yield WORDINGS["sampling"].format(name)
    sequences: Sequence[Any] = body.get("stop_sequences") or ()
    for i, text in enumerate(sequences):
        if not isinstance(text, str):
            yield f"stop_sequences.{i}: Input should be a valid string"
        elif not text.strip():
            yield "stop_sequences: each stop sequence must contain non-whitespace"
    yield from _tools(body.get("tools") or ())
    yield from _tool_choice(body)
    yield from _texts(body)


def _at(body: Any, path: str) -> Any:
    for name in path.split("."):
        body = cast(Block, body).get(name) if isinstance(body, dict) else None
    return body


def _either(allowed: Sequence[Any]) -> str:
    *most, last = map(repr, allowed)
    return f"{', '.join(most)} or {last}" if most else last


# -- tools ----------------------------------------------------------------------------------------


def _tools(tools: Sequence[Block]) -> Iterator[str]:
    names = [tool["name"] for tool in tools]
    for i, tool in enumerate(tools):
        path, schema = f"tools.{i}.custom", tool["input_schema"]
        if not _TOOL_NAME.fullmatch(tool["name"]):
            yield f"{path}.name: String should match pattern '^{_TOOL_NAME.pattern}$'"
        if tool.get("type") not in (None, "custom"):
            yield f"{path}.type: Input should be 'custom'"
        if schema.get("type") != "object":
            missing = "Field required" if "type" not in schema else "Input should be 'object'"
            yield f"{path}.input_schema.type: {missing}"
        if any(name in schema for name in _TOP):
            yield f"{path}.input_schema: {WORDINGS['top_level']}"
        if not _is_schema(schema):
            yield f"{path}.input_schema: {WORDINGS['bad_schema']}"
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."


def _is_schema(schema: Any) -> bool:
    """Return whether the parts that matter most have the types of JSON Schema."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    given = cast(Block, schema)
    names, parts = given.get("required", []), given.get("properties", {})
    kinds: Any = given.get("type", "object")
    many = isinstance(kinds, list)
    return (
        isinstance(names, list)
        and all(isinstance(name, str) for name in cast(list[Any], names))
        and isinstance(parts, dict)
        and all(map(_is_schema, cast(Block, parts).values()))
        and all(kind in _JSON for kind in (cast(list[Any], kinds) if many else [kinds]))
    )


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


# -- texts and roles ------------------------------------------------------------------------------


def _texts(body: Body) -> Iterator[str]:
    for block in blocks({"content": body.get("system") or []}):
        if not block["text"].strip() and not isinstance(body["system"], str):
            yield "system: text content blocks must contain non-whitespace text"
    for i, message in enumerate(body["messages"]):
        if message["role"] == "system" and i == 0:
            yield "messages.0: the first message can't have the role 'system'"
        for j, block in enumerate(blocks(message)):
            yield from _block(f"messages.{i}.content.{j}.{block['type']}", block, message["role"])


def _block(path: str, block: Block, role: str) -> Iterator[str]:
    if block["type"] == "tool_use" and not _TOOL_NAME.fullmatch(block["name"]):
        yield f"{path}.name: String should match pattern '^{_TOOL_NAME.pattern}$'"
    if block.get("caller") not in (None, {"type": "direct"}):
        yield f"{path}.caller: only direct calls are simulated"
    if not isinstance(block.get("citations") or [], list):
        yield f"{path}.citations: Input should be a valid list"
    if block["type"] == "tool_result":
        if role == "system":
            yield "`tool_result` blocks can only be in `user` messages"
        if block.get("is_error") and not block.get("content"):
            yield f"{path}: content cannot be empty if `is_error` is true"
        content = block.get("content")
        nested = of_type({"content": content}, "text") if isinstance(content, list) else []
        if not all(inner["text"].strip() for inner in nested):
            yield "messages: text content blocks must contain non-whitespace text"
