"""What a source file says of itself: its purpose, two public names, planted facts.

Works on the text alone, also on a text that was cut off at its end, and says nothing that does not
stand in it: a sentence is quoted from a docstring or a comment, never made up. What it is not sure
of it leaves out. Not a parser: `ast` refuses half a file, and warns about other people's escapes.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from agentlib.lab.model.exports import exported, leading_comment

_TOKEN = re.compile(
    r'''[rRbBuUfFtT]{0,2}(?:"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\Z)'''
    r"""|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\Z)"""
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|$)|'[^'\\\n]*(?:\\.[^'\\\n]*)*(?:'|$))|\#[^\n]*""",
    re.DOTALL | re.MULTILINE,
)
"""A string literal, closed or cut off by the end, or a comment."""
_HEADER = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_BRACKET_OR_COLON = re.compile(r"[()\[\]{}:]")
_END_OF_STATEMENT = re.compile(r"[ \t)]*(?:[;\n]|\Z)")
_BLANK = re.compile(r"[\s(]*")  # a docstring may stand in parentheses
_LITERAL = re.compile(r"""([A-Za-z]*)(\"{3}|'{3}|"(?!"")|'(?!''))(.*)\2""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KNOWN = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "\n": ""}
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|resp|approx|Dr|Mr|St|No)|\b[A-Z])\.$")
_UNDERLINE = re.compile(r"\s*([=\-~^*#\"'+])\1{2,}\s*")
_FACT = re.compile(r"^[ \t]*(?:#|//|\*|--?)?[ \t]*((?:FACT|DECISION): .*\S)", re.MULTILINE)
_LONGEST = 160


class Described(NamedTuple):
    """What one text says of itself; `names` are (name, what it does)."""

    purpose: str
    names: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    bare: bool = False
    """It has no public name at all."""


@lru_cache(maxsize=512)
def describe(path: str, text: str) -> Described:
    """Purpose, two public names and planted facts of a file, from its text.

    >>> describe("a.py", '"Adds. And more."\\ndef add(a, b):\\n    "Return the sum."\\n')
    Described(purpose='Adds.', names=(('add', 'Return the sum.'),), facts=(), bare=False)
    """
    if not text.strip() or text == "(empty file)":
        return Described("empty file")
    if path.endswith((".py", ".pyi")):
        return _python(text)
    facts = tuple(dict.fromkeys(_FACT.findall(text)))
    if path.endswith((".md", ".rst", ".txt")):
        return Described(first_sentence(text.lstrip("#= \n")) or "no text", facts=facts)
    names = [(name, first_sentence(said) or "no comment") for name, said in exported(path, text)]
    top = first_sentence(leading_comment(text)) or next(
        (what for _, what in names if what != "no comment"), "no comment at the top"
    )
    return Described(top, tuple(names[:2]), facts)


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph on one line; where it is long, its first clauses.

    >>> first_sentence("Parse it,\\n  e.g. an address. Then more.")
    'Parse it, e.g. an address.'
    """
    lines: list[str] = []
    for line in text.strip().split("\n"):
        if lines and (not line.strip() or _UNDERLINE.fullmatch(line)):
            break
        lines += [] if _UNDERLINE.fullmatch(line) else [line]
    paragraph = " ".join(" ".join(lines).split()).lstrip("+-*|> ")
    for end in re.finditer(r"[.!?](?=\s|$)", paragraph):
        if not _ABBREVIATION.search(paragraph[: end.end()]):
            return _clauses(paragraph[: end.end()])
    return _clauses(paragraph)


def _clauses(sentence: str) -> str:
    if len(sentence) <= _LONGEST:
        return sentence
    short = sentence[:_LONGEST]
    cuts = [short.rfind(mark) for mark in ("; ", ", ", " ")]
    return short[: next((cut for cut in cuts if cut > _LONGEST // 3), _LONGEST)]


class _Masked(NamedTuple):
    """A Python text with its strings and comments blotted out, and its strings by their place."""

    source: str
    text: str
    strings: dict[int, str]


def _masked(source: str) -> _Masked:
    strings: dict[int, str] = {}

    def blot(match: re.Match[str]) -> str:
        if match[0].startswith("#"):
            return " " * len(match[0])
        strings[match.start()] = match[0]
        return '"' * len(match[0])

    return _Masked(source, _TOKEN.sub(blot, source), strings)


def _python(text: str) -> Described:
    masked = _masked(text)
    document = _docstring(masked, 0)
    if document is None:
        purpose = "a docstring that is not quoted here"
    else:
        purpose = first_sentence(document or leading_comment(text)) or "no docstring"
    defined = [(name, said) for name, said in _definitions(masked) if not name.startswith("_")]
    return Described(purpose, _best_two(defined), _facts(masked), not defined)


def _best_two(defined: list[tuple[str, str | None]]) -> tuple[tuple[str, str], ...]:
    """Documented names first. A name that is defined twice, or unclear, is left out."""
    times = Counter(name for name, _ in defined)
    sure = [
        (name, first_sentence(said))
        for name, said in defined
        if said is not None and times[name] == 1
    ]
    best = sorted(sure, key=lambda pair: not pair[1])[:2]
    return tuple((name, what or "no docstring") for name, what in best)


def _definitions(masked: _Masked) -> Iterator[tuple[str, str | None]]:
    """Every top-level def and class with its docstring; None where that is unclear."""
    for header in _HEADER.finditer(masked.text):
        depth = 0
        for sign in _BRACKET_OR_COLON.finditer(masked.text, header.end()):
            if sign[0] == ":" and depth == 0:
                yield header[1], _docstring(masked, sign.end())
                break
            depth += {"(": 1, "[": 1, "{": 1, ":": 0}.get(sign[0], -1)


def _docstring(masked: _Masked, start: int) -> str | None:
    """The docstring that is the first statement after `start`; "" where there is none."""
    blank = _BLANK.match(masked.text, start)
    at = blank.end() if blank else start
    if at >= len(masked.text) and start:
        return None
    literal = masked.strings.get(at, "")
    parts = _LITERAL.fullmatch(literal)
    if not literal or (parts and set(parts[1].lower()) & set("bft")):
        return ""
    if parts is None or not _END_OF_STATEMENT.match(masked.text, at + len(literal)):
        return None
    return parts[3] if "r" in parts[1].lower() else _unescaped(parts[3])


def _unescaped(body: str) -> str | None:
    """The literal's value; None where it has escapes that need a parser."""
    if any(char in "abfvrxuUN01234567" for char in _ESCAPE.findall(body)):
        return None
    return _ESCAPE.sub(lambda m: _KNOWN.get(m[1], m[0]), body)


def _facts(masked: _Masked) -> tuple[str, ...]:
    """Planted lines; only where they stand in a comment or a string."""
    found = _FACT.finditer(masked.source)
    return tuple(dict.fromkeys(m[1] for m in found if masked.text[m.start(1)] in ' "'))
