"""Check each statement of a report against the source, with `ast`.

A purpose must be in the file's docstring or in a comment. A name must be public and at the top
level, and what the report says about it must be in its docstring. Only Python files are checked.
"""

import ast
import re
import tokenize
import warnings
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from agentlib.lab.model.report import LOST

_SECTION = re.compile(r"^## (\S.*\.py)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:Purpose: |- (?:`([^`]+)`: )?)(.+)$", re.MULTILINE)
"""A name, or nothing for the file as a whole, and what the report says about it."""


class Checked(NamedTuple):
    """A report in numbers: files described and lost, and the statements that are false."""

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
        try:
            source = _read(folder / path)
        except (SyntaxError, ValueError, tokenize.TokenError):
            continue  # this Python can't parse the file, so nothing can be checked
        statements = _STATEMENT.findall(text)
        false += [f"{path}: {s}" for subject, s in statements if not _holds(source, subject, s)]
    return Checked(len(described), sum(LOST in text for _, text in sections), tuple(false))


class _Source(NamedTuple):
    docstring: str
    comments: str
    names: dict[str, list[str]]
    """Functions and classes at the top level, with the docstrings of each."""


def _read(file: Path) -> _Source | None:
    return _parse(file.read_text("utf-8-sig", "replace")) if file.is_file() else None


@lru_cache(maxsize=128)  # all runs of a task read the same files
def _parse(text: str) -> _Source:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in other people's code
        tree = ast.parse(text)
    names: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.setdefault(node.name, []).append(_plain(ast.get_docstring(node)))
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    comments = " ".join(t.string.lstrip("#") for t in tokens if t.type == tokenize.COMMENT)
    return _Source(_plain(ast.get_docstring(tree)), _plain(comments), names)


def _holds(source: _Source | None, subject: str, statement: str) -> bool:
    if source is None or subject.startswith("_"):
        return False
    if statement == "no public names":
        return all(name.startswith("_") for name in source.names)
    docstrings = source.names.get(subject, []) if subject else [source.docstring]
    if statement in ("no docstring", "empty file"):
        return bool(docstrings) and not any(docstrings)
    texts = docstrings if subject else [*docstrings, source.comments]
    return any(_plain(statement) in text for text in texts)


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())
