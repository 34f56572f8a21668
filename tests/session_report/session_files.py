"""Write small session files, and say what was read of them. All content is invented."""

import copy
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import zstandard

import session_report as sessions
from agentlib.auto_compact import summary_text
from agentlib.transcripts import Session
from session_report.overview import overview
from session_report.report import of_overview
from tests.builders import text

Line = dict[str, Any]
OPUS = "claude-opus-5-5"  # $4 a million tokens in, 5 and 8 written, 0.20 read, 20 out

JUNK: list[Any] = [
    None, True, -1, -1.5, 7, 10**400, 1e308, float("nan"), float("inf"), "", "x", [], {},
    [1], [[1]], [{}], [None], "\ud800", "9999-12-31T23:59:59.999Z",
    "0001-01-01T00:00:00Z", {"type": 1}, {"type": "text"}, {"a": {"b": []}}, "x" * 300,
]  # fmt: skip
"""What may stand in any field."""


def at(second: float) -> str:
    """Return the time so many seconds after the beginning of 2026."""
    time = datetime(2026, 1, 1) + timedelta(seconds=second)
    return f"{time.isoformat(timespec='milliseconds')}Z"


def write(path: Path, *lines: Any) -> Path:
    """Write a file of lines in JSON, packed if its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    is_packed = path.suffix == ".zst"
    path.write_bytes(zstandard.compress(raw) if is_packed else raw)
    return path


def written(folder: Path, *lines: Any, name: str = "theirs") -> Path:
    return write(folder / f"{name}.jsonl", *lines)


def counts(
    new: int = 0, out: int = 0, read: int = 0, written: int = 0, **more: Any
) -> Line:
    """Return the counts of a response, as the API bills them."""
    return {
        "input_tokens": new,
        "output_tokens": out,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        **more,
    }


def said(second: float, content: Any = "Go on.", **more: Any) -> Line:
    """Return a line of Claude Code's: what the person said, or results."""
    line = {"type": "user", "uuid": f"u{second}", "timestamp": at(second)}
    return {**line, "message": {"role": "user", "content": content}, **more}


def replied(
    second: float,
    usage: Line | None,
    content: Any = "Done.",
    *,
    name: str | None = "",
    stop: str | None = "end_turn",
    model: str = OPUS,
    **more: Any,
) -> Line:
    """Return a line of Claude Code's: a response, or a block of one."""
    blocks = [text(content)] if isinstance(content, str) else content
    message = {"role": "assistant", "content": blocks, "model": model}
    message |= {"usage": usage, "stop_reason": stop}
    message |= {} if name is None else {"id": name or f"m{second}"}
    line = {"type": "assistant", "uuid": f"a{second}", "timestamp": at(second)}
    return {**line, "message": message, **more}


def load(folder: Path, *lines: Any, name: str = "theirs.jsonl") -> Session:
    """Write a file and read it."""
    return sessions.load(write(folder / name, *lines))


def report(*paths: Path) -> Line:
    """Return the tables of files and folders."""
    return of_overview(overview(paths, jobs=1))


def paid(session: Session) -> list[tuple[int, ...]]:
    """Tokens of each request: uncached, written, read, answered."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return [
        tuple(r.usage.get(n, 0) for n in (*names, "output_tokens"))
        for r in session.requests
    ]


def contexts(session: Session) -> list[list[Any]]:
    return [
        [brief(message) for message in request.context] for request in session.requests
    ]


def brief(message: Line) -> Any:
    content = message["content"]
    blocks = [text(content)] if isinstance(content, str) else content
    if message["role"] == "user" and "[Conversation compressed" in str(
        blocks[0].get("text")
    ):
        return f"summary: {summary_text(message)}"
    return [
        block.get("text") or block.get("id") or block.get("tool_use_id")
        for block in blocks
    ]


# -- spoiled files --------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value inside a line."""
    yield path
    match value:
        case list():
            inside: Any = enumerate(cast(list[Any], value))
        case dict():
            inside = cast(Line, value).items()
        case _:
            inside = ()
    for key, each in inside:
        yield from places(each, (*path, key))


def spoiled(line: Line, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    line = copy.deepcopy(line)
    inside: Any = line
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = junk
    return line
