"""Work with the tools of other agents: their inputs and results become the model's own.

`ours` translates a request before the model looks at it, and `theirs` translates the
calls of its reply back. `tools` says which tool does which work, and `results` reads
what they return. An agent that has only a shell gets its files by `cat`. What an
agent's program adds around the conversation, such as reminders or a frame around the
person's words, is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from shlex import quote
from typing import Any

from agentlib import messages as msg
from agentlib.messages import Block, Message
from offline_api.model.conversation import literal
from offline_api.model.places import asks_whole, folder_above, listed
from offline_api.model.results import Shown, shown
from offline_api.model.tools import Hand, hands_of

Body = Mapping[str, Any]
_SHELL = ("read_file", "write_file")
"""What an agent does in its shell if it has no tool that reads."""
_PART = 5_000
"""Characters of a file to ask for at once in a shell."""
_READS = re.compile(
    r"cat (?:-n )?([^\s']+|'[^']+')(?: \| tail -n \+(\d+) \| head -n (\d+))?"
)
"""Such an agent's command that reads a file, or a part of it."""
_DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command that ends its task, if its prompt says so."""
_WHERE = "pwd"
_NO_CALL: Block = {"name": "", "input": {}, "sent": {}}
_AGAIN = "interrupted: the path wasn't whole"
"""Stands for an error that asks for another form of the call."""
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
    hands = _hands(body)
    own = {**body, "tools": _own_tools(body.get("tools") or (), hands)}
    if "bash" in hands and "read_file" not in hands:
        here = {tool["name"] for tool in own["tools"]}
        added = [{"name": name} for name in _SHELL if name not in here]
        own |= {"part": _PART, "tools": [*own["tools"], *added]}
    return {**own, "messages": [*_messages(body["messages"], hands)]}


def theirs(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """Return a reply with its calls under the names and inputs of the request's
    tools. If one of them wants whole paths, it may have to look first where it is."""
    hands = _hands(body)
    lost = [
        block
        for block in reply["content"]
        if block["type"] == "tool_use"
        and (hand := hands.get(block["name"]))
        and hand.is_whole
        and hand.folder is None
    ]
    if lost and "bash" in hands:
        call = {"type": "tool_use", "name": "bash", "input": {"command": _WHERE}}
        text = {"type": "text", "text": "I look where I am."}
        reply = {**reply, "content": [text, call]}
    calls = (
        _their_call(b, hands) if b["type"] == "tool_use" else b
        for b in reply["content"]
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


def acting(body: Body) -> set[str]:
    """Return the names of the tools that change something."""
    hands = hands_of(body.get("tools") or ())
    return {
        hand.name
        for work, hand in hands.items()
        if work in ("bash", "write_file", "edit_file")
    }


# -- where it is -----------------------------------------------------------------------


def _hands(body: Body) -> dict[str, Hand]:
    """Return the hands that a request offers. Those that want whole paths know the
    folder, as far as it can be seen."""
    hands = hands_of(body.get("tools") or ())
    messages: list[Message] = body.get("messages") or []
    asking = {name for name, text in _told(messages) if asks_whole(text)}
    whole = {h.name for h in hands.values() if h.is_whole or h.name in asking}
    if not whole:
        return hands
    folder = _folder(body, hands)
    return {
        work: replace(hand, is_whole=hand.name in whole, folder=folder)
        if "path" in hand.inputs
        else hand
        for work, hand in hands.items()
    }


def _told(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield the name of the tool and the text of each result."""
    names = {
        use.get("id"): use["name"]
        for m in messages
        for use in msg.of_type(m, "tool_use")
    }
    for message in messages:
        for result in msg.of_type(message, "tool_result"):
            yield names.get(result.get("tool_use_id"), ""), msg.result_text(result)


def _folder(body: Body, hands: Mapping[str, Hand]) -> str | None:
    """Return the folder that it works in, as a command, a listing or its own calls show
    it."""
    messages: list[Message] = body["messages"]
    uses = {use.get("id"): use for m in messages for use in msg.of_type(m, "tool_use")}
    for message in reversed(messages):
        for result in msg.of_type(message, "tool_result"):
            use = uses.get(result.get("tool_use_id"), {"name": "", "input": {}})
            call = _own_call({**use, "input": dict(use["input"])}, hands, {})
            text = _shown(msg.result_text(result), call, hands).text.strip()
            if call["input"].get("command") == _WHERE and text.startswith("/"):
                return text.splitlines()[0]
            if call["name"] == "glob":
                folder = listed(text, str(call["input"].get("pattern")))[1]
                if folder is not None:
                    return folder
    said = [{"content": body.get("system") or ""}, *messages]
    words = "\n".join(b["text"] for each in said for b in msg.of_type(each, "text"))
    names = {hand.name: hand.inputs.get("path", "") for hand in hands.values()}
    paths = (
        str(use["input"].get(names.get(use["name"], "")) or "") for use in uses.values()
    )
    folders = (folder_above(path, words) for path in paths if path.startswith("/"))
    return next((folder for folder in folders if folder is not None), None)


# -- tools and calls -------------------------------------------------------------------


def _inputs(tool: Body) -> Body:
    """Return the inputs that a tool's schema names."""
    return tool.get("input_schema", Block()).get("properties", Block())


def _own_tools(tools: Sequence[Body], hands: Mapping[str, Hand]) -> list[Block]:
    """Return the tools as ours. A tool that does several works becomes several."""
    own: list[Block] = []
    for tool in tools:
        mine = [hand for hand in hands.values() if hand.name == tool["name"]]
        own += [_own_tool(tool, hand) for hand in mine]
        # Another tool of ours' name would be taken for the hand.
        own += [{**tool}] if not mine and tool["name"] not in hands else []
    return own


def _own_tool(tool: Body, hand: Hand) -> Block:
    properties = _inputs(tool)
    names = {theirs: ours for ours, theirs in hand.inputs.items()}
    known = {
        names.get(name, name): schema
        for name, schema in properties.items()
        if name not in hand.fixed
    }
    own: Block = {**tool, "name": hand.work}
    if "input_schema" in tool:
        own["input_schema"] = {**tool["input_schema"], "properties": known}
    return own


def _their_call(call: Block, hands: Mapping[str, Hand]) -> Block:
    """Return one of our calls as the foreign tool takes it. Only a shell: return it as
    a command."""
    name = call["name"]
    given = call["input"]
    if name in hands:
        return {**call, "name": hands[name].name, "input": hands[name].theirs(given)}
    if name in _SHELL and "bash" in hands:
        shell = hands["bash"]
        return {**call, "name": shell.name, "input": shell.theirs(_in_shell(**given))}
    return call


def _in_shell(path: str, content: str = "", offset: int = 0, limit: int = 0) -> Block:
    """Write a call of read_file or write_file as bash's input."""
    if content:
        return {
            "command": f"cat > {quote(path)} <<'END_OF_FILE'\n{content}\nEND_OF_FILE"
        }
    part = f"cat -n {quote(path)} | tail -n +{offset + 1} | head -n {limit}"
    return {"command": part if limit else f"cat {quote(path)}"}


# -- messages --------------------------------------------------------------------------


def _messages(
    messages: Sequence[Message], hands: Mapping[str, Hand]
) -> Iterator[Message]:
    """Yield the messages of the person and the model as ours."""
    results = {
        block.get("tool_use_id"): _bare(msg.result_text(block))
        for message in messages
        for block in msg.of_type(message, "tool_result")
    }
    works = {hand.name: hand for hand in hands.values()}
    ids: list[str] = []
    calls = dict[str, Block]()
    for message in (each for each in messages if each["role"] != "system"):
        own: list[Block] = []
        for block in msg.blocks(message):
            for part in _parts(block, ids):
                own.append(_own_block(part, hands, works, results, calls))
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
            name = call["function"]["name"]
            given = call["function"]["arguments"]
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


def _own_block(
    block: Block,
    hands: Mapping[str, Hand],
    works: Mapping[str, Hand],
    results: Mapping[Any, str],
    calls: dict[str, Block],
) -> Block:
    """Return a call or a result as ours. `calls`: the calls so far, by id."""
    if block["type"] == "tool_use":
        call = _own_call(block, hands, works)
        told = results.get(block.get("id"))
        if call["name"] == "read_file" and told is not None:
            start = _shown(told, call, hands).start
            if start != (call["input"].get("offset") or 0):
                call["input"] = {**call["input"], "offset": start}
        calls[str(block.get("id"))] = {**call, "sent": block["input"]}
        return call
    if block["type"] == "tool_result":
        call = calls.get(str(block.get("tool_use_id")), _NO_CALL)
        text = _bare(msg.result_text(block))
        result = _shown(text, call, hands)
        own = {**block, "content": result.text}
        if asks_whole(text) and (hand := hands.get(call["name"])):
            # It makes such a call once more. One that had its whole path has failed.
            was_whole = f"{hand.folder}/" in str(call["sent"])
            again = not was_whole and (hand.folder is not None or "bash" in hands)
            return {**own, "content": _AGAIN if again else text, "is_error": True}
        if call["name"] == "glob" and not result.failed:
            pattern = str(call["input"].get("pattern"))
            own["content"] = listed(result.text, pattern)[0]
        return {**own, "is_error": True} if result.failed else own
    return block


def _own_call(
    block: Block, hands: Mapping[str, Hand], works: Mapping[str, Hand]
) -> Block:
    """Return a call as ours."""
    name = block["name"]
    given = block["input"]
    hand = next(
        (
            each
            for each in hands.values()
            if each.name == name and each.fixed.items() <= given.items()
        ),
        works.get(name),
    )
    own = hand.ours(given) if hand else given
    if read := _READS.fullmatch(str(own.get("command"))):
        return {**block, "name": "read_file", "input": _reading(*read.groups())}
    return {**block, "name": hand.work if hand else name, "input": own}


def _shown(text: str, call: Block, hands: Mapping[str, Hand]) -> Shown:
    """Return the result of one of our calls as our tool would show it."""
    given = call["input"]
    hand = hands.get(call["name"])
    start = given.get("offset") or 0
    limit = given.get("limit") or 0
    if (
        call["name"] == "read_file"
        and isinstance(start, int)
        and isinstance(limit, int)
    ):
        first = hand.first if hand else 0
        return shown(text, reads=True, start=start, limit=limit, first=first)
    return shown(text, acts=call["name"] in ("write_file", "edit_file"))


def _reading(path: str, start: str | None, limit: str | None) -> Block:
    part = {"offset": int(start or 1) - 1, "limit": int(limit)} if limit else {}
    return {"path": path.strip("'"), **part}
