"""What is solved, whose each part of the agent is, and what comes next.

python -m course.progress    # what `make progress` runs

An exercise counts as solved if its cell in the workbook says so, or if its answer stands
in `my_agent.py`. Nothing is run. Other exercises of a notebook that is open count once it
is saved.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from course import file_at_work, yours
from course.checking import EXERCISES
from course.checks import import_all
from course.parts_list import PARTS, solved_by

WORKBOOK = Path(__file__).resolve().parent.parent / "workbook"
_PASSED = re.compile(r"^(\d\d\.\d+) passed:", re.MULTILINE)
_TITLE = re.compile(r"^# (\d\d) · (.+)$", re.MULTILINE)


def progress(folder: Path | None = None) -> str:
    """Return a line for each lesson, a line about the agent, and the next exercise.

    `folder`: the workbook. None: the one that this notebook stands in.
    """
    folder = folder or yours.workbook()
    if folder is None or not folder.is_dir():
        return "There is no workbook here. `make lab` in a terminal opens yours."
    import_all()
    solved = set[str]()
    titles = dict[str, str]()
    for path in sorted(folder.glob("*.ipynb")):
        texts = [*_texts(path)]
        solved |= {name for text in texts for name in _PASSED.findall(text)}
        titles |= dict(_TITLE.findall("\n".join(texts[:2])))
    file = yours.AgentFile()
    with suppress(yours.CannotStand):
        file = yours.read(folder)
        solved |= {*file.parts}
        solved |= {*solved_by(file.numbers)}
    rows = [_row(lesson, titles.get(lesson, ""), solved, file) for lesson in _lessons()]
    left = [name for name in sorted(EXERCISES) if name not in solved]
    rows += ["", file_at_work.contents(folder), ""]
    rows.append(f"Next: {left[0]}" if left else "Every exercise is solved.")
    return "\n".join(rows)


def _lessons() -> dict[str, list[str]]:
    lessons = dict[str, list[str]]()
    for name in sorted(EXERCISES):
        lessons.setdefault(name[:2], []).append(name)
    return lessons


def _row(lesson: str, title: str, solved: set[str], file: yours.AgentFile) -> str:
    names = _lessons()[lesson]
    count = f"{len(solved.intersection(names))} of {len(names)}"
    parts = [
        f"{PARTS[name].name} {'yours' if name in file.parts else 'the course’s'}"
        for name in names
        if name in PARTS
    ]
    return f"{lesson} {title:16} {count:>7}  {', '.join(parts)}".rstrip()


def _texts(path: Path) -> Iterator[str]:
    """Yield a notebook's Markdown and the texts of its outputs. A damaged one has none."""
    try:
        cells: list[Mapping[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for cell in cells:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])
        for output in cell.get("outputs", ()):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            yield "".join(text)


if __name__ == "__main__":
    print(progress(WORKBOOK))
