"""Count the tokens of a request by class of character, as the offline API bills them.

The count stands in for a tokenizer and is deterministic. It differs from
agentlib.estimation on purpose, because an estimator that is compared with itself is
always right. It was calibrated on 431 responses in six real Claude Code sessions: on
how much each prompt was larger than the one before. The median error is 9 %. The two
sessions with the newest tokenizer are counted 25 and 40 % too low.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from agentlib.messages import Block, blocks
from offline_api.cache import LONG, SHORT, Part

WORD = 1.4
LETTER = 0.05
DIGIT = 0.7
SIGN = 0.35
BREAK = 1.8
CJK = 0.9
BASE64 = 0.7
"""Tokens of a word, each letter of it, a digit, a sign, a line break or run of blanks,
a Chinese, Japanese or Korean character, a character of a long unbroken run. A single
blank is free."""

TEXT = 4
CALL = 45
RESULT = 35
TOOL = 40
"""Tokens of a block beside its text: text or thinking, call, result, the definition of
a tool."""

_LONG_RUN = re.compile(r"[A-Za-z0-9+/]{80,}")
_ASIAN = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_WORD = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_BREAK = re.compile(r"\s{2,}|\n")
_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


@lru_cache(maxsize=4_096)
def text_tokens(text: str) -> int:
    """Return the tokens of a text, rounded up.

    >>> text_tokens("Read a.py")  # 3 words of 4, 1 and 2 letters, 1 sign: 4.2 + .35 + .35
    5
    """
    total = 0.0
    for pattern, each in ((_LONG_RUN, BASE64), (_ASIAN, CJK)):
        if characters := sum(map(len, pattern.findall(text))):
            total = total + each * characters
            text = pattern.sub("", text)
    words = _WORD.findall(text)
    letters = sum(map(len, words))
    digits = sum(map(len, _DIGITS.findall(text)))
    signs = sum(map(len, text.split())) - letters - digits
    total += WORD * len(words) + LETTER * letters + DIGIT * digits + SIGN * signs
    return ceil(round(total + BREAK * len(_BREAK.findall(text)), 6))


def block_tokens(block: Block) -> int:
    """Return the tokens of one content block of any type.

    >>> block_tokens({"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"})
    37
    """
    match block["type"]:
        case "text" | "thinking" as kind:
            return TEXT + text_tokens(block[kind])
        case "tool_use":
            return (
                CALL + text_tokens(block["name"]) + text_tokens(_json(block["input"]))
            )
        case "tool_result":
            content = block.get("content") or ""
            if isinstance(content, str):
                return RESULT + text_tokens(content)
            return RESULT + sum(map(block_tokens, content))
        case _:
            return text_tokens(_json(block))


class Layout(NamedTuple):
    """A request as parts in the cache's order (tools, system, messages), and its
    breakpoints."""

    parts: list[Part]
    marks: dict[int, float]

    @property
    def tokens(self) -> int:
        """The size of the prompt."""
        return sum(part.tokens for part in self.parts)


def lay_out(body: Mapping[str, Any]) -> Layout:
    """Split a request's body into parts with their tokens, and find its cache
    breakpoints.

    Two parts have no tokens and only tell prefixes apart: the model, before everything,
    and the settings that lose the cache of the messages alone (thinking, tool choice),
    before those.

    >>> lay_out({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).tokens
    6
    """
    settings = [body.get(name) for name in ("tool_choice", "thinking", "output_config")]
    parts = [Part(("model", body["model"]), 0, positions=0)]
    marks: dict[int, float] = {}
    for path, role, block in pieces(body):
        if path == "messages.0.content.0":
            parts.append(Part(_json(settings), 0, positions=0))
        if mark := block.get("cache_control"):
            marks[len(parts)] = _lifetime(mark)
        content = {
            name: value for name, value in block.items() if name != "cache_control"
        }
        size = (
            block_tokens(block)
            if role != "tool"
            else TOOL + text_tokens(_json(content))
        )
        texts = (
            (k, v if isinstance(v, str) else _json(v))
            for k, v in sorted(content.items())
        )
        parts.append(
            Part((role, *texts), size, block["type"] if role != "tool" else role)
        )
    if mark := body.get("cache_control"):
        marks.setdefault(len(parts) - 1, _lifetime(mark))
    return Layout(parts, marks)


def _lifetime(mark: Block) -> float:
    return LONG if mark.get("ttl") == "1h" else SHORT


def pieces(body: Mapping[str, Any]) -> Iterator[tuple[str, str, Block]]:
    """Yield each tool and block with its path and role, in the order in which the API
    reads them.

    >>> list(pieces({"messages": [{"role": "user", "content": "hi"}]}))
    [('messages.0.content.0', 'user', {'type': 'text', 'text': 'hi'})]
    """
    for i, tool in enumerate(body.get("tools") or ()):
        yield f"tools.{i}", "tool", tool
    for i, block in enumerate(blocks({"content": body.get("system") or []})):
        yield f"system.{i}", "system", block
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(blocks(message)):
            yield f"messages.{i}.content.{j}", message["role"], block
