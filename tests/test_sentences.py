"""Each of our sentences is asserted in one test, so you reword it and mend one test.

A sentence counts as asserted if five of its words in a row stand in an `assert` or in
the `match=` of `pytest.raises`. The transcripts of the terminal are one more place.
Elsewhere assert the type of an error and its values, or use a constant of the file.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tools.loc import PACKAGES, ROOT

OURS = [package for package in PACKAGES if package != "tests"]
TRANSCRIPTS = "tests/agentlib/terminal.txt"
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
Run = tuple[str, ...]


def runs(text: str) -> set[Run]:
    """Return every run of five words in the text, whatever their case."""
    words = WORD.findall(text.lower())
    return {tuple(words[start : start + 5]) for start in range(len(words) - 4)}


def parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield each Python file of a folder: its path from the root, and its tree."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield path.relative_to(ROOT).as_posix(), tree


def strings(tree: ast.AST) -> Iterator[str]:
    """Yield the strings in the tree, of an f-string each constant part."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the outermost functions and methods, each with those inside it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        else:
            yield from functions(node)


def compared(function: ast.AST) -> Iterator[str]:
    """Yield the strings that a test compares with something."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield from strings(node.test)
        elif isinstance(node, ast.keyword) and node.arg == "match":
            yield from strings(node.value)


def asserted() -> Iterator[tuple[str, str]]:
    """Yield every place with each of its asserted strings."""
    for path, tree in parsed("tests"):
        for function in functions(tree):
            place = f"{path}:{function.lineno} {function.name}"
            for text in compared(function):
                yield place, text
    yield TRANSCRIPTS, (ROOT / TRANSCRIPTS).read_text(encoding="utf-8")


def test_a_sentence_is_asserted_in_one_place():
    ours: set[Run] = set()
    for package in OURS:
        for _, tree in parsed(package):
            ours.update(*map(runs, strings(tree)))
    places: dict[Run, set[str]] = defaultdict(set)
    for place, text in asserted():
        for run in ours & runs(text):
            places[run].add(place)
    repeated = [
        f"{' '.join(run)!r} in {' and in '.join(sorted(found))}"
        for run, found in places.items()
        if len(found) > 1
    ]
    assert not repeated, "\n".join(repeated)
