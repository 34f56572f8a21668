"""The shape of a request's body: which keys it must have, which it may have, which blocks.

A table and three walks over it. The API checks the shape before anything else, and refuses keys
it does not know: fields of a transcript must be stripped before a message is sent. Blocks of the
server's own tools are not in the table. Not here: what the values mean (rules).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from agentlib.messages import Message

Body = dict[str, Any]
Fields = Mapping[str, type]
"""A key and the type of its value; `object`: any. A key that may be missing may be null."""

_COUNTED: Fields = {"model": str, "messages": list}
_MUST: Fields = {**_COUNTED, "max_tokens": object}
_MAY: Fields = {
    "max_tokens": object, "system": object, "tools": list, "tool_choice": dict, "thinking": dict,
    "output_config": dict, "stream": bool, "cache_control": dict, "metadata": dict,
    "stop_sequences": list, "service_tier": str, "container": object, "diagnostics": object,
    "inference_geo": str, "speed": str, "temperature": object, "top_p": object, "top_k": object,
    "user_profile_id": str, "workspace_id": str,
}  # fmt: skip
_TOOL: Fields = {"name": str, "input_schema": dict}
_TOOL_MAY: Fields = {
    "description": str, "type": str, "cache_control": dict, "strict": bool, "defer_loading": bool,
    "allowed_callers": list, "eager_input_streaming": bool, "input_examples": list,
}  # fmt: skip
_BLOCKS: Mapping[str, tuple[Fields, Fields]] = {  # type: (must have, may have)
    "text": ({"text": str}, {"cache_control": dict, "citations": object}),
    "thinking": ({"thinking": str, "signature": str}, {}),
    "redacted_thinking": ({"data": str}, {}),
    "tool_use": (
        {"id": str, "name": str, "input": dict},
        {"cache_control": dict, "caller": object, "toolset_name": object},
    ),
    "tool_result": (
        {"tool_use_id": str},
        {"content": object, "is_error": bool, "cache_control": dict, "toolset_name": object},
    ),
    "image": ({"source": dict}, {"cache_control": dict, "transformations": object}),
    "document": (
        {"source": dict},
        {"cache_control": dict, "citations": object, "context": object, "title": object},
    ),
}
_MESSAGE: Fields = {"role": object, "content": object}
_IN_SYSTEM, _IN_RESULT = ("text",), ("text", "image", "document")
_NAMES = {str: "string", dict: "dictionary", list: "list", bool: "boolean"}
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def broken_shape(body: Body, counts_only: bool) -> Iterator[str]:
    """What is missing, too much or of the wrong type in a body; stop at the first."""
    yield from _fields("", body, _COUNTED if counts_only else _MUST, _MAY)
    if (thinking := body.get("thinking")) is not None:
        yield from _choice("thinking", thinking, ("adaptive", "enabled", "disabled"))
    messages: list[Message] = body["messages"]
    for i, tool in enumerate(body.get("tools") or ()):
        yield from _fields(f"tools.{i}.custom.", tool, _TOOL, _TOOL_MAY)
    yield from _contents("system", body.get("system") or (), _IN_SYSTEM)
    for i, message in enumerate(messages):
        yield from _fields(f"messages.{i}.", message, _MESSAGE, {})
        if message["role"] not in ("user", "assistant", "system"):
            yield f"messages.{i}.role: Input should be 'user' or 'assistant'"
        yield from _contents(f"messages.{i}.content", message["content"], tuple(_BLOCKS))


def _contents(path: str, content: Any, kinds: tuple[str, ...]) -> Iterator[str]:
    if isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        yield f"{path}: Input should be a text or a list of blocks"
    for j, found in enumerate(cast(list[Any], content)):
        here = f"{path}.{j}"
        yield from _choice(here, found, kinds)
        block = cast(Body, found)
        kind = block["type"]
        yield from _fields(f"{here}.{kind}.", block, *_BLOCKS[kind])
        if kind == "tool_use" and not _TOOL_ID.fullmatch(block["id"]):
            yield f"{here}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if kind == "tool_result":
            inside = block.get("content") or ()
            yield from _contents(f"{here}.tool_result.content", inside, _IN_RESULT)


def _choice(path: str, found: Any, kinds: tuple[str, ...]) -> Iterator[str]:
    """Whether it is an object whose `type` is one of these."""
    if not isinstance(found, dict):
        yield f"{path}: Input should be an object"
    kind = cast(Body, found).get("type")
    if kind not in kinds:
        tags = ", ".join(f"'{name}'" for name in kinds)
        yield (
            f"{path}: Input tag '{kind}' found using 'type' does not match any of the "
            f"expected tags: {tags}"
        )


def _fields(path: str, found: Any, must: Fields, may: Fields) -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"{path.rstrip('.')}: Input should be an object"
    for name in must:
        if name not in found:
            yield f"{path}{name}: Field required"
    for name, value in cast(Body, found).items():
        kind = must.get(name) or may.get(name)
        if kind is None:
            if name != "type":
                yield f"{path}{name}: Extra inputs are not permitted"
        elif not isinstance(value, kind) and (value is not None or name in must):
            yield f"{path}{name}: Input should be a valid {_NAMES[kind]}"
        elif name == "cache_control" and value is not None:
            yield from _mark(f"{path}{name}", value)


def _mark(path: str, mark: Body) -> Iterator[str]:
    yield from _choice(path, mark, ("ephemeral",))
    if mark.get("ttl") not in (None, "5m", "1h"):
        yield f"{path}.ephemeral.ttl: Input should be '5m' or '1h'"
