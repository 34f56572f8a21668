"""Read session files of Claude Code, and ours, into the same `Session` (lesson 09).

`load` tells the formats apart by what is in the file. `files` finds session files in folders.
"""

from collections.abc import Iterable
from pathlib import Path

from agentlib import session_file as file
from agentlib import transcripts
from agentlib.lab.sessions import claude_code
from agentlib.transcripts import MISSING, Session

__all__ = ["MISSING", "PROJECTS", "Session", "files", "load"]

PROJECTS = Path.home() / ".claude" / "projects"
"""Where Claude Code keeps its session files."""
_PATTERNS = ("*.jsonl", "session-*.json")


def files(paths: Iterable[Path | str] = (PROJECTS,)) -> list[Path]:
    """List the session files among these paths, and in these folders and the folders in them.

    The files of subagents are in the list, because their requests were paid, too. A file that is
    named itself is taken whatever its name is. Raises FileNotFoundError if a path doesn't exist.
    """
    found = list[Path]()
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist; name a session file or a folder")
        inside = (each for pattern in _PATTERNS for each in path.rglob(pattern))
        found += sorted(each for each in inside if each.is_file()) if path.is_dir() else [path]
    return list(dict.fromkeys(found))


def load(path: Path | str) -> Session:
    """Read a session from Claude Code's file, or from ours.

    One response becomes one request, whose `at` is the newest time in the file before it. Lines of
    subagents, hooks and failed requests are left out. The settings are a guess, `Settings()`. The
    `usage` of a request also has the `model` that answered, because the bill depends on it.

    A call without a result gets one that says "interrupted", and `MISSING` stands for a lost user
    message, because the API's rules need both. The session has no path, so that their file is
    never written to. Raises ValueError if the file holds no conversation or is a folder, OSError
    if it can't be read.

    On paper: the lines user "hi", assistant msg_1 "\\n\\n", assistant msg_1 "Hello." are a history
    of two messages and one request, whose context is the user's message.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; sessions.files([{str(path)!r}]) lists its sessions")
    lines, skipped = file.read(path)
    if any(line.get("subtype") == file.SETTINGS for line in lines):
        return transcripts.load(path)
    try:
        session = claude_code.session(lines, path.stem)
    except ValueError as error:
        raise ValueError(
            f'{path}: {error}. A session file has one JSON object a line, with "type" and "message"'
        ) from error
    session.skipped = skipped
    return session
