"""What is known of the lists that were seen, in memory and in session files.

A decision is known by the digest of the list that it was made for. The files are a
record beside that. They are read once, after a restart, and if one is damaged, gone or
can't be written, only the memory of it is lost.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from glob import escape
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from agentlib import session_file as file
from agentlib.adapters import shapes
from agentlib.adapters.thread import Thread
from agentlib.messages import is_content
from agentlib.session_file import Line
from agentlib.step import Step

VIEW = "view"
"""The subtype of the line that ends what one request added. `transcripts.load` passes
over it."""
MOST = 100_000
"""Requests and conversations that are remembered. Older ones are read from the files
again, or compacted again."""
_NEWEST = 20
"""Files of one name that are read after a restart."""
_LONGEST = 120
"""Characters of a file's name. No file system has room for fewer."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Newest(OrderedDict[_Key, _Value]):
    """A dict that forgets its oldest entries."""

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > MOST:
            self.popitem(last=False)


@dataclass(frozen=True)
class Place:
    """Where the lines of a list go."""

    stem: str
    session_id: str
    path: Path
    size: int
    """Bytes of the file. 0: it isn't there yet."""
    start: str
    """The digest of the list at which the file ends."""


class Record:
    """The decisions that are known, and the files that they stand in."""

    def __init__(self, folder: Path, fail: Callable[[str], None]) -> None:
        self.folder = folder
        self.known: _Newest[str, list[Step]] = _Newest()
        """Digest of a list -> what was decided when it ended there."""
        self._fail = fail
        self._ends: _Newest[tuple[str, str], Place] = _Newest()
        """Stem and digest -> the place of a list that ends there."""
        self._chosen: _Newest[Path, bool] = _Newest()
        """Files that are not written yet."""
        self._read: _Newest[str, bool] = _Newest()
        self._lock = threading.Lock()

    def place(self, name: str, digests: Sequence[str]) -> Place:
        """Find the place of a list: the file of its longest beginning that has one.

        A list that goes on where its file ends gets this file. A fork gets a new one,
        with the same session id, so the lines that both share have the same uuids.
        """
        stem = _stem(name)
        with self._lock:
            if stem not in self._read:
                self._read[stem] = True
                self._restore(stem)
            ends = [self._ends.get((stem, digest)) for digest in reversed(digests)]
            passed = [end for end in ends if end]
            for end in passed:
                if _size(end.path) == end.size:
                    return end
            return self._new(stem, passed[0].session_id if passed else "")

    def note(self, place: Place, thread: Thread, step: Step) -> None:
        """Remember a decision, unless another run was quicker, and write what is new."""
        digest = thread.digest
        is_worth_it = bool(step.texts or step.compaction)
        with self._lock:
            steps = self.known.get(digest, [])
            is_first = is_worth_it and len(steps) == thread.applied
            self.known[digest] = [*steps, step] if is_first else steps
            start = thread.places.get(place.start, 0) if place.size else 0
            lines = thread.session.lines[start:]
            if not lines:
                return
            kept = asdict(step) if is_first else None
            end = {
                "type": "system",
                "subtype": VIEW,
                "sessionId": place.session_id,
                "digest": digest,
                "step": kept,
            }
            try:
                if place.size == 0:
                    file.create_first(self.folder, [place.path.name])
                elif _size(place.path) != place.size:
                    return  # another run has it, and this one gets its own next time
                file.append(place.path, [*map(_summed, lines), end], durable=False)
            except (OSError, ValueError, TypeError) as error:
                self._fail(f"the session file isn't written: {_cause(error)}")
                return
            size = _size(place.path)
            self._ends[place.stem, digest] = replace(place, size=size, start=digest)

    def _new(self, stem: str, session_id: str) -> Place:
        names = (f"{stem}.jsonl" if n == 1 else f"{stem}-{n}.jsonl" for n in count(1))
        paths = (self.folder / name for name in names)
        path = next(p for p in paths if p not in self._chosen and not p.exists())
        self._chosen[path] = True
        return Place(stem, session_id or path.stem, path, 0, "")

    def _restore(self, stem: str) -> None:
        """Read what the files of a name know."""
        pattern = escape(stem)
        try:
            paths = {*self.folder.glob(f"{pattern}.jsonl")}
            paths |= {*self.folder.glob(f"{pattern}-*.jsonl")}
            paths = {path for path in paths if path.is_file()}
            newest = sorted(paths, key=lambda path: path.stat().st_mtime)[-_NEWEST:]
            for path in newest:
                for line, size in _ends(path):
                    self._restore_line(stem, path, line, size)
        except OSError as error:
            self._fail(f"the session files aren't read: {_cause(error)}")

    def _restore_line(self, stem: str, path: Path, line: Line, size: int) -> None:
        try:
            digest, session_id = str(line["digest"]), str(line["sessionId"])
            steps = self.known.get(digest, [])
            if line["step"]:
                steps = [*steps, _step(line["step"])]
        except (KeyError, TypeError, ValueError, AttributeError):
            return  # somebody has changed it, so it is as if it weren't there
        self.known[digest] = steps
        self._ends[stem, digest] = Place(stem, session_id, path, size, digest)


def _step(noted: dict[str, Any]) -> Step:
    """Make a decision of what a file has of it. Raises an error for anything else."""
    kept, usage = tuple(map(int, noted["kept"])), tuple(map(dict, noted["usage"]))
    texts = {str(name): str(text) for name, text in noted["texts"].items()}
    whole: dict[str, Any] = {**noted, "kept": kept, "usage": usage, "texts": texts}
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
            if b'"subtype": "view"' not in raw:
                continue
            try:
                yield json.loads(raw), size
            except ValueError:
                continue
