"""Work with the tools of other agents: their names, inputs and results become the model's own.

Claude Code calls the same four hands Bash, Read, Write and Edit. `ours` translates a request before
the model looks at it, and `theirs` translates the calls of its reply back. What an agent's program
adds around the conversation is left out: its system messages and its reminders.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentlib import messages as msg
from agentlib.messages import Block, Message

Body = Mapping[str, Any]
NAMES = {"Bash": "bash", "Read": "read_file", "Write": "write_file", "Edit": "edit_file"}
"""Their names of tools, and ours."""
_INPUTS = {"file_path": "path", "old_string": "old_text", "new_string": "new_text"}
_OURS = {own: name for name, own in _INPUTS.items()}
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_NUMBER = re.compile(r"^ *(\d+)(?:\t|→)", re.MULTILINE)


def ours(body: Body) -> dict[str, Any]:
    """Return a request as the offline model knows it. One without foreign tools stays as it is.

    >>> tools = [{"name": "Read", "input_schema": {"properties": {"file_path": {}}}}]
    >>> ours({"tools": tools, "messages": []})["tools"]
    [{'name': 'read_file', 'input_schema': {'properties': {'path': {}}}}]
    """
    names = _names(body)
    spoken = [message for message in body["messages"] if message["role"] != "system"]
    if not names and _REMINDER.search(str(spoken)) is None:
        return {**body, "messages": spoken}
    limits: dict[str, int] = {}
    messages = [_message(message, names, limits) for message in spoken]
    tools = [_tool(tool, names) for tool in body.get("tools") or ()]
    return {**body, "tools": tools, "messages": [m for m in messages if m["content"]]}


def theirs(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a reply with its calls under the names of the request's tools."""
    names = {own: name for name, own in _names(body).items()}
    return {**reply, "content": [_call(block, names) for block in reply["content"]]}


def _names(body: Body) -> dict[str, str]:
    """Map the names of the foreign tools that a request offers to ours."""
    offered = {tool["name"] for tool in body.get("tools") or ()}
    return {name: own for name, own in NAMES.items() if name in offered and own not in offered}


def _tool(tool: Body, names: Mapping[str, str]) -> dict[str, Any]:
    if tool["name"] not in names:
        return dict(tool)
    schema: Body = tool.get("input_schema") or {}
    inputs = {_INPUTS.get(key, key): value for key, value in schema.get("properties", {}).items()}
    return {"name": names[tool["name"]], "input_schema": {"properties": inputs}}


def _call(block: Block, names: Mapping[str, str]) -> Block:
    """Write a call of ours as the foreign tool takes it. Claude Code counts lines from 1."""
    if block["type"] != "tool_use" or block["name"] not in names:
        return block
    inputs = {_OURS.get(key, key): value for key, value in block["input"].items()}
    if "offset" in inputs:
        inputs["offset"] += 1
    return {**block, "name": names[block["name"]], "input": inputs}


def _message(message: Message, names: Mapping[str, str], limits: dict[str, int]) -> Message:
    parts = [part for block in msg.blocks(message) for part in _block(block, names, limits)]
    return {**message, "content": parts}


def _block(block: Block, names: Mapping[str, str], limits: dict[str, int]) -> Iterator[Block]:
    """Yield a block as ours. `limits`: the lines that each call asked for, by its id."""
    match block:
        case {"type": "text"}:
            text = _REMINDER.sub("", block["text"])
            if text:
                yield {**block, "text": text}
        case {"type": "tool_use", "name": name, "input": given} if name in names:
            inputs = {_INPUTS.get(key, key): value for key, value in given.items()}
            if offset := inputs.pop("offset", 0):
                inputs["offset"] = offset - 1
            limits[block["id"]] = inputs.get("limit", 0)
            yield {**block, "name": names[name], "input": inputs}
        case {"type": "tool_result"}:
            text = _REMINDER.sub("", msg.result_text(block))
            yield {**block, "content": _told(text, limits.get(block["tool_use_id"], 0))}
        case _:
            yield block


def _told(text: str, limit: int) -> str:
    """Say under a part of a file where it goes on. A whole part has as many lines as asked for."""
    lines = _NUMBER.findall(text)
    if not limit or len(lines) < limit:
        return text
    return f"{text}\n... (1 more; continue with offset={lines[-1]})"
