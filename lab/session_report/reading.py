"""Find session files, tell their formats apart, and read one."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from agentlib import transcripts
from agentlib.session.file import Line
from agentlib.transcripts import Session
from session_report.formats import Format, Reader, claude_code, codex, gemini, ours, pi
from session_report.formats.claude_code import PROJECTS
from session_report.gathered import BROKEN, Gathered
from session_report.objects import TORN, objects

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (ours, claude_code, pi, codex, gemini)
}
"""The formats that can be read, by the agent's name. A line is of the first that knows
it."""


_SHOWN = 6
"""How many fields of a file that nobody knows are named."""


_HEAD = 2**16
_IDS = 3
"""Bytes at the beginning of a file in which its id is looked for, and how many ids."""


def files(paths: Iterable[Path | str] = (PROJECTS,)) -> list[Path]:
    """List the session files among these paths, and in these folders and the folders in
    them, those behind links too.

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
        found += sorted(filter(is_named, inside(path))) if path.is_dir() else [path]
    return list(dict.fromkeys(found))


def is_named(path: Path) -> bool:
    """Return whether a file has a name that session files of some format have."""
    patterns = (p for form in FORMATS.values() for p in form.patterns)
    return any(fnmatch(path.name, pattern) for pattern in patterns)


def has_id(path: Path, beginning: str) -> bool:
    """Return whether a session's id, which stands inside its file, begins so."""
    with path.open("rb") as raw:
        head = raw.read(_HEAD).decode(errors="replace")
    names = re.findall(r'"(?:id|sessionId|session_id)":\s*"([^"]+)"', head)
    return bool(beginning) and any(name.startswith(beginning) for name in names[:_IDS])


def inside(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and the folders in it. A folder that links lead to as
    well is read once."""
    seen = set[Path]()
    for place, folders, names in os.walk(folder, followlinks=True):
        seen.add(Path(place).resolve())
        folders.sort(key=lambda name: Path(place, name).is_symlink())
        for name in [*folders]:
            real = Path(place, name).resolve()
            if real in seen:
                folders.remove(name)
            seen.add(real)
        paths = (Path(place, name) for name in names)
        yield from (path for path in paths if path.is_file())


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
    skipped = list[str]()
    damage = list[str]()
    try:
        form = _format(path)
        if not form.reader:
            progress(path.stat().st_size)
            return transcripts.load(path)
        reader = form.reader()
        gathered = _gathered(objects(path, skipped, progress), reader, damage)
        session = gathered.session(path.stem.removesuffix(".jsonl"), reader.about)
    except BROKEN as error:
        raise ValueError(f"{path} can't be read: {error}") from error
    session.about.program = form.name
    session.about.project = session.about.project or form.project(path)
    session.about.kind = session.about.kind or form.kind(path)
    for aside in session.asides:
        aside.about.program = form.name
        aside.about.project = session.about.project
    session.skipped = skipped
    session.damage = damage + session.damage
    return session


def _format(path: Path) -> Format:
    skipped = list[str]()
    fields = dict[str, None]()
    for line in objects(path, skipped):
        for form in FORMATS.values():
            if form.knows(line):
                return form
        fields |= dict.fromkeys(list(line)[:_SHOWN]) if len(fields) < _SHOWN else {}
    signs = "; ".join(f"{form.sign} ({name})" for name, form in FORMATS.items())
    raise ValueError(
        f"it holds no conversation: no JSON object in it has one of {signs}"
        + (
            f". They have {', '.join(map(repr, list(fields)[:_SHOWN]))}"
            if fields
            else ""
        )
        + "".join(f" {text}" for text in skipped[-1:] if text == TORN)
    )


def _gathered(lines: Iterable[Line], reader: Reader, damage: list[str]) -> Gathered:
    gathered = Gathered()
    for number, (line, translated) in enumerate(_translated(lines, reader)):
        try:
            for ours in translated:
                gathered.add(
                    {"timestamp": line.get("timestamp"), **ours}, f"object {number}"
                )
        except BROKEN as error:
            damage.append(f"object {number} is left out: {error!r:.200}")
    return gathered


def _translated(
    lines: Iterable[Line], reader: Reader
) -> Iterator[tuple[Line, Iterable[Line]]]:
    """Yield each line with the lines that it stands for, and the last one again with
    what is due at the end."""
    line = Line()
    for number, line in enumerate(lines):
        yield line, reader(str(number), line)
    yield line, reader.finish()
