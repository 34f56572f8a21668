"""Work with the tools of other agents: their names, inputs and results become the model's own.

`ours` translates a request before the model looks at it, and `theirs` translates the calls of its
reply back. Claude Code calls the hands Bash, Read, Write and Edit. An agent that has only bash gets
its files by `cat` and `sed`. What an agent's program adds around the conversation, such as
reminders or a frame around the person's words, is left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from shlex import quote, split
from typing import Any

from agentlib import messages as msg
from agentlib.lab.model.conversation import literal, value_of
from agentlib.messages import Block, Message

Body = Mapping[str, Any]
_NAMES = {"Bash": "bash", "Read": "read_file", "Write": "write_file", "Edit": "edit_file"}
"""Their names of tools, and ours."""
_INPUTS = {"file_path": "path", "old_string": "old_text", "new_string": "new_text"}
_SHOWN = 8_000
"""Characters of a file that an agent with only bash is asked for at once."""
_DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command that ends a task of an agent with only bash, if its prompt says so."""
_ENDINGS = ("submit", "final_answer")
"""Tools that take the last words, without which some agents go on asking."""
_REMINDER = re.compile(
    r"\s*<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>\s*", re.DOTALL
)
"""A reminder that holds no other one."""
_FRAME = re.compile(
    r"(?:New task:|Please solve this issue:)\s*(.+?)(?:\n\nYou can execute bash commands.*)?\s*",
    re.DOTALL,
)
_OBSERVED = "Observation:\n"
_READS = re.compile(r"(?:cat|sed -n -e '(\d+),(\d+)p' .+ -e \d+q) (\S+|'.*')")


def ours(body: Body) -> dict[str, Any]:
    """Return a request as the offline model knows it.

    >>> tools = [{"name": "Read", "input_schema": {"properties": {"file_path": {}}}}]
    >>> ours({"tools": tools, "messages": []})["tools"]
    [{'name': 'read_file', 'input_schema': {'properties': {'path': {}}}}]
    """
    only_bash, tools = _has_only_bash(body), body.get("tools") or ()
    own = {**body, "messages": list(_messages(body, only_bash=only_bash))}
    if only_bash:
        names = ("bash", "read_file", "write_file")
        return {**own, "part": _SHOWN, "tools": [{"name": name} for name in names]}
    if any(tool["name"] in _NAMES or _inputs(tool).keys() & _INPUTS for tool in tools):
        own["tools"] = [_own_tool(tool) for tool in tools]
    return own


def theirs(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a reply with its calls under the names and inputs of the request's tools."""
    only_bash, tools = _has_only_bash(body), body.get("tools") or ()
    their = _in_shell if only_bash else partial(_their_call, tools)
    content = [their(part) if part["type"] == "tool_use" else part for part in reply["content"]]
    return {**reply, "content": content}


def submitted(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a last reply with the call that the agent waits for, if it waits for one."""
    words = "".join(block.get("text", "") for block in reply["content"])
    tools = [tool for tool in body.get("tools") or () if tool["name"] in _ENDINGS]
    calls = [(tool["name"], dict.fromkeys([*_inputs(tool)][:1], words)) for tool in tools]
    if _DONE in str(body["messages"][0]["content"]):
        calls.append(("bash", {"command": _DONE}))
    if not calls or reply["stop_reason"] == "tool_use":
        return reply
    name, inputs = calls[0]
    call = {"type": "tool_use", "name": name, "input": inputs}
    return {"content": [*reply["content"], call], "stop_reason": "tool_use"}


# -- tools and calls ------------------------------------------------------------------------------


def _has_only_bash(body: Body) -> bool:
    names = {tool["name"] for tool in body.get("tools") or ()}
    return "bash" in names and "read_file" not in names


def _inputs(tool: Body) -> Body:
    """Return the inputs that a tool's schema names."""
    schema: Body = tool.get("input_schema") or {}
    return schema.get("properties") or {}


def _own_tool(tool: Block) -> Block:
    inputs = {_INPUTS.get(key, key): value for key, value in _inputs(tool).items()}
    name = _NAMES.get(tool["name"], tool["name"])
    return {"name": name, "input_schema": {"properties": inputs}}


def _their_call(tools: Iterable[Block], call: Block) -> Block:
    """Return one of our calls as the foreign tool takes it."""
    fitting = (tool for tool in tools if call["name"] in (tool["name"], _NAMES.get(tool["name"])))
    tool = next(fitting, call)
    inputs = {_INPUTS.get(key, key): key for key in _inputs(tool)}
    given = {inputs.get(key, key): value for key, value in call["input"].items()}
    if tool["name"] == "Read" and "offset" in given:
        given["offset"] += 1
    return {**call, "name": tool["name"], "input": given}


def _in_shell(call: Block) -> Block:
    """Return one of our calls as a command. A part of a file ends with a line that says so."""
    given, path = call["input"], quote(str(call["input"].get("path")))
    command = given.get("command", f"cat {path}")
    if "limit" in given:
        start, end = given.get("offset", 0) + 1, given.get("offset", 0) + given["limit"]
        more = f"{end + 1}s/.*/... (1 more; continue with offset={end})/p"
        command = f"sed -n -e '{start},{end}p' -e '{more}' -e {end + 1}q {path}"
    if "content" in given:
        command = f"cat > {path} <<'END_OF_FILE'\n{given['content']}\nEND_OF_FILE"
    return {**call, "name": "bash", "input": {"command": command}}


def _from_shell(command: str) -> Block:
    if read := _READS.fullmatch(command):
        start, end, path = read.groups()
        part = {"offset": int(start) - 1, "limit": int(end) - int(start) + 1} if end else {}
        return {"name": "read_file", "input": {"path": split(path)[0], **part}}
    return {"name": "bash", "input": {"command": command}}


# -- messages -------------------------------------------------------------------------------------


def _messages(body: Body, *, only_bash: bool) -> Iterator[Message]:
    """Yield the messages of the person and the model as ours."""
    ids: list[str] = []
    for message in body["messages"]:
        if message["role"] != "system":
            parts = [part for block in msg.blocks(message) for part in _block(block, ids)]
            own = [_own_block(part, only_bash=only_bash) for part in parts]
            ids = [block["id"] for block in own if block["type"] == "tool_use"]
            yield from [{**message, "content": own}] if own else []


def _block(block: Block, ids: Sequence[str]) -> Iterator[Block]:
    """Yield a block without frames. Calls and results written as text become blocks again."""
    text = block.get("text") or ""
    words, _, written = text.partition("Calling tools:\n")
    if written.startswith("[{'id': ") and (calls := literal(written.strip())):
        yield {"type": "text", "text": words.rstrip()}
        yield from map(_called, calls)
    elif text.startswith(_OBSERVED):
        # Results of several calls come as one text, which nobody can take apart.
        told = text.removeprefix(_OBSERVED) if len(ids) == 1 else "[several results in one]"
        yield from ({"type": "tool_result", "tool_use_id": each, "content": told} for each in ids)
    elif block["type"] != "text":
        yield block
    elif words := _without_reminders(text):
        frame = _FRAME.fullmatch(words)
        yield {**block, "text": frame[1] if frame else words}


def _called(call: Block) -> Block:
    name, given = call["function"]["name"], call["function"]["arguments"]
    return {"type": "tool_use", "id": str(call["id"]), "name": name, "input": given}


def _own_block(block: Block, *, only_bash: bool) -> Block:
    """Return a call or a result as ours. Claude Code counts lines from 1."""
    match block:
        case {"type": "tool_use", "input": {"command": command}} if only_bash:
            return {**block, **_from_shell(str(command))}
        case {"type": "tool_use", "name": name, "input": given}:
            inputs = {_INPUTS.get(key, key): value for key, value in given.items()}
            if name == "Read" and inputs.get("offset"):
                inputs["offset"] -= 1
            return {**block, "name": _NAMES.get(name, name), "input": inputs}
        case {"type": "tool_result"}:
            text = _without_reminders(msg.result_text(block))
            return {**block, "content": _printed(text)}
        case _:
            return block


def _without_reminders(text: str) -> str:
    """Take reminders out, the innermost first, because a reminder may quote another."""
    while "<system-reminder>" in text and (shorter := _REMINDER.sub("", text)) != text:
        text = shorter
    return text


def _printed(text: str) -> str:
    """Return what a tool printed, of a result that was written as a dict or as a list of paths."""
    if not text.startswith(("{", "['/")):
        return text
    match value_of(text):
        case {"returncode": _, **told}:
            return str(told.get("output", "[too long to be shown]"))
        case [*paths]:
            return "\n".join(map(str, paths))
        case _:
            return text
