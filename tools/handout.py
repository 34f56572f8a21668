"""Make a folder to hand out to a class: the lessons without outputs and solutions.

python -m tools.handout FOLDER            # `make handout TO=FOLDER`
python -m tools.handout FOLDER 00 01 02   # only these lessons, and what isn't a lesson

The folder holds all that its links need: what a lesson links to in the repository lies
in `files`. `returned` reads what comes back.
"""

import json
import re
import shutil
import sys
from pathlib import Path

from tools import workbook
from tools.workbook import ROOT

SOLUTION = re.compile(
    r"<details[^>]*>\s*<summary>(?:Solution|Show me a way)</summary>.*?</details>\n*",
    re.DOTALL,
)
"""A fold that answers an exercise."""


LINK = re.compile(r"""(?<=\]\()\.\./([^)#\s]+)|(?<=src=")\.\./([^"]+)""")
"""A link from a notebook to a file of the repository that is no notebook."""
FILES = "files"


def without_solutions(text: str) -> str:
    """Return a notebook without outputs and without the folds that solve an exercise.

    Hints stay, because `hint` gives them. Links lead to `files`. Any other text stays
    the same.
    """
    text = workbook.without_outputs(text)
    if not text.lstrip().startswith("{"):
        return text
    notebook = json.loads(text)
    cells: list[dict] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            source = SOLUTION.sub("", "".join(cell["source"])).rstrip("\n")
            source = LINK.sub(lambda link: place(link[1] or link[2]), source)
            cell["source"] = source.splitlines(keepends=True)
        if cell["cell_type"] != "markdown" or cell["source"]:
            cells.append(cell)
    return json.dumps(notebook | {"cells": cells}, indent=1, ensure_ascii=False) + "\n"


def place(name: str) -> str:
    """Return where a file of the repository lies in the folder.

    Python files end in .txt, so that nobody imports them in place of the package.

    >>> place("agentlib/loop.py")
    'files/agentlib/loop.py.txt'
    """
    return f"{FILES}/{name}{'.txt' if name.endswith('.py') else ''}"


def chosen(root: Path, lessons: list[str]) -> list[str]:
    """Return the notebooks' names: all, or these lessons and what is no lesson.

    Raises ValueError for a number that no lesson has.
    """
    names = workbook.names(root)
    numbers = {name[:2] for name in names if name[:2].isdigit()}
    for lesson in lessons:
        if lesson not in numbers:
            known = ", ".join(sorted(numbers))
            raise ValueError(f"there is no lesson {lesson!r}; choose from {known}")
    if not lessons:
        return names
    return [name for name in names if name[:2] in lessons or not name[:2].isdigit()]


def make(folder: Path, lessons: list[str], root: Path = ROOT) -> list[str]:
    """Write the folder, and return the names of the notebooks in it.

    Raises FileExistsError if the folder has something in it, and ValueError for an
    unknown lesson. Then nothing is written.
    """
    names = chosen(root, lessons)
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} isn't empty; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        lesson = workbook.read(root / "notebooks" / name)
        text = without_solutions(lesson)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        for link in LINK.finditer(lesson):
            linked = link[1] or link[2]
            target = folder / place(linked)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / linked, target)
    return names


def main(*arguments: str) -> int:
    if not arguments:
        print("Name a new folder: make handout TO=../class", file=sys.stderr)
        return 2
    folder, *lessons = arguments
    try:
        names = make(Path(folder), lessons)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{folder} has {len(names)} notebooks and texts, without solutions.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
