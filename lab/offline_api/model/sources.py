"""What a source file says about itself: its purpose, two public names, planted facts.

Everything is quoted from the text, and what isn't sure is left out. Python is parsed.
TypeScript, JavaScript and Java give their first comment and the names they export, by
one pattern each. Of any other language only the first comment is known.
"""

import ast
import re
import warnings
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from offline_api.model.prompts import TABLE

_EXPORTS = {
    ending: re.compile(language["pattern"], re.MULTILINE)
    for language in TABLE["exports"]
    for ending in language["endings"]
}
_FORMS = {name: re.compile(form) for name, form in TABLE["sources"].items()}
_LONGEST = 160
BARE = "no public names"
COMMENT_ONLY = "only the first comment is read in this language"
UNPARSED = "not described, because its text can't be parsed"
_NO_DOCSTRING = "no docstring"


class Described(NamedTuple):
    """What one text says about itself.

    `names` are lines like "add: Return the sum.", or a name alone.
    """

    purpose: str
    names: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def describe(path: str, text: str) -> Described:
    """Return the purpose, two public names and the planted facts of a file.

    >>> describe("a.py", '"Adds. And more."\\ndef add(a, b):\\n    "Return the sum."\\n')
    Described(purpose='Adds.', names=('add: Return the sum.',), facts=())
    """
    facts = tuple(dict.fromkeys(_FORMS["fact"].findall(text)))
    ending = path.rpartition(".")[2]
    if not text.strip() or text in ("(empty file)", "(no output)"):
        return Described("empty file")
    if ending in ("py", "pyi"):
        return Described(*_python(text), facts)
    if ending in ("md", "rst", "txt"):
        return Described(first_sentence(text.lstrip("#= \n")) or "no text", (), facts)
    names = (COMMENT_ONLY,)
    if exports := _EXPORTS.get(ending):
        names = tuple(dict.fromkeys(exports.findall(text)))[:2]
    return Described(
        first_sentence(top_comment(text)) or "no comment at the top", names, facts
    )


def first_sentence(text: str) -> str:
    """Return the first sentence of the first paragraph, cut at a clause if it is long.

    >>> first_sentence("Parse it,\\n  e.g. an address. Then more.")
    'Parse it, e.g. an address.'
    """
    # A note divides its parts by " | ".
    first = " ".join(_FORMS["paragraph_end"].split(text.strip())[0].split())
    paragraph = first.lstrip("+-*|> ").partition(" | ")[0]
    ends = (end.end() for end in re.finditer(r"[.!?](?=\s|$)", paragraph))
    end = next(
        (end for end in ends if not _FORMS["abbreviation"].search(paragraph[:end])),
        None,
    )
    sentence = paragraph[:end]
    if len(sentence) <= _LONGEST:
        return sentence
    cuts = [sentence.rfind(mark, 0, _LONGEST) for mark in ("; ", ", ", " ")]
    return sentence[: next((cut for cut in cuts if cut > _LONGEST // 3), _LONGEST)]


def top_comment(text: str) -> str:
    """Return the first paragraph of the comment at the top that isn't about rights or
    tools.

    >>> top_comment("#!/bin/sh\\n# Licence: MIT\\n#\\n# Counts words.\\nx = 1")
    'Counts words.'
    """
    found = _FORMS["comment_at_the_top"].match(text)
    lines = [_plain(line) for line in found[1].split("\n")] if found else []
    comment = "\n".join(
        "" if _FORMS["for_tools"].match(line) else line for line in lines
    )
    for paragraph in re.split(r"\n(?:\W*\n)+", comment):
        if re.search(r"\w{2}", paragraph) and not _FORMS["legal"].search(paragraph):
            return paragraph.strip()
    return ""


def _plain(line: str) -> str:
    """Return a comment's line without its signs."""
    return re.sub(r"^\s*(?:/\*+|\*/|\*+|//+!?|#+)? ?|\s*\*+/\s*$", "", line).rstrip()


def _python(text: str) -> tuple[str, tuple[str, ...]]:
    module = parsed(text)
    if module is None:
        return UNPARSED, ()
    purpose = module.docstring or top_comment(text)
    public = [(name, what) for name, what in module.defined if not name.startswith("_")]
    known = [name for name, _ in public]
    once = [
        (name, first_sentence(what)) for name, what in public if known.count(name) == 1
    ]
    best = sorted(once, key=lambda pair: not pair[1])[:2]
    names = tuple(f"{name}: {what or _NO_DOCSTRING}" for name, what in best)
    return first_sentence(purpose) or _NO_DOCSTRING, names or (
        () if public else (BARE,)
    )


class Module(NamedTuple):
    """A Python file's docstring, and the functions and classes at its top level.

    `defined` has names with docstrings; where one is missing it is "".
    """

    docstring: str
    defined: tuple[tuple[str, str], ...]


@lru_cache(maxsize=512)  # all runs of a task read the same files
def parsed(text: str) -> Module | None:
    """Parse a text. If its end was cut off, leave out the statement that the cut is
    in.

    >>> parsed('"Adds."\\ndef add(a, b):\\n    "Return the sum."\\ndef sub(a,')
    Module(docstring='Adds.', defined=(('add', 'Return the sum.'),))
    """
    tree = _tree(text)
    if tree is None:
        return None
    defined = tuple(
        (node.name, ast.get_docstring(node) or "")
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    return Module(ast.get_docstring(tree) or "", defined)


def _tree(text: str) -> ast.Module | None:
    starts = [
        match.start() for match in re.finditer(r"^(?=[^\s#)\]}])", text, re.MULTILINE)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in other people's code
        for end in (len(text), *starts[:-40:-1]):
            with suppress(SyntaxError, ValueError, MemoryError, RecursionError):
                tree = ast.parse(text[:end])
                if tree.body or end == len(text):
                    return tree
    return None
