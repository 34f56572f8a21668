"""The lines of a session file: JSON Lines in the envelope that Claude Code uses.

Viewers made for those files open ours, and one reader serves both. Not here: what the lines mean
when they are read back (transcripts).
"""

import json
import os
import signal
import threading
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentlib.messages import Message

Line = dict[str, Any]

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
    focus: str
    archive: str
    usage: Sequence[Mapping[str, Any]]
    tokens_before: int
    tokens_after: int
    at: float
    seen: int
    """Length of the history at the time."""


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
        focus=details.get("focus") or "",
        archive=details.get("archive") or "",
        usage=details.get("usage") or (),
        tokens_before=details.get("preTokens") or 0,
        tokens_after=details.get("postTokens") or 0,
        at=seconds(line["timestamp"]),
        seen=seen,
    )


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


def append(path: Path, lines: Sequence[Line]) -> None:
    """Add lines at the end, on disk when this returns. A torn last line is closed first.

    All of them or none: where the disk is full, the file is as before.
    """
    data = b"".join(_encoded(line) + b"\n" for line in lines)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        rest = memoryview(data if _ends_whole(file) else b"\n" + data)
        size = file.seek(0, os.SEEK_END)
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


@contextmanager
def undisturbed() -> Generator[None]:
    """Let Ctrl-C wait until the body is done: what is on disk and what is in memory stay one."""
    if threading.current_thread() is not threading.main_thread():  # Ctrl-C does not come here
        yield
        return
    late: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: late.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if handler is None else handler)
    if late:
        signal.raise_signal(signal.SIGINT)


def _ends_whole(file: Any) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _encoded(line: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(line, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair: only the escaped form can hold it
        return json.dumps(line).encode("utf-8")


def create_first(paths: Iterable[Path]) -> Path:
    """The first of these paths that has no file yet, as an empty file only its owner can read.

    Created exclusively, so that two programs never get the same one. One path alone that has a
    file already is a FileExistsError.
    """
    taken: Path | None = None
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return path
        except FileExistsError:
            taken = path
    raise FileExistsError(f"{taken} is there already; take another name, or resume it")


def micro_line(step: Any) -> Line:
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


def boundary_line(step: Any, stayed: Sequence[str], after: str | None) -> Line:
    """A compaction: what stayed, by uuid. It takes effect with the summary line after it.

    `after`: the uuid of the line before. The chain of parents begins anew here.
    """
    details = {**_compaction(step, step.compaction), "postTokens": step.tokens_after}
    details["preservedMessages"] = {"uuids": list(stayed)}
    line = {
        "type": "system",
        "subtype": COMPACT,
        "content": "Conversation compacted",
        "level": "info",
    }
    chain = {"parentUuid": None, "logicalParentUuid": after}
    return {**chain, **line, "isMeta": False, "compactMetadata": details}


def summary_line(step: Any) -> Line:
    """The message that a compaction put in place of the others."""
    head = next((n for n, i in enumerate(step.kept) if n != i), len(step.kept))
    marks = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    return {"type": "user", **marks, "message": step.messages[head]}


def failed_line(step: Any) -> Line:
    """A compaction that came to nothing, and why."""
    details = {**_compaction(step, step.reason), "failure": step.failure}
    return {
        "type": "system",
        "subtype": FAILED,
        "content": "Compaction failed",
        "compactMetadata": details,
    }


def _compaction(step: Any, trigger: str) -> Line:
    return {
        "trigger": trigger,
        "preTokens": step.tokens_before,
        "focus": step.focus,
        "usage": [dict(usage) for usage in step.usage],
        "archive": step.archive,
    }


def read(path: Path) -> tuple[list[Line], list[str]]:
    """The lines of a file, and what could not be read of it.

    Two objects glued on one line are two lines (a resume after a torn tail makes them); what is
    not a JSON object is skipped and returned, so that it can be reported.
    """
    lines: list[Line] = []
    skipped: list[str] = []
    for text in path.read_bytes().decode("utf-8-sig", errors="replace").split("\n"):
        for found in _objects(text.strip()):
            if isinstance(found, dict):
                lines.append(found)
            else:
                skipped.append(found)
    return lines, skipped


def _objects(text: str) -> Iterator[Line | str]:
    decoder = json.JSONDecoder()
    while text:
        try:
            found, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            yield text
            return
        yield found if isinstance(found, dict) else text[:end]
        text = text[end:].strip()
