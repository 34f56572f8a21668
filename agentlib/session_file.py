"""The lines of a session file: JSON Lines in the envelope that Claude Code uses.

Viewers made for those files open ours, and one reader serves both. Not here: what the lines mean
when they are read back (transcripts).
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agentlib.json_lines import Line
from agentlib.messages import Message
from agentlib.step import Step

SETTINGS = "agentlib_settings"
MICRO = "microcompact_boundary"
COMPACT = "compact_boundary"
FAILED = "agentlib_compaction_failed"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it was sent, and what came back."""

    context: list[Message]
    usage: Mapping[str, Any]
    reply: Message
    at: float
    """When it was sent: seconds since the epoch."""
    seen: int
    """Length of the history when it was sent."""
    stop_reason: str = "end_turn"


@dataclass(frozen=True, kw_only=True)
class Compaction:
    """One compaction, or one that failed, as it was carried out."""

    trigger: str
    """auto, manual or reactive; of one that failed, what it would have been."""
    message: Message | None
    """The summary message whole; None where it failed."""
    failure: str | None
    """Why it failed, or why what was said was cut to size in place of a summary."""
    focus: str
    archive: str
    usage: Sequence[Mapping[str, Any]]
    tokens_before: int
    tokens_after: int
    at: float
    seen: int
    """Length of the history at the time."""
    rested: bool = False
    """Whether the breaker was open, so that no model was asked."""


def preserved(boundary: Line) -> set[str]:
    """The uuids of the messages that a compaction left in place."""
    noted: dict[str, list[str]] = boundary["compactMetadata"].get("preservedMessages") or {}
    return set(noted.get("uuids", []))


def compaction(line: Line, message: Message | None, seen: int) -> Compaction:
    """The record of a compaction from its boundary line and its summary message."""
    details = line["compactMetadata"]
    return Compaction(
        trigger=details["trigger"],
        message=message,
        failure=details.get("failure"),
        rested=_rested(details),
        focus=details.get("focus") or "",
        archive=details.get("archive") or "",
        usage=details.get("usage") or (),
        tokens_before=details.get("preTokens") or 0,
        tokens_after=details.get("postTokens") or 0,
        at=seconds(line["timestamp"]),
        seen=seen,
    )


def _rested(details: Line) -> bool:
    """Return what the line notes; older files have only the sentence."""
    return details.get("rested") or str(details.get("failure")).startswith("compaction rests")


def carried_out(step: Step, at: float, seen: int) -> list[Compaction]:
    """The record of a step's compaction, as it would be read back; none where it had none."""
    if not step.compaction:
        return []
    failed = step.compaction == "failed"
    line = failed_line(step) if failed else boundary_line(step, [], None)
    message = None if failed else summary_line(step)["message"]
    return [compaction({**line, "timestamp": timestamp(at)}, message, seen)]


def timestamp(at: float) -> str:
    """Seconds since the epoch as Claude Code writes them.

    >>> timestamp(1_760_000_000.25)
    '2025-10-09T08:53:20.250Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(stamp: str) -> float:
    """The inverse of `timestamp`, to the millisecond."""
    return round(datetime.fromisoformat(stamp).timestamp(), 3)


def line_id(session_id: str, number: int, parent: str | None) -> str:
    """The uuid of a session's nth line: the same on every machine, for the same session id.

    With its parent in it, no two lines share one even after a line was taken out by hand.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session_id}/{number}/{parent}"))


def envelope(session_id: str, number: int, parent: str | None, at: float) -> Line:
    """What every line carries around its message."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/workspace",
        "sessionId": session_id,
        "version": "agentlib",
        "gitBranch": "",
        "uuid": line_id(session_id, number, parent),
        "timestamp": timestamp(at),
    }


def micro_line(step: Step) -> Line:
    """Results that were cleared, truncated or trimmed, with what stands in for each."""
    details = {
        "trigger": "auto",
        "preTokens": step.tokens_before,
        "tokensSaved": step.tokens_cleared,
        "compactedToolIds": list(step.cleared),
        "replacements": dict(step.replaced),
        "settled": step.settled,
    }
    return {
        "type": "system",
        "subtype": MICRO,
        "content": "Context microcompacted",
        "microcompactMetadata": details,
    }


def boundary_line(step: Step, stayed: Sequence[str], after: str | None) -> Line:
    """A compaction: what stayed, by uuid. It takes effect with the summary line after it.

    `after`: the uuid of the line before. The chain of parents begins anew here.
    """
    details = {**_compaction(step, step.compaction or step.reason), "postTokens": step.tokens_after}
    details |= {"failure": step.failure} if step.failure else {}
    details["preservedMessages"] = {"uuids": list(stayed)}
    line = {
        "type": "system",
        "subtype": COMPACT,
        "content": "Conversation compacted",
        "level": "info",
    }
    chain = {"parentUuid": None, "logicalParentUuid": after}
    return {**chain, **line, "isMeta": False, "compactMetadata": details}


def summary_line(step: Step) -> Line:
    """The message that a compaction put in place of the others."""
    head = next((n for n, i in enumerate(step.kept) if n != i), len(step.kept))
    marks = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    return {"type": "user", **marks, "message": step.messages[head]}


def failed_line(step: Step) -> Line:
    """A compaction that came to nothing, and why."""
    details = {**_compaction(step, step.reason), "failure": step.failure}
    return {
        "type": "system",
        "subtype": FAILED,
        "content": "Compaction failed",
        "compactMetadata": details,
    }


def _compaction(step: Step, trigger: str) -> Line:
    return {
        "trigger": trigger,
        "preTokens": step.tokens_before,
        "focus": step.focus,
        "usage": [dict(usage) for usage in step.usage],
        "archive": step.archive,
        **({"rested": True} if step.rested else {}),
    }
