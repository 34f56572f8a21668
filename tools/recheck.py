"""Check the exercises of one returned file, in a process of its own.

`returned` starts it. The file is somebody else's code, so it is run with a time limit,
without keys, and in bubblewrap if there is one. Verdicts are written as they come, so
that a file that never ends keeps the ones it had.
"""

import json
import linecache
import os
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

import course
from course.yours import sections
from tools.workbook import EXERCISE

VERDICTS = "verdicts.json"
"""The file that the verdicts go to, in the current folder: by exercise, whether it
passed, and what was said."""
NOT_TRIED = "not tried"


class Recorder:
    """Stands in for `check`, and writes each verdict down."""

    def __init__(self) -> None:
        self.verdicts: dict[str, tuple[bool, str]] = {}
        self.check = course.check

    def __call__(self, exercise: str, answer: Any) -> Any:
        """Check an answer. An exercise that has passed stays passed."""
        verdict = self.check(exercise, answer)
        self.note(exercise, verdict.passed, verdict.says)
        return verdict

    def note(self, exercise: str, passed: bool, says: str) -> None:
        """Write a verdict down, unless the exercise has passed already."""
        if not self.verdicts.get(exercise, (False,))[0]:
            self.verdicts[exercise] = (passed, says)
            draft = Path(f"{VERDICTS}.new")
            draft.write_text(json.dumps(self.verdicts), encoding="utf-8")
            draft.replace(VERDICTS)


class Kernel:
    """Runs the code cells of a notebook in one namespace, without a real kernel."""

    def __init__(self, cells: list[NotebookNode]) -> None:
        self.cells = cells
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.has_run: set[int] = set()

    def run(self, at: int) -> BaseException | None:
        """Run a cell. Return what it raised."""
        self.has_run.add(at)
        place = f"<cell {at + 1}>"
        try:
            source = TransformerManager().transform_cell(self.cells[at].source)
            lines = source.splitlines(keepends=True)
            linecache.cache[place] = (len(source), None, lines, place)
            exec(compile(source, place, "exec"), self.names)
        except BaseException as error:  # sys.exit and Ctrl-C, too: it is their code
            return error
        return None

    def run_set_up(self) -> None:
        """Run the folded cell of imports."""
        for at, cell in enumerate(self.cells):
            if "setup" in cell.metadata.get("tags", []):
                self.run(at)

    def run_before(self, at: int) -> None:
        """Run the cells before one that haven't been run. What they raise doesn't
        matter."""
        for earlier in range(at):
            if earlier not in self.has_run:
                self.run(earlier)


def needs_more(verdict: tuple[bool, str] | None, error: BaseException | None) -> bool:
    """Whether an exercise may have failed only because a cell before it hasn't run."""
    if verdict:
        return not verdict[0] and "NameError" in verdict[1]
    return error is not None


def recheck_notebook(
    notebook: NotebookNode, wanted: Mapping[str, str], stubs: Mapping[str, str]
) -> None:
    """Check the exercises of a notebook: `wanted` has the name of each one's answer.

    `stubs` are the sources of the exercises' cells as they were handed out. Only the
    set-up and the exercises are run, or all cells before one that needs a name of them.
    """
    record = Recorder()
    course.check = record
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kernel = Kernel(cells)
    changed = {
        exercise: at
        for at, cell in enumerate(cells)
        for exercise in EXERCISE.findall(cell.source)
        if cell.source.strip() != stubs.get(exercise, "").strip()
    }
    for exercise in stubs:
        if exercise not in changed and any(stubs[exercise] in c.source for c in cells):
            record.note(exercise, False, NOT_TRIED)
    if changed:
        kernel.run_set_up()
    for exercise, at in changed.items():
        error = kernel.run(at)
        if needs_more(record.verdicts.get(exercise), error):
            kernel.run_before(at)
            error = kernel.run(at)
        if error and exercise not in record.verdicts:
            record.note(exercise, False, f"its cell raised {error!r:.300}")
    for exercise, name in wanted.items():
        if exercise not in record.verdicts:
            kernel.run_before(len(cells))
            answer = kernel.names.get(name)
            if answer is None:
                record.note(exercise, False, f"there is no {name} and no check of it")
            else:
                record(exercise, answer)


def recheck_module(file: Path, wanted: Mapping[str, str]) -> None:
    """Check the functions of a my_agent.py that have the name of an answer.

    In a file with the course's headings a function answers the exercise above it: the
    layer `clear` at the end is no answer to 02.1.
    """
    record = Recorder()
    text = file.read_text(encoding="utf-8")
    headed = {name for name, _, _ in sections(text)} & {*wanted}
    cell = nbformat.v4.new_code_cell(text)
    kernel = Kernel([cell])
    kernel.names["__name__"] = file.stem
    error = kernel.run(0)
    if error:
        record.note(file.name, False, f"it raised {error!r:.300}")
    for exercise, name in wanted.items():
        if callable(kernel.names.get(name)) and (exercise in headed or not headed):
            record(exercise, kernel.names[name])


def main(file: str, wanted: Mapping[str, str], stubs: Mapping[str, str]) -> None:
    """Check one file of the current folder, without a word on the screen."""
    os.environ.update(HOME=str(Path.cwd()), MPLBACKEND="Agg")
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        path = Path(file)
        if path.suffix == ".py":
            recheck_module(path, wanted)
        else:
            recheck_notebook(nbformat.read(path, 4), wanted, stubs)
