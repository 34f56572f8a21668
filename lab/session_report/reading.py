"""Find session files, tell their formats apart, and read one."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from agentlib import transcripts
from agentlib.transcripts import Session
from session_report.events import BROKEN
from session_report.formats import (
    Format,
    Reader,
    Source,
    claude_code,
    codex,
    gemini,
    ours,
    pi,
    whole,
)
from session_report.formats.claude_code import PROJECTS
from session_report.objects import TORN, objects
from session_report.recorded import Recorded, recorded

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
    them, those behind links too. See `sources` for the sessions in them.

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
    return any(form.has_name(path) for form in FORMATS.values())


def sources(paths: Iterable[Path | str | Source] = (PROJECTS,)) -> list[Source]:
    """List the sessions in these files and folders. Most files are one session.

    Raises FileNotFoundError if a path doesn't exist.
    """
    found = list[Source]()
    for each in paths:
        if isinstance(each, Source):
            found.append(each)
        else:
            found += [source for path in files([each]) for source in _inside(path)]
    return list({str(source): source for source in found}.values())


def _inside(path: Path) -> Iterable[Source]:
    """List the sessions of a file, by the first format that has its name. If they can't
    be listed, reading the file will say why."""
    named = (form for form in FORMATS.values() if form.has_name(path))
    form = next(named, None)
    with suppress(*BROKEN, OSError):
        return list(form.sources(path)) if form else whole(path)
    return whole(path)


def has_id(source: Source, beginning: str) -> bool:
    """Return whether a session's id, which stands inside its file, begins so."""
    with source.open() as raw:
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


def load(path: Path | str | Source, progress: Callable[[int], object] = int) -> Session:
    """Read a session from a file of any of the `FORMATS`, or one that `sources` lists.

    One response becomes one request, whose `at` is the newest time in the file before
    it. Lines of subagents, hooks and failed requests are left out. The settings are a
    guess, `Settings()`. The `usage` of a request also has the `model` that answered,
    because the bill depends on it.

    A call without a result gets one that says "interrupted", and `MISSING` stands for a
    lost user message, because the API's rules need both. The session has no path, so
    that their file is never written to. `progress` gets the bytes of each line as it is
    read. Raises ValueError if the file holds no conversation or several sessions, or is
    a folder, OSError if it can't be read.

    On paper: the lines user "hi", assistant msg_1 "\\n\\n", assistant msg_1 "Hello."
    are a history of two messages and one request, whose context is the user's message.
    """
    source = only(path)
    skipped = list[str]()
    try:
        form = _format(source)
        if not form.reader:
            progress(source.size)
            return transcripts.load(source.path)
        reader = form.reader()
        _read(source, form, reader, skipped, progress)
        session = _session(source.name, reader)
    except BROKEN as error:
        raise ValueError(f"{source} can't be read: {error}") from error
    session.about.program = form.name
    session.about.project = session.about.project or form.project(source.path)
    session.about.kind = session.about.kind or form.kind(source.path)
    for aside in session.asides:
        aside.about.program = form.name
        aside.about.project = session.about.project
    session.skipped = skipped
    return session


def only(path: Path | str | Source) -> Source:
    """Return the session of a file. Raises ValueError if it isn't one."""
    if isinstance(path, Source):
        return path
    path = Path(path)
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder; sessions.files([{str(path)!r}]) lists its sessions"
        )
    every = list(_inside(path))
    if len(every) != 1:
        raise ValueError(f"{path} has {len(every)} sessions; `sources` lists them")
    return every[0]


def _format(source: Source) -> Format:
    skipped = list[str]()
    fields = dict[str, None]()
    for line in objects(source, skipped):
        for form in FORMATS.values():
            if form.knows(line):
                return form
        fields |= dict.fromkeys(list(line)[:_SHOWN]) if len(fields) < _SHOWN else {}
    if not fields and skipped[-1:] == [TORN]:
        raise ValueError(TORN)
    signs = "; ".join(f"{form.sign} ({name})" for name, form in FORMATS.items())
    raise ValueError(
        f"it holds no conversation: no JSON object in it has one of {signs}"
        + (
            f". They have {', '.join(map(repr, list(fields)[:_SHOWN]))}"
            if fields
            else ""
        )
    )


def _read(
    source: Source,
    form: Format,
    reader: Reader,
    skipped: list[str],
    progress: Callable[[int], object],
) -> None:
    """Let a reader take in the lines of a source."""
    every = objects(source, skipped, progress)
    lines = (line for each in every for line in form.lines(each))
    for number, line in enumerate(lines):
        try:
            reader.read(str(number), line)
        except BROKEN as error:
            text = f"object {number} is left out: {error!r:.200}"
            reader.damage.append(text)
    try:
        reader.finish()
    except BROKEN as error:
        reader.damage.append(f"the end is left out: {error!r:.200}")


def _session(name: str, reader: Reader) -> Recorded:
    """Make the session of what a reader has read. Raises ValueError without a
    message."""
    session = recorded(name, reader.about, reader.events)
    session.is_cut = reader.is_cut
    session.damage = reader.damage + session.damage
    for number, aside in enumerate(reader.asides, 1):
        with suppress(ValueError):
            session.asides.append(_session(f"{name}#{number}", aside))
    return session
