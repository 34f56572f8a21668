"""The offline model's notes: lines like `- [kind] a | b | c`, with one writer and one
reader.

The model has no memory but the request. Whatever it must not forget it writes down as
such a line, and finds it again in its own earlier text or in a summary.

    [file]      path | how much was read | purpose | name: what it does | ...
    [outline]   path | a line | ...          seen as an outline only
    [skipped]   path | why
    [done]      path | path | ...            finished files
    [done to]   path | how many              finished files that are not named, up to this one
    [fact]      a fact or a decision found in a file
    [rule]      a rule of the person's, word for word
    [task]      the request that is worked on
    [request]   an earlier request
    [set]       name | path | line | the expression that sets it
    [edit]      how many so far | path | line
    [left]      path | line | why it was not edited
    [command]   how the tests are run
    [ran]       a script of the person's that was run
    [tests]     pass, fail or none | the last line
    [report]    name | the last file in it so far | how many files without details
    [before]    the summary that stood there when the request came
    [progress]  number of what | how many summaries have repeated it
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from offline_api.model.prompts import TABLE

_LINE = re.compile(r"^- \[([a-z ]+)\] (.+)$", re.MULTILINE)
_SEPARATOR = " | "
WHOLE = "lines"
SO_FAR = "lines so far"


class Note(NamedTuple):
    """One noted line."""

    kind: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The note's content without its kind."""
        return _SEPARATOR.join(self.parts)

    @property
    def upto(self) -> int:
        """The line up to which a file was read, 0 if to its end."""
        return number(self.parts[1]) if self.parts[1].endswith(SO_FAR) else 0

    def __str__(self) -> str:
        return f"- [{self.kind}] {self.text}"


def note(kind: str, *parts: object) -> str:
    """Write a note.

    >>> note("file", "a.py", "9 lines", "Adds numbers.", "add: Return the sum.")
    '- [file] a.py | 9 lines | Adds numbers. | add: Return the sum.'
    """
    return str(Note(kind, tuple(str(part).partition("\n")[0] for part in parts)))


@lru_cache(maxsize=2_048)
def notes_in(text: str) -> tuple[Note, ...]:
    """Read the notes of a text, in order. Every other line is passed over.

    >>> notes_in("Reading on.\\n- [skipped] a.bin | no text")
    (Note(kind='skipped', parts=('a.bin', 'no text')),)
    """
    found: list[Note] = []
    for kind, rest in _LINE.findall(text):
        least, most = TABLE["notes"].get(kind, (1, 0))
        parts = tuple(rest.split(_SEPARATOR, most - 1)) if most else ()
        found += [Note(kind, parts)] if len(parts) >= least else []
    return tuple(found)


def last(notes: Iterable[Note], kind: str) -> Note | None:
    """Return the newest note of a kind."""
    return next((each for each in reversed(list(notes)) if each.kind == kind), None)


def listed(notes: Iterable[Note], kind: str) -> list[Note]:
    """Return all notes of a kind, each once, oldest first."""
    return list(dict.fromkeys(each for each in notes if each.kind == kind))


def one_line(text: str, size: int = 400) -> str:
    """Put a text on one line, and cut it if it is long."""
    return " ".join(text.split())[:size]


def number(text: str) -> int:
    """Return the number that a text begins with, 0 if there is none.

    >>> number("1,200 lines so far"), number("many")
    (1200, 0)
    """
    match = re.match(r"\d[\d,]*", text, re.ASCII)
    return int(match[0].replace(",", "")) if match else 0
