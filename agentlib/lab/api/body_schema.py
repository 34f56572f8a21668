"""Check the shape of a request's body: which keys and blocks it has, and of which type.

The API checks the shape before anything else. It refuses keys it does not know, so the extra
fields of a transcript must be removed before a message is sent. Some features of the API are not
simulated, and a request for one is refused by that name: `NOT_SIMULATED`, images, documents, the
blocks of server tools.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from agentlib.lab.api.errors import Refusal, invalid

Body = dict[str, Any]

_TYPES = {"string": str, "dictionary": dict, "list": list, "boolean": bool, "": object}
_KEYS = {
    "body": (
        "model:string messages:list",
        "max_tokens system tools:list tool_choice:dictionary thinking:dictionary stream:boolean "
        "output_config:dictionary cache_control:dictionary metadata:dictionary temperature top_p "
        "top_k stop_sequences:list",
    ),
    "tool": (
        "name:string input_schema:dictionary",
        "description:string type:string cache_control:dictionary strict:boolean",
    ),
    "message": ("role content", ""),
    "text": ("text:string", "cache_control:dictionary citations"),
    "thinking": ("thinking:string signature:string", ""),
    "redacted_thinking": ("data:string", ""),
    "tool_use": ("id:string name:string input:dictionary", "cache_control:dictionary caller"),
    "tool_result": ("tool_use_id:string", "content is_error:boolean cache_control:dictionary"),
}
"""Keys that must be there and keys that may be, with the type of their value if it matters. An
optional key may be null. The API knows a few more that the course never sends."""
NOT_SIMULATED = {
    "output_format": "structured output",
    "output_config.format": "structured output",
    "tools.strict": "tools with a strict schema",
    "context_management": "context management",
    "compaction": "compaction by the API",
    "mcp_servers": "MCP servers",
    "container": "containers",
    "thread": "threads, whose messages the API keeps",
}
"""Keys of a body for features that the offline API doesn't have, by their path."""
_BLOCKS = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result")
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def check_shape(body: Body) -> None:
    """Raise the Refusal of the first key or block that the API would not take."""
    for path in NOT_SIMULATED:
        if any(_values(body, *path.split("."))):
            raise not_simulated(path, NOT_SIMULATED[path])
    _check_keys("", body, "body")
    if body.get("thinking") is not None:
        _check_type("thinking", body["thinking"], ("adaptive", "enabled", "disabled"))
    for i, tool in enumerate(body.get("tools") or ()):
        _check_keys(f"tools.{i}.custom.", tool, "tool")
    _check_content("system", body.get("system") or [], ("text",))
    for i, message in enumerate(body["messages"]):
        _check_keys(f"messages.{i}.", message, "message")
        if message["role"] not in ("user", "assistant", "system"):
            raise invalid(f"messages.{i}.role: Input should be 'user' or 'assistant'")
        _check_content(f"messages.{i}.content", message["content"], _BLOCKS)


def not_simulated(path: str, feature: str) -> Refusal:
    """Return the refusal of a request for a feature that the offline API doesn't have.

    The details make the SDK's tool_runner send a thread's messages in full.
    """
    refusal = invalid(f"not simulated: {feature} ({path})")
    if path == "thread":
        refusal.details = {"error_code": "thread_unsupported_request", "unsupported": [path]}
    return refusal


def _values(value: Any, name: str, *names: str) -> Iterator[Any]:
    """Yield the values at the end of a path of keys, in each item of a list."""
    for item in cast(list[Any], value) if isinstance(value, list) else [value]:
        if isinstance(item, dict) and name in item:
            inner: Any = cast(Body, item)[name]
            yield from _values(inner, *names) if names else [inner]


def _check_content(path: str, content: Any, types: Sequence[str]) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise invalid(f"{path}: Input should be a text or a list of blocks")
    for j, block in enumerate(cast(list[Any], content)):
        kind = _check_type(f"{path}.{j}", block, types)
        here = f"{path}.{j}.{kind}."
        _check_keys(here, block, kind)
        if kind == "tool_use" and not _TOOL_ID.fullmatch(block["id"]):
            raise invalid(f"{here}id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if kind == "tool_result":
            _check_content(f"{here}content", block.get("content") or [], ("text",))


def _check_type(path: str, value: Any, types: Sequence[str]) -> str:
    """Return the type of an object, one of `types`."""
    if not isinstance(value, dict):
        raise invalid(f"{path}: Input should be an object")
    kind: Any = cast(Body, value).get("type")
    if kind in ("image", "document"):
        raise invalid(f"{path}: {kind}s are not simulated by the offline API")
    if kind not in types:
        raise invalid(
            f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected "
            f"tags: {', '.join(map(repr, types))}"
        )
    return kind


def _check_keys(path: str, value: Any, kind: str) -> None:
    if not isinstance(value, dict):
        raise invalid(f"{path.rstrip('.')}: Input should be an object")
    must, may = map(_types, _KEYS[kind])
    types = must | may | {"type": ""}
    for name in must:
        if name not in value:
            raise invalid(f"{path}{name}: Field required")
    for name, each in cast(Body, value).items():
        if name not in types:
            raise invalid(f"{path}{name}: Extra inputs are not permitted")
        if not isinstance(each, _TYPES[types[name]]) and (each is not None or name in must):
            raise invalid(f"{path}{name}: Input should be a valid {types[name]}")
        if name == "cache_control" and each is not None:
            _check_type(f"{path}{name}", each, ("ephemeral",))
            if cast(Body, each).get("ttl") not in (None, "5m", "1h"):
                raise invalid(f"{path}{name}.ephemeral.ttl: Input should be '5m' or '1h'")


def _types(keys: str) -> dict[str, str]:
    """Return key -> type, "" for any.

    >>> _types("role text:string")
    {'role': '', 'text': 'string'}
    """
    return {name: kind for name, _, kind in (key.partition(":") for key in keys.split())}
