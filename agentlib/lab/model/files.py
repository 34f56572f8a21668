"""Listing a folder and reading its files one by one, with a note on each.

The listing is looked at, not remembered: where it was cleared, it is asked for again. Small files
are read two or three at a time, large ones in parts. Not here: what becomes of the notes (tasks).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from agentlib.lab.model.acting import again, bash, quoted, use
from agentlib.lab.model.calls import Call
from agentlib.lab.model.notes import CONTINUED, Note, notes, told
from agentlib.lab.model.prompts import Task
from agentlib.lab.model.reading import View, one_line
from agentlib.lab.model.sources import describe
from agentlib.messages import Block

PAGE = 300
"""Files in one listing; a long one comes in pages."""
BATCH, SMALL, TOGETHER = 3, 3_000, 7_000
"""At most so many files at once, each and together at most so many bytes."""
TRIES = 3
"""Readings of a file after which it is left, openly."""
_ONE_PART = 48_000
_SHARE = 0.25 * 3.5
"""Characters read at once, per token of the window: a quarter of it."""
_NO_SOURCE = re.compile(
    r"\.(?:png|jpe?g|gif|ico|webp|pdf|zip|gz|xz|bz2|tar|whl|jar|class|pyc|so|dll|dylib|exe|o|a|woff2?|"
    r"ttf|otf|mp[34]|wav|sqlite|db|parquet|npz?|pkl|ipynb|svg|map|min\.js|min\.css|lock)$",
    re.IGNORECASE,
)
_SKIPPED_FOLDERS = ("node_modules", "__pycache__", "venv", "site-packages")


class File(NamedTuple):
    """A line of a listing."""

    path: str
    size: int
    """Bytes."""
    lines: int = 0

    @property
    def line_size(self) -> float:
        """Bytes of a line, on average."""
        return self.size / max(1, self.lines)


def listing_command(folder: str, endings: Sequence[str], page: int = 0) -> str:
    """Lines, bytes and paths of the files below a folder, sorted by path, without dates.

    Plain enough for Linux, macOS and Git's bash.
    """
    kinds = " -o ".join(f"-name '*.{ending}'" for ending in endings)
    without = " ".join(f"-not -path '*/{name}/*'" for name in _SKIPPED_FOLDERS)
    place = quoted(folder)
    check = "" if folder == "." else f"[ -d {place} ] || {{ echo 'no such directory'; exit; }}; "
    which = rf"\( {kinds} \) " if kinds else ""
    return (
        rf"{check}find {place} -type f {which}-not -path '*/.*' {without} -exec wc -lc {{}} + | "
        rf"sed -E 's|^ *([0-9]+) +([0-9]+) (\./)?|\1 \2 |' | grep -Ev '^[0-9]+ [0-9]+ total$' | "
        "LC_ALL=C sort -k 3 | "
        rf"sed -n '{page * PAGE + 1},{page * PAGE + PAGE}p'"
    )


def files_in(listing: str) -> list[File]:
    """The files of a listing; pictures, archives, notebooks and other data are left out.

    >>> files_in("1 12 a.py\\n3 90 logo.png")
    [File(path='a.py', size=12, lines=1)]
    """
    found = re.findall(r"^(\d+) (\d+) (.+)$", listing, re.MULTILINE)
    return [File(p, int(size), int(lines)) for lines, size, p in found if not _NO_SOURCE.search(p)]


class Listing(NamedTuple):
    """What is left to read as far as it can be seen, or the call that would show it."""

    files: list[File]
    todo: list[File]
    call: Block | None = None
    remark: str = ""
    left_out: int = 0


def listing(view: View, task: Task) -> Listing:
    """The first page of the folder that has files left to read, or the last one."""
    folder = _folder(view, task)
    page, files, lost = 0, list[File](), _read_in_vain(view)
    while True:
        command = listing_command(folder, task.endings, page)
        seen = view.ran("bash", command=command)
        if not seen or not seen.visible:
            if seen and seen.error and not seen.interrupted:
                return Listing([], [], None, f"I can't list the files: {one_line(seen.text)}")
            if not files and page < view.done_count // PAGE:
                page += 1
                continue
            return Listing(files, [], again(view, seen) if seen else bash(command))
        if seen.text.startswith("no such directory"):
            remark = f"There is no directory {folder}/ here; I take the whole workspace instead."
            return Listing([], [], bash(listing_command(".", task.endings)), remark)
        rows, found = len(re.findall(r"^\d+ \d+ ", seen.text, re.MULTILINE)), files_in(seen.text)
        files += [file for file in found if file.path != task.report]
        todo = [f for f in files if not view.is_done(f.path) and f.path not in lost]
        if todo or rows < PAGE:
            return Listing(files, todo, left_out=rows - len(found))
        page += 1


def _folder(view: View, task: Task) -> str:
    """The folder asked for; the whole workspace where it is not there."""
    missing = {parts[0] for kind, parts in view.own if kind == "missing"}
    return "." if task.folder in missing else task.folder


def listed_again(view: View, task: Task, seen: Listing, upto: str) -> Block | None:
    """The first page once more, where files on it are done, not seen and not in the report yet."""
    if not seen.files or upto >= seen.files[0].path:
        return None
    command = listing_command(_folder(view, task), task.endings)
    since = takewhile(lambda c: c.name != "read_file", reversed(view.calls))
    asked = sum(c.input == {"command": command} for c in since)
    return None if asked > 1 else bash(command)


def take_notes(view: View) -> str:
    """Notes on everything that was read and not noted yet, and on what could not be read."""
    reads = [call for call in view.calls if call.name == "read_file" and not call.interrupted]
    lines: list[str] = []
    for call in reads:
        if line := "" if view.is_done(call.path) else _line_on(view, call):
            lines.append(line)
            view = view.noting(line)
    asked = [call.path for call in reads if not call.visible]
    lost = [path for path in dict.fromkeys(asked) if asked.count(path) >= TRIES]
    lines += [
        f"Skipped {told(p)}: cleared before I can read it" for p in lost if not view.is_done(p)
    ]
    return "\n".join(lines)


def _line_on(view: View, call: Call) -> str:
    """What there is to note on one read, "" where it was noted or can't be seen."""
    if call.error:
        return f"Skipped {told(call.path)}: {one_line(call.text, 100)}"
    noted = notes(view.own).get(call.path)
    start = call.input.get("offset") or 0
    if not call.visible or start != (noted.upto if noted else 0):
        return ""
    said = describe(call.path, call.body)
    if start:
        return Note(call.path, CONTINUED, facts=said.facts, upto=call.next_line).text()
    bare = said.bare and not call.next_line
    return Note(call.path, said.purpose, said.names, said.facts, call.next_line, bare).text()


def too_long(view: View, todo: Sequence[File]) -> str:
    """Open words on the files whose single lines are longer than what can be read at once."""
    room = _room(view)
    return "\n".join(
        f"Skipped {told(file.path)}: its lines are too long to be read"
        for file in todo
        if file.size > room and file.line_size > room
    )


def _read_in_vain(view: View) -> set[str]:
    """The files read so often that their notes can't be found again: a name may hold a sign that
    divides them."""
    reads = Counter((c.path, str(c.input)) for c in view.calls if c.name == "read_file")
    return {path for (path, _), times in reads.items() if times >= TRIES}


def _room(view: View) -> int:
    """Characters to be read at once."""
    return min(_ONE_PART, int(view.window * _SHARE) or _ONE_PART)


def next_reads(view: View, todo: Sequence[File]) -> list[Block]:
    """The calls that read on: a part of a large file, one file, or a few small ones."""
    upto = {path: note.upto for path, note in notes(view.own).items()}
    room = _room(view)
    first, *others = todo
    start = upto.get(first.path, 0)
    if start or first.size > room:
        where = {"offset": start} if start else {}
        return [use("read_file", path=first.path, **where, limit=int(room / first.line_size))]
    chosen, total = [first], first.size
    for file in others[: BATCH - 1]:
        total += file.size
        if max(first.size, file.size) > SMALL or total > TOGETHER:
            break
        chosen.append(file)
    return [_read(view, file.path) for file in chosen]


def _read(view: View, path: str) -> Block:
    """Read a file, or recall what was read of it and cleared before it was noted."""
    before = view.ran("read_file", path=path)
    return again(view, before) if before else use("read_file", path=path)
