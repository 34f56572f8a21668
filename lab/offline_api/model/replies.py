"""Parts of a reply: words, calls, and the open words with which the model gives up.

The calls have no ids; the server gives them theirs.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentlib.messages import Block
from offline_api.model.hands import acting
from offline_api.model.notes import last, number
from offline_api.model.results import is_stuck
from offline_api.model.view import View

Reply = dict[str, Any]
"""{"content": [blocks], "stop_reason": "tool_use" | "end_turn" | "stop_sequence" |
"refusal"}"""
_FINDINGS = re.compile("file|outline|skipped|done|edit|left|set|command|tests|report")
"""The kinds of note that count as something new."""
_ALIKE = 3
"""Failures in the same words after which a tool counts as broken."""


def say(text: str, *calls: Block) -> Reply:
    """Make a reply of words and calls; without a call it ends the turn.

    >>> say("Done.")
    {'content': [{'type': 'text', 'text': 'Done.'}], 'stop_reason': 'end_turn'}
    """
    words: list[Block] = (
        [{"type": "text", "text": text.strip("\n")}] if text.strip() else []
    )
    return {
        "content": [*words, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
    }


def answer(view: View, words: str, *calls: Block) -> Reply:
    """Make a reply of what was noted right now, more words, and calls."""
    return say(f"{view.said}\n{words}", *calls)


def falls_short(view: View, words: str) -> Reply:
    """Make a last reply that says why the task isn't done. The terminal then exits with
    1."""
    return {**answer(view, words), "stop_reason": "refusal"}


def gives_up(view: View) -> str:
    """Return the sentence with which it stops when it gets no further, "" while it
    does.

    After an interrupted call the count of calls that brought nothing begins again.
    """
    patience = view.habits.patience
    count = last(view.own, "progress")
    newest = view.calls[-3:]
    if count and number(count.parts[1]) >= view.habits.standstill:
        times = view.habits.standstill
        return f"I stop here: {times} summaries in a row brought me no further ({count.parts[0]})."
    made = view.calls[-patience:]
    if any(call.interrupted for call in made):  # no fair try
        return ""
    if failed := _failed_alike(view):
        return failed
    same = len(newest) == 3 and all(c.input == newest[0].input for c in newest)
    if same and all(c.name == "bash" or not c.text for c in newest):
        return "I stop here: three times the same call has shown me nothing."
    kinds = [each.kind for call in made for each in call.notes]
    if len(made) == patience and not any(map(_FINDINGS.fullmatch, kinds)):
        return f"I stop here: {patience} calls in a row brought nothing new."
    return ""


def _failed_alike(view: View) -> str:
    """Return what to say if a tool that had worked fails for good, "" if none does.

    A failure that names its file, or a reason that lies in the file, may end with it.
    """
    newest = view.calls[-_ALIKE:]
    names = {call.name for call in newest}
    errors = {call.error for call in newest}
    if len(newest) < _ALIKE or len(names) + len(errors) > 2:
        return ""
    (name,) = names
    (error,) = errors
    has_worked = any(c.name == name and c.succeeded for c in view.calls)
    has_worked = has_worked or (name == "read_file" and bool(view.files))
    names_file = any(call.path and call.path in error for call in newest)
    if not is_stuck(error) or names_file or not has_worked:
        return ""
    return (
        f"I stop here: {name} had worked, and has now failed {_ALIKE} times in the same "
        f"words: {error[:200]}"
    )


def chosen(reply: Reply, body: Mapping[str, Any]) -> Reply:
    """Obey `tool_choice`. A call that the task has no use for does nothing, or holds
    the words.

    >>> tools = [{"name": "answer", "input_schema": {"required": ["text"]}}]
    >>> forced = chosen(say("Done."), {"tools": tools, "tool_choice": {"type": "any"}})
    >>> forced["content"][1]["input"]
    {'text': 'Done.'}
    """
    choice: Mapping[str, Any] = body.get("tool_choice") or {"type": "auto"}
    tools = [
        tool
        for tool in body.get("tools") or ()
        if choice.get("name") in (None, tool["name"])
    ]
    text = "".join(block.get("text", "") for block in reply["content"])
    calls = [block for block in reply["content"] if block["type"] == "tool_use"]
    if choice["type"] == "none" and calls:
        return say(f"{text}\nI may not call a tool now, so I can't go on.")
    calls = [call for call in calls if choice.get("name") in (None, call["name"])]
    if choice["type"] not in ("tool", "any") or not (calls or tools):
        return reply
    # The hands come last: a tool that takes an answer is what a forced call is mostly
    # for.
    hands = acting(body)
    tool = min(tools, key=lambda each: each["name"] in hands)
    return say(text, *(calls or [_least(tool, text)]))


def _least(tool: Mapping[str, Any], words: str) -> Block:
    """Make the least call that the tool's schema allows."""
    schema: Mapping[str, Any] = tool.get("input_schema") or {}
    known: Mapping[str, Any] = schema.get("properties") or {}
    names: Sequence[str] = schema.get("required") or list(known)[:1]
    inputs = {name: _value(name, known.get(name) or {}, words) for name in names}
    return {"type": "tool_use", "name": tool["name"], "input": inputs}


def _value(name: str, schema: Mapping[str, Any], words: str) -> Any:
    """Return the least value of an input's type. A text gets the words, where they do
    no harm."""
    if schema.get("enum"):
        return schema["enum"][0]
    least: dict[str, Any] = dict.fromkeys(
        ("integer", "number"), schema.get("minimum", 0)
    )
    least |= {"boolean": False, "array": [], "object": {}}
    return least.get(
        str(schema.get("type")), {"command": "true", "path": "."}.get(name, words)
    )


def stopped(reply: Reply, sequences: Sequence[str]) -> Reply:
    """Cut the reply at the first of the `stop_sequences` that its text holds.

    >>> stopped(say("One. Two."), ["Two"])["content"]
    [{'type': 'text', 'text': 'One. '}]
    """
    text = "".join(block.get("text", "") for block in reply["content"])
    hits = [(text.find(each), each) for each in sequences if each in text]
    if not hits:
        return reply
    at, sequence = min(hits)
    return {**say(text[:at]), "stop_reason": "stop_sequence", "stop_sequence": sequence}
