"""The lines in which the offline model notes what it finds, and how it reads them again.

The model has no memory but the request. What it must not forget it says, in these few forms, and
finds in its own earlier text or in a summary of it. It notes findings, never the list that it is
working through. Not here: what there is to note (sources) and what is done with it (tasks).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

_FORMS = {
    "note": r"Noted ([^ ].*?)(?: \(to line (\d+)\))? — (.+)",
    "name": r"- `([^`]+)`: (.+)",
    "bare": r"- (no public names)",
    "fact": r"- ((?:FACT|DECISION): .+)",
    "rule": r"- (Rule: .+)",
    "request": r"- Earlier request: (.+)",
    "skipped": r"Skipped ([^ ].*?): (.+)",
    "done": r"Done: (.+)",
    "done_to": r"Done: (\d+) files, all up to (.+)",
    "count": r"(edits made|files done|names traced): (\d+(?: and \d+ lines)?); no progress: (\d+)",
    "editing": r"Editing (\S.*):(\d+) \(edit (\d+)\)\.",
    "gave_up": r"Gave up on (\S.*):(\d+): (.+)",
    "traced": r"Traced `([^`]+)` = (.+) \((\S.*):(\d+)\)",
    "command": r"Test command: `(.+)`",
    "tests": r"Tests (pass|fail|not found): (.+)",
    "missing": r"There is no directory (\S.*?)/ here(?:.*)",
    "written": r"Report (\S+) up to (\S.*)",
    "replaced": r"Replaced (\S+), which was there before",
    "task": r"Task: (.+)",
}
# `done_to` before `done`: the first form that fits a line wins.
_ORDER = ["done_to", *(kind for kind in _FORMS if kind != "done_to")]
_LINE = [(kind, re.compile(_FORMS[kind])) for kind in _ORDER]
_STARTS = re.compile(
    r"Noted|Skipped|Done:|edits made|files done|names traced|Editing|Gave|Traced|Test|"
    r"There is no|Report |Replaced|Task|- "
)
_ON_A_PATH = ("note", "skipped")

BARE = "no public names"
CONTINUED = "continued"
"""The purpose of a note on a later part of a file."""


class Event(NamedTuple):
    """One noted line: its kind and its parts, as strings."""

    kind: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Note:
    """What was found in one file."""

    path: str
    purpose: str
    names: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    upto: int = 0
    """Read as far as this line; 0: to its end."""
    bare: bool = False
    """It has no public name."""

    def text(self) -> str:
        """The note as it is said.

        >>> print(Note("a.py", "Adds numbers.", (("add", "Return the sum."),)).text())
        Noted a.py — Adds numbers.
        - `add`: Return the sum.
        """
        so_far = f" (to line {self.upto})" if self.upto else ""
        names = [f"- `{name}`: {what}" for name, what in self.names]
        names += [f"- {BARE}"] if self.bare else []
        head = f"Noted {told(self.path)}{so_far} — {self.purpose}"
        return "\n".join([head, *names, *(f"- {fact}" for fact in self.facts)])


@lru_cache(maxsize=2_048)
def events(text: str) -> tuple[Event, ...]:
    """The noted lines of a text, in order; every other line is passed over.

    >>> events("Skipped a.bin: no text\\nReading on.")
    (Event(kind='skipped', parts=('a.bin', 'no text')),)
    """
    found = (_event(line) for line in text.split("\n") if _STARTS.match(line))
    return tuple(event for event in found if event)


def _event(line: str) -> Event | None:
    for kind, form in _LINE:
        if match := form.fullmatch(line):
            first, *others = (part or "" for part in match.groups())
            return Event(kind, (_path(first) if kind in _ON_A_PATH else first, *others))
    return None


def told(path: str) -> str:
    """A path as it is noted: its blanks are hard ones, so that nothing in it divides the note.

    >>> told("a — b.py") == "a\\u00a0—\\u00a0b.py"
    True
    """
    return path.replace(" ", "\u00a0")


def _path(noted: str) -> str:
    return noted.replace("\u00a0", " ")


def notes(found: Iterable[Event]) -> dict[str, Note]:
    """The notes among events, by path; a later note of a file takes up what it doesn't repeat."""
    by_path: dict[str, Note] = {}
    current = ""
    for kind, parts in found:
        if kind == "note":
            current = parts[0]
            new = Note(current, parts[2], upto=int(parts[1] or 0))
            by_path[current] = _merged(by_path.pop(current, None), new)
        elif kind in ("name", "bare", "fact") and current:
            by_path[current] = _with(by_path[current], kind, parts)
        else:
            current = ""
    return by_path


def _merged(old: Note | None, new: Note) -> Note:
    if old is None or new.purpose != CONTINUED:
        return new
    return replace(old, upto=new.upto)


def _with(note: Note, kind: str, parts: tuple[str, ...]) -> Note:
    if kind == "fact":
        fact = parts[0]
        return note if fact in note.facts else replace(note, facts=(*note.facts, fact))
    if kind == "bare":
        return replace(note, bare=True)
    pair = (parts[0], parts[1])
    return note if pair in note.names else replace(note, names=(*note.names, pair))


def unfinished(found: Iterable[Event]) -> Iterator[Event]:
    """The events without the notes on files that were read to their end, and their names.

    >>> told = events("Noted a.py (to line 9) — A.\\n- `f`: F.\\nNoted b.py — B.\\n- `g`: G.")
    >>> [event.parts[0] for event in unfinished(told)]
    ['a.py', 'f']
    """
    finished = False
    for event in found:
        if event.kind not in ("name", "bare", "fact"):  # which belong to the note before them
            finished = event.kind == "note" and not event.parts[1]
        if not finished:
            yield event


def paths(found: Iterable[Event]) -> set[str]:
    """The files that events say are done: noted to their end, skipped, or on a done-list."""
    done: set[str] = set()
    for kind, parts in found:
        if kind == "note":
            if parts[1]:
                done.discard(parts[0])
            else:
                done.add(parts[0])
        elif kind == "skipped":
            done.add(parts[0])
        elif kind == "done":
            done.update(map(_path, parts[0].split(", ")))
    return done


def last(found: Sequence[Event], kind: str) -> tuple[str, ...] | None:
    """The parts of the newest event of a kind."""
    return next((event.parts for event in reversed(found) if event.kind == kind), None)


def listed(found: Iterable[Event], kind: str) -> list[tuple[str, ...]]:
    """The parts of all events of a kind, each once, oldest first."""
    return list(dict.fromkeys(event.parts for event in found if event.kind == kind))
