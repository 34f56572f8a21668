"""Comments at the top of a file, and what it exports, where the language is not Python.

By one pattern a language: enough to say what stands there in plain sight. Not a parser.
"""

import re
from collections.abc import Iterator

_JAVASCRIPT = re.compile(
    r"^export[ \t]+(?:default[ \t]+)?(?:(?:abstract|async|declare)[ \t]+)*"
    r"(?:function\*?|class|interface|type|enum|const|let|var)[ \t]+(\w+)",
    re.MULTILINE,
)
_JAVA = re.compile(
    r"^[ \t]*public[ \t]+(?:[\w<>\[\],.?]+[ \t]+)*?"
    r"(?:(?:class|@?interface|enum|record)[ \t]+)?(\w+)[ \t]*(?=[(<{]|extends|implements)",
    re.MULTILINE,
)
_GO = re.compile(r"^(?:func|type)[ \t]+(?:\([^)]*\)[ \t]*)?([A-Z]\w*)", re.MULTILINE)
_RUST = re.compile(r"^pub[ \t]+(?:async[ \t]+)?(?:fn|struct|enum|trait)[ \t]+(\w+)", re.MULTILINE)
_BY_ENDING = {"java": _JAVA, "go": _GO, "rs": _RUST} | dict.fromkeys(
    ("ts", "tsx", "js", "jsx", "mjs", "mts"), _JAVASCRIPT
)
_BEFORE = re.compile(
    r"(/\*\*(?:(?!\*/).)*\*/[ \t]*\n?|(?:^[ \t]*///?[^\n]*\n)+)(?:[ \t]*@\w+[^\n]*\n)*[ \t]*\Z",
    re.MULTILINE | re.DOTALL,
)
_TOP = re.compile(r"\s*(/\*.*?\*/|(?:[ \t]*(?://|#)[^\n]*(?:\n|\Z)|[ \t]*\n)+)", re.DOTALL)
_TOOLS = re.compile(
    r"!|-\*-|coding[:=]|.*\b(?:pylint|eslint|tslint|mypy:|ruff:|type:|noqa|vim?:)|"
    r"(?:FACT|DECISION):"
)
_LEGAL = re.compile(
    r"licen[cs]e|copyright|all rights reserved|authors?\b|contact:|maintainer|\$Id|generated|spdx",
    re.IGNORECASE,
)


def leading_comment(text: str) -> str:
    """The first paragraph of the comment at the top that is not about rights, authors or tools.

    >>> leading_comment("#!/bin/sh\\n# Licence: MIT\\n#\\n# Counts words.\\nx = 1")
    'Counts words.'
    """
    found = _TOP.match(text)
    lines = map(plain_comment, found[1].split("\n")) if found else ()
    plain = "\n".join("" if _TOOLS.match(line) else line for line in lines)
    for paragraph in re.split(r"\n(?:\W*\n)+", plain):
        if re.search(r"\w{2}", paragraph) and not _LEGAL.search(paragraph):
            return paragraph.strip()
    return ""


def plain_comment(line: str) -> str:
    """A comment's line without its signs.

    >>> plain_comment(" * Counts words. */")
    'Counts words.'
    """
    return re.sub(r"^\s*(?:/\*+|\*/|\*+|//+!?|#+)? ?|\s*\*+/\s*$", "", line).rstrip()


def exported(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Exported names with the comment that stands before each, "" where there is none."""
    form = _BY_ENDING.get(path.rpartition(".")[2])
    seen: set[str] = set()
    for match in form.finditer(text) if form else ():
        if match[1] not in seen:
            seen.add(match[1])
            before = _BEFORE.search(text[max(0, match.start() - 1_500) : match.start()])
            lines = before[1].split("\n") if before else []
            yield match[1], "\n".join(map(plain_comment, lines)).strip()
