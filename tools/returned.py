"""Read the workbooks that a class has returned, and write a table of what passed.

python -m tools.returned FOLDER    # `make returned FROM=FOLDER`

FOLDER has a folder for each student, with notebooks and perhaps a my_agent.py at any
depth. That is how nbgrader collects (submitted/STUDENT/ASSIGNMENT/...), and how learning
platforms export. A notebook that lies in FOLDER itself is a student of its own.

Each file runs in a process of its own: with a time limit, a memory limit, without keys,
and in bubblewrap if there is one. So it can't harm you, and outside bubblewrap it is as
free as any program that you start. Nothing here proves that nobody cheated, because a
file could claim what it likes.
"""

import argparse
import csv
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import nbformat
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentlib.tools import shell
from tools.recheck import NOT_TRIED, VERDICTS
from tools.workbook import ROOT

AGENT = "my_agent.py"
SECONDS = 180
"""For one file."""
LARGEST = 30_000_000
"""Most bytes of one file."""
MOST_SAID = 1_000_000
"""Most bytes of the verdicts of one file."""
Verdicts = dict[str, tuple[bool, str]]
"""For each exercise, whether it passed, and the message."""
CHECK = re.compile(r'^check\("([\d.]+)", (.+)\)', re.MULTILINE)
FOLDERS = ("agentlib", "lab", "course", "tools")
"""What the checks need of the repository. Bubblewrap shows them nothing else of it."""
START = (
    "import sys; sys.path[:0] = {paths!r}; from tools.recheck import main; import json; "
    "main(sys.argv[1], *map(json.loads, sys.argv[2:4]))"
)


@dataclass(frozen=True)
class Row:
    """The result of one exercise of one student."""

    student: str
    exercise: str
    passed: bool
    says: str
    """"" if it passed, or the message."""
    file: str


@dataclass(frozen=True)
class Lesson:
    """The exercises of a lesson, by number."""

    answers: dict[str, str]
    """The name that each answer has in the notebook."""
    stubs: dict[str, str]
    """The source of each one's cell, as it is handed out."""


@cache
def lessons() -> dict[str, Lesson]:
    """Return the lessons of this repository by their numbers, "00" to the last."""
    every: dict[str, Lesson] = {}
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        lesson = Lesson({}, {})
        for cell in nbformat.read(path, as_version=4).cells:
            for exercise, name in CHECK.findall(cell.source):
                lesson.answers[exercise] = name
                lesson.stubs[exercise] = cell.source
        every[path.name[:2]] = lesson
    return every


def submissions(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each student's name with each of their files."""
    for path in sorted(folder.rglob("*")):
        is_ours = path.suffix == ".ipynb" or path.name == AGENT
        if is_ours and ".ipynb_checkpoints" not in path.parts:
            yield path.relative_to(folder).parts[0].removesuffix(".ipynb"), path


def rows_or_why(student: str, path: Path, seconds: float, bubblewrap: str) -> list[Row]:
    """Check one file. Whatever it is, it costs nobody else their rows."""
    try:
        return rows(student, path, seconds, bubblewrap)
    except Exception as error:
        says = f"it can't be read: {error!r:.200}"
        return [Row(student, "", False, says, path.name)]


def rows(student: str, path: Path, seconds: float, bubblewrap: str) -> list[Row]:
    """Check one file. Return a row for each exercise that it should have."""

    def row(exercise: str, passed: bool, says: str) -> Row:
        return Row(student, exercise, passed, "" if passed else says, path.name)

    try:
        wanted, stubs = exercises(path)
    except (OSError, ValueError) as error:
        return [row("", False, str(error))]
    verdicts, ending = run(path, wanted, stubs, seconds, bubblewrap)
    if verdicts is None:
        return [row("", False, ending)]
    shown: dict[str, Any] = (
        verdicts
        if path.name == AGENT
        else {name: verdicts.get(name) for name in wanted}
    )
    return [row(name, *(shown[name] or (False, ending))) for name in shown]


def exercises(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the answers and stubs of the lessons that a file belongs to.

    A notebook belongs to the lessons whose exercises it checks, whatever its name is.
    Raises ValueError with the reason if the file can't be checked.
    """
    if path.is_symlink():
        raise ValueError("it is a link; hand in the file itself")
    if not path.is_file():
        raise ValueError("it can't be read: it is no file")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} bytes; clear its outputs")
    if path.name == AGENT:
        numbers = set(lessons())
    else:
        try:
            cells = nbformat.read(path, as_version=4).cells
        except Exception as error:  # whatever a damaged file raises
            raise ValueError(
                f"it can't be read as a notebook: {error!r:.200}"
            ) from error
        numbers = {name[:2] for cell in cells for name, _ in CHECK.findall(cell.source)}
        numbers = (numbers or {path.name[:2]}) & set(lessons())
    answers: dict[str, str] = {}
    stubs: dict[str, str] = {}
    for number in sorted(numbers):
        answers |= lessons()[number].answers
        stubs |= lessons()[number].stubs
    return answers, stubs


def run(
    path: Path,
    wanted: dict[str, str],
    stubs: dict[str, str],
    seconds: float,
    bubblewrap: str,
) -> tuple[Verdicts | None, str]:
    """Run `recheck` on a copy of the file. Return its verdicts, and why it ended.

    None: what lies there are no verdicts. They are in the folder of the student's code,
    which can write what it likes.
    """
    if not wanted:
        return {}, ""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        for each in {path, path.with_name(AGENT)}:
            is_own = each.is_file() and not each.is_symlink()
            if is_own and each.stat().st_size <= LARGEST:
                shutil.copyfile(each, folder / each.name)
        words = [path.name, json.dumps(wanted), json.dumps(stubs)]
        call = [
            sys.executable,
            "-c",
            START.format(paths=[str(ROOT), str(ROOT / "lab")]),
            *words,
        ]
        prefix = confined(bubblewrap, folder) if bubblewrap else []
        ended = shell.run([*prefix, *call], folder, time_limit=seconds)
        try:
            verdicts = verdicts_of(folder / VERDICTS, {*wanted, path.name})
        except (OSError, ValueError, RecursionError) as error:
            return None, f"its verdicts can't be read: {error!r:.200}"
    if ended.exit_code is None:
        return verdicts, f"it was stopped after {seconds:g} seconds"
    return verdicts, f"it ended before this check: {ended.output.strip()[-200:]}"


def verdicts_of(file: Path, exercises: Iterable[str]) -> Verdicts:
    """Read verdicts on some of the exercises, {} if there is no such file.

    Raises OSError, ValueError or RecursionError for a file that isn't of that form.
    """
    if not file.is_file() or file.is_symlink():
        return {}
    with file.open("rb") as stream:
        text = stream.read(MOST_SAID + 1)
    if len(text) > MOST_SAID:
        raise ValueError(f"they have more than {MOST_SAID:,} bytes")
    verdicts: Any = json.loads(text.decode("utf-8"))
    if not isinstance(verdicts, dict):
        raise ValueError("they are no object")
    own = cast(dict[str, Any], verdicts)
    for exercise, verdict in own.items():
        match verdict:
            case [bool(), str()] if exercise in exercises:
                pass
            case _:
                raise ValueError(f"{exercise!r:.80} is no verdict on an exercise")
    return own


def confined(bubblewrap: str, folder: Path) -> list[str]:
    """Return the words that run a command in bubblewrap, with the packages in sight."""
    words = shell.sandbox_prefix(bubblewrap, folder)
    for name in FOLDERS:
        place = str(ROOT / name)
        words += ["--ro-bind", place, place]
    return words


def one_line(text: str) -> str:
    """Return text in one line that neither a screen nor a spreadsheet obeys, whether it
    takes a comma or a semicolon for the end of a cell.

    >>> one_line("=1+1\\n\\x1b[2J; @x")
    "'=1+1 [2J; '@x"
    """
    words = "".join(c if c.isprintable() else " " for c in str(text)).split()
    return re.sub(
        r"(^|; ?)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])", r"\1'", " ".join(words)
    )


def merged(every: Iterable[Row]) -> list[Row]:
    """Keep the best row of each student and exercise: passed, tried, not tried."""
    best: dict[tuple[str, str], Row] = {}
    for row in every:
        key = (row.student, row.exercise or row.file)
        old = best.get(key)
        if old is None or rank(row) > rank(old):
            best[key] = row
    return sorted(best.values(), key=lambda row: (row.student, row.exercise, row.file))


def rank(row: Row) -> int:
    return 2 if row.passed else int(row.says != NOT_TRIED)


def write(table: list[Row], file: Path) -> None:
    """Write the table as CSV."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["student", "exercise", "result", "file"])
        for row in table:
            result = "passed" if row.passed else row.says
            cells = (row.student, row.exercise, result, row.file)
            writer.writerow(map(one_line, cells))


def show(table: list[Row]) -> None:
    """Print a line for each student: how many exercises passed, and the others."""
    shown = Table("student", "passed", "of", "tried and not passed", box=None)
    for student in dict.fromkeys(row.student for row in table):
        own = [row for row in table if row.student == student]
        tried = [r.exercise or r.file for r in own if not r.passed and rank(r)]
        passed = str(sum(row.passed for row in own))
        words = (one_line(student), passed, str(len(own)), one_line(", ".join(tried)))
        shown.add_row(*map(Text, words))  # plain text, whatever markup it has
    Console().print(shown)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="a folder for each student"
    )
    parser.add_argument("--csv", type=Path, default=Path("returned.csv"))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for one file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if not arguments.folder:
        parser.error("name the folder of what came back: make returned FROM=submitted")
    if not arguments.folder.is_dir():
        parser.error(f"there is no folder {arguments.folder}")
    files = list(submissions(arguments.folder))
    if not files:
        parser.error(f"{arguments.folder} has no notebook and no {AGENT} in it")
    bubblewrap = (shell.confines() and shutil.which("bwrap")) or ""
    if not bubblewrap:
        print("[no bubblewrap: their code can read your files and use your network]")
    table: list[Row] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        checks = [
            pool.submit(rows_or_why, *file, arguments.seconds, bubblewrap)
            for file in files
        ]
        for number, check in enumerate(checks, 1):
            table += check.result()
            if sys.stderr.isatty():
                print(f"\r{number} of {len(files)} files", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    table = merged(table)
    write(table, arguments.csv)
    show(table)
    print(f"Each exercise with its message: {arguments.csv}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
