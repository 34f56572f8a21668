"""Start one lesson of the workbook again.

python -m tools.reset 03    # what `make reset LESSON=03` runs

If `my_agent.py` has parts from the lesson, it asks whether they go, too. Where nobody
can answer, they stay.
"""

import sys
from pathlib import Path

from course import yours
from course.parts_list import PARTS
from tools import workbook


def main(*arguments: str, root: Path = workbook.ROOT) -> int:
    lessons = {name[:2]: name for name in workbook.names(root) if name[:2].isdigit()}
    number = " ".join(arguments)
    name = lessons.get(number.zfill(2)) if number else None
    if name is None:
        complaint = f"There is no lesson {number!r}." if number else "Which lesson?"
        print(
            f"{complaint} Choose one of {', '.join(lessons)}: make reset LESSON={min(lessons)}"
        )
        return 2
    workbook.restore(name, root)
    print(f"{workbook.FOLDER}/{name} is as it came. Reload it if it is open.")
    folder = root / workbook.FOLDER
    try:
        parts = [each for each in yours.read(folder).parts if each[:2] == name[:2]]
        if parts:
            _ask_about(parts, folder)
    except yours.CannotStand as error:
        print(f"{yours.FILE} stays as it is: {error}.")
    return 0


def _ask_about(parts: list[str], folder: Path) -> None:
    """Take a lesson's parts out of the learner's file, if they say yes."""
    names = ", ".join(f"{each} {PARTS[each].name}" for each in parts)
    print(f"{yours.FILE} has {names} from this lesson.")
    try:
        answer = input("Take that out, too? [y/N] ") if sys.stdin.isatty() else ""
    except EOFError:
        answer = ""
    if answer.strip().lower() in ("y", "yes"):
        yours.remove(folder, parts)
        print("It is out.")
    else:
        print("It stays.")


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
