"""What the web page of An hour calls, in a Python that runs in the page itself.

The page runs the notebook's own cells. What they `display` becomes data, which the page
draws: nothing here needs IPython, pandas or matplotlib. There are no processes in a page,
so the agent lists files with a tool named `glob` and has no shell.
"""

import ast
import json
import linecache
import os
import textwrap
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentlib.auto_compact import summary_message
from agentlib.messages import (
    exchanges,
    last_assistant,
    of_type,
    tool_names,
    with_results,
)
from agentlib.pipeline import ContextEngine, stacked
from course import check, compare, hint, predict, the_hour, use, yours
from course.checks import auto_compact, micro_compact, transcripts
from course.outcome import told
from windtunnel.runner import Run, play
from windtunnel.tasks import scenarios

Output = dict[str, Any]
"""What a cell showed: a `text`, a `picture`, a `table` or a `panel`."""
EXERCISES = (micro_compact, auto_compact, transcripts)
"""Where the hour's exercises come from. They are imported, and no others."""
COLUMNS = ("tokens", "replaced_tokens", "summary_request", "cleared")
"""Numbers of each turn that a picture needs beside its kinds of block."""


def picture(run: Run, title: str, killed: int = 0) -> Output:
    """Return the numbers of a run that its picture shows, a list of them for each turn.

    The kinds of block are listed from the bottom of a stack to its top, without those
    that the run has none of.
    """
    rows = run.rows()
    names = [*rows[0]]
    kinds = names[names.index("tokens") + 1 : names.index("threshold")]
    numbers = {kind: [round(float(row[kind]), 1) for row in rows] for kind in kinds}
    return {
        "title": title,
        "words": told(run),
        "kinds": {kind: sizes for kind, sizes in numbers.items() if any(sizes)},
        **{name: [int(row[name]) for row in rows] for name in COLUMNS},
        "compaction": [str(row["compaction"] or "") for row in rows],
        "failed": [bool(row["summary_failed"]) for row in rows],
        "window": rows[-1]["window"],
        "threshold": rows[-1]["threshold"],
        "refused": run.refused,
        "refused_tokens": run.refused_tokens,
        "killed": killed,
        "turns": the_hour.TURNS,
    }


def chart(run: Run, title: str, killed: int = 0) -> Output:
    """Stand in for the room's function of this name."""
    return {"picture": picture(run, title, killed)}


def wall_panel(run: Run) -> None:
    """Show nothing, because the page has the panel already, and it needs no answer."""


class AgentPanel:
    """Two sliders over the learner's agent. The page draws them, and asks `at`."""

    def __init__(self, engine: ContextEngine) -> None:
        self.engine = engine

    def at(self, threshold: int, keep_recent: int) -> Output:
        """Run the task at these numbers."""
        run, title = the_hour.moved(self.engine, threshold, keep_recent, shell=False)
        return picture(run, title)

    def shown(self) -> Output:
        """Return the sliders where the documents set them, and the picture there."""
        start = {name: getattr(the_hour.LATE, name) for name in the_hour.KNOBS}
        start["threshold"] = the_hour.LATE.threshold_tokens
        return {"panel": {"knobs": the_hour.KNOBS, "start": start, **self.at(**start)}}


def table(runs: Mapping[str, Run]) -> Output:
    """Lay runs out, a row for each. The last is the learner's."""
    rows = {name: the_hour.measures(run) for name, run in runs.items()}
    last = [*runs.values()][-1]
    return {"table": {"rows": rows, "units": the_hour.units(last)}}


class Cells:
    """The cells of the page, one namespace for all of them, as a kernel has it."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.panel: AgentPanel | None = None
        own_play = partial(play, shell=False)
        room = SimpleNamespace(
            OFF=the_hour.OFF,
            CLEARS=the_hour.CLEARS,
            LATE=the_hour.LATE,
            DOCUMENTS=the_hour.DOCUMENTS,
            chart=chart,
            rows=table,
            wall_panel=wall_panel,
            agent_panel=AgentPanel,
            after_a_power_cut=partial(the_hour.after_a_power_cut, shell=False),
        )
        self.names: dict[str, Any] = {
            "__name__": "__main__",
            "json": json,
            "textwrap": textwrap,
            "summary_message": summary_message,
            "exchanges": exchanges,
            "last_assistant": last_assistant,
            "of_type": of_type,
            "tool_names": tool_names,
            "with_results": with_results,
            "stacked": stacked,
            "check": check,
            "compare": compare,
            "hint": hint,
            "predict": predict,
            "use": use,
            "page": SimpleNamespace(run_sentence=told),
            "room": room,
            "play": own_play,
            "scenarios": scenarios,
            "task": scenarios.REVIEW,
            "display": self.display,
        }

    def display(self, shown: Any) -> None:
        """Show a value, in the order of what is printed."""
        if isinstance(shown, AgentPanel):
            self.panel = shown
            shown = shown.shown()
        self.outputs.append(shown)

    def run(self, name: str, source: str) -> list[Output]:
        """Run a cell and return what it showed. An error is a text, as in a notebook.

        >>> Cells().run("a", "print('Hello')\\n1 + 1")
        [{'text': 'Hello\\n'}, {'text': '2'}]
        """
        file = f"<cell {name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        self.outputs = []
        try:
            with redirect_stdout(_Printed(self.outputs)):
                self._execute(source, file)
        except (Exception, SystemExit) as error:
            self.outputs.append({"text": _error(error, file), "error": True})
        return self.outputs

    def _execute(self, source: str, file: str) -> None:
        """Run the statements, and show the value of the last one, if it is a value."""
        body = ast.parse(source, file).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), file, "exec"), self.names)
        if isinstance(last, ast.Expr):
            code = compile(ast.Expression(last.value), file, "eval")
            value = eval(code, self.names)
            if value is not None:
                self.outputs.append({"text": repr(value)})

    def moved(self, threshold: int, keep_recent: int) -> Output:
        """Return the panel's picture at these numbers, or the text of an error."""
        assert self.panel
        try:
            return {"picture": self.panel.at(threshold, keep_recent)}
        except Exception as error:
            return {"text": f"{type(error).__name__}: {error}", "error": True}


class _Printed(StringIO):
    """Puts what is printed among the outputs."""

    def __init__(self, outputs: list[Output]) -> None:
        super().__init__()
        self.outputs = outputs

    def write(self, text: str) -> int:
        if self.outputs and self.outputs[-1].keys() == {"text"}:
            self.outputs[-1]["text"] += text
        else:
            self.outputs.append({"text": text})
        return len(text)


def _error(error: BaseException, file: str) -> str:
    """Name the error, and the line of the cell that it comes from.

    >>> Cells().run("a", "x = 1\\n1 / 0")[0]["text"]
    'ZeroDivisionError in line 2: division by zero'
    """
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    line = error.lineno if isinstance(error, SyntaxError) else (lines or [None])[-1]
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    where = f" in line {line}" if line else ""
    return f"{type(error).__name__}{where}: {words}"


def begin(folder: Path, my_agent: str = "", notes: str = "") -> None:
    """Make the folder in which what passes is kept, as a workbook, and go there.

    `my_agent` and `notes` are the texts of the files that an earlier visit left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    texts = {yours.MARK: "{}\n", yours.FILE: my_agent, yours.WRITTEN: notes}
    for name, text in texts.items():
        if text:
            (folder / name).write_text(text, encoding="utf-8")


def kept(folder: Path) -> dict[str, str]:
    """Return the texts of the files that `begin` takes, "" for one that isn't there."""
    texts = dict[str, str]()
    for key, name in (("my_agent", yours.FILE), ("notes", yours.WRITTEN)):
        path = folder / name
        texts[key] = path.read_text(encoding="utf-8") if path.is_file() else ""
    return texts


def answering(folder: str) -> Callable[[str], str]:
    """Return what the page calls with a message in JSON, for a reply in JSON.

    A message is {"begin": {...}}, {"run": [name, source]} or {"move": {...}}.
    """
    cells = Cells()
    root = Path(folder)

    def answer(message: str) -> str:
        match json.loads(message):
            case {"begin": files}:
                begin(root, **files)
                reply: dict[str, Any] = {}
            case {"run": [name, source]}:
                reply = {"outputs": cells.run(name, source), "kept": kept(root)}
            case {"move": numbers}:
                reply = {"outputs": [cells.moved(**numbers)]}
            case other:
                raise ValueError(f"there is no message {other!r:.80}")
        return json.dumps(reply)

    return answer
