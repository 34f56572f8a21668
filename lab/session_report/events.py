"""What happens in a session, whichever program recorded it.

A format reads a file into these events, in the order of the file, and `recorded` makes
the session of them. An event may still be added to while the file is read. So a reply
gets its later blocks and its bill when they come.

Below the events stand functions that put another API's contents and counts into the
Messages API's blocks and usage.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, cast

from agentlib.messages import Block
from agentlib.session import file

_COUNTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)
BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a line or an event can raise that has other fields than expected."""
_END_OF_TIME = 32_503_680_000.0
"""The year 3000. A later time is a mistake, and few calendars know it."""
_ODD = 86_400.0
"""Seconds by which no clock goes back. What was before had a wrong time."""


class Who(Enum):
    """Who speaks where the user's words stand."""

    PERSON = auto()
    PROGRAM = auto()
    QUEUE = auto()
    """The person, while the agent worked. The context has these words elsewhere."""
    HOOK = auto()
    """A hook, at the beginning of the context. The history doesn't have its texts."""


@dataclass(kw_only=True, eq=False)
class Event:
    """Something that happened."""

    name: str
    """What the file calls it, or else the number of its object."""
    at: float
    """Seconds since the epoch. Of a reply: when its request was sent. 0: unknown."""


@dataclass(kw_only=True, eq=False)
class Said(Event):
    """Words for the model."""

    content: str | list[Block]
    who: Who = Who.PROGRAM


@dataclass(kw_only=True, eq=False)
class Result(Event):
    """The result of a call. It may stand before or behind the reply that has the
    call."""

    block: Block


@dataclass(kw_only=True, eq=False)
class Reply(Event):
    """What the model said and called, and what that cost."""

    blocks: list[Block] = field(default_factory=list[Block])
    model: str = ""
    bill: Block = field(default_factory=Block)
    """Its usage in the Messages API's words. Empty: the file doesn't say."""
    calls: list[Block] = field(default_factory=list[Block])
    """Usages of other requests that were made for it, each with its `model` and
    `type`."""
    stop: str = ""
    """Why it ended, in the Messages API's words. "": by its calls, or else by itself."""
    is_sent: bool = True
    """Whether later prompts have it. A reply that was aborted is in none."""
    is_edited: bool = False
    """Whether its prompt was cut on purpose."""
    is_estimated: bool = False
    """Whether the tokens of its answer are an estimate."""
    stated: float | None = None
    """The dollars that the file itself says."""
    marks: Block = field(default_factory=Block)
    """What tells it from its copies and from other replies: "id", "request", "origin"
    and "branch", as far as the file has them. They become a part of its usage."""


@dataclass(kw_only=True, eq=False)
class Compacted(Event):
    """A summary took the place of what was said before."""

    summary: str
    """"": the file doesn't have it."""
    kept: Sequence[Event] = ()
    """What stays beside it. A reply stays with all its results, whichever is named."""
    trigger: str = "auto"
    before: Any = None
    after: Any = None
    """Tokens of the prompt before and after it, if the file says."""
    bills: list[Block] = field(default_factory=list[Block])
    """What the requests for the summary cost, if the file says."""
    restores: bool = False
    """Whether the program attaches files again that its file doesn't show."""


@dataclass(kw_only=True, eq=False)
class Cleared(Event):
    """The results of these calls left the context."""

    ids: list[str]


@dataclass(kw_only=True, eq=False)
class Emptied(Event):
    """The person began again with an empty context."""


class Clock:
    """The newest time in a file so far. It stands for a time that a line lacks."""

    def __init__(self) -> None:
        self.newest = 0.0

    def said(self, stamp: object) -> float:
        """Return the time of a line in seconds since the epoch, and move on to it."""
        at = _seconds(stamp) or self.newest
        is_late = at < self.newest - _ODD  # the clock was wrong before
        self.newest = at if is_late else max(self.newest, at)
        return at

    def asked(self, stamp: object) -> float:
        """Return when the request for a reply was sent: the newest time before it."""
        before = self.newest
        at = self.said(stamp)
        return min(before or at, at)


def _seconds(stamp: object) -> float:
    try:
        at = file.seconds(cast(str, stamp))
        return at if 0 < at < _END_OF_TIME else 0.0
    except (TypeError, ValueError, ArithmeticError):
        return 0.0


# -- in the Messages API's words -------------------------------------------------------


def bill(*counts: int | None, hour: int | None = None) -> Block:
    """Make the usage of a response: tokens that are uncached, written, read, and of the
    answer. `hour`: how many of the written ones live an hour."""
    usage: Block = {
        name: max(count or 0, 0) for name, count in zip(_COUNTS, counts, strict=True)
    }
    return (
        {**usage, "cache_creation": {"ephemeral_1h_input_tokens": hour}}
        if hour
        else usage
    )


def has_tokens(usage: Block) -> bool:
    """Return whether a bill counts any token.

    >>> has_tokens(bill(0, 0, 0, 0)), has_tokens(bill(0, 0, 9, 0))
    (False, True)
    """
    return any(usage.get(name) for name in _COUNTS)


def result(name: str, content: Any, *, failed: object = False) -> Block:
    """Make the result of a call from its output."""
    parts = [
        inner for block in blocks(content) for inner in block.get("content") or [block]
    ]
    block = {"type": "tool_result", "tool_use_id": name, "content": parts}
    return {**block, "is_error": True} if failed else block


def blocks(content: Any) -> list[Block]:
    """Return the blocks of a text, of a part, or of a list of them, as any of the APIs
    has them."""
    parts = cast(list[Any], content) if isinstance(content, list) else [content]
    return [block for part in parts for block in _blocks(part)]


def _blocks(part: Any) -> list[Block]:
    match part:
        case {"type": "tool_use" | "tool_result" | "server_tool_use" | "thinking"}:
            return [part]
        case str(text) | {"text": str(text)}:
            return [{"type": "text", "text": text}]
        case (
            {"image_url": source}
            | {"inlineData": source}
            | ({"mimeType": str()} as source)
        ):
            return [{"type": "image", "source": source}]
        case {"functionResponse": {"id": str(name), "response": response}}:
            text = response.get("output") or response.get("error")
            return [
                result(name, text if isinstance(text, str) else json.dumps(response))
            ]
        case {"content": content}:
            return blocks(content)
        case _:
            return []


def is_block(block: Any) -> bool:
    """Return whether a block has what its type needs.

    >>> is_block({"type": "text", "text": "Go."}), is_block({"type": "tool_use"})
    (True, False)
    """
    if not isinstance(block, dict):
        return False
    fields = cast(Block, block)
    match kind := fields.get("type"):
        case "text" | "thinking":
            return isinstance(fields.get(kind), str)
        case "tool_result":
            is_named = isinstance(fields.get("tool_use_id"), str)
            return is_named and is_content(fields.get("content") or "")
        case "tool_use":
            is_named = all(isinstance(fields.get(key), str) for key in ("id", "name"))
            return is_named and isinstance(fields.get("input"), dict)
        case _:
            return isinstance(kind, str)


def is_content(content: Any) -> bool:
    """Return whether a message can have this content: a text, or such blocks."""
    if isinstance(content, list):
        return all(map(is_block, cast(list[Any], content)))
    return isinstance(content, str)


def distinct(given: Iterable[Block]) -> list[Block]:
    """List blocks without blank texts, without repeated ones, and without those that
    lack what their type needs. Results stand elsewhere."""
    kept = list[Block]()
    calls = set[str]()
    for block in given:
        if not is_block(block) or block in kept or block.get("id") in calls:
            continue
        match block["type"]:
            case "text" if not block["text"].strip():
                continue
            case "tool_result":
                continue
            case "tool_use":
                calls.add(block["id"])
            case _:
                pass
        kept.append(block)
    return kept


def check_counts(usage: Block) -> None:
    """Raise ValueError if no response has so many tokens."""
    numbers = [count for name, count in usage.items() if name.endswith("_tokens")]
    split: Block = usage.get("cache_creation") or {}
    if not all(0 <= (count or 0) < 10**9 for count in (*numbers, *split.values())):
        raise ValueError("no response has so many tokens")
