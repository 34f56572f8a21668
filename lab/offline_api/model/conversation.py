"""Read a conversation that was written down as one text, in one message.

Many agents ask for a summary that way. They send `json.dumps(messages)`,
`str(messages)`, lines that begin with "Human:", "[User]:" or "## Assistant", or tags
such as `<message type="ai">`. `messages_in` makes messages of such a text again. It
loses what it can't read, such as a message that was cut off. In lines and tags it reads
what was said, and passes over calls, thinking and the results of tools. A file whose
result is only there counts as not seen, unless a note tells of it.
"""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from itertools import pairwise
from typing import Any, cast

from agentlib.messages import Block, Message
from offline_api.model.prompts import SUMMARY_WORD, TABLE

_ROLES = {word: role for role, words in TABLE["roles"].items() for word in words}
_KEYS = {
    "text": {"text"},
    "tool_use": {"id", "name", "input"},
    "tool_result": {"tool_use_id"},
}
_WHO = "|".join(_ROLES)
_DUMPED = re.compile(
    rf"""\{{\s*["'](?:role|type|from|author)["']:\s*["'](?:{_WHO})["']"""
)
_FRAMES = [
    re.compile(
        frame.format(rf"(?P<who>{_WHO})(?P<what>(?: [\w.#-]+){{0,4}})"), re.I | re.M
    )
    for frame in (
        r"^\[{}\](?: \([^)\n]*\))?[:：]?",
        r"^<message type=\"{}\">",
        r"^<(?:\w+ [^>\n]*\b(?:role|type|from|author|speaker)=[\"'])?{}(?:[\"'][^>\n]*)?>",
        r"^\*\*{}[:：]?\*\*[:：]?",
        r"^\#{{1,4}} (?:\d+[.)] )?{}[:：]?$",
        r"^\[?{}(?:\]| ?[:：])",
    )
]
"""How a text says who speaks. One conversation has one frame, because a file that
somebody reads in it may hold lines of another."""
_PASSED_OVER = re.compile(
    r"call|reason|think|thought|result|output|response|tool", re.I
)
"""Words behind a speaker of what nobody said."""
_WRAPPED = re.compile(r"<([\w-]+)>\s*\[?\s*\Z")
_TEMPLATE = re.compile(r"\n\n(?=[^\n]*\n+## )")
_TEXT = re.compile(r"TextBlock\(.*?\btext=(.+), type='text'\)", re.DOTALL)
_CALL = re.compile(
    r"ToolUseBlock\(id='([^']+)',.*?input=(\{.*\}), name='(\w+)'", re.DOTALL
)
_TAG = re.compile(r"^ *<content>|</content>$|</(?:\w+)>\s*\Z|</message>", re.MULTILINE)


def messages_in(text: str) -> tuple[str, list[Message]]:
    """Return the words before the conversation, and its messages, none if the text
    holds none.

    >>> words, (asked, said) = messages_in("Summarize this:\\nHuman: Read all.\\nAI: I will.")
    >>> words, asked["content"], said["role"]
    ('Summarize this:', [{'type': 'text', 'text': 'Read all.'}], 'assistant')
    """
    if _DUMPED.search(text):
        starts = [match.start() for match in _DUMPED.finditer(text)]
    else:
        starts = [match.start() for match in _frame(text).finditer(text)]
    if not starts:
        return text.strip(), []
    before = text[: starts[0]]
    talk = text[starts[0] :]
    end = _end(before, talk)
    bounds = [start - starts[0] for start in starts if start - starts[0] < end]
    parts = [talk[start:stop] for start, stop in pairwise([*bounds, end])]
    read = _dumped if _DUMPED.match(talk) else _spoken
    words = before.strip().rstrip("[ \n")
    behind = _behind(talk[end:])
    words = f"{words}\n\n{behind}" if behind else words
    return words, [message for part in parts for message in read(part)]


def _frame(text: str) -> re.Pattern[str]:
    """Return the frame in which a text first says who speaks."""
    firsts = ((frame.search(text), frame) for frame in _FRAMES)
    places = [(match.start(), i) for i, (match, _) in enumerate(firsts) if match]
    return _FRAMES[min(places)[1]] if places else _FRAMES[-1]


def _end(before: str, talk: str) -> int:
    """Return where a conversation ends: at the tag that closes it, or at a template."""
    if wrapped := _WRAPPED.search(before):
        closed = talk.rfind(f"</{wrapped[1]}>")
        if closed >= 0:
            return closed
    if _DUMPED.match(talk):
        *_, newest = _DUMPED.finditer(talk)
        with suppress(ValueError):
            return json.JSONDecoder().raw_decode(talk, newest.start())[1]
        return len(talk)
    frame = _frame(talk)
    for template in _TEMPLATE.finditer(talk):
        is_last = not frame.search(talk, template.end())
        if is_last and SUMMARY_WORD.search(talk[template.end() :]):
            return template.start()
    return len(talk)


def _behind(text: str) -> str:
    """Return the words behind a conversation, without the tag that closes it."""
    return re.sub(r"\A[\s\]`]*(?:</[\w-]+>)?", "", text).strip()


def _dumped(text: str) -> Iterator[Message]:
    """Read one message from the beginning of a text, if it is whole."""
    value = value_of(text.rstrip(", ]\n"))
    if isinstance(value, dict):
        message = cast(Message, value)
        who = next(
            (v for k in ("role", "type", "from", "author") if (v := message.get(k))), ""
        )
        contents = (message.get(key) for key in ("content", "text", "parts", "value"))
        content = next((each for each in contents if each), None)
        if (role := _ROLES.get(str(who).lower(), "tool")) != "tool":
            yield {"role": role, "content": _blocks(content)}


def value_of(text: str) -> Any:
    """Return the value that a text of JSON or a Python literal begins with, None for
    any other."""
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
    """Read a block from a dict, from a text, or from what an object of the SDK
    prints."""
    if isinstance(part, dict):
        block = cast(Block, part)
        if isinstance(block.get("text"), str) and "type" not in block:
            block = {"type": "text", **block}
        if str(block.get("type")).endswith("put_text"):
            block = {**block, "type": "text"}
        if _KEYS.get(block.get("type", ""), {""}) <= block.keys():
            yield block
    elif match := _CALL.match(str(part)):
        inputs = value_of(match[2])
        yield {
            "type": "tool_use",
            "id": match[1],
            "name": match[3],
            "input": inputs or {},
        }
    elif match := _TEXT.match(str(part)):
        yield {"type": "text", "text": str(value_of(match[1]) or match[1])}
    elif part:
        yield {"type": "text", "text": str(part)}


def _spoken(text: str) -> Iterator[Message]:
    """Read what a person or the model said. Anything else is passed over."""
    speaker = next((match for frame in _FRAMES if (match := frame.match(text))), None)
    if speaker is None or _PASSED_OVER.search(speaker["what"]):
        return
    if (role := _ROLES[speaker["who"].lower()]) != "tool":
        said = _TAG.sub("", text[speaker.end() :]).strip()
        said = unescape(said) if text.startswith("<") else said
        yield {
            "role": role,
            "content": _blocks(value_of(said) or said if said[:2] == "[{" else said),
        }
