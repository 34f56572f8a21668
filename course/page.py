"""Show what cells of several lessons show: a run's sentence, lines of a page's width,
source."""

import inspect
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from IPython.display import Markdown
from pandas import DataFrame

from course.figures.survival import survival
from course.generations import places, planted
from course.outcome import told
from course.scoreboard import measures
from course.table import as_table as as_table
from session_report.amounts import many
from session_report.style import LINE
from session_report.style import wrapped as wrapped
from windtunnel.runner import Run
from windtunnel.tasks.scenarios import Scenario


def run_sentence(run: Run, *more: str) -> str:
    """Say what came of a run, in printed lines. `more`: parts to add before its
    checks."""
    return wrapped(told(run, *more))


def measured(runs: Mapping[str, Run], columns: Sequence[str] = ()) -> DataFrame:
    """Return a row of the scorecard for each run by its name, with these columns or
    with all."""
    table = DataFrame(
        {name: measures(run) for name, run in runs.items()}
    ).T.infer_objects()
    return table[list(columns) or list(table)]


def print_json(value: object) -> None:
    """Print a value as JSON, its long lines broken."""
    for line in json.dumps(value, indent=1, ensure_ascii=False).splitlines():
        print(textwrap.fill(line, LINE - 2, subsequent_indent="   "))


def print_lines(text: str, longest: int | None = None) -> None:
    """Print a text, at most `longest` lines of the page for each of its own."""
    for line in text.splitlines():
        lines = textwrap.wrap(
            line, LINE - 2, subsequent_indent="    ", max_lines=longest
        )
        print(*lines or [""], sep="\n")


def survived(scenario: Scenario, run: Run, *more: str) -> tuple[bytes, str]:
    """Draw where each compaction of a run left the rule and the facts, and say what
    came of it."""
    rows = places(run.session, planted(scenario))
    count = many(len(run.session.compactions), "compaction")
    lost = [name for name, row in rows.items() if row[-1:] == ["lost"]]
    title = f"Lost in {count}: {', '.join(lost) or 'nothing'}"
    return survival({"": rows}, title=title).png(), run_sentence(run, *more, count)


def code(function: Callable[..., Any], only: str = "") -> Markdown:
    """Return the source of a function without its docstring, or the lines with the word
    `only`."""
    text = inspect.getsource(function)
    body = text.partition('    """')[0] + text.rpartition('    """')[2].lstrip("\n")
    lines = (
        line
        for line in (body if '    """' in text else text).splitlines()
        if only in line
    )
    return Markdown(f"```python\n{textwrap.dedent(chr(10).join(lines))}\n```")


def source(title: str, *functions: Callable[..., Any]) -> Markdown:
    """Return a fold with the source of functions."""
    text = textwrap.dedent("\n".join(map(inspect.getsource, functions)))
    fold = "<details><summary>{}</summary>\n\n```python\n{}```\n\n</details>"
    return Markdown(fold.format(title, text))
