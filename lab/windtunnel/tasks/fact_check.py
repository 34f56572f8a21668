"""Check each statement of a report against the source.

A purpose must be in the file's docstring or in a comment. A name must be public and at
the top level, and what the report says about it must be in its docstring. Only Python
files are checked.
"""

import re
from pathlib import Path
from typing import NamedTuple

from offline_api.model.reading import LOST
from offline_api.model.sources import parsed

MOST = 4_000_000
"""Characters that are read of a file. An agent may leave a file of any size."""
_SECTION = re.compile(r"^## (\S.*\.py)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:Purpose: |- (?:`([^`]+)`: )?)(.+)$", re.MULTILINE)
"""A name, or nothing for the file as a whole, and what the report says about it."""

_COMMENT = re.compile(r"^[ \t]*#+(.*)", re.MULTILINE)


class Checked(NamedTuple):
    """A report in numbers: files described and lost, and the statements that are
    false."""

    described: int
    lost: int
    false: tuple[str, ...]


def check_report(report: str, folder: Path) -> Checked:
    """Check each statement on a Python file below `folder`.

    >>> check_report("## a.py\\n(details lost)\\n", Path("."))
    Checked(described=0, lost=1, false=())
    """
    sections = _SECTION.findall(report)
    described = [(path, text) for path, text in sections if "Purpose: " in text]
    false: list[str] = []
    for path, text in described:
        source = _read(folder / path)
        statements = _STATEMENT.findall(text)
        false += [
            f"{path}: {s}"
            for subject, s in statements
            if not _holds(source, subject, s)
        ]
    return Checked(
        len(described), sum(LOST in text for _, text in sections), tuple(false)
    )


class _Source(NamedTuple):
    docstring: str
    comments: str
    names: list[tuple[str, str]]
    """Functions and classes at the top level, with their docstrings."""


def _read(file: Path) -> _Source | None:
    """Return what a file says about itself, None if there is none that this Python can
    parse."""
    if not file.is_file():
        return None
    with file.open(encoding="utf-8-sig", errors="replace") as stream:
        text = stream.read(MOST)
    module = parsed(text)
    if module is None:
        return None
    names = [(name, _plain(what)) for name, what in module.defined]
    comments = _plain(" ".join(_COMMENT.findall(text)))
    return _Source(_plain(module.docstring), comments, names)


def _holds(source: _Source | None, subject: str, statement: str) -> bool:
    if source is None or subject.startswith("_"):
        return False
    if statement == "no public names":
        return all(name.startswith("_") for name, _ in source.names)
    named = [what for name, what in source.names if name == subject]
    docstrings = named if subject else [source.docstring]
    if statement in ("no docstring", "empty file"):
        return bool(docstrings) and not any(docstrings)
    texts = docstrings if subject else [*docstrings, source.comments]
    return any(_plain(statement) in text for text in texts)


def _plain(text: str) -> str:
    return " ".join(text.split())
