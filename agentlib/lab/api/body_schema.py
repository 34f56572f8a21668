"""Check the shape of a request's body: which keys and blocks it has, and of which type.

The API checks the shape before anything else. It refuses keys it does not know, so the extra
fields of a transcript must be removed before a message is sent. `rules.toml` lists the keys. Some
features of the API are not simulated, and a request for one is refused by that name: those in the
list, images, documents, the blocks of server tools.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from agentlib.lab.api.edits import BETAS, edits_of
from agentlib.lab.api.errors import TABLE, WORDINGS, Refusal, invalid
from agentlib.lab.api.values import is_typed

Body = dict[str, Any]

_TYPES = {"string": str, "integer": int, "boolean": bool, "list": list, "dictionary": dict}
_KEYS: Mapping[str, Mapping[str, Mapping[str, str]]] = TABLE["keys"]
"""Kind of object -> required, optional and not_simulated -> key -> type or feature."""
_BLOCKS = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "compaction")
_OTHERS = re.compile(
    "image|document|search_result|tool_reference|container_upload|tool_addition|tool_removal|"
    "server_tool_use|mcp_tool_use|fallback|[a-z_]+_tool_result"
)
"""The blocks that the API has and this server hasn't."""
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def check_shape(body: Body) -> None:
    """Raise the Refusal of the first key or block that the API would not take."""
    _check_keys("", body, "body")
    if body.get("thinking") is not None:
        kind = _check_type("thinking", body["thinking"], ("adaptive", "enabled", "disabled"))
        _check_keys(f"thinking.{kind}.", body["thinking"], kind)
    if body.get("tool_choice") is not None:
        kind = _check_type("tool_choice", body["tool_choice"], ("auto", "any", "tool", "none"))
        name = "choice_tool" if kind == "tool" else kind
        _check_keys(f"tool_choice.{kind}.", body["tool_choice"], name)
    for name in ("metadata", "output_config", "context_management"):
        _check_keys(f"{name}.", body.get(name) or {}, name)
    for i, edit in enumerate(edits_of(body)):
        kind = _check_type(f"context_management.edits.{i}", edit, tuple(BETAS))
        _check_keys(f"context_management.edits.{i}.{kind}.", edit, kind)
    for i, tool in enumerate(body.get("tools") or ()):
        if is_typed(tool):
            raise not_simulated(f"tools.{i}", f"the API's own tool {tool['type']}")
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
    if isinstance(kind, str) and kind not in types and _OTHERS.fullmatch(kind):
        raise invalid(f"{path}: {kind}s are not simulated by the offline API")
    if kind not in types:
        raise invalid(f"{path}: {WORDINGS['tag'].format(kind, ', '.join(map(repr, types)))}")
    return kind


@cache
def _fields(kind: str) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
    """Return the required keys of an object, those not simulated, and the types of all."""
    groups = ("required", "optional", "not_simulated")
    required, optional, features = (_KEYS[kind].get(group, {}) for group in groups)
    types = {"type": "any", **required, **optional, **dict.fromkeys(features, "any")}
    return required, features, types


def _check_keys(path: str, value: Any, kind: str) -> None:
    if not isinstance(value, dict):
        raise invalid(f"{path.rstrip('.')}: Input should be an object")
    required, features, types = _fields(kind)
    given = cast(Body, value)
    for name in features:
        if given.get(name):
            raise not_simulated(f"{path}{name}", features[name])
    for name in required:
        if name not in given:
            raise invalid(f"{path}{name}: Field required")
    for name, each in given.items():
        if name not in types:
            raise invalid(f"{path}{name}: Extra inputs are not permitted")
        is_null = each is None and name not in required
        wanted = _TYPES.get(types[name], object)
        is_flag = isinstance(each, bool) and wanted is int
        if not is_null and (is_flag or not isinstance(each, wanted)):
            raise invalid(f"{path}{name}: Input should be a valid {types[name]}")
        if name == "cache_control" and each is not None:
            _check_type(f"{path}{name}", each, ("ephemeral",))
            _check_keys(f"{path}{name}.ephemeral.", each, "cache_control")
            if cast(Body, each).get("ttl") not in (None, "5m", "1h"):
                raise invalid(f"{path}{name}.ephemeral.ttl: Input should be '5m' or '1h'")
