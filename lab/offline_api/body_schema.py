"""Check the shape of a request's body: which keys and blocks it has, and of which type.

The API checks the shape before anything else. It refuses keys it does not know, so the
extra fields of a transcript must be removed before a message is sent. `rules.toml`
lists the keys, and pydantic checks them, whose words the API's refusals are. Some
features of the API are not simulated, and a request for one is refused by that name:
those in the list, images, documents, the blocks of server tools. A server tool that is
only offered is left out, and the record tells so.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, cast

from pydantic_core import ErrorDetails, SchemaValidator, ValidationError
from pydantic_core import core_schema as core

from offline_api.errors import TABLE, Refusal, invalid

Body = dict[str, Any]

_PLAIN: Mapping[str, core.CoreSchema] = {
    "any": core.any_schema(),
    "string": core.str_schema(strict=True),
    "count": core.int_schema(strict=True, ge=0),
    "boolean": core.bool_schema(strict=True),
    "list": core.list_schema(strict=True),
    "dictionary": core.dict_schema(strict=True),
}
_OTHERS = re.compile(
    r"image|document|search_result|tool_reference|container_upload|tool_addition|tool_removal|"
    r"server_tool_use|mcp_tool_use|fallback|[a-z_]+_tool_result|mcp_toolset|.*_(\d{8}|latest)"
)
"""The blocks, and the API's own tools, that the API has and this server hasn't."""
_SERVER_TOOLS = re.compile(
    r"(?:web_search|web_fetch|code_execution|tool_search_tool\w*|advisor)_(?:\d{8}|latest)|"
    r"mcp_toolset"
)
"""Those that the API runs itself. An agent can do without them."""


def check_shape(body: Body) -> None:
    """Raise the Refusal of the first key or block that the API would not take."""
    try:
        _validator("body").validate_python(body)
    except ValidationError as error:
        refusals = [refusal for each in error.errors() if (refusal := _refusal(each))]
        refusals.sort(key=lambda each: not each.message.startswith("not simulated"))
        if refusals:
            raise refusals[0] from None


def left_out(body: Body) -> list[str]:
    """Name the types of the tools that the API runs itself and this server hasn't.

    >>> left_out({"tools": [{"type": "web_search_20250305", "name": "web_search"}]})
    ['web_search_20250305']
    """
    tools = body.get("tools")
    offered = cast(list[Any], tools) if isinstance(tools, list) else []
    return [str(tool["type"]) for tool in offered if _is_left_out(tool)]


def without_server_tools(body: Body) -> Body:
    """Return a body without such tools, unless it insists on one."""
    if not left_out(body):
        return body
    choice = body.get("tool_choice")
    wanted = cast(Body, choice).get("name") if isinstance(choice, dict) else None
    kept = [t for t in body["tools"] if not _is_left_out(t) or t.get("name") == wanted]
    return {**body, "tools": kept}


def _is_left_out(tool: object) -> bool:
    kind = cast(Body, tool).get("type") if isinstance(tool, dict) else None
    return isinstance(kind, str) and bool(_SERVER_TOOLS.fullmatch(kind))


def not_simulated(path: str, feature: str) -> Refusal:
    """Return the refusal of a request for a feature that the offline API doesn't have.

    The details make the SDK's tool_runner send a thread's messages in full.
    """
    refusal = invalid(f"not simulated: {feature} ({path})")
    if path == "thread":
        refusal.details = {
            "error_code": "thread_unsupported_request",
            "unsupported": [path],
        }
    return refusal


def _refusal(problem: ErrorDetails) -> Refusal | None:
    """Return what to say of a problem, None if a feature is named only to do without
    it."""
    path = ".".join(map(str, problem["loc"]))
    feature = TABLE["not_simulated"].get(re.sub(r"\.\d+", "", path))
    if problem["type"] == "extra_forbidden" and feature:
        return not_simulated(path, feature) if problem["input"] else None
    tag = problem.get("ctx", {}).get("tag", "")
    if _OTHERS.fullmatch(tag):
        return not_simulated(path, tag)
    return invalid(f"{path}: {problem['msg']}")


# -- from the table to pydantic's schema -----------------------------------------------


@cache
def _validator(name: str) -> SchemaValidator:
    return SchemaValidator(_schema(name))


def _schema(name: str) -> core.CoreSchema:
    """Build the schema of a type, whose names `rules.toml` explains."""
    first, _, second = name.partition(" or ")
    if second:
        return core.no_info_wrap_validator_function(
            partial(_either, first), _schema(second)
        )
    if (each := name.removeprefix("list of ")) != name:
        return core.list_schema(_schema(each), strict=True)
    if (kinds := name.removeprefix("one of ")) != name:
        objects = {kind: _object(kind, type="any") for kind in kinds.split(", ")}
        return core.tagged_union_schema(objects, "type")
    if name == "tool":
        return core.no_info_before_validator_function(
            _with_type, _schema("one of custom")
        )
    if values := TABLE["values"].get(name):
        return core.literal_schema(values)
    if pattern := TABLE["patterns"].get(name):
        return core.str_schema(strict=True, pattern=pattern)
    return _PLAIN.get(name) or _object(name)


def _either(first: str, value: Any, second: Callable[[Any], Any]) -> Any:
    return value if _validator(first).isinstance_python(value) else second(value)


def _object(kind: str, **more: str) -> core.CoreSchema:
    table = TABLE["keys"][kind]
    fields = {
        name: core.typed_dict_field(_schema(type), required=True)
        for name, type in table.get("required", {}).items()
    }
    for name, type in {**more, **table.get("optional", {})}.items():
        fields[name] = core.typed_dict_field(
            core.nullable_schema(_schema(type)), required=False
        )
    others = "ignore" if table.get("open") else "forbid"
    return core.typed_dict_schema(fields, extra_behavior=others)


def _with_type(tool: Any) -> Any:
    """Give a tool its type, which is custom if it has none."""
    if not isinstance(tool, dict):
        return tool
    given = cast(Body, tool)
    return {**given, "type": given.get("type") or "custom"}
