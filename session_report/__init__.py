"""What recorded sessions cost and lost, and what other settings would have cost (lesson 09).

    load, files     read a session file of Claude Code, another agent or ours, and find them
    claude_code, codex, gemini, pi    what each program's lines mean
    playback        `replay` a session under other settings, and its `table`
    weights, bills, need, policies, put_back    what a replay weighed, cost and needed again
    one, overview   one session, and many
    what_if         the settings that would have been cheaper
    answer, report, pictures          what is printed, written as a page, and drawn
    style, terminal                   pictures and commands, for the packages above, too

In a terminal: `agentlib-sessions`, or `python -m session_report`. `load` tells the formats
apart by what is in the file.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from agentlib import session_file as file
from agentlib import transcripts
from agentlib.session_file import Line
from agentlib.transcripts import MISSING, Session
from session_report import codex, gemini, pi
from session_report.claude_code import BROKEN, Gathered, is_message
from session_report.playback import replay, table

__all__ = [
    "FORMATS",
    "MISSING",
    "PROJECTS",
    "Session",
    "files",
    "load",
    "replay",
    "table",
]

PROJECTS = Path.home() / ".claude" / "projects"
"""Where Claude Code keeps its session files."""
_PATTERNS = ("*.jsonl", "session-*.json")

Reader = Callable[[str, Line], Iterable[Line]]
"""(number, object of a file) -> the same in lines of Claude Code's. Called for one by
one."""

FORMATS: dict[str, tuple[str, Callable[[Line], bool], Callable[[], Reader] | None]] = {
    "ours": (
        '"version": "agentlib"',
        lambda line: line.get("version") == "agentlib",
        None,
    ),
    "Claude Code": (
        '"type": "user", "message"',
        is_message,
        lambda: lambda number, line: [line],
    ),
    "pi": ('"type": "session", "cwd"', pi.knows, pi.Reader),
    "Codex": ('"type": "response_item", "payload"', codex.knows, codex.Reader),
    "gemini-cli": ('"sessionId", "projectHash"', gemini.knows, gemini.Reader),
}
"""For each agent: what an object of its files has, how one is known, and what begins to
read them.

`transcripts` reads ours.
"""


def files(paths: Iterable[Path | str] = (PROJECTS,)) -> list[Path]:
    """List the session files among these paths, and in these folders and the folders in
    them.

    The files of subagents are in the list, because their requests were paid, too. A
    file that is named itself is taken whatever its name is. Raises FileNotFoundError if
    a path doesn't exist.
    """
    found = list[Path]()
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist; name a session file or a folder"
            )
        inside = (each for pattern in _PATTERNS for each in path.rglob(pattern))
        found += (
            sorted(each for each in inside if each.is_file())
            if path.is_dir()
            else [path]
        )
    return list(dict.fromkeys(found))


def load(path: Path | str, progress: Callable[[int], object] = int) -> Session:
    """Read a session from a file of any of the `FORMATS`.

    One response becomes one request, whose `at` is the newest time in the file before
    it. Lines of subagents, hooks and failed requests are left out. The settings are a
    guess, `Settings()`. The `usage` of a request also has the `model` that answered,
    because the bill depends on it.

    A call without a result gets one that says "interrupted", and `MISSING` stands for a
    lost user message, because the API's rules need both. The session has no path, so
    that their file is never written to. `progress` gets the bytes of each line as it is
    read. Raises ValueError if the file holds no conversation or is a folder, OSError if
    it can't be read.

    On paper: the lines user "hi", assistant msg_1 "\\n\\n", assistant msg_1 "Hello."
    are a history of two messages and one request, whose context is the user's message.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder; sessions.files([{str(path)!r}]) lists its sessions"
        )
    skipped, damage = list[str](), list[str]()
    try:
        begin = _reader(path)
        if not begin:
            progress(path.stat().st_size)
            return transcripts.load(path)
        objects = _objects(path, skipped, progress)
        session = _gathered(objects, begin(), damage).session(path.stem)
    except BROKEN as error:
        raise ValueError(f"{path} can't be read: {error}") from error
    session.skipped, session.damage = skipped, damage + session.damage
    return session


def _reader(path: Path) -> Callable[[], Reader] | None:
    for line in _objects(path, []):
        for _, knows, begin in FORMATS.values():
            if knows(line):
                return begin
    signs = "; ".join(f"{sign} ({name})" for name, (sign, *_) in FORMATS.items())
    raise ValueError(
        f"it holds no conversation: no JSON object in it has one of {signs}"
    )


def _objects(
    path: Path, skipped: list[str], progress: Callable[[int], object] = int
) -> Iterator[Line]:
    """Yield the JSON objects of a file. The beginnings of other texts in it go to
    `skipped`."""

    def see(raw: bytes) -> bytes:
        progress(len(raw))
        return raw

    for number, part in file.numbered(path, see):
        if isinstance(part, dict):
            yield from gemini.objects(part)
        elif number == 1 and part == "{":  # one object on many lines
            yield from gemini.objects(json.loads(see(path.read_bytes())))
            return
        else:
            skipped.append(part[:200])


def _gathered(objects: Iterable[Line], read: Reader, damage: list[str]) -> Gathered:
    gathered = Gathered()
    for number, line in enumerate(objects):
        try:
            for ours in read(str(number), line):
                gathered.add(
                    {"timestamp": line.get("timestamp"), **ours}, f"object {number}"
                )
        except BROKEN as error:
            damage.append(f"object {number} is left out: {error!r:.200}")
    return gathered
