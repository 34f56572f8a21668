"""Write `docs/my_agent.py`: the file that a learner has who took the published solutions.

python -m tools.my_agent

A test compares the file with what this writes.
"""

import ast
import linecache
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course import yours
from course.parts_list import PARTS
from tools.workbook import ROOT

FILE = ROOT / "docs/my_agent.py"
NUMBERS = {"02.3": "settings", "03.4": "numbers", "04.3": "focus"}
"""The exercises that set the agent's own numbers, and what their answers are called."""
_SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)


@cache
def published() -> dict[str, Any]:
    """Return the published answers that make the file, by exercise."""
    answers: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for exercise in sorted([*PARTS, *NUMBERS]):
        cells = cells_of(exercise)
        source = solution(exercise)
        names = _imported(cells) | parts
        file = f"<the solution of {exercise}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), names)
        name = NUMBERS.get(exercise) or PARTS[exercise].name
        answers[exercise] = parts[name] = names[name]
    return answers


def cells_of(exercise: str) -> list[NotebookNode]:
    """Return the cells of an exercise's lesson."""
    [path] = (ROOT / "notebooks").glob(f"{exercise[:2]}_*.ipynb")
    return nbformat.read(path, as_version=4).cells


def solution(exercise: str) -> str:
    """Return the solution in the fold behind an exercise's cell."""
    cells = cells_of(exercise)
    places = [
        n for n, cell in enumerate(cells) if f'\ncheck("{exercise}"' in cell.source
    ]
    following = (each for each in cells[places[0] :] if each.cell_type == "markdown")
    [source] = _SOLUTION.findall(next(following).source)
    return source


def _imported(cells: list[NotebookNode]) -> dict[str, Any]:
    """Run the imports of a lesson's first cell."""
    first = next(cell for cell in cells if cell.cell_type == "code")
    imports = [
        node
        for node in ast.parse(first.source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(imports, []), "<imports>", "exec"), names)
    return names


def written(*, only: tuple[str, ...] = ()) -> str:
    """Return the file. `only`: as if no other exercise were solved."""
    file = yours.AgentFile()
    for exercise, answer in published().items():
        if not only or exercise in only:
            yours.put(file, exercise, answer)
    return file.text()


def main() -> int:
    FILE.write_text(written(), encoding="utf-8", newline="\n")
    print(f"{FILE.relative_to(Path.cwd())}: written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
