"""Lines of code of the agent, the terminal and the lab: no blanks, comments or docstrings.

python tools/loc.py
"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

BUDGETS = {"agent": 2_500, "cli": 470, "lab": 7_340}
"""Most lines of code each part may have. The little projects in `data` folders don't count."""
_NO_CODE = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
)


def lines_of_code(text: str) -> int:
    """Count the lines that hold code.

    >>> lines_of_code("'''A docstring.'''\\n\\nx = 1  # a comment\\n# another\\n")
    1
    """
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - _docstring_lines(ast.parse(text)))


def _docstring_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                lines |= set(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return lines


def count(package: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines of code and files, by part: agent, cli, lab and each package of the lab."""
    lines, files = Counter[str](), Counter[str]()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        if "data" in parts:
            continue
        part = parts[0] if parts[0] in BUDGETS else "agent"
        names = [part] if part != "lab" or len(parts) == 2 else [part, f"lab/{parts[1]}"]
        for name in names:
            lines[name] += lines_of_code(path.read_text(encoding="utf-8"))
            files[name] += 1
    return lines, files


def main() -> None:
    lines, files = count(Path(__file__).parent.parent / "agentlib")
    for name in sorted(lines):
        budget = f" of {BUDGETS[name]:,}" if name in BUDGETS else ""
        print(f"{name:<14}{lines[name]:>6,}{budget:<9} lines of code, {files[name]} files")


if __name__ == "__main__":
    main()
