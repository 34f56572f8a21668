"""The session file: JSON Lines in Claude Code's envelope, added whole and read back
whole.

Viewers made for Claude Code's files open these, and one reader serves both. A full
disk, Ctrl-C, a kill and a torn last line leave everything readable that was on disk
before. See `transcripts` for the meaning of each line.
"""

import json
import os
import signal
import threading
import uuid
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from agentlib.api.replies import MOST_TOKENS, counts
from agentlib.messages import Block, Message
from agentlib.step import Outcome, Step

if TYPE_CHECKING:
    from filelock import FileLock

Line = dict[str, Any]
_DECODER = json.JSONDecoder()

VERSION = "agentlib"
"""The program that wrote a line, as its `version` says."""
SETTINGS = "agentlib_settings"
MICRO = "microcompact_boundary"
FOLDER = ".transcripts"
"""Where sessions go if nothing else is said."""
COMPACT = "compact_boundary"
FAILED = "agentlib_compaction_failed"
SUM = "crc32"
"""The last field of a line: the checksum of the line's text before it."""

# -- the file --------------------------------------------------------------------------


def create_first(folder: Path, names: Iterable[str]) -> Path:
    """Create the first of these files that doesn't exist yet, empty, for its owner's
    eyes only.

    A new folder and any that is called `.transcripts` are for its owner's eyes only,
    too, and git ignores what is in them. Creation is exclusive, so two programs never
    get the same file. Raises FileExistsError if each name is taken, ValueError if
    `.transcripts` is a symlink: a repository could bring one that leads elsewhere.
    """
    if folder.name == FOLDER and folder.is_symlink():
        raise ValueError(
            f"{folder} is a symlink; remove it, or name another folder for sessions"
        )
    if not folder.exists() or folder.name == FOLDER:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        ignored = folder / ".gitignore"
        ignored.unlink(missing_ok=True)  # it could be a symlink, too
        ignored.write_text("*\n", encoding="utf-8")
    path = folder
    for path in (folder / name for name in names):
        with suppress(FileExistsError):
            path.touch(0o600, exist_ok=False)
            return path
    raise FileExistsError(f"{path} is there already; take another name, or resume it")


def append(path: Path, lines: Sequence[Line], *, durable: bool = True) -> None:
    """Add lines at the end of the file. They are on the disk when this returns.

    Not `durable`: the system may still hold them, so a power cut could lose them, but
    no end of this process. Waiting for a disk takes milliseconds a line.

    Adds all of them or none: if the disk is full, the file stays as it was.
    """
    data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    # UTF-8 can't encode half of a surrogate pair. As a backslash escape JSON can hold
    # it.
    rest = data.encode("utf-8", errors="backslashreplace")
    with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND), "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        if file.read(1) not in (b"", b"\n"):
            rest = b"\n" + rest  # end a torn line
        try:
            while rest:
                rest = rest[file.write(rest) :]
            if durable:
                os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


def summed(line: Line) -> Line:
    """Add the checksum by which `numbered` notices a change, such as a flipped bit."""
    text = json.dumps(line, ensure_ascii=False)[:-1]
    return {**line, SUM: crc32(text.encode("utf-8", errors="backslashreplace"))}


def _checked(line: Line, text: str) -> Line:
    """Put None in place of a checksum that the line's text doesn't have."""
    if SUM not in line:
        return line
    known = text.rpartition(f', "{SUM}": ')[0].encode()
    return line if line[SUM] == crc32(known) else {**line, SUM: None}


def numbered(
    path: Path, see: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[int, Line | str]]:
    """Yield a file's JSON objects and the texts between them that are none, with their
    lines.

    Claude Code's files sometimes have two objects on one line, glued by a resume after
    a kill. They are read as two. A line that was changed since it was written gets None
    as its `SUM`. Older lines have none. `see` gets the bytes of each line before it is
    read, and returns them. Raises ValueError if the file is a folder, a pipe or a
    device.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file")
    with path.open("rb") as file:
        yield from parts(map(see, file))


def parts(lines: Iterable[bytes]) -> Iterator[tuple[int, Line | str]]:
    """Yield the JSON objects of these lines and the texts between them, as `numbered`
    does."""
    for number, raw in enumerate(lines, 1):
        text = raw.decode(errors="replace").removeprefix("\ufeff").strip()
        at = 0
        while at < len(text):
            try:
                value, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                # A number or a nesting can be too long, too.
                value = None
                end = len(text)
            part = text[at:end]
            is_line = isinstance(value, dict)
            yield number, _checked(cast(Line, value), part) if is_line else part
            at = end
            while at < len(text) and text[at].isspace():
                at += 1


@contextmanager
def defer_ctrl_c() -> Generator[None]:
    """Defer Ctrl-C until the block has finished, so that file and memory can't
    diverge."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main:  # Ctrl-C never comes here
        yield
        return
    presses = list[int]()
    handler = signal.signal(signal.SIGINT, lambda number, _: presses.append(number))
    try:
        yield
    finally:
        signal.signal(
            signal.SIGINT, signal.default_int_handler if handler is None else handler
        )
    if presses:
        signal.raise_signal(signal.SIGINT)


# -- one process at a time works on it, and anybody may read it --------------------------

PATIENCE = 0.3
"""Seconds to wait for a lock. A killed agent's lives on for a moment in a command that
it was just starting."""


class SessionInUse(RuntimeError):
    """Another process is at work on the session file."""


def hold(path: Path, session: object) -> Callable[[], object]:
    """Keep other processes of this agent from working on a session file, and return the
    function that ends this.

    The lock is a file beside the session, `<session id>.lock`. It is removed at the
    end, and one that a killed process left locks nobody out. All sessions of a process
    share the lock until the last of them ends it, so within a process nothing is kept
    apart. If nobody calls the function, the lock ends with `session` or the process.

    Raises SessionInUse if another process has the session, and OSError if the lock's
    file can't be opened, such as for a symlink in its place, which isn't followed.
    """
    from filelock import FileLock, Timeout  # only who works on a file pays for it

    name = path.resolve().with_suffix(".lock")
    lock = FileLock(name, mode=0o600, thread_local=False, is_singleton=True)
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        raise SessionInUse(
            f"{path} is in use by another process: end that one, or begin another "
            "session"
        ) from None
    return weakref.finalize(session, _release, lock)


def _release(lock: "FileLock") -> None:
    if lock.lock_counter == 1:
        # Before the lock ends, so that the file of a process that waits is never
        # removed. Windows removes no open file, and there the lock does so itself.
        with suppress(PermissionError):
            Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


# -- its lines -------------------------------------------------------------------------


def kind(line: Line) -> str | None:
    """Return what a line is: user, assistant, or one of the names above.

    >>> kind({"type": "system", "subtype": "compact_boundary"})
    'compact_boundary'
    """
    return line.get("subtype") if line.get("type") == "system" else line.get("type")


def timestamp(at: float) -> str:
    """Write seconds since the epoch as Claude Code does.

    >>> timestamp(1_760_000_000.25)
    '2025-10-09T08:53:20.250Z'
    """
    return (
        datetime.fromtimestamp(at, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


def seconds(stamp: str) -> float:
    """Read a `timestamp` back, to the millisecond.

    >>> seconds("2025-10-09T08:53:20.250Z")
    1760000000.25
    """
    return round(datetime.fromisoformat(stamp).timestamp(), 3)


def envelope(session_id: str, number: int, parent: str | None, at: float) -> Line:
    """Make the fields that every line has around its message.

    The uuid follows from the session, the line's number and its parent. So it is the
    same on every machine, and unique even after a line was taken out by hand.
    """
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/workspace",
        "sessionId": session_id,
        "version": VERSION,
        "gitBranch": "",
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session_id}/{number}/{parent}")),
        "timestamp": timestamp(at),
    }


def micro_line(step: Step) -> Line:
    """Note the results that were cleared, truncated or trimmed, and what replaces
    each."""
    details = {
        "trigger": "auto",
        "preTokens": step.tokens_before,
        "tokensSaved": step.tokens_cleared,
        "compactedToolIds": list(step.cleared),
        "replacements": dict(step.texts),
        **({"inputs": dict(step.inputs)} if step.inputs else {}),
        "settled": step.settled,
    }
    return _system(MICRO, "Context microcompacted", microcompactMetadata=details)


def compaction_lines(step: Step, kept: Sequence[str], parent: str | None) -> list[Line]:
    """Note a compaction: a boundary and the summary message, or one line if it failed.

    `kept`: uuids of the messages that stay. `parent`: uuid of the line before. The
    compaction takes effect with the second line, and the chain of parents begins again
    at the first.
    """
    failed = step.compaction == Outcome.FAILED
    details: Line = {
        "trigger": step.reason if failed else str(step.compaction),
        "preTokens": step.tokens_before,
        "focus": step.focus,
        "usage": [dict(usage) for usage in step.usage],
        "archive": step.archive,
        **({"rested": True} if step.rested else {}),
        **({} if failed else {"postTokens": step.tokens_after}),
        **({"failure": step.failure} if step.failure else {}),
    }
    if failed:
        return [_system(FAILED, "Compaction failed", compactMetadata=details)]
    details["preservedMessages"] = {"uuids": list(kept)}
    more = {"level": "info", "isMeta": False, "compactMetadata": details}
    chain = {"parentUuid": None, "logicalParentUuid": parent}
    marks = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    return [
        {**chain, **_system(COMPACT, "Conversation compacted", **more)},
        {"type": "user", **marks, "message": step.summary},
    ]


def _system(subtype: str, content: str, **more: Any) -> Line:
    return {"type": "system", "subtype": subtype, "content": content, **more}


# -- records made from lines -----------------------------------------------------------


def replacements(details: Line) -> tuple[dict[str, str], dict[str, Block]]:
    """Return the new texts of results and the new inputs of calls from the details of a
    clearing's line.

    In older files an input is JSON, and its key ends with " input".
    """
    texts: dict[str, str] = {}
    inputs: dict[str, Block] = dict(details.get("inputs") or {})
    replaced: dict[str, str] = details.get("replacements") or {}
    for name, text in replaced.items():
        if name.endswith(" input"):
            inputs[name.removesuffix(" input")] = json.loads(text)
        else:
            texts[name] = text
    return texts, inputs


@dataclass(frozen=True, eq=False)
class Prefix:
    """The first `size` messages of a list that only grows at its end.

    Requests of a session mostly share such a list. If each had one of its own, a
    session of 16,000 requests would need gigabytes.

    >>> context = [{"role": "user", "content": "Hello."}]
    >>> sent = Prefix(context, len(context))
    >>> context.append({"role": "assistant", "content": "Yes?"})
    >>> sent.messages()
    [{'role': 'user', 'content': 'Hello.'}]
    """

    growing: list[Message]
    size: int

    def messages(self) -> list[Message]:
        """Return these messages as a new list."""
        return self.growing[: self.size]

    def __eq__(self, other: object) -> bool:
        """Compare the messages, and not how far the two lists have grown since."""
        return isinstance(other, Prefix) and self.messages() == other.messages()


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it was sent, and its reply."""

    sent: Prefix
    usage: Mapping[str, Any]
    reply: Message
    at: float
    """When it was sent: seconds since the epoch."""
    seen: int
    """Length of the history when it was sent."""
    stop_reason: str = "end_turn"

    @property
    def context(self) -> list[Message]:
        """The messages that were sent."""
        return self.sent.messages()


@dataclass(frozen=True, kw_only=True)
class CompactionRecord:
    """One compaction, carried out or failed."""

    trigger: str
    """auto, manual or reactive. If it failed: the trigger it would have had."""
    message: Message | None
    """The whole summary message. None if the compaction failed."""
    failure: str | None
    """Why it failed, or why the context was cut to size without a summary."""
    focus: str
    archive: str
    usage: Sequence[Mapping[str, Any]]
    tokens_before: int
    tokens_after: int
    at: float
    """Seconds since the epoch."""
    seen: int
    """Length of the history at that time."""
    rested: bool = False
    """Whether the breaker was open, so that no model was asked."""


def usage_of(reply: Line) -> dict[str, Any]:
    """Return the bill of a reply in a line, without counts that are none."""
    return counts(reply.get("usage"))


def kept_uuids(boundary: Line) -> set[str]:
    """Take the uuids of the messages that a compaction kept from its boundary line."""
    messages: dict[str, list[str]] = (
        boundary["compactMetadata"].get("preservedMessages") or {}
    )
    return set(messages.get("uuids", []))


def _size(tokens: object) -> int:
    """Return a number of tokens, 0 for anything else that a line has in its place."""
    return tokens if isinstance(tokens, int) and 0 <= tokens <= MOST_TOKENS else 0


def compaction(line: Line, message: Message | None, seen: int) -> CompactionRecord:
    """Make the record of a compaction from its first line and its summary message."""
    details = line["compactMetadata"]
    return CompactionRecord(
        trigger=details["trigger"],
        message=message,
        failure=details.get("failure"),
        # Older files have only the sentence.
        rested=details.get("rested")
        or str(details.get("failure")).startswith("compaction rests"),
        focus=details.get("focus") or "",
        archive=details.get("archive") or "",
        usage=[counts(usage) for usage in details.get("usage") or ()],
        tokens_before=_size(details.get("preTokens")),
        tokens_after=_size(details.get("postTokens")),
        at=seconds(line["timestamp"]),
        seen=seen,
    )
