"""Check each statement of a report against the source, with `ast`.

A purpose must be in the file's docstring or in a comment. A name must be public and at the top
level, and what the report says about it must be in its docstring. Only Python files are checked.
"""

import ast
import re
import tokenize
import warnings
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from pathlib import Path

from agentlib.lab.model.report import LOST

_SECTION = re.compile(r"^## (\S.*)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
_NAMED = re.compile(r"^- `([^`]+)`: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Checked:
    """A report in numbers: files described and lost, statements, and the false ones."""

    described: int
    lost: int
    statements: int
    false: tuple[str, ...]


def check_report(report: str, folder: Path) -> Checked:
    """Check each statement on a Python file below `folder`.

    >>> check_report("## a.py\\n(details lost)\\n", Path("."))
    Checked(described=0, lost=1, statements=0, false=())
    """
    sections = [(path, text) for path, text in _SECTION.findall(report) if path.endswith(".py")]
    lost = sum(LOST in text for _, text in sections)
    described = [(path, text) for path, text in sections if "Purpose: " in text]
    false: list[str] = []
    statements = 0
    for path, text in described:
        found = _statements(text)
        try:
            source = _Source.read(folder / path)
        except (SyntaxError, ValueError, tokenize.TokenError):
            continue  # this Python can't parse the file, so nothing can be checked
        statements += len(found)
        false += [f"{path}: {said}" for said in found if source is None or not source.holds(*said)]
    return Checked(len(described), lost, statements, tuple(false))


def _statements(text: str) -> list[tuple[str, str]]:
    """Pairs of a subject and a statement about it; "" is the file, "-" its public names."""
    purpose = re.search(r"^Purpose: (.+)$", text, re.MULTILINE)
    bare = [("-", "no public names")] if "- no public names" in text else []
    return [*([("", purpose[1])] if purpose else []), *_NAMED.findall(text), *bare]


@dataclass(frozen=True)
class _Source:
    text: str
    docstring: str
    comments: str
    names: dict[str, list[str]]

    @classmethod
    def read(cls, path: Path) -> "_Source | None":
        if not path.is_file():
            return None
        return cls.of(path.read_text(encoding="utf-8-sig", errors="replace"))

    @classmethod
    @lru_cache(maxsize=128)
    def of(cls, text: str) -> "_Source":
        """Parse once for all runs of a task."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in other people's code
            tree = ast.parse(text)
        names: dict[str, list[str]] = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.setdefault(node.name, []).append(_plain(ast.get_docstring(node)))
        return cls(text, _plain(ast.get_docstring(tree)), _comments(text), names)

    def holds(self, subject: str, said: str) -> bool:
        """Whether the statement is true of the source."""
        if not subject:
            return self._is_purpose(said)
        if subject == "-":
            return all(name.startswith("_") for name in self.names)
        documented = self.names.get(subject, [])
        if not documented or subject.startswith("_"):
            return False
        if said == "no docstring":
            return not any(documented)
        return any(_plain(said) in text for text in documented)

    def _is_purpose(self, said: str) -> bool:
        if said == "empty file":
            return not self.text.strip()
        if said == "no docstring":
            return not self.docstring
        if said.startswith("a docstring that is not quoted"):
            return bool(self.docstring)
        return _plain(said) in self.docstring or _plain(said) in self.comments


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _comments(text: str) -> str:
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    found = (token.string.lstrip("#") for token in tokens if token.type == tokenize.COMMENT)
    return _plain(" ".join(found))
