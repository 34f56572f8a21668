"""Lines of code by part, and the most that each part may have: no blanks, comments or docstrings.

python tools/loc.py

The little projects in `data` folders don't count. A lesson's room is the module of
`agentlib/lab/lessons` named as its notebook is. Its folded cell is the notebook's first cell of
code.
"""

import io
from collections import Counter
from pathlib import Path
from tokenize import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL, STRING, generate_tokens
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parent.parent
ROOMS = "rooms with their folded cells"
BUDGETS = {
    "agent": 2_500,
    "terminal": 478,
    "adapters": 231,
    ROOMS: 2_363,
    "a folded cell": 30,
    "the rest of the lab": 8_709,
    "tools, Python": 1_212,
    "tools, JavaScript": 411,
}
"""Most lines of code each part may have. "a folded cell" is for the largest of them."""
_NO_CODE = {COMMENT, NL, INDENT, DEDENT, ENDMARKER}
_PARTS = {"tools": "tools, Python", "agentlib/lab": "the rest of the lab"}
_PARTS |= {"agentlib/cli": "terminal", "agentlib/adapters": "adapters"}


def lines_of_code(text: str) -> int:
    """Count the lines that hold code.

    >>> lines_of_code("'''A docstring.'''\\n\\nx = 1  # a comment\\n# another\\n")
    1
    """
    code, statement = set[int](), list[Any]()
    for token in generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE | {NEWLINE}:
            statement.append(token)
        elif token.type == NEWLINE:
            docstring = [each.type for each in statement] == [STRING]
            spans = [] if docstring else [(each.start[0], each.end[0]) for each in statement]
            code.update(line for first, last in spans for line in range(first, last + 1))
            statement = []
    return len(code)


def folded_cells(root: Path) -> dict[str, int]:
    """Count the lines of each lesson's folded cell, by the name of its room."""
    lines: dict[str, int] = {}
    for path in sorted(root.glob("notebooks/[0-9][0-9]_*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        first = next(cell for cell in cells if cell.cell_type == "code")
        lines[path.stem[3:]] = lines_of_code(first.source)
    return lines


def count(root: Path) -> Counter[str]:
    """Count the lines of a repository's parts, by the names in `BUDGETS`."""
    folded = folded_cells(root)
    lines = Counter({ROOMS: sum(folded.values()), "a folded cell": max(folded.values())})
    rooms = {f"agentlib/lab/lessons/{name}" for name in folded}
    for path in [*root.glob("agentlib/**/*.py"), *root.glob("tools/*.py")]:
        name = path.relative_to(root).with_suffix("").as_posix()
        packages = [part for start, part in _PARTS.items() if name.startswith(f"{start}/")]
        is_room = any(f"{name}/".startswith(f"{room}/") for room in rooms)
        part = ROOMS if is_room else (*packages, "agent")[0]
        if "/data/" not in name:
            lines[part] += lines_of_code(path.read_text(encoding="utf-8"))
    scripts = [path.read_text(encoding="utf-8") for path in root.glob("tools/*.js")]
    return lines + Counter({"tools, JavaScript": len("".join(scripts).splitlines())})


def main() -> None:
    lines = count(ROOT)
    print(f"{'lines of code':<32}{'now':>6}{'most':>8}")
    for name, most in BUDGETS.items():
        print(f"{name:<32}{lines[name]:>6,}{most:>8,}")


if __name__ == "__main__":
    main()
