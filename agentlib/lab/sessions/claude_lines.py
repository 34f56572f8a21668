"""Which lines of a Claude Code session file belong to the conversation, and which together.

One response may be fourteen lines, its results lie between them, copies and torn lines among
them. Not here: the form they are put in for our reader (lab.sessions). Pitfalls by number: facts,
claude_code_sessions.md.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentlib import session_file as file
from agentlib.messages import Block, blocks
from agentlib.session_file import Line

KINDS = ("response", "words", "summary", file.COMPACT, file.MICRO)
"""What can happen; "words" are a user's lines, be they a person's, a hook's or a reminder."""
_NEEDED = {"text": "text", "tool_use": "id", "tool_result": "tool_use_id"}


@dataclass(kw_only=True)
class Item:
    """What happened, one of `KINDS`: its lines, and a response's calls with their results."""

    kind: str
    name: str
    """The uuid of its first line."""
    at: float
    """When it happened; of a response, when its request was sent: the newest time before it."""
    lines: list[Line] = field(default_factory=list[Line])
    uuids: set[str] = field(default_factory=set[str])
    """Those of all its lines, and of the lines of its results."""
    calls: list[str] = field(default_factory=list[str])
    results: dict[str, Block] = field(default_factory=dict[str, Block])

    def blocks(self) -> list[Block]:
        """The blocks of all its lines, none of them blank or twice (pitfall 8)."""
        found: list[Block] = []
        for block in (b for line in self.lines for b in blocks(line["message"])):
            blank = block["type"] == "text" and not block["text"].strip()
            if not blank and block not in found:
                found.append(block)
        return found

    def of_type(self, block_type: str) -> list[Block]:
        """Its blocks of one type."""
        return [block for block in self.blocks() if block["type"] == block_type]


def gather(lines: Sequence[Line], unused: Counter[str]) -> list[Item]:
    """The main conversation in order; `unused` counts, by kind, what is left out.

    A file of nothing but sidechain lines is a subagent's: there they are the conversation.

    >>> said = [{"id": "msg_1", "content": "a"}, {"id": "msg_1", "content": "b"}]
    >>> lines = [{"type": "assistant", "message": message} for message in said]
    >>> [[block["text"] for block in item.blocks()] for item in gather(lines, Counter())]
    [['a', 'b']]
    """
    items = _joined(lines, unused)
    _share_out_results(items, unused)
    return items


def _joined(lines: Sequence[Line], unused: Counter[str]) -> list[Item]:
    """The lines of one response are one item, where its first line stands (pitfall 1)."""
    found: dict[str, Item] = {}
    seen: set[str] = set()
    said = [line for line in lines if line.get("type") in ("user", "assistant")]
    subagent = all(line.get("isSidechain") for line in said)
    newest = 0.0
    for number, line in enumerate(lines):
        kind, uuid, at = _kind(line, subagent), line.get("uuid") or f"line {number}", _seconds(line)
        if kind in KINDS and uuid in seen:  # a resume or a fork copies what was said (pitfall 10)
            kind = "repeated line"
        if kind in KINDS:
            key, begun = uuid, at
            if kind == "response":
                key, begun = line["message"].get("id") or uuid, newest or at
            item = found.setdefault(key, Item(kind=kind, name=uuid, at=begun))
            item.lines.append(line)
            item.uuids.add(uuid)
        else:
            unused[kind] += 1
        seen.add(uuid)
        newest = max(newest, at)
    return list(found.values())


def _kind(line: Line, subagent: bool) -> str:
    """One of `KINDS`, or what the account calls a line that is left out."""
    kind = str(line.get("type"))
    if kind == "system":
        subtype = str(line.get("subtype"))
        return subtype if subtype in KINDS else f"system {subtype}"
    if kind not in ("user", "assistant"):
        return f"{kind} line"
    if line.get("isSidechain") and not subagent:
        return "sidechain line"
    message: Any = line.get("message")
    if not _is_message(message):
        return "malformed message"
    if kind == "user":
        return "summary" if line.get("isCompactSummary") else "words"
    synthetic = line.get("isApiErrorMessage") or message.get("model") == "<synthetic>"
    return "synthetic reply" if synthetic else "response"


def _is_message(found: Any) -> bool:
    try:
        return all(_NEEDED.get(block["type"], "type") in block for block in blocks(found))
    except (KeyError, TypeError):
        return False


def _seconds(line: Line) -> float:
    try:
        return file.seconds(line["timestamp"])
    except (KeyError, TypeError, ValueError):
        return 0.0


def _share_out_results(items: Sequence[Item], unused: Counter[str]) -> None:
    """Each result to the response that asked for it, wherever its line stands (pitfalls 4, 5)."""
    asked: dict[str, Item] = {}
    for response in (item for item in items if item.kind == "response"):
        for call in response.of_type("tool_use"):
            if asked.setdefault(call["id"], response) is response:
                response.calls.append(call["id"])
    for words in (item for item in items if item.kind == "words"):
        for result in words.of_type("tool_result"):
            name = result["tool_use_id"]
            if name not in asked:
                unused["result without its call"] += 1
            elif name in asked[name].results:
                unused["second result of a call"] += 1
            else:
                asked[name].results[name] = result
                asked[name].uuids |= words.uuids
