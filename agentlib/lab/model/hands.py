"""Work with the tools of other agents: their names, inputs and results become the model's own.

`ours` translates a request before the model looks at it, and `theirs` translates the calls of its
reply back. Claude Code calls the hands Bash, Read, Write and Edit. An agent that has only bash gets
its files by `cat` and `sed`. One that has no bash is asked for its files by `glob`. What an agent's
program adds around the conversation, such as reminders or a frame around the person's words, is
left out.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from agentlib import messages as msg
from agentlib.lab.model.conversation import literal
from agentlib.lab.model.reading import listing_command
from agentlib.messages import Block, Message

Body = Mapping[str, Any]
_NAMES = {"Bash": "bash", "Read": "read_file", "Write": "write_file", "Edit": "edit_file"}
"""Their names of tools, and ours."""
_INPUTS = {"file_path": "path", "old_string": "old_text", "new_string": "new_text"}
_OURS = {own: name for name, own in _INPUTS.items()}
_MOST_LINES = 2_000
"""Lines asked for from a tool that otherwise stops after a hundred."""
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
_MARKS = ("<system-reminder>", "Calling tools:", "Observation:", "New task:", "solve this issue:")
_FRAME = re.compile(
    r"(?:New task:|Please solve this issue:)\s*(.+?)(?:\n\nYou can execute bash commands.*)?\s*",
    re.DOTALL,
)
_NUMBER = re.compile(r"^ *\d+(?:\t|→)", re.MULTILINE)
_WRITE = re.compile(r"cat > (\S+) <<'END_OF_FILE'\n(.*)\nEND_OF_FILE", re.DOTALL)
_CALLING = re.compile(r"(.*?)\s*Calling tools:\n(\[.*\])\s*", re.DOTALL)
_OBSERVED = re.compile(r"Observation:\n(.*)", re.DOTALL)
_LISTS = re.compile(r"(?:\[ -d .*)?find (\S+) -type f ")
_MIXED = "[several results in one]"
_HEADER = re.compile(r"\A@@ lines \d+-(\d+) of (\d+) @@\n")


class _Hands:
    """The tools that one request offers, and how they are ours."""

    def __init__(self, body: Body) -> None:
        tools: list[Block] = list(body.get("tools") or ())
        self.offered = {tool["name"]: tool for tool in tools}
        pairs = _NAMES.items()
        self.names = {a: own for a, own in pairs if a in self.offered and own not in self.offered}
        self.theirs = {own: name for name, own in self.names.items()}
        self.only_bash = "bash" in self.offered and "read_file" not in self.offered
        self.globs = "glob" in self.offered and not {"bash", "Bash", "execute"} & set(self.offered)
        known = {key for tool in tools for key in _inputs(tool)}
        self.foreign = bool(self.names or self.only_bash or self.globs or known & _INPUTS.keys())
        self.asked: dict[str, Block] = {}
        """The calls as ours, by their ids."""

    def tools(self) -> list[Block]:
        made = [_tool(tool, self.names) for tool in self.offered.values()]
        added = ("read_file", "write_file") if self.only_bash else ("bash",) if self.globs else ()
        return [*made, *({"name": name} for name in added)]

    def ours(self, call: Block) -> Block:
        """Return a foreign call as ours."""
        name, given = call["name"], call["input"]
        if self.only_bash and name == "bash":
            return {**call, **_from_shell(str(given.get("command")))}
        if self.globs and name == "glob":
            return {**call, "name": "bash", "input": {"command": _from_glob(given)}}
        inputs = {_INPUTS.get(key, key): value for key, value in given.items()}
        if inputs.get("limit") == _MOST_LINES:
            del inputs["limit"]
        if name == "Read" and (offset := inputs.pop("offset", 0)):
            inputs["offset"] = offset - 1
        return {**call, "name": self.names.get(name, name), "input": inputs}

    def back(self, call: Block) -> Block:
        """Return one of our calls as the foreign tools take it. Claude Code counts from line 1."""
        name, given = call["name"], dict(call["input"])
        if self.only_bash:
            return {**call, "name": "bash", "input": {"command": _as_shell(name, given)}}
        if self.globs and name == "bash":
            return {**call, "name": "glob", "input": _as_glob(given["command"])}
        name = self.theirs.get(name, name)
        known = _inputs(self.offered.get(name, {}))
        inputs = {_OURS[k] if _OURS.get(k) in known else k: v for k, v in given.items()}
        if name == "Read" and "offset" in inputs:
            inputs["offset"] += 1
        if name == "read_file" and "default" in known.get("limit", {}):
            inputs["limit"] = _MOST_LINES
        return {**call, "name": name, "input": inputs}


def ours(body: Body) -> dict[str, Any]:
    """Return a request as the offline model knows it.

    >>> tools = [{"name": "Read", "input_schema": {"properties": {"file_path": {}}}}]
    >>> ours({"tools": tools, "messages": []})["tools"]
    [{'name': 'read_file', 'input_schema': {'properties': {'path': {}}}}]
    """
    hands = _Hands(body)
    spoken = [message for message in body["messages"] if message["role"] != "system"]
    if not (hands.foreign or any(map(_is_marked, spoken))):
        return {**body, "messages": spoken}
    messages = [_message(message, hands) for message in spoken]
    part = {"part": _SHOWN} if hands.only_bash else {}
    new = [message for message in messages if message["content"]]
    return {**body, **part, "tools": hands.tools(), "messages": new}


def theirs(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a reply with its calls under the names and inputs of the request's tools."""
    hands = _Hands(body)
    calls = [block for block in reply["content"] if block["type"] == "tool_use"]
    if hands.globs and any(c["name"] == "bash" and not _is_listing(c["input"]) for c in calls):
        text = {"type": "text", "text": "I can't do that: I have no tool bash."}
        return {"content": [text], "stop_reason": "refusal"}
    return {**reply, "content": [hands.back(b) if b in calls else b for b in reply["content"]]}


def submitted(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a last reply with the call that the agent waits for, if it waits for one."""
    if reply["stop_reason"] == "tool_use":
        return reply
    words = "".join(block.get("text", "") for block in reply["content"])
    for tool in body.get("tools") or ():
        inputs = dict.fromkeys(list(_inputs(tool))[:1], words) if tool["name"] in _ENDINGS else {}
        if tool["name"] == "bash" and _DONE in str(body["messages"][0]["content"]):
            inputs = {"command": _DONE}
        if inputs:
            call = {"type": "tool_use", "name": tool["name"], "input": inputs}
            return {"content": [*reply["content"], call], "stop_reason": "tool_use"}
    return reply


def _inputs(tool: Body) -> Body:
    """Return the inputs that a tool's schema names."""
    schema: Body = tool.get("input_schema") or {}
    return schema.get("properties") or {}


def _tool(tool: Block, names: Mapping[str, str]) -> Block:
    inputs = {_INPUTS.get(key, key): value for key, value in _inputs(tool).items()}
    name = names.get(tool["name"], tool["name"])
    return {"name": name, "input_schema": {"properties": inputs}}


# -- messages -------------------------------------------------------------------------------------


def _is_marked(message: Message) -> bool:
    """Return whether a message holds what an agent's program may have put around it."""
    texts = (b.get("text") or msg.result_text(b) for b in msg.blocks(message))
    return any(mark in text for text in texts for mark in _MARKS)


def _message(message: Message, hands: _Hands) -> Message:
    parts = (part for block in msg.blocks(message) for part in _block(block, hands))
    return {**message, "content": list(parts)}


def _block(block: Block, hands: _Hands) -> Iterator[Block]:
    """Yield a block as ours. Calls and results that were written as text become blocks again."""
    match block:
        case {"type": "text", "text": text}:
            if (calling := _CALLING.fullmatch(text)) and (calls := literal(calling[2])):
                yield {"type": "text", "text": calling[1]}
                hands.asked.clear()
                yield from (part for call in calls for part in _block(_called(call), hands))
            elif observed := _OBSERVED.fullmatch(text):
                # Results of several calls come as one text, which nobody can take apart.
                told = observed[1] if len(hands.asked) == 1 else _MIXED
                results = ({"type": "tool_result", "tool_use_id": name} for name in hands.asked)
                yield from ({**result, "content": told} for result in results)
            elif words := _without_reminders(text):
                frame = _FRAME.fullmatch(words)
                yield {**block, "text": frame[1] if frame else words}
        case {"type": "tool_use"}:
            hands.asked[block["id"]] = own = hands.ours(block)
            yield own
        case {"type": "tool_result", "tool_use_id": name}:
            text = _without_reminders(msg.result_text(block))
            yield {**block, "content": _told(text, hands.asked.get(name, {}), hands)}
        case _:
            yield block


def _without_reminders(text: str) -> str:
    """Take reminders out, the innermost first, because a reminder may quote another."""
    while (shorter := _REMINDER.sub("", text)) != text:
        text = shorter
    return text


def _called(call: Block) -> Block:
    name, given = call["function"]["name"], call["function"]["arguments"]
    return {"type": "tool_use", "id": str(call["id"]), "name": name, "input": given}


def _told(text: str, call: Block, hands: _Hands) -> str:
    """Return a result as our tools write it, with a line that says where a file goes on.

    If the agent doesn't say so, a part that is as long as asked for has more to it.
    """
    if hands.only_bash:
        text = _printed(text)
    given: Body = call.get("input", {})
    if hands.globs and call.get("name") == "bash":
        paths = literal(text) or text.split("\n")
        return "\n".join(
            f"0 0 {path.strip('/ ')}" for path in paths if path.strip().startswith("/")
        )
    limit, start = given.get("limit", 0), given.get("offset", 0)
    goes_on, end = False, start + limit
    if header := _HEADER.match(text):
        text, end = text[header.end() :], int(header[1])
        goes_on = end < int(header[2])
    elif limit and call.get("name") == "read_file" and (hands.names or hands.only_bash):
        lines = text.count("\n") if hands.only_bash else len(_NUMBER.findall(text))
        goes_on = lines >= limit
    return f"{text}\n... (1 more; continue with offset={end})" if goes_on else text


def _printed(text: str) -> str:
    """Return what a command printed, of a result that holds its exit code too."""
    with suppress(ValueError):
        told: Any = json.loads(text)
        is_report = isinstance(told, dict) and "returncode" in told
        return cast(Block, told).get("output", "[too long to be shown]") if is_report else text
    return text


# -- bash alone, and glob without bash ------------------------------------------------------------


def _as_shell(name: str, given: Body) -> str:
    path = shlex.quote(str(given.get("path", "")))
    if name == "read_file" and "limit" in given:
        start = given.get("offset", 0)
        return f"sed -n '{start + 1},{start + given['limit']}p' {path}"
    if name == "write_file":
        return f"cat > {path} <<'END_OF_FILE'\n{given['content']}\nEND_OF_FILE"
    return f"cat {path}" if name == "read_file" else str(given.get("command"))


def _from_shell(command: str) -> Block:
    if written := _WRITE.fullmatch(command):
        return {"name": "write_file", "input": {"path": written[1], "content": written[2]}}
    with suppress(ValueError):
        match shlex.split(command) if len(command) < 500 else ():
            case ["cat", path]:
                return {"name": "read_file", "input": {"path": path}}
            case ["sed", "-n", lines, path] if part := re.fullmatch(r"(\d+),(\d+)p", lines):
                start, end = int(part[1]) - 1, int(part[2])
                where = {"offset": start} if start else {}
                inputs = {"path": path, **where, "limit": end - start}
                return {"name": "read_file", "input": inputs}
            case _:
                pass
    return {"name": "bash", "input": {"command": command}}


def _is_listing(given: Body) -> bool:
    return bool(_LISTS.match(given["command"])) or given["command"].startswith("test ! -e")


def _as_glob(command: str) -> Block:
    """Ask `glob` for the files that a command of ours lists or looks for."""
    if listed := _LISTS.match(command):
        kinds = re.findall(r"-name '\*\.(\w+)'", command)
        form = f"*.{{{','.join(kinds)}}}" if len(kinds) > 1 else f"*.{kinds[0]}" if kinds else "*"
        return {"pattern": f"{'' if listed[1] == '.' else f'/{listed[1]}/'}**/{form}"}
    return {"pattern": shlex.split(command)[3] if command.startswith("test ! -e") else command}


def _from_glob(given: Body) -> str:
    """Return the command of ours that a search by `glob` stands for."""
    form = re.fullmatch(r"(?:/(.+)/)?\*\*/\*(?:\.\{?([\w,]+)\}?)?", str(given.get("pattern")))
    if form:
        return listing_command(form[1] or ".", form[2].split(",") if form[2] else ())
    name = shlex.quote(str(given.get("pattern")))
    return f"test ! -e {name} || echo 'there is one'"
