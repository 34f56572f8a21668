"""What is known of the lists that were seen, in memory and in session files.

A decision is known by the digest of the list that it was made for. The files are a
record beside that. They are read once, after a restart, and if one is damaged, gone or
can't be written, only the memory of it is lost.
"""

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from glob import escape
from hashlib import sha256
from itertools import accumulate, count
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from agentlib.adapters import shapes
from agentlib.adapters.thread import Thread
from agentlib.api.replies import is_content
from agentlib.session import file
from agentlib.session.file import Line
from agentlib.step import Step

VIEW = "view"
"""The subtype of the line that ends what one request added. `transcripts.load` passes
over it."""
MOST = 100_000
"""Requests and conversations that are remembered. Older ones are read from the files
again, or compacted again."""
_BEGUN = 32
"""Conversations whose next view costs what is new. The others are read again."""
_NEWEST = 20
"""Files of one name that are read after a restart."""
_MOST_CHANGED = 20
"""Messages at the end of a list that may change without touching a decision."""
_LONGEST = 120
"""Characters of a file's name. No file system has room for fewer."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Newest(OrderedDict[_Key, _Value]):
    """A dict that forgets its oldest entries."""

    def __init__(self, most: int = MOST) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)


@dataclass(frozen=True, eq=False)
class Point:
    """A list that was seen, and what was decided for it."""

    before: "Point | None"
    """The longest beginning of the list that was known then."""
    digest: str
    step: Step | None
    shorter: tuple[str, ...] = ()
    """Digests of shorter beginnings of the list for which the decision holds, too."""

    def path(self) -> list["Point"]:
        """Return the points up to this one, the oldest first."""
        path = list[Point]()
        point = self.before
        while point is not None:
            path.append(point)
            point = point.before
        return [*path[::-1], self]


@dataclass(frozen=True)
class Place:
    """What is known of a list, and where its lines go."""

    stem: str
    session_id: str
    file: Path
    size: int
    """Bytes of the file. 0: it isn't there yet."""
    end: Point | None
    """The point at which the file ends."""
    known: list[Point]
    """The points of the list, the oldest first."""
    kept: int | None = None
    """Bytes of the file that stay, because its end has changed. None: all."""
    lines: int = 0
    """The session's lines in these bytes."""


class Record:
    """The decisions that are known, and the files that they stand in."""

    def __init__(self, folder: Path, fail: Callable[[str], None]) -> None:
        self.folder = folder
        self._fail = fail
        self._known: _Newest[str, Point] = _Newest()
        self._ends: _Newest[tuple[str, Point], Place] = _Newest()
        self._shorter: _Newest[str, Point] = _Newest()
        """Digest of a shorter beginning -> the newest decision that holds for it."""
        self._changeable: _Newest[tuple[str, str], Place] = _Newest()
        """Name and digest -> the file that ends a few messages later, in what followed
        the newest reply."""
        self._chosen: _Newest[Path, bool] = _Newest()
        """Files that are not written yet."""
        self._begun: _Newest[str, Thread] = _Newest(_BEGUN)
        self._read: _Newest[str, bool] = _Newest()
        self._lock = threading.Lock()

    def begun(self, name: str) -> Thread | None:
        """Return what was read of a conversation's list, up to its newest reply."""
        with self._lock:
            return self._begun.get(name)

    def go_on_from(self, name: str, begun: Thread | None) -> None:
        """Keep what was read for the conversation's next view."""
        if begun is not None:
            with self._lock:
                self._begun[name] = begun

    def place(self, name: str, digests: Sequence[str], newest_reply: int) -> Place:
        """Find the longest beginning of a list that is known, and its file.

        A list that goes on where its file ends gets this file. So does one that changed
        what stood behind the newest reply and went on with another reply: its program
        had only added that for one request. A fork gets a new file, with the same
        session id, so the lines that both share have the same uuids.

        `newest_reply`: how many messages there are up to the newest reply.
        """
        stem = _stem(name)
        with self._lock:
            if stem not in self._read:
                self._read[stem] = True
                self._restore(stem)
            numbers = range(len(digests), 0, -1)
            points = (self._point(digests[:number]) for number in numbers)
            last = next(filter(None, points), None)
            path = last.path() if last else []
            newest = {point.digest: point for point in path}.values()
            ends = [self._ends.get((stem, point)) for point in newest]
            passed = [end for end in reversed(ends) if end]
            gone_on = digests[: max(0, newest_reply - 1)]  # a reply stands behind these
            found = [self._changeable.get((stem, digest)) for digest in gone_on]
            changed = [end for end in reversed(found) if end]
            for end in (*passed, *changed):
                is_known = end.end is None or end.end in path
                if is_known and _size(end.file) == end.size:
                    return replace(end, known=path)
            return self._new(stem, passed[0].session_id if passed else "", path)

    def _point(self, digests: Sequence[str]) -> Point | None:
        """Return what is known of a list with these digests.

        A decision that was made when the list had another end becomes one of this
        list's.
        """
        known = self._known.get(digests[-1])
        made = self._shorter.get(digests[-1])
        if made is None:
            return known
        del self._shorter[digests[-1]]
        before = made.before
        while before and before.step is None and before.digest not in digests:
            before = before.before
        point = replace(made, before=before, digest=digests[-1], shorter=())
        self._known[point.digest] = point
        return point

    def note(self, place: Place, thread: Thread, step: Step, covered: int) -> None:
        """Remember a decision, unless another run was quicker, and write what is new.

        `covered`: how many messages of the list the decision is about.
        """
        digest = thread.digest
        path = place.known
        before = path[-1] if path else None
        is_decision = bool(step.cleared or step.compaction)
        # Without the newest reply a list is an older one, which goes on as it did.
        covered = max(covered, thread.newest_reply)
        shorter = _shorter(path, thread.digests, covered) if is_decision else ()
        made = Point(before, digest, step if is_decision else None, shorter)
        with self._lock:
            is_new = before is None or before.digest != digest or made.step is not None
            if not is_new:
                return
            known = self._known.get(digest)
            if known is None or known in path:
                self._known[digest] = made
            self._shorter.update(dict.fromkeys(shorter, made))
            start = thread.places[place.end.digest] if place.end else 0
            if place.kept is not None:
                start = place.lines
            written = path.index(place.end) + 1 if place.end else 0
            end = {
                "type": "system",
                "subtype": VIEW,
                "sessionId": place.session_id,
                "before": written,
                "points": [_noted(point) for point in [*path[written:], made]],
            }
            lines = [*map(_summed, thread.session.lines[start:]), file.summed(end)]
            try:
                if place.size == 0:
                    file.create_first(self.folder, [place.file.name])
                elif _size(place.file) != place.size:
                    return  # another run has it, and this one gets its own next time
                elif place.kept is not None:
                    os.truncate(place.file, place.kept)
                file.append(place.file, lines, durable=False)
            except (OSError, ValueError, TypeError) as error:
                self._fail(f"the session file isn't written: {_cause(error)}")
                return
            old = place.size if place.kept is None else place.kept
            end = replace(place, size=_size(place.file), known=[], kept=None)
            self._ends[place.stem, made] = replace(end, end=made)
            bytes_to = list(accumulate(map(_bytes, lines), initial=old))
            pairs = zip(thread.digests, thread.counts, strict=True)
            for digest, number in list(pairs)[max(0, thread.newest_reply - 1) : -1]:
                if digest != made.digest and number >= start:
                    self._changeable[place.stem, digest] = replace(
                        end, end=place.end, kept=bytes_to[number - start], lines=number
                    )

    def _new(self, stem: str, session_id: str, known: list[Point]) -> Place:
        names = (f"{stem}.jsonl" if n == 1 else f"{stem}-{n}.jsonl" for n in count(1))
        paths = (self.folder / name for name in names)
        path = next(p for p in paths if p not in self._chosen and not p.exists())
        self._chosen[path] = True
        return Place(stem, session_id or path.stem, path, 0, None, known)

    def _restore(self, stem: str) -> None:
        """Read what the files of a name know."""
        pattern = escape(stem)
        try:
            paths = {*self.folder.glob(f"{pattern}.jsonl")}
            paths |= {*self.folder.glob(f"{pattern}-*.jsonl")}
            paths = {path for path in paths if path.is_file()}
            newest = sorted(paths, key=lambda path: path.stat().st_mtime)[-_NEWEST:]
            for path in newest:
                self._restore_file(stem, path)
        except OSError as error:
            self._fail(f"the session files aren't read: {_cause(error)}")

    def _restore_file(self, stem: str, path: Path) -> None:
        last: Point | None = None
        number = 0
        for line, size in _ends(path):
            try:
                session_id = str(line["sessionId"])
                if line["before"] != number:
                    return  # a line is lost, so the decisions behind it hang in the air
                for digest, noted, *more in line["points"]:
                    shorter = tuple(str(each) for each in (more or [()])[0])
                    step = _step(noted) if noted else None
                    last = Point(last, str(digest), step, shorter)
                    self._known[last.digest] = last
                    self._shorter.update(dict.fromkeys(last.shorter, last))
                    number += 1
            except (KeyError, TypeError, ValueError, AttributeError):
                return  # somebody has changed it
            if last is not None:
                place = Place(stem, session_id, path, size, last, [])
                self._ends[stem, last] = place


def _shorter(
    path: Sequence[Point], digests: Sequence[str], covered: int
) -> tuple[str, ...]:
    """Return the digests of the beginnings that have all a decision is about, and all
    earlier decisions."""
    decided = {point.digest for point in path if point.step}
    last = max((n for n, each in enumerate(digests, 1) if each in decided), default=1)
    first = max(covered, last, len(digests) - _MOST_CHANGED)
    inner = dict.fromkeys(digests[first - 1 :])
    return tuple(each for each in inner if each and each != digests[-1])


def _noted(point: Point) -> list[Any]:
    step = None if point.step is None else asdict(point.step)
    return [point.digest, step, *([point.shorter] if point.shorter else [])]


def _step(noted: dict[str, Any]) -> Step:
    """Make a decision of what a file has of it. Raises an error for anything else."""
    kept = tuple(map(int, noted["kept"]))
    usage = tuple(map(dict, noted["usage"]))
    given = {str(name): str(text) for name, text in noted["texts"].items()}
    inputs: Any = noted.get("inputs")
    texts, inputs = file.replacements({"replacements": given, "inputs": inputs})
    whole: dict[str, Any] = {**noted, "kept": kept, "usage": usage}
    whole |= {"texts": texts, "inputs": inputs}
    step = Step(**whole)
    if step.summary is not None and not is_content(step.summary["content"]):
        raise ValueError("a summary without words")
    return step


def _stem(name: str) -> str:
    """Make a file's name of a conversation's."""
    stem = quote(name, safe="") or "conversation"
    if len(stem) <= _LONGEST:
        return stem
    return f"{stem[:_LONGEST]}~{sha256(name.encode()).hexdigest()[:12]}"


def _cause(error: Exception) -> str:
    """Say why, without the file's name, so that the same cause is told once."""
    return getattr(error, "strerror", None) or str(error)


def _summed(line: Line) -> Line:
    """Return a line as it is written: without what only has a weight."""
    text = json.dumps(line, ensure_ascii=False)
    short = shapes.bare(text)
    return file.summed(line if short == text else json.loads(short))


def _bytes(line: Line) -> int:
    """Return the length of a line in the file."""
    text = json.dumps(line, ensure_ascii=False)
    return len(text.encode("utf-8", errors="backslashreplace")) + 1


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _ends(path: Path) -> Iterator[tuple[Line, int]]:
    """Yield the lines that end a request, and how long the file was with each."""
    size = 0
    with path.open("rb") as lines:
        for raw in lines:
            size += len(raw)
            if b'"subtype": "view"' in raw:
                for _, line in file.parts([raw]):
                    if isinstance(line, dict) and line.get(file.SUM) is not None:
                        yield line, size
