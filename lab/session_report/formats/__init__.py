"""The formats of session files that can be read, one module each.

A format says which files it has, how one of their lines is known, and how the lines are
read into the events of `session_report.events`. To add one, write a module with a
`FORMAT` and name it in `reading.FORMATS`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO

from agentlib.messages import Block
from agentlib.session.file import Line
from session_report.events import Clock, Event, Result, Said, Who

__all__ = ["About", "Format", "Reader", "Source", "folder_of", "whole"]


@dataclass(frozen=True)
class Source:
    """A session that can be read: a file, or a part of one. Workers get it, so it has
    to be picklable."""

    path: Path
    """The file."""
    name: str
    """Its id, or the name of its file without the ending."""
    size: int
    """Bytes, for those who wait."""
    modified: float
    """When it was changed last: seconds since the epoch."""
    open: Callable[[], BinaryIO]
    """Opens it. It has JSON objects, one a line or one in all."""
    is_part: bool = False
    """Whether the file has other sessions, too."""

    def __str__(self) -> str:
        """Name it for a person."""
        return f"{self.path}#{self.name}" if self.is_part else str(self.path)


def whole(path: Path) -> list[Source]:
    """Return the one session of a file that is one."""
    stat = path.stat()
    name = path.name.removesuffix(".zst").rpartition(".")[0] or path.name
    return [Source(path, name, stat.st_size, stat.st_mtime, _Opened(path))]


@dataclass(frozen=True)
class _Opened:
    """Opens a file. A lambda can't travel to a worker."""

    path: Path

    def __call__(self) -> BinaryIO:
        return self.path.open("rb")


@dataclass
class About:
    """What a file says of its session as a whole. An empty text: it doesn't say."""

    program: str = ""
    """The program that wrote it, by the name of its format."""
    project: str = ""
    """Its name, or the path of its folder with slashes."""
    kind: str = ""
    """"session" or "subagent"."""
    thread: str = ""
    """The id of the session."""
    parent: str = ""
    """The id of the session that this one was forked from."""
    failed: int = 0
    """Replies that failed or were aborted and have no token count."""
    stated: float | None = None
    """What the program itself says that the session cost, in dollars."""
    agents: dict[str, int] = field(default_factory=dict[str, int])
    """The sub-agents that the session names by their ids, and the tokens of each."""


@dataclass
class Reader:
    """Reads one session: one line after the other, into `events`."""

    about: About = field(default_factory=About)
    events: list[Event] = field(default_factory=list[Event])
    asides: "list[Reader]" = field(default_factory=list["Reader"])
    """Conversations of sub-agents that stand in the same session."""
    damage: list[str] = field(default_factory=list[str])
    """What was left out, and why."""
    is_cut: bool = False
    """Whether the file begins in the middle of a session."""
    clock: Clock = field(default_factory=Clock)

    def read(self, number: str, line: Line) -> None:
        """Take in a line. `number` names one without an id. What it raises leaves the
        line out."""
        raise NotImplementedError

    def finish(self) -> None:
        """Take in what is due when the session has ended."""

    def tell(
        self,
        name: str,
        at: float,
        content: str | list[Block],
        who: Who = Who.PROGRAM,
    ) -> list[Event]:
        """Add what a message tells the model: results of calls, then words. Returns
        the events."""
        parts = content if isinstance(content, list) else []
        results = [each for each in parts if each["type"] == "tool_result"]
        told: list[Event] = [Result(name=name, at=at, block=each) for each in results]
        if len(results) < len(parts) or (content and not parts):
            told.append(Said(name=name, at=at, content=content, who=who))
        self.events += told
        return told


def folder_of(path: Path) -> str:
    """Name the project of a file that says nothing of it: the folder it lies in."""
    return path.resolve().parent.name


@dataclass(frozen=True)
class Format:
    """How the sessions of one agent are found, known and read."""

    name: str
    sign: str
    """What an object of its files has, for the message on a file that nobody knows."""
    patterns: tuple[str, ...]
    """The names of its files in a folder."""
    knows: Callable[[Line], bool]
    """Whether a line is of such a session."""
    reader: Callable[[], Reader] | None
    """Begins to read a session. None: `agentlib.transcripts` reads the file."""
    project: Callable[[Path], str] = folder_of
    """Names the project by the place of a file, if the file itself doesn't."""
    kind: Callable[[Path], str] = lambda path: "session"
    """Names whose conversation a file is by its place, if the file itself doesn't."""
    sources: Callable[[Path], Iterable[Source]] = whole
    """Lists the sessions of a file. By default it is one."""
    lines: Callable[[Line], Iterable[Line]] = lambda line: [line]
    """Returns the lines that one object of the file stands for."""

    def has_name(self, path: Path) -> bool:
        """Return whether a file has a name that this agent gives."""
        return any(fnmatch(path.name, pattern) for pattern in self.patterns)
