"""The reading tasks: list a folder, read its files with a note on each, then report or
read on.

The listing is looked at, not remembered. If it was cleared, it is asked for again.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile
from shlex import quote
from typing import NamedTuple

from agentlib.messages import Block
from offline_api.model.notes import SO_FAR, WHOLE, Note, last, note, number, one_line
from offline_api.model.prompts import COMMANDS, Task, required_line
from offline_api.model.replies import Reply, answer, falls_short, gives_up, say
from offline_api.model.sources import BARE, UNPARSED, describe
from offline_api.model.view import NO_FOLDER, Call, View

LOST = "(details lost)"
"""Stands for what was noted and can't be seen any more. It is neither made up nor read
again."""
LISTED = 400
"""The most files in a listing. The report says so if there may be more."""
_SHOWN = 40
"""The most files that a closing word names."""
_FRAME = 150
"""Tokens of a reply that writes: its calls, the report's name, its first lines."""
_SOUGHT = ("- [f", "rule")
"""Words to search for: the beginning of its notes on files and facts, and the person's
rules."""
_END = "{} in all."
"""The line with which a report ends, but for one that a rule wants."""
_ROW = re.compile(r"^(\d+) (\d+) (.+)$", re.MULTILINE)
_FOUND = re.compile(r"^(?:(\d+) (\d+) )?/(.+)$", re.MULTILINE)
"""A line of a `glob`: a whole path, and before it the lines and bytes, if it has them."""
_READ_FIRST = re.compile(
    r"\bread\b[^\n]{0,80}\b(?:first|before)\b|\bnot (?:yet )?(?:been )?read\b", re.I
)
"""An error of a tool that writes over no file which the agent hasn't read."""
_WIDTH = 25
"""Bytes of a line, in files of which only the names are known."""


class File(NamedTuple):
    """A line of a listing, with the size in bytes."""

    path: str
    size: int
    lines: int = 0


def listing_command(folder: str, endings: Sequence[str]) -> str:
    """Write the command that prints lines, bytes and path of each file below a
    folder."""
    kinds = " -o ".join(f"-name '*.{ending}'" for ending in endings)
    place = quote(folder)
    check = (
        "" if folder == "." else f"[ -d {place} ] || {{ echo '{NO_FOLDER}'; exit; }}; "
    )
    which = rf"\( {kinds} \) " if kinds else ""
    return COMMANDS["list"].format(check=check, place=place, which=which, most=LISTED)


def listing(view: View, task: Task) -> tuple[list[File], Reply | None]:
    """Return the files of the folder that the task names, or the reply that lists
    them."""
    if "bash" in view.tools:
        command = listing_command(task.folder, task.endings)
        if task.files:
            command = COMMANDS["sizes"].format(names=" ".join(map(quote, task.files)))
        call = view.use("bash", command=command)
        rows, step = view.printed(call, _ROW)
    elif task.files:
        rows = [(1, _WIDTH, path) for path in task.files]
        step = None
    else:
        found = []
        step = None
        for pattern in _patterns(task):
            call = view.use("glob", pattern=pattern)
            found, step = view.printed(call, _FOUND)
            if found or not ((made := view.ran(call)) and (made.text or made.error)):
                break
            step = None
        rows = [(lines or 1, size or _WIDTH, path) for lines, size, path in found]
    files = [File(path, int(size), int(lines)) for lines, size, path in rows]
    return [file for file in files if file.path != task.report], step and answer(
        view, "", step
    )


def _patterns(task: Task) -> list[str]:
    """Write the pattern for the `glob` of an agent without bash: below the root of its
    files, or, if nothing is found there, below the folder that it is in."""
    kinds = ",".join(task.endings)
    ending = f".{{{kinds}}}" if "," in kinds else f".{kinds}" if kinds else ""
    every = f"**/*{ending}"
    inside = f"{task.folder}/{every}"
    return [every] if task.folder == "." else [f"/{inside}", inside]


# -- notes -----------------------------------------------------------------------------


def take_notes(view: View) -> View:
    """Write notes on everything that was read and isn't noted yet, and on what can't be
    read."""
    reads = [call for call in view.calls if call.name in ("read_file", "outline")]
    for call in reads:
        if lines := "" if view.is_done(call.path) else _notes_on(view, call):
            view = view.noting(lines)
    lost = [
        call.path for call in reads if not call.text and not view.is_done(call.path)
    ]
    for path in dict.fromkeys(lost):
        if lost.count(path) > view.habits.rereads:
            view = view.noting(note("skipped", path, "cleared before I can read it"))
    return view


def _notes_on(view: View, call: Call) -> str:
    """Write what there is to note on one result, "" if nothing of it can be seen."""
    before = view.reading.get(call.path)
    if call.error:
        is_file = call.name == "read_file"
        return note("skipped", call.path, one_line(call.error, 100)) if is_file else ""
    # A tool that counts lines from 1 without saying so shows one line twice.
    upto = before.upto if before else 0
    if not call.text or call.start not in (upto, max(0, upto - 1)):
        return ""
    if call.name == "outline":
        lines = [one_line(line, 80).replace(" | ", " ") for line in call.lines[:4]]
        return note("outline", call.path, *lines, *[""] * (2 - len(lines)))
    if view.habits.notes or call.next_line:
        return _described(view, call, before)
    return note("done", call.path)


def _described(view: View, call: Call, before: Note | None = None) -> str:
    """Write the note on a file, or on a part of it, and the facts in it."""
    text = "\n".join(call.lines)
    described = describe(call.path, text)
    names = [name for name in described.names if name != BARE or not call.next_line]
    known = before.parts[2:] if before else (described.purpose, *names)
    end = call.start + text.removesuffix("\n").count("\n") + 1
    read = f"{call.next_line} {SO_FAR}" if call.next_line else f"{end} {WHOLE}"
    facts = [note("fact", fact) for fact in described.facts if fact not in view.facts]
    return "\n".join([note("file", call.path, read, *known), *facts])


def in_sight(view: View) -> View:
    """Return the view with the notes that a model without notes makes up from what
    still stands."""
    reads = (
        [] if view.habits.notes else [c for c in view.calls if c.name == "read_file"]
    )
    return view.knowing(
        "\n".join(_described(view, c) for c in reads if c.text and not c.start)
    )


# -- the next files --------------------------------------------------------------------


def _next_reads(view: View, todo: Sequence[File], room: int) -> list[Block]:
    """Read a part of a large file, one file, or a few small ones."""
    first = todo[0]
    habits = view.habits
    begun = view.reading.get(first.path)
    if "outline" in view.tools and not begun and first.size > habits.small:
        call = view.use("outline", path=first.path)
        if not view.ran(call):
            return [call]
    if begun or first.size > room:
        where = {"offset": begun.upto} if begun else {}
        too_large = sum(call.cut for call in view.calls if call.path == first.path)
        limit = max(1, room * first.lines // max(1, first.size) >> too_large)
        return [view.use("read_file", path=first.path, **where, limit=limit)]
    small = takewhile(lambda file: file.size <= habits.small, todo[: habits.batch])
    count = sum(
        size <= habits.together for size in accumulate(file.size for file in small)
    )
    is_lost = view.ran(view.use("read_file", path=first.path)) is not None
    batch = todo[: 1 if is_lost else max(1, count)]
    return [view.again(view.use("read_file", path=file.path)) for file in batch]


def _read_on(
    view: View, task: Task, end: Callable[[View, Task, Sequence[File]], Reply]
) -> Reply:
    """Read on; if everything is read, come to the `end`."""
    files, reply = listing(view, task)
    missing = [] if reply else sorted({*task.files} - {file.path for file in files})
    if missing and files:
        return falls_short(view, f"I found no file {' and no file '.join(missing)}.")
    if left := [file for file in files if not view.is_done(file.path)]:
        room = min(view.part, int(view.window * view.habits.page * 3.5) or view.part)
        return answer(view, "", *_next_reads(view, left, room))
    if not files and not reply:
        kind = f".{task.endings[0]} file" if task.endings else "file"
        kind = f"file {' or '.join(task.files)}" if task.files else kind
        place = "this workspace" if task.folder == "." else f"{task.folder}/"
        return falls_short(view, f"I found no {kind} in {place}.")
    return reply or end(view, task, files)


def read(view: View, task: Task) -> Reply:
    """Read every file and note what is found, then write the report or a closing
    word."""
    view, call = take_notes(view), view.newest
    if stop := gives_up(view):
        return falls_short(view, stop)
    if call and call.error and last(call.notes, "report"):
        looked = any(
            c.name == "read_file" and c.path == task.report for c in view.calls
        )
        if _READ_FIRST.search(call.error) and not looked:
            first = view.use("read_file", path=task.report)
            return answer(view, f"I read {task.report} first.", first)
        return falls_short(view, f"I could not write {task.report}: {call.error[:200]}")
    return _read_on(view, task, _report if task.kind == "report" else _closing)


def until(view: View, task: Task) -> Reply:
    """Read on until a summary stands in the context, or every file is read."""
    if view.compacted:
        view = take_notes(view)
        return answer(
            view,
            "Compression has triggered: a summary stands in place of our conversation. "
            f"I stop reading; I have been through {counted(view.done_count)}.",
        )
    if stop := gives_up(view):
        return falls_short(view, stop)
    return _read_on(
        take_notes(view.noting(view.before if view.first else "")), task, _all_read
    )


def _all_read(view: View, task: Task, files: Sequence[File]) -> Reply:
    return answer(
        view,
        f"I have read all there is, {counted(len(files))}, and compression did not trigger. "
        "With a smaller window or threshold it would.",
    )


# -- the report ------------------------------------------------------------------------


def _closing(view: View, task: Task, files: Sequence[File]) -> Reply:
    """Say how many files were read, and in a line each what they are, as far as is
    known."""
    paths = [file.path for file in files]
    view = in_sight(view)
    known = {path: view.files[path].parts[2] for path in paths if path in view.files}
    shown = min(_SHOWN, view.max_tokens // 60)
    lines = [f"{path}: {known.get(path, LOST)}" for path in paths[:shown]]
    lines += [f"... and {len(paths) - shown} more"] if len(paths) > shown else []
    lost = len(paths) - len(known)
    told = f"{_told(files, lost)}{_unread(view, paths)}"
    return answer(view, "\n".join([f"I read {told}", *lines]))


def _unread(view: View, paths: Sequence[str]) -> str:
    """Say how many files couldn't be read, and why the first couldn't."""
    reasons = {n.parts[0]: n.parts[1] for n in view.known if n.kind == "skipped"}
    unread = [path for path in paths if path in reasons and path not in view.files]
    if not unread:
        return ""
    return (
        f" I couldn't read {counted(len(unread))}: {unread[0]} ({reasons[unread[0]]})."
    )


def _told(files: Sequence[File], lost: int) -> str:
    """Say how many files there are, and what the person should know about them."""
    text = counted(len(files)) + (f"; of {lost} the details are lost." if lost else ".")
    if len(files) >= LISTED - 1:
        text += f" I list {LISTED} at most, so there may be more."
    return text


def _report(view: View, task: Task, files: Sequence[File]) -> Reply:
    """Write the report, and say so when it is there."""
    view = in_sight(view)
    paths = [file.path for file in files]
    looks = view.use(
        "bash", command=f"test ! -e {quote(task.report)} || echo 'there is one'"
    )
    looked = [looks] if "bash" in view.tools else []
    written = last(view.own, "report")
    is_written, look = _is_written(view, task.report, len(files))
    if written and look:
        return answer(view, f"I look whether {task.report} is there.", look)
    if written and is_written:
        there = view.ran(looks)
        is_there = there and there.text.startswith("there is one")
        older = f" It replaces an older {task.report}." if is_there else ""
        cut = sum(path > written.parts[1] for path in paths)
        missing = f" {counted(cut)} found no room in it." if cut else ""
        told = _told(files, number(written.parts[2]))
        unread = _unread(view, paths)
        return say(f"I wrote {task.report}: {told}{unread}{missing}{older}")
    skipped = {
        each.parts[0]: each.parts[1] for each in view.known if each.kind == "skipped"
    }
    texts = [section(path, view.files.get(path), skipped.get(path)) for path in paths]
    end = closing(view, len(files))
    can = (
        view.habits.searches
        and view.summary
        and "search" in view.tools.get("recall", ())
    )
    searches = [view.use("recall", search=words) for words in _SOUGHT if can]
    if calls := [call for call in searches if not view.ran(call)]:
        return answer(view, "I search what was compacted before I write.", *calls)
    view = view.noting("\n".join(note("rule", rule) for rule in view.rules))
    # A reply that is cut off writes nothing, and what is said beside the report needs
    # room too. A Chinese character has three bytes and is about a token. So are two
    # letters of short words.
    room = 2 * (view.max_tokens - _FRAME - (len(view.said) + len(end)) // 3)
    count = max(
        1, sum(size <= room for size in accumulate(len(t.encode()) + 8 for t in texts))
    )
    cut = (
        [f"No room for {counted(len(paths) - count)} more."]
        if count < len(paths)
        else []
    )
    lost = sum(LOST in part for part in texts[:count])
    words = note("report", task.report, paths[count - 1], f"{lost} lost")
    first = required_line(view.in_force, first=True)
    title = [*([first] if first else []), f"# Report on {counted(len(files))}\n\n"]
    content = "\n".join(title) + "\n\n".join([*texts[:count], *cut]) + f"\n{end}"
    return answer(
        view, words, *looked, view.use("write_file", path=task.report, content=content)
    )


def _is_written(view: View, report: str, files: int) -> tuple[bool, Block | None]:
    """Return whether the report is there and whole, and the call that tells if the view
    doesn't.

    A note on the report is no proof: the agent may have been killed before the file was
    written. After an interruption it is written once more.
    """
    writes = [
        call for call in view.calls if call.name == "write_file" and call.path == report
    ]
    if writes:
        return writes[-1].succeeded, None
    end = quote(_END.format(counted(files)))
    command = f"grep -sqxF {end} {quote(report)} && echo written || echo missing"
    call = view.use("bash", command=command)
    told, look = view.printed(call, re.compile("^(?:written|missing)$", re.MULTILINE))
    return told == ["written"], look


def counted(files: int) -> str:
    """Say how many files.

    >>> counted(1), counted(2)
    ('1 file', '2 files')
    """
    return f"{files} file{'' if files == 1 else 's'}"


def section(path: str, noted: Note | None, skipped: str | None = None) -> str:
    """Write what is known about one file.

    >>> print(section("a.py", Note("file", ("a.py", "9 lines", "Adds.", "add: Return the sum."))))
    ## a.py
    Purpose: Adds.
    - `add`: Return the sum.
    """
    if noted is None:
        return f"## {path}\n{f'({skipped})' if skipped else LOST}"
    if noted.kind == "outline":
        return "\n".join([f"## {path}", "(seen as an outline)", *noted.parts[1:]])
    if noted.parts[2] == UNPARSED:
        return f"## {path}\n({UNPARSED})"
    names = (name.partition(": ") for name in noted.parts[3:])
    lines = [
        f"- {name}" if " " in name else f"- `{name}`{of}{what}"
        for name, of, what in names
    ]
    return "\n".join([f"## {path}", f"Purpose: {noted.parts[2]}", *lines])


def closing(view: View, files: int) -> str:
    """Write the report's last lines: the facts found, and a line that a rule wants
    there."""
    found = (
        ["## Facts and decisions", *(f"- {fact}" for fact in view.facts)]
        if view.facts
        else []
    )
    last = required_line(view.in_force, first=False)
    parts = ["\n".join(found), _END.format(counted(files)), last or ""]
    return "\n" + "\n\n".join(part for part in parts if part) + "\n"
