"""Bodies for the Messages API: two hundred that it takes, and two hundred that it
refuses.

Each is a small change of a conversation with a tool call, so a body is wrong in one way
only. What is right and wrong was taken from the SDK's types and from refusals on public
record.
"""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import product
from typing import Any, NamedTuple

from agentlib.settings import MODEL

Body = dict[str, Any]
Change = Callable[[Body], object]
MARK = {"type": "ephemeral"}
SCHEMA: Body = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
BETAS = "context-management-2025-06-27,compact-2026-01-12,thinking-binding-controls-2026-08-01"


class Case(NamedTuple):
    """A body, where it is sent, and a name for what was changed."""

    name: str
    body: Body
    counts: bool


def plain() -> Body:
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "read_file",
        "input": {"path": "a.py"},
    }
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}
    return {
        "model": MODEL,
        "max_tokens": 300,
        "system": "You read files.",
        "tools": [
            {"name": "read_file", "description": "Read.", "input_schema": SCHEMA}
        ],
        "messages": [
            {"role": "user", "content": "What is in a.py?"},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}, call],
            },
            {"role": "user", "content": [result]},
        ],
    }


def put(path: str, value: Any) -> Change:
    """A change that sets one value; the path's parts are keys and indices."""

    def change(body: Body) -> None:
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        place: Any = body
        for part in way:
            place = place[part]
        if isinstance(place, list) and last == len(place):
            place.append(value)
        else:
            place[last] = value

    return change


def texts(*roles_and_words: tuple[str, Any]) -> Change:
    return put(
        "messages",
        [{"role": role, "content": words} for role, words in roles_and_words],
    )


def block(value: Any) -> Change:
    """A change that puts a block behind the result."""
    return put("messages.2.content.1", value)


def tool(**more: Any) -> Change:
    return put("tools.0", {"name": "read_file", "input_schema": SCHEMA, **more})


def edits(*each: Body, **more: Any) -> Change:
    return lambda body: body.update(context_management={"edits": list(each)}, **more)


TEXT = {"type": "text", "text": "And then?"}
ADAPTIVE = {"thinking": {"type": "adaptive"}}
CLEAR = {"type": "clear_tool_uses_20250919"}
COMPACT = {"type": "compact_20260112"}
THINK = {"type": "clear_thinking_20251015"}
TOKENS = {"type": "input_tokens", "value": 60_000}
USES = {"type": "tool_uses", "value": 2}

RIGHT: dict[str, Change] = {
    **{  # left out, because an agent can do without them
        f"server tool {kind}": put("tools.1", {"type": kind, "name": name})
        for kind, name in (
            ("web_search_20250305", "web_search"),
            ("code_execution_20250825", "code_execution"),
            ("tool_search_tool_regex_20251119", "tool_search_tool_regex"),
        )
    },
    "as it is": lambda body: None,
    "no system": lambda body: body.pop("system"),
    "empty system": put("system", ""),
    "system in blocks": put(
        "system", [{"type": "text", "text": "s", "cache_control": MARK}]
    ),
    "two users in a row": texts(("user", "Hi"), ("user", "Ho")),
    "assistant first": texts(("assistant", "Hi"), ("user", "Ho")),
    "system behind words": texts(
        ("user", "Hi"), ("system", "Be kind."), ("user", "Ho")
    ),
    "system behind results": put(
        "messages.3", {"role": "system", "content": "10 tokens left"}
    ),
    "system in blocks behind results": put(
        "messages.3", {"role": "system", "content": [TEXT]}
    ),
    "text behind the result": block(TEXT),
    "user behind the result": put("messages.3", {"role": "user", "content": "On."}),
    "result without content": lambda body: body["messages"][2]["content"][0].pop(
        "content"
    ),
    "result in blocks": put("messages.2.content.0.content", [TEXT]),
    "result that is an error": put("messages.2.content.0.is_error", True),
    "result with a marker": put("messages.2.content.0.cache_control", MARK),
    "text with a marker": block({**TEXT, "cache_control": {**MARK, "ttl": "1h"}}),
    "citations null": block({**TEXT, "citations": None}),
    "caller": put("messages.1.content.1.caller", {"type": "direct"}),
    "stream": put("stream", True),
    "automatic marker": put("cache_control", MARK),
    "nulls": lambda b: b.update(tool_choice=None, thinking=None, metadata=None),
    "metadata": put("metadata", {"user_id": "u"}),
    "stop sequences": put("stop_sequences", ["END", "STOP"]),
    "temperature of 1": put("temperature", 1.0),
    "service tier": put("service_tier", "auto"),
    "only standard": put("service_tier", "standard_only"),
    "max_tokens 0": put("max_tokens", 0),
    "most tokens": put("max_tokens", 128_000),
    "custom tool": tool(type="custom"),
    "tool with a marker": tool(cache_control=MARK),
    "tool not strict": tool(strict=False),
    "eager input": tool(eager_input_streaming=True),
    "input examples": tool(input_examples=[{"path": "a.py"}]),
    "deferred tool": put(
        "tools.1", {"name": "x", "input_schema": SCHEMA, "defer_loading": True}
    ),
    "schema with nothing in it": tool(input_schema={"type": "object"}),
    "long name of a tool": put("tools.1", {"name": "x" * 128, "input_schema": SCHEMA}),
    "choice auto": put("tool_choice", {"type": "auto"}),
    "choice any": put(
        "tool_choice", {"type": "any", "disable_parallel_tool_use": True}
    ),
    "choice of a tool": put("tool_choice", {"type": "tool", "name": "read_file"}),
    "choice none": put("tool_choice", {"type": "none"}),
    "thinking": lambda body: body.update(ADAPTIVE),
    "thinking shown": put("thinking", {"type": "adaptive", "display": "summarized"}),
    "no thinking": put("thinking", {"type": "disabled"}),
    "effort": put("output_config", {"effort": "low"}),
    "most effort": put("output_config", {"effort": "max"}),
    "clearing": edits(CLEAR),
    "clearing by number": edits(
        {**CLEAR, "trigger": USES, "keep": USES, "exclude_tools": ["x"]}
    ),
    "clearing inputs": edits(
        {**CLEAR, "clear_tool_inputs": True, "clear_at_least": TOKENS}
    ),
    "clearing thinking": edits({**THINK, "keep": "all"}, CLEAR, **ADAPTIVE),
    "compaction": edits(
        {**COMPACT, "trigger": TOKENS, "pause_after_compaction": False}
    ),
}
"""Changes after which a body is still right."""

ELSEWHERE: dict[str, Change] = {
    **{
        f"tool {kind}": put("tools.1", {"type": kind, "name": name})
        for kind, name in (
            ("bash_20250124", "bash"),
            ("text_editor_20250728", "str_replace_based_edit_tool"),
            ("memory_20250818", "memory"),
        )
    },
    "strict tool": tool(strict=True),
    "calls by code": tool(allowed_callers=["code_execution_20250825"]),
    "structured output": put(
        "output_config", {"format": {"type": "json_schema", "schema": {}}}
    ),
    "search result": put("messages.2.content.0.content", [{"type": "search_result"}]),
    "tool reference": put("messages.2.content.0.content", [{"type": "tool_reference"}]),
    "image": block(
        {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}
    ),
    "document": block({"type": "document", "source": {"type": "text", "data": "x"}}),
    "container": put("container", "c"),
    "MCP server": put(
        "mcp_servers", [{"type": "url", "url": "https://a.b", "name": "x"}]
    ),
    "thread": put("thread", {"type": "create"}),
    "place": put("inference_geo", "eu"),
    "fast": put("speed", "fast"),
    "profile": put("user_profile_id", "u"),
    "workspace": put("workspace_id", "w"),
    "diagnostics": put("diagnostics", {"x": 1}),
    "budget": put("output_config", {"task_budget": {"type": "tokens", "total": 9}}),
    "compaction on demand": put("compaction", {"type": "summarize"}),
}
"""Changes after which the real API takes a body, and this server says that it isn't
simulated."""

_CHOICES: list[Any] = [
    "auto", {}, {"type": "some"}, {"type": "tool"}, {"type": "tool", "name": "no_tool"},
    {"type": "tool", "name": 5}, {"type": "auto", "name": "read_file"}, {"type": "none", "x": 1},
    {"type": "any", "disable_parallel_tool_use": "yes"},
]  # fmt: skip
_NAMES: list[Any] = ["", " ", "a b", "a.b", "读", "x" * 129, 5, None]
_SCHEMAS: list[Any] = [
    {}, None, "object", {"type": "string"}, {"type": "array"}, {"type": "object", "anyOf": []},
    {"type": "object", "oneOf": []}, {"type": "object", "properties": []},
    {"type": "object", "required": "path"}, {"type": "object", "properties": {"a": {"type": "x"}}},
]  # fmt: skip
_THINKING: list[Any] = [
    True, {}, {"type": "often"}, {"type": "enabled", "budget_tokens": 2_000},
    {"type": "adaptive", "budget": 5}, {"type": "adaptive", "display": "loud"},
    {"type": "disabled", "display": "omitted"},
    {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "ask"}},
]  # fmt: skip
_MARKS: list[Any] = [
    {},
    "ephemeral",
    {"type": "forever"},
    {**MARK, "ttl": "2h"},
    {**MARK, "x": 1},
]
_BLOCKS: list[Any] = [
    5, None, {}, {"type": "poem"}, {"type": "text"}, {"type": "text", "text": ""},
    {"type": "text", "text": " \n"}, {"type": "text", "text": 5}, {**TEXT, "id": "x"},
    {**TEXT, "citations": "none"}, {"type": "tool_use", "id": "t2", "name": "x", "input": {}},
    {"type": "tool_result", "tool_use_id": "t2", "content": "no call"},
    {"type": "tool_result", "tool_use_id": "t1", "content": "twice"},
    {"type": "tool_result"}, {"type": "thinking", "thinking": "x"},
]  # fmt: skip
_EDITS: list[Any] = [
    {}, {"type": "clear"}, {**CLEAR, "x": 1}, {**CLEAR, "keep": 3}, {**CLEAR, "trigger": {}},
    {**CLEAR, "trigger": {"type": "days", "value": 1}}, {**CLEAR, "keep": TOKENS | {"value": -1}},
    {**COMPACT, "trigger": {**TOKENS, "value": 49_999}}, {**COMPACT, "instructions": 5}, THINK,
]  # fmt: skip

WRONG: dict[str, Change] = {
    **{f"choice {value}": put("tool_choice", value) for value in _CHOICES},
    "choice without tools": lambda b: b.update(tools=[], tool_choice={"type": "any"}),
    "forced and thinking": lambda b: b.update(ADAPTIVE, tool_choice={"type": "any"}),
    **{f"tool's name {str(v)[:9]}": tool(name=v) for v in _NAMES},
    **{f"schema {value}": tool(input_schema=value) for value in _SCHEMAS},
    **{f"thinking {value}": put("thinking", value) for value in _THINKING},
    **{f"marker {value}": block({**TEXT, "cache_control": value}) for value in _MARKS},
    **{f"tool's marker {value}": tool(cache_control=value) for value in _MARKS},
    **{f"block {value}": block(value) for value in _BLOCKS},
    **{f"edit {value}": edits(value) for value in _EDITS},
    **{f"effort {v}": put("output_config", {"effort": v}) for v in ("", "most", 5, True)},
    **{f"{k} {v}": put(k, v) for k, v in product(("top_p", "top_k", "temperature"), (0, 0.5, "x"))},
    **{f"sequences {v}": put("stop_sequences", v) for v in ("END", [1], [None], [["x"]], [" "])},
    **{f"max_tokens {v}": put("max_tokens", v) for v in (-1, 1.5, "9", True, 128_001)},
    **{f"tier {v}": put("service_tier", v) for v in ("best", 5)},
    **{f"metadata {v}": put("metadata", v) for v in ("u", {"user": "u"}, {"user_id": 5})},
    **{f"stream {v}": put("stream", v) for v in ("yes", 1)},
    **{f"system {v}": put("system", v) for v in (5, [TEXT, 5], [{"type": "text", "text": " "}])},
    **{f"model {v}": put("model", v) for v in ("", "claude-x", 5, None)},
    **{f"role {v}": put("messages.0.role", v) for v in ("tool", "", 5, None, "system")},
    **{f"content {v}": put("messages.0.content", v) for v in (5, None, "", [], " ")},
    **{f"id {v}": put("messages.1.content.1.id", v) for v in ("", "t 1", 5, "t2")},
    **{f"call {v[:9]}": put("messages.1.content.1.name", v) for v in ("", "a b", "x" * 129)},
    **{f"input {v}": put("messages.1.content.1.input", v) for v in (None, "a.py", [])},
    **{f"result for {v}": put("messages.2.content.0.tool_use_id", v) for v in ("t9", 5, None)},
    "caller": put("messages.1.content.1.caller", "me"),
    "error without content": put("messages.2.content.0", {
        "type": "tool_result", "tool_use_id": "t1", "is_error": True}),
    "blank in a result": put("messages.2.content.0.content", [{"type": "text", "text": " "}]),
    "result of the system": put("messages.2.role", "system"),
    "answer last": put("messages.3", {"role": "assistant", "content": "So"}),
    "text before the result": lambda b: b["messages"][2]["content"].insert(0, TEXT),
    "no result": lambda b: b["messages"].pop(),
    "words for a result": put("messages.2.content", "It is x = 1."),
    "no messages": put("messages", []),
    "messages missing": lambda b: b.pop("messages"),
    "model missing": lambda b: b.pop("model"),
    "max_tokens missing": lambda b: b.pop("max_tokens"),
    "same tool twice": lambda b: b["tools"].append(b["tools"][0]),
    "unknown key": put("colour", "red"),
    "key in a message": put("messages.0.timestamp", 1),
    "key in a tool": tool(run="x"),
    "tool of no type": tool(type="mine"),
    "markers: five": put("system", [{**TEXT, "cache_control": MARK}] * 5),
    "markers: five, inside a result": lambda b: (
        put("messages.2.content.0.content", [{**TEXT, "cache_control": MARK}] * 5)(b)
    ),
    "same id twice": lambda b: b["messages"].extend(deepcopy(b["messages"][1:])),
}  # fmt: skip
"""Changes after which the real API refuses a body."""


def _pairs(changes: dict[str, Change]) -> Iterator[tuple[str, tuple[Change, ...]]]:
    """Each change alone, then with another right one that changes something else."""
    yield from ((name, (change,)) for name, change in changes.items())
    others = ("stream", "metadata", "effort", "automatic marker", "stop sequences")
    for other, (name, change) in product(others, changes.items()):
        if not (other in name or {other, name} <= {"effort", "most effort"}):
            yield f"{name}, {other}", (RIGHT[other], change)


def _cases(changes: dict[str, Change], most: int) -> list[Case]:
    cases: dict[str, Case] = {}
    for name, steps in _pairs(changes):
        body = plain()
        for step in steps:
            step(body)
        cases.setdefault(json.dumps(body, sort_keys=True), Case(name, body, False))
    return list(cases.values())[:most]


COUNTED = (
    "as it is",
    "clearing",
    "choice auto",
    "thinking",
    "deferred tool",
    "no system",
)


def valid() -> list[Case]:
    """Two hundred bodies that the API takes."""
    counted: list[Case] = []
    for name in COUNTED:
        body = plain()
        RIGHT[name](body)
        del body["max_tokens"]
        counted.append(Case(f"counted: {name}", body, True))
    return [*counted, *_cases({**RIGHT, **ELSEWHERE}, 200 - len(counted))]


def invalid() -> list[Case]:
    """Two hundred bodies that the API refuses."""
    counted = [Case(f"counted: {k}", plain(), True) for k in ("max_tokens",)]
    for name in ("stream", "stop sequences", "metadata"):
        body = plain()
        RIGHT[name](body)
        del body["max_tokens"]
        counted.append(Case(f"counted: {name}", body, True))
    return [*counted, *_cases(WRONG, 200 - len(counted))]
