"""Write other people's messages in the wire's shape, for the layers to work on.

An adapter makes of each of its framework's messages one of ours: `said`, `reply` or
`result`. Whatever has no place in the wire's own four blocks (a picture, a document, a
server's tool, encrypted reasoning) becomes a `part`: a text that stands in its place
and weighs as much, so that every layer takes it for what it is.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any, cast

from agentlib import messages as msg
from agentlib.estimation import estimate_text
from agentlib.messages import Block, Message

MEDIA = ("image", "document", "audio", "video", "file")
"""Kinds of part that a provider turns into tokens of its own, whatever their bytes."""
_FLAT = 1_500
"""Tokens of a picture, or of one page of a document."""
_CHARS_PER_TOKEN = 60
"""Base64 characters for each further token of a document or a recording, roughly."""
_DATA = re.compile(r"[A-Za-z0-9+/=_-]{10000,}")
"""Base64 that is too long to be words."""
DOT = "\N{MIDDLE DOT}"
_FEWEST = 40
"""Dots. With its name a text has more than the 100 characters of a short result."""
_MOST = 200_000
"""Tokens. No window has room for more of one thing."""
_PER_CHARACTER = 0.30
"""Tokens of a character, as `estimation` weighs a person's text."""
_DOTS = re.compile(f"{DOT}{{{_FEWEST},}}")
_STOPS = {
    "stop": "end_turn",
    "complete": "end_turn",
    "completed": "end_turn",
    "eos": "end_turn",
    "eos_token": "end_turn",
    "length": "max_tokens",
    "incomplete": "max_tokens",
    "max_output_tokens": "max_tokens",
    "tool_call": "tool_use",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "safety": "refusal",
    "model_length": "model_context_window_exceeded",
}
"""What other APIs call the reasons for which a reply stops."""


def said(role: str, content: str | Sequence[Block]) -> Message:
    """Make a message of a person, or of a system prompt (`system`, `developer`).

    >>> said("user", "Fix the bug.")["content"]
    [{'type': 'text', 'text': 'Fix the bug.'}]
    """
    blocks = [text(content)] if isinstance(content, str) else list(content)
    return {"role": "user" if role == "user" else "system", "content": blocks}


def text(words: str) -> Block:
    """Make a text block."""
    return {"type": "text", "text": words}


def use(call: str, name: str, given: object) -> Block:
    """Make the block of one call. An input that is no object is mended later."""
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def result(
    call: str, content: str | Sequence[Block], *, wrong: bool = False
) -> Message:
    """Make the message of one result."""
    return {"role": "user", "content": [result_block(call, content, wrong=wrong)]}


def result_block(
    call: str, content: str | Sequence[Block], *, wrong: bool = False
) -> Block:
    """Make the block of one result: its text, or its texts and parts."""
    inner = content if isinstance(content, str) else list(content)
    return {**msg.tool_result(call, "", wrong=wrong), "content": inner}


def part(kind: str, original: object, *, fixed: bool = False) -> Block:
    """Make a block of something that isn't text: a text that stands for it, beside the
    framework's object.

    It is the same for the same content, and so long that it weighs about as much. The
    dots in it are never sent. `fixed`: the text is short,
    because nothing can replace the object, and the layers clear no short result. `kind`
    is one of `MEDIA`, or what the framework calls it.

    >>> block = part("image", {"url": "data:image/png;base64,AAAA"})
    >>> bare(block["text"])[:7], round(estimate_text(block["text"], "user"), -2)
    ('[image ', 1500.0)
    """
    plain = record(original)
    if isinstance(plain, dict):
        plain = unmarked(cast(Block, plain))
    whole = written(plain)
    name = sha256(whole.encode()).hexdigest()
    dots = "" if fixed else filling(_weight(kind, whole))
    shown = name[:16] if fixed else name
    kind = re.sub(r"[\[\]\n]", " ", kind)
    return {**text(f"[{kind} {shown}{dots}]"), "part": original}


def unmarked(block: Block) -> Block:
    """Return a block without a cache marker, which says nothing and moves."""
    return {key: value for key, value in block.items() if key != "cache_control"}


def filling(tokens: float) -> str:
    """Make a text of so many tokens that says nothing."""
    return DOT * max(_FEWEST, int(min(tokens, _MOST) / _PER_CHARACTER))


def bare(words: str) -> str:
    """Drop the dots from a text.

    >>> bare(f"[image 7e1b{filling(1_500)}]")
    '[image 7e1b]'
    """
    return _DOTS.sub("", words)


def reply(
    content: Sequence[Block],
    tokens: Sequence[int] = (0, 0, 0, 0),
    stop: str | None = None,
    *,
    signed: object = False,
) -> Message:
    """Make the message of a reply. `tokens`: of the prompt, output, read from the
    cache, written.

    The prompt's are all of them, cached ones too. `stop`: why the reply ended, in the
    words of whatever API. `signed`: what only a provider's reply has beside its bill,
    such as an id. See `is_signed`.

    >>> reply([text("Done.")], (30, 5, 20, 0), "stop")["stop_reason"]
    'end_turn'
    """
    prompt, output, read, written = tokens
    usage = {
        "input_tokens": max(0, prompt - read - written),
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    word = (stop or "end_turn").lower()
    return {
        "role": "assistant",
        "content": list(content),
        "usage": usage,
        "stop_reason": _STOPS.get(word, word),
        "signed": bool(signed),
    }


def is_signed(reply: Message) -> bool:
    """Return whether a reply has a bill or other data that a program wouldn't write.

    >>> is_signed(reply([text("Done.")], (30, 5, 0, 0))), is_signed(reply([text("503")]))
    (True, False)
    """
    usage: Mapping[str, Any] = reply.get("usage") or {}
    return bool(reply.get("signed")) or any(usage.values())


def _weight(kind: str, whole: str) -> float:
    """Estimate the tokens of a part, from all that is written in it."""
    if kind == "image":
        return float(_FLAT)
    data = sum(map(len, _DATA.findall(whole))) / _CHARS_PER_TOKEN
    words = estimate_text(_DATA.sub("", whole))
    return words + data + (_FLAT if kind in MEDIA else 0)


def written(value: object) -> str:
    """Write any value as a text that is the same for the same content."""
    return json.dumps(value, sort_keys=True, default=plain)


def plain(value: Any) -> Any:
    """Write what JSON has no word for."""
    if isinstance(value, bytes):
        return [len(value), sha256(value).hexdigest()]
    plain = record(value)
    return repr(value) if plain is value else plain


def record(value: Any) -> Any:
    """Return a record of whatever library as a dict, and any other value as it is."""
    if isinstance(value, type):
        return value
    for name in ("model_dump", "to_dict"):
        if callable(getattr(value, name, None)):
            return getattr(value, name)()
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(cast(Mapping[str, Any], value)) if isinstance(value, Mapping) else value
