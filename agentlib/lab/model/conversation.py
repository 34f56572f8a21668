"""Read a conversation that was written down as one text, in one message.

Many agents ask for a summary that way. They send `json.dumps(messages)`, `str(messages)`, lines
that begin with "Human:" and "AI:", or tags such as `<message type="ai">`. `messages_in` makes
messages of such a text again. It loses what it can't read, such as a message that was cut off.
"""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from itertools import pairwise
from typing import Any, cast

from agentlib.lab.model.prompts import TABLE
from agentlib.messages import Block, Message

_ROLES = {word: role for role, words in TABLE["roles"].items() for word in words}
_KEYS = {"text": {"text"}, "tool_use": {"id", "name", "input"}, "tool_result": {"tool_use_id"}}
_DUMPED = re.compile(r"""\{["']role["']: ?["'](?:user|assistant)["']""")
_SPOKEN = re.compile(
    rf"^(?:<message type=\")?\[?({'|'.join(_ROLES)})(?:\]|\">| ?[:：])",
    re.MULTILINE | re.IGNORECASE,
)
_TEXT = re.compile(r"TextBlock\(.*?\btext=(.+), type='text'\)", re.DOTALL)
_CALL = re.compile(r"ToolUseBlock\(id='([^']+)',.*?input=(\{.*\}), name='(\w+)'", re.DOTALL)
_TAG = re.compile(r"^ *<content>|</content>$|</message>", re.MULTILINE)
_GLUED = re.compile(r"\[\{'name': .*'type': 'tool_call'\}\]\s*\Z", re.DOTALL)
_TAGGED_CALL = re.compile(r'<tool_call id="([^"]*)" name="([^"]*)">(.*?)</tool_call>', re.DOTALL)


def messages_in(text: str) -> tuple[str, list[Message]]:
    """Return the words before the conversation, and its messages; none if the text holds none.

    >>> words, (asked, said) = messages_in("Summarize this:\\nHuman: Read all.\\nAI: I will.")
    >>> words, asked["content"], said["role"]
    ('Summarize this:', [{'type': 'text', 'text': 'Read all.'}], 'assistant')
    """
    dumped = [match.start() for match in _DUMPED.finditer(text)]
    spoken = list(_SPOKEN.finditer(text))
    if dumped:
        parts = [text[i:j] for i, j in pairwise([*dumped, len(text)])]
        return text[: dumped[0]].rstrip("[ \n"), [m for p in parts for m in _dumped(p)]
    starts = [match.start() for match in spoken]
    ends = [j for _, j in pairwise([*starts, len(text)])]
    turns = [(m[1].lower(), text[m.end() : end]) for m, end in zip(spoken, ends, strict=True)]
    return text[: spoken[0].start() if spoken else None].strip(), list(_spoken(turns))


def _dumped(text: str) -> Iterator[Message]:
    """Read one message from the beginning of a text, if it is whole."""
    value = _value(text.rstrip(", ]\n"))
    if isinstance(value, dict):
        message = cast(Message, value)
        yield {"role": message["role"], "content": _blocks(message.get("content"))}


def _value(text: str) -> Any:
    with suppress(ValueError):
        return json.JSONDecoder().raw_decode(text)[0]
    return literal(text)


def literal(text: str) -> Any:
    """Return the value of a Python literal, None for any other text."""
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(text)


def _blocks(content: Any) -> list[Block]:
    parts = cast(list[Any], content) if isinstance(content, list) else [content]
    return [block for part in parts for block in _block(part)]


def _block(part: Any) -> Iterator[Block]:
    """Read a block from a dict, from a text, or from what an object of the SDK prints."""
    if isinstance(part, dict):
        block: Block = {**cast(Block, part)}
        if block.get("type") == "tool_call":
            block |= {"type": "tool_use", "input": block.pop("args", None) or {}}
        if _KEYS.get(block.get("type", ""), {""}) <= block.keys():
            yield block
    elif match := _CALL.match(str(part)):
        inputs = _value(match[2])
        yield {"type": "tool_use", "id": match[1], "name": match[3], "input": inputs or {}}
    elif match := _TEXT.match(str(part)):
        yield {"type": "text", "text": str(_value(match[1]) or match[1])}
    elif part:
        yield {"type": "text", "text": str(part)}


def _spoken(turns: list[tuple[str, str]]) -> Iterator[Message]:
    """Make messages of turns; a tool's text answers the oldest call that has no answer yet."""
    waiting: list[str] = []
    for speaker, text in turns:
        said = unescape(_TAG.sub("", text)).strip() if "</message>" in text else text.strip()
        if (role := _ROLES[speaker]) == "tool":
            ids, waiting = waiting[:1], waiting[1:]
            answer = {"type": "tool_result", "content": said}
            yield {"role": "user", "content": [{**answer, "tool_use_id": call} for call in ids]}
            continue
        glued = _GLUED.search(said)
        plain = _TAGGED_CALL.sub("", said[: glued.start()] if glued else said).strip()
        tagged = [
            {"type": "tool_call", "id": call, "name": name, "args": _value(inputs)}
            for call, name, inputs in _TAGGED_CALL.findall(said)
        ]
        content = _blocks(_value(plain) or plain if plain.startswith("[{") else plain)
        content += _blocks([*tagged, *((_value(glued[0]) if glued else None) or ())])
        waiting += [block["id"] for block in content if block["type"] == "tool_use"]
        yield {"role": role, "content": content}
