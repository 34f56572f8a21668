"""Claude Code's own session files, read into the same `Session` as ours (lesson 10).

Their lines are put into the form that `transcripts` folds: one line for a response, its results
in one message after it, a compaction with our summary message. Not here: which lines belong
together (lab.claude_lines), and what a line means once it is in our form (transcripts). System
prompt, tools and the files attached again after a compaction are not in those files, so a context
holds what was said and nothing else. Pitfalls by number: facts, claude_code_sessions.md.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentlib import session_file as file
from agentlib import transcripts
from agentlib.auto_compact import summary_message
from agentlib.lab.sessions.claude_lines import Item, gather
from agentlib.messages import Block, Message, of_type, sendable, tool_names
from agentlib.session_file import Line
from agentlib.transcripts import INTERRUPTED, Session

MISSING = "[a message that is not in the file]"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A session, and the account of how its file was read."""

    session: Session
    unused: Mapping[str, int]
    """What was left out, lines and results, by kind."""
    made_up: Mapping[str, int]
    """What the API's rules need and the file does not have: "result", "user message"."""


def load(path: Path | str) -> Session:
    """A session from Claude Code's file, or from ours.

    One response is one request; its `at` is the newest time in the file before it. The settings
    are a guess, `Settings()`. The session has no path: a file of theirs is never written to.
    Raises ValueError where the file holds no conversation.

    On paper: the lines user "hi", assistant msg_1 "\\n\\n", assistant msg_1 "Hello." are a history
    of two messages and one request, whose context is the user's.
    """
    return read(path).session


def read(path: Path | str) -> Reading:
    """`load`, with what was left out and what had to be made up."""
    path = Path(path)
    lines, skipped = file.read(path)
    if any(line.get("subtype") == file.SETTINGS for line in lines):
        return Reading(session=transcripts.load(path), unused={}, made_up={})
    unused, made_up = Counter[str](), Counter[str]()
    items = gather(lines, unused)
    if not any(item.kind in ("response", "words") for item in items):
        raise ValueError(
            f"{path} holds no conversation: none of its {len(lines)} lines is a message. "
            'A session file has one JSON object a line, with "type" and "message"'
        )
    session = Session(session_id=path.stem, skipped=skipped, count=len(lines) + len(skipped))
    for i, item in enumerate(items):
        transcripts.fold(_lines(item, items[:i], session, made_up), session)
    return Reading(session=session, unused=dict(unused), made_up=dict(+made_up))


def _lines(
    item: Item, before: Sequence[Item], session: Session, made_up: Counter[str]
) -> list[Line]:
    """What an item is in our form, after the items `before` it."""
    match item.kind:
        case "response":
            return [*_opening(item, session.context, made_up), *_exchange(item, made_up)]
        case "words":
            return _words(item)
        case "summary":
            text = "\n".join(block["text"] for block in item.of_type("text"))
            content = summary_message(text, _archive(session, before))["content"]
            return [{**_line(item, "user", content), "isCompactSummary": True}]
        case file.COMPACT:
            return [_boundary(item, before, _archive(session, before))]
        case _:
            return [_micro(item, session.context)]


def _line(item: Item, role: str, content: Any, part: str = "", **more: Any) -> Line:
    message = {"role": role, "content": content, **more}
    when, name = file.timestamp(item.at), item.name + part
    return {"type": role, "uuid": name, "timestamp": when, "message": message}


def _words(item: Item) -> list[Line]:
    content = item.lines[0]["message"]["content"]
    said = [block for block in item.blocks() if block["type"] != "tool_result"]
    return [_line(item, "user", content if isinstance(content, str) else said)] if said else []


def _opening(item: Item, context: Sequence[Message], made_up: Counter[str]) -> list[Line]:
    """A user message before a response, where a line was lost or a chain begins without one."""
    if context and context[-1]["role"] == "user":
        return []
    made_up["user message"] += 1
    return [_line(item, "user", MISSING, part="/before")]


def _exchange(item: Item, made_up: Counter[str]) -> list[Line]:
    """A response as one line, and one with a result for each of its calls (pitfalls 1, 5, 7)."""
    content = [b for b in item.blocks() if b["type"] != "tool_use" or b["id"] in item.calls]
    lost = [name for name in item.calls if name not in item.results]
    made_up["result"] += len(lost)
    results = [*item.results.values(), *map(_interrupted, lost)]
    lines = [_line(item, "assistant", sendable(content), **_billed(item))]
    return [*lines, _line(item, "user", sendable(results), part="/results")] if results else lines


def _interrupted(name: str) -> Block:
    return {"type": "tool_result", "tool_use_id": name, "content": INTERRUPTED, "is_error": True}


def _billed(item: Item) -> dict[str, Any]:
    """The last usage with the most output_tokens, and the stop_reason that one of the lines has.

    The first lines carry the count that the stream began with, and most have no stop_reason
    (pitfalls 1 and 3).
    """
    found = [line["message"] for line in item.lines]
    usages = [message["usage"] for message in found if message.get("usage")] or [{}]
    most = max(usage.get("output_tokens") or 0 for usage in usages)
    stops = filter(None, (message.get("stop_reason") for message in reversed(found)))
    stop = next(stops, "tool_use" if item.calls else "end_turn")
    return {"usage": {**usages[-1], "output_tokens": most}, "stop_reason": stop}


def _archive(session: Session, before: Sequence[Item]) -> str:
    """Where what a compaction replaced still is: the file, and its last message before it."""
    said = (item.name for item in reversed(before) if item.kind in ("response", "words"))
    return f"{session.session_id}.jsonl#{next(said, '')}"


def _boundary(item: Item, before: Sequence[Item], archive: str) -> Line:
    """A compaction with what stays: whole exchanges, whichever of their lines it names."""
    noted: dict[str, Any] = item.lines[0].get("compactMetadata") or {}
    segment: dict[str, str] = noted.get("preservedSegment") or {}
    ends = {segment.get("headUuid"), segment.get("tailUuid")}
    places = [i for i, other in enumerate(before) if other.uuids & ends]
    named = file.preserved({"compactMetadata": noted})
    stay = [other for other in before if other.uuids & named]
    stay += before[places[0] : places[-1] + 1] if places else []
    uuids = [other.name + part for other in stay for part in ("", "/results")]
    kept = {"preservedMessages": {"uuids": uuids}, "archive": archive}
    details = {"trigger": "auto", **noted, **kept}
    when = file.timestamp(item.at)
    return {"type": "system", "subtype": item.kind, "timestamp": when, "compactMetadata": details}


def _micro(item: Item, context: Sequence[Message]) -> Line:
    """The results it names, where the view has them, with our placeholder in their place."""
    noted: dict[str, Any] = item.lines[0].get("microcompactMetadata") or {}
    listed: list[str] = noted.get("compactedToolIds") or []
    held = {r["tool_use_id"]: r for message in context for r in of_type(message, "tool_result")}
    names, new = tool_names(context), dict[str, str]()
    for name in (name for name in listed if name in held):
        placeholder = f"[Previous: used {names[name]}]"
        if len(placeholder) < len(str(held[name].get("content") or "")):
            new[name] = placeholder
    details = {**noted, "replacements": new}
    return {"type": "system", "subtype": item.kind, "microcompactMetadata": details}
