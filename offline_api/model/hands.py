"""Work with the tools of other agents: their names, inputs and results become the
model's own.

`ours` translates a request before the model looks at it, and `theirs` translates the
calls of its reply back. Claude Code calls the hands Bash, Read, Write and Edit. It
counts lines from 1, so a line is read twice if a file comes in parts. An agent that has
only bash gets its files by `cat`. What an agent's program adds around the conversation,
such as reminders or a frame around the person's words, is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from shlex import quote
from typing import Any

from agentlib import messages as msg
from agentlib.messages import Block, Message
from offline_api.model.conversation import literal, value_of

Body = Mapping[str, Any]
_NAMES = {
    "Bash": "bash",
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
}
"""Their names of tools, and ours."""
_INPUTS = {"file_path": "path", "old_string": "old_text", "new_string": "new_text"}
_SHELL = {
    "part": 5_000,
    "tools": [{"name": n} for n in ("bash", "read_file", "write_file")],
}
"""The tools of an agent that has only bash. `part`: characters of a file to ask for at
once."""
_READS = re.compile(
    r"cat (?:-n )?([^\s']+|'[^']+')(?: \| tail -n \+(\d+) \| head -n (\d+))?"
)
"""Such an agent's command that reads a file, or a part of it."""
_DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command that ends its task, if its prompt says so."""
_INNER = r"(?:(?!</?system-reminder>).)*"
_REMINDER = rf"<system-reminder>{_INNER}(?:<system-reminder>{_INNER}</system-reminder>{_INNER})*"
_ADDED = re.compile(
    rf"(?s)\s*{_REMINDER}</system-reminder>\s*|\A(?:New task|Please solve this issue):\s*"
    r"|\n\nYou can execute bash commands and edit files to implement .*"
)
"""What a program adds to a text. A reminder may quote others."""
_bare = lru_cache(maxsize=4_096)(partial(_ADDED.sub, ""))
"""Take it out of a text. Most texts come again with the next request."""


def ours(body: Body) -> dict[str, Any]:
    """Return a request as the offline model knows it.

    >>> tools = [{"name": "Read", "input_schema": {"properties": {"file_path": {}}}}]
    >>> ours({"tools": tools, "messages": []})["tools"]
    [{'name': 'read_file', 'input_schema': {'properties': {'path': {}}}}]
    """
    own = {**body, "tools": [_own_tool(tool) for tool in body.get("tools") or ()]}
    names = {tool["name"] for tool in own["tools"]}
    only_bash = "bash" in names and "read_file" not in names
    return {
        **own,
        **(_SHELL if only_bash else {}),
        "messages": [*_messages(body["messages"])],
    }


def theirs(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a reply with its calls under the names and inputs of the request's
    tools."""
    calls = (
        _their_call(b, body) if b["type"] == "tool_use" else b for b in reply["content"]
    )
    return {**reply, "content": list(calls)}


def submitted(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a last reply with the call that the agent waits for, or it goes on
    asking."""
    words = "".join(block.get("text", "") for block in reply["content"])
    tools = [
        tool
        for tool in body.get("tools") or ()
        if tool["name"] in ("submit", "final_answer")
    ]
    calls = [
        (tool["name"], dict.fromkeys([*_inputs(tool)][:1], words)) for tool in tools
    ]
    if _DONE in str(body["messages"][0]["content"]):
        calls.append(("bash", {"command": _DONE}))
    if not calls or reply["stop_reason"] == "tool_use":
        return reply
    call = {"type": "tool_use", "name": calls[0][0], "input": calls[0][1]}
    return {"content": [*reply["content"], call], "stop_reason": "tool_use"}


# -- tools and calls -------------------------------------------------------------------


def _inputs(tool: Body) -> Body:
    """Return the inputs that a tool's schema names."""
    return tool.get("input_schema", Block()).get("properties", Block())


def _renamed(inputs: Body, names: Mapping[str, str] = _INPUTS) -> Block:
    return {names.get(name, name): value for name, value in inputs.items()}


def _own_tool(tool: Body) -> Block:
    schema = {
        **tool.get("input_schema", Block()),
        "properties": _renamed(_inputs(tool)),
    }
    return {
        **tool,
        "name": _NAMES.get(tool["name"], tool["name"]),
        "input_schema": schema,
    }


def _their_call(call: Block, body: Body) -> Block:
    """Return one of our calls as the foreign tool takes it. Only bash: return it as a
    command."""
    tools = {
        _NAMES.get(tool["name"], tool["name"]): tool for tool in body.get("tools") or ()
    }
    if call["name"] not in tools and "bash" in tools:
        return {
            **call,
            "name": tools["bash"]["name"],
            "input": _in_shell(**call["input"]),
        }
    tool = tools.get(call["name"], call)
    names = {_INPUTS.get(name, name): name for name in _inputs(tool)}
    return {**call, "name": tool["name"], "input": _renamed(call["input"], names)}


def _in_shell(path: str, content: str = "", offset: int = 0, limit: int = 0) -> Block:
    """Write a call of read_file or write_file as bash's input."""
    if content:
        return {
            "command": f"cat > {quote(path)} <<'END_OF_FILE'\n{content}\nEND_OF_FILE"
        }
    part = f"cat -n {quote(path)} | tail -n +{offset + 1} | head -n {limit}"
    return {"command": part if limit else f"cat {quote(path)}"}


# -- messages --------------------------------------------------------------------------


def _messages(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield the messages of the person and the model as ours."""
    ids: list[str] = []
    for message in (each for each in messages if each["role"] != "system"):
        own = [
            _own_block(part)
            for block in msg.blocks(message)
            for part in _parts(block, ids)
        ]
        ids = [*msg.tool_names([{"content": own}])]
        yield from [{**message, "content": own}] if own else []


def _parts(block: Block, ids: Sequence[str]) -> Iterator[Block]:
    """Yield a block. Calls and results that were written as one text become blocks
    again."""
    text = block.get("text") or ""
    words, _, written = text.partition("Calling tools:\n")
    if written.startswith("[{'id': ") and (calls := literal(written.strip())):
        yield {"type": "text", "text": words.rstrip()}
        for call in calls:
            name, given = call["function"]["name"], call["function"]["arguments"]
            yield {
                "type": "tool_use",
                "id": str(call["id"]),
                "name": name,
                "input": given,
            }
    elif text.startswith("Observation:\n"):
        # Results of several calls come as one text, which nobody can take apart.
        told = text.partition("\n")[2] if len(ids) == 1 else "[several results in one]"
        yield from (msg.tool_result(name, told) for name in ids)
    elif block["type"] != "text":
        yield block
    elif words := _bare(text):
        yield {**block, "text": words}


def _own_block(block: Block) -> Block:
    """Return a call or a result as ours."""
    match block:
        case {"type": "tool_use", "name": name, "input": given}:
            read = _READS.fullmatch(str(given.get("command")))
            own = _reading(*read.groups()) if read else _renamed(given)
            return {
                **block,
                "name": "read_file" if read else _NAMES.get(name, name),
                "input": own,
            }
        case {"type": "tool_result"}:
            return {**block, "content": _printed(_bare(msg.result_text(block)))}
        case _:
            return block


def _reading(path: str, start: str | None, limit: str | None) -> Block:
    part = {"offset": int(start or 1) - 1, "limit": int(limit)} if limit else {}
    return {"path": path.strip("'"), **part}


def _printed(text: str) -> str:
    """Return what a tool printed, of a result that was written as a dict or as a list
    of paths."""
    match value_of(text) if text.startswith(("{", "['/")) else text:
        case {"returncode": _, **told}:
            return str(told.get("output", "[too long to be shown]")).removesuffix("\n")
        case [*paths]:
            return "\n".join(map(str, paths))
        case _:
            return text
