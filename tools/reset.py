"""Starts a lesson afresh: its notebook as it is in git, its predictions and passes forgotten.

python tools/reset.py 03
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent.parent


def lessons(root: Path) -> dict[str, Path]:
    """The notebooks by their number: {"00": …/notebooks/00_the_wall.ipynb, …}."""
    return {path.name[:2]: path for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))}


def restore(path: Path) -> str:
    """Puts the committed notebook back; what it says is for the learner."""
    git = ["git", "-C", str(path.parent), "restore", "--staged", "--worktree", "--", path.name]
    run = subprocess.run(git, capture_output=True, text=True, encoding="utf-8", check=False)
    if run.returncode:
        raise OSError(f"{path.name} was not restored: {run.stderr.strip()}")
    return f"{path.name} is as it came; reload it where it is open."


def forget(lesson: str, folder: Path) -> str:
    """Removes what was predicted and passed; what it says is for the learner."""
    progress = folder / ".progress" / f"{lesson}.json"
    if not progress.exists():
        return "There was no progress to forget."
    progress.unlink()
    return "Its predictions and passed exercises are forgotten."


def main(*arguments: str, root: Path = HERE) -> int:
    known = lessons(root)
    lesson = arguments[0].zfill(2) if len(arguments) == 1 and arguments[0] else ""
    if lesson not in known:
        asked = " ".join(arguments) or "nothing"
        print(f"LESSON is {asked}; say one of {', '.join(known)}: make reset LESSON={min(known)}")
        return 2
    try:
        print(restore(known[lesson]))
    except OSError as error:
        print(error)
        return 1
    print(forget(lesson, known[lesson].parent))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
