"""Find session files, tell their formats apart, and read one."""

from collections.abc import Callable, Iterable, Iterator
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
        patterns = dict.fromkeys(p for form in FORMATS.values() for p in form.patterns)
        inside = {each for pattern in patterns for each in path.rglob(pattern)}
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
    for line in objects(path, skipped):
        for form in FORMATS.values():
            if form.knows(line):
                return form
    signs = "; ".join(f"{form.sign} ({name})" for name, form in FORMATS.items())
    raise ValueError(
        f"it holds no conversation: no JSON object in it has one of {signs}"
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
