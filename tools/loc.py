"""Measure the code of each package beside that of well-kept libraries, as they are
installed.

    python tools/loc.py

A line counts if it holds code: blanks, comments, docstrings and the little projects in
`data` folders don't. A packed assignment is `a, b = x, y`. The table compares and never
fails.
"""

import ast
import io
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tokenize import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL, generate_tokens

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "agentlib",
    "lab/offline_api",
    "lab/session_report",
    "lab/windtunnel",
    "course",
    "tools",
    "tests",
)
LIBRARIES = ("httpx2", "attr", "click", "jinja2")
_LAYOUT = {COMMENT, NL, NEWLINE, INDENT, DEDENT, ENDMARKER}


@dataclass(frozen=True)
class Size:
    """The measures of some code. They add up."""

    files: int = 0
    names: int = 0
    """Functions and classes at a module's top level, and methods, without a leading
    underscore."""
    lines: int = 0
    tokens: int = 0
    statements: int = 0
    packed: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(
            *(
                a + b
                for a, b in zip(vars(self).values(), vars(other).values(), strict=True)
            )
        )


def size(text: str) -> Size:
    """Measure the text of one module.

    >>> size("'''A docstring.'''\\n\\na, b = 1, 2  # a comment\\n")
    Size(files=1, names=0, lines=1, tokens=7, statements=1, packed=1)
    """
    tree = ast.parse(text)
    docstrings = set[int]()
    for expression in _docstrings(tree):
        docstrings.update(range(expression.lineno, (expression.end_lineno or 0) + 1))
    lines = set[int]()
    tokens = 0
    for token in generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT and token.start[0] not in docstrings:
            lines.update(range(token.start[0], token.end[0] + 1))
            tokens += 1
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    code = [node for node in statements if node.lineno not in docstrings]
    packed = [node for node in code if _is_packed(node)]
    return Size(1, len(list(_public(tree))), len(lines), tokens, len(code), len(packed))


def _docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else []:
            value = each.value if isinstance(each, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield each


def _is_packed(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def _public(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    for node in tree.body:
        is_named = isinstance(
            node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        if not is_named or node.name.startswith("_"):
            continue
        yield node.name
        if isinstance(node, ast.ClassDef):
            yield from _public(node)


def measured(folder: Path) -> Size:
    """Measure all modules below a folder."""
    total = Size()
    for path in folder.rglob("*.py"):
        if "data" not in path.relative_to(folder).parts:
            total += size(path.read_text(encoding="utf-8"))
    return total


def _installed(library: str) -> Path:
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{library} isn't installed; run `make setup`")
    return Path(spec.origin).parent


def row(name: str, total: Size) -> str:
    """Return a line of the table."""
    per_statement = total.tokens / max(total.statements, 1)
    packed = 1_000 * total.packed / max(total.lines, 1)
    return (
        f"{name:<16}{total.files:>6}{total.names:>8,}{total.lines:>9,}{total.tokens:>10,}"
        f"{per_statement:>12.1f}{packed:>14.1f}"
    )


def main() -> None:
    print(
        f"{'':<16}{'files':>6}{'public':>8}{'lines':>9}{'tokens':>10}{'a statement':>12}",
        end="",
    )
    print(f"{'packed/1,000':>14}")
    for package in PACKAGES:
        print(row(Path(package).name, measured(ROOT / package)))
    for library in LIBRARIES:
        print(row(library, measured(_installed(library))))


if __name__ == "__main__":
    main()
