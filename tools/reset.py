"""Start one lesson of the workbook again.

python -m tools.reset 03    # what `make reset LESSON=03` runs
"""

import sys
from pathlib import Path

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
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
