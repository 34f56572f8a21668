"""Read a conversation that was written down as one text, in one message.

Many agents ask for a summary that way. They send `json.dumps(messages)`,
`str(messages)`, lines that begin with "Human:" and "AI:", or tags such as `<message
type="ai">`. `messages_in` makes messages of such a text again. It loses what it can't
read, such as a message that was cut off. In lines and tags it reads what was said, and
passes over the results of tools. A file whose result is only there counts as not seen,
unless a note tells of it.
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
from offline_api.model.prompts import TABLE

_ROLES = {word: role for role, words in TABLE["roles"].items() for word in words}
_KEYS = {
    "text": {"text"},
    "tool_use": {"id", "name", "input"},
    "tool_result": {"tool_use_id"},
}
_DUMPED = re.compile(r"""\{["']role["']: ?["'](?:user|assistant)["']""")
_SPOKEN = re.compile(
    rf"^(?:<message type=\")?\[?({'|'.join(_ROLES)})(?:\]|\">| ?[:：])",
    re.MULTILINE | re.IGNORECASE,
)
_TEXT = re.compile(r"TextBlock\(.*?\btext=(.+), type='text'\)", re.DOTALL)
_CALL = re.compile(
    r"ToolUseBlock\(id='([^']+)',.*?input=(\{.*\}), name='(\w+)'", re.DOTALL
)
_TAG = re.compile(r"^ *<content>|</content>$|</message>", re.MULTILINE)


def messages_in(text: str) -> tuple[str, list[Message]]:
    """Return the words before the conversation, and its messages, none if the text
    holds none.

    >>> words, (asked, said) = messages_in("Summarize this:\\nHuman: Read all.\\nAI: I will.")
    >>> words, asked["content"], said["role"]
    ('Summarize this:', [{'type': 'text', 'text': 'Read all.'}], 'assistant')
    """
    form, read = (_DUMPED, _dumped) if _DUMPED.search(text) else (_SPOKEN, _spoken)
    starts = [match.start() for match in form.finditer(text)]
    parts = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    words = text[: starts[0] if starts else None].strip().rstrip("[ \n")
    return words, [message for part in parts for message in read(part)]


def _dumped(text: str) -> Iterator[Message]:
    """Read one message from the beginning of a text, if it is whole."""
    value = value_of(text.rstrip(", ]\n"))
    if isinstance(value, dict):
        message = cast(Message, value)
        yield {"role": message["role"], "content": _blocks(message.get("content"))}


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
    """Read what a person or the model said. The result of a tool is passed over."""
    speaker = _SPOKEN.match(text)
    if speaker and (role := _ROLES[speaker[1].lower()]) != "tool":
        said = _TAG.sub("", text[speaker.end() :]).strip()
        said = unescape(said) if text.startswith("<") else said
        yield {
            "role": role,
            "content": _blocks(value_of(said) or said if said[:2] == "[{" else said),
        }
