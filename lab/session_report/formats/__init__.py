"""The formats of session files that can be read, one module each.

A format says which files it has, how one of its lines is known, and how its lines are
put into lines of Claude Code's, from which `gathered` makes the session. To add one,
write a module with a `FORMAT` and name it in `FORMATS`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agentlib.session.file import Line

__all__ = ["About", "Format", "Reader", "folder_of"]


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
    """Reads one file: turns one line after the other into lines of Claude Code's."""

    about: About = field(default_factory=About)

    def __call__(self, number: str, line: Line) -> Iterable[Line]:
        """Return the lines of Claude Code's for a line. `number` names one without an
        id."""
        return [line]

    def finish(self) -> Iterable[Line]:
        """Return the lines that are still due when the file has ended."""
        return ()


def folder_of(path: Path) -> str:
    """Name the project of a file that says nothing of it: the folder it lies in."""
    return path.resolve().parent.name


@dataclass(frozen=True)
class Format:
    """How the session files of one agent are found, known and read."""

    name: str
    sign: str
    """What an object of its files has, for the message on a file that nobody knows."""
    patterns: tuple[str, ...]
    """The names of its files in a folder."""
    knows: Callable[[Line], bool]
    """Whether a line is of such a file."""
    reader: Callable[[], Reader] | None
    """Begins to read a file. None: `agentlib.transcripts` reads it."""
    project: Callable[[Path], str] = folder_of
    """Names the project by the place of a file, if the file itself doesn't."""
    kind: Callable[[Path], str] = lambda path: "session"
    """Names whose conversation a file is by its place, if the file itself doesn't."""
