"""The shape of a request's body: which keys it must have, which it may have, which blocks.

A table and three walks over it. The API checks the shape before anything else, and refuses keys
it does not know: fields of a transcript must be stripped before a message is sent. Blocks of the
server's own tools are not in the table. Not here: what the values mean (rules).
"""

import re
from collections.abc import Container, Iterator, Sequence
from typing import Any, cast

from agentlib.messages import Message

Body = dict[str, Any]

_KEYS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking",
    "output_config", "stream", "cache_control", "metadata", "stop_sequences", "service_tier",
    "container", "diagnostics", "inference_geo", "speed", "temperature", "top_p", "top_k",
    "user_profile_id", "workspace_id",
}  # fmt: skip
_TOOL_KEYS = {
    "name", "description", "input_schema", "type", "cache_control", "strict", "defer_loading",
    "allowed_callers", "eager_input_streaming", "input_examples",
}  # fmt: skip
_BLOCKS: dict[str, tuple[list[str], list[str]]] = {  # type: (must have, may have)
    "text": (["text"], ["cache_control", "citations"]),
    "thinking": (["thinking", "signature"], []),
    "redacted_thinking": (["data"], []),
    "tool_use": (["id", "name", "input"], ["cache_control", "caller", "toolset_name"]),
    "tool_result": (["tool_use_id"], ["content", "is_error", "cache_control", "toolset_name"]),
    "image": (["source"], ["cache_control", "transformations"]),
    "document": (["source"], ["cache_control", "citations", "context", "title"]),
}
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def broken_shape(body: Body, counts_only: bool) -> Iterator[str]:
    """What is missing or too much in a body, in the API's words; stop at the first."""
    needed = ["model", "messages"] if counts_only else ["model", "messages", "max_tokens"]
    yield from _fields("", body, needed, _KEYS)
    messages: list[Message] = body["messages"]
    if type(messages) is not list:
        yield "messages: Input should be a valid list"
    for i, tool in enumerate(body.get("tools") or ()):
        yield from _fields(f"tools.{i}.custom.", tool, ["name", "input_schema"], _TOOL_KEYS)
    yield from _contents("system", body.get("system") or ())
    for i, message in enumerate(messages):
        yield from _fields(f"messages.{i}.", message, ["role", "content"])
        if message["role"] not in ("user", "assistant", "system"):
            yield f"messages.{i}.role: Input should be 'user' or 'assistant'"
        yield from _contents(f"messages.{i}.content", message["content"])


def _contents(path: str, content: Any) -> Iterator[str]:
    if isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        yield f"{path}: Input should be a text or a list of blocks"
    for j, found in enumerate(cast(list[Any], content)):
        here = f"{path}.{j}"
        if not isinstance(found, dict):
            yield f"{here}: Input should be an object"
        block = cast(Body, found)
        kind = str(block.get("type"))
        if kind not in _BLOCKS:
            tags = ", ".join(f"'{name}'" for name in _BLOCKS)
            yield (
                f"{here}: Input tag '{kind}' found using 'type' does not match any of the "
                f"expected tags: {tags}"
            )
        must, may = _BLOCKS[kind]
        yield from _fields(f"{here}.{kind}.", block, must, may)
        if kind == "tool_use" and not _TOOL_ID.fullmatch(block["id"]):
            yield f"{here}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if kind == "tool_result":
            yield from _contents(f"{here}.tool_result.content", block.get("content") or ())


def _fields(path: str, found: Any, must: Sequence[str], may: Container[str] = ()) -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"{path.rstrip('.')}: Input should be an object"
    for name in must:
        if name not in found:
            yield f"{path}{name}: Field required"
    for name in cast(Body, found):
        if name not in must and name not in may and name != "type":
            yield f"{path}{name}: Extra inputs are not permitted"
