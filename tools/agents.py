"""Write the agent after each lesson as a file, and the page that shows the differences.

python -m tools.agents

`agents.txt` is the template of all nine files. What the learner writes in a lesson
isn't in there: `body` takes it from the solution in the lesson's fold.
"""

import ast
import difflib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agentlib.settings import MODEL
from tools.my_agent import solution

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs/agents"


@dataclass(frozen=True)
class Stage:
    """The agent after a lesson."""

    name: str
    """That of its file and of the notebook."""
    n: int
    """The lesson whose layers it has."""
    title: str
    """The first line of the file."""
    layers: str
    """Its list, as it stands in the file."""
    cured: str
    """What the lesson's layer is good for, for the page."""
    hour: bool = False
    """Whether it is the agent after An hour."""


STAGES = (
    Stage(
        "00_the_wall",
        0,
        "Lesson 00: an agent, until its window is full.",
        "",
        "Nothing is cured yet. Eight lines ask, act, and ask again, until the API refuses "
        "a request that doesn't fit. This file is where the others begin.",
    ),
    Stage(
        "01_estimation",
        1,
        "Lesson 01: an agent that knows how full its window is.",
        "alarm",
        "The agent knows how large its next prompt is, so it stops by itself and isn't "
        "refused.",
    ),
    Stage(
        "02_micro_compact",
        2,
        "Lesson 02: an agent that clears old results.",
        "clear, alarm",
        "Files that were read no longer fill the window, because placeholders take their "
        "place. Without its one large file, this agent reads all of `email`. With it, the "
        "newest three results alone are too much.",
    ),
    Stage(
        "03_auto_compact",
        3,
        "Lesson 03: an agent that summarises when clearing isn't enough.",
        "clear, summarise",
        "The agent gets past the wall and writes its report, because a summary takes the "
        "place of the alarm.",
    ),
    Stage(
        "04_manual_compact",
        4,
        "Lesson 04: an agent whose model may ask for the summary.",
        "clear, summarise",
        "The cut no longer falls wherever a number says so. The model may ask for it when "
        "a piece of work is done, and say what has to stay.",
    ),
    Stage(
        "05_transcripts",
        5,
        "Lesson 05: an agent that goes on after it was killed.",
        "clear, summarise",
        "A kill no longer ends the work. Every message is in a file before the next "
        "request, so the agent goes on from there, and nothing that was cleared or "
        "summarised is lost.",
    ),
    Stage(
        "06_head_and_tail",
        6,
        "Lesson 06: an agent that keeps the first words, and hands the rest over.",
        "clear, summarise",
        "No summary can drop what the person said first, because those words stay. The "
        "summary says that it is no instruction.",
    ),
    Stage(
        "07_recovery",
        7,
        "Lesson 07: an agent that goes on without a summary.",
        "clear, summarise, cut",
        "A summary that fails no longer ends the work. When there is no room left to wait "
        "for one, the oldest and the newest lines of what was said take its place.",
    ),
)
HOUR = Stage(
    "an_hour",
    5,
    "An hour: the agent that the five documents describe.",
    "clear, summarise",
    "This is the agent of lesson 05 as the documents would have it: it counts "
    "characters, and only those of the messages. The difference leads to 05.",
    hour=True,
)
PAGE = """\
# The agent after each lesson

Each file here is a whole agent. It needs Python, `anthropic` and nothing else, and has at most
300 lines. Each is the one before and what its lesson adds, so begin with
[the first](00_the_wall.py) and read on with the differences. The learner's functions in them are
the published solutions of the lessons. `LAYERS` has the names of
[agentlib/pipeline.py](../../agentlib/pipeline.py). A layer there returns a `Step` that says what it
changed. A layer here returns the messages that are sent.

They are made to be read. What no lesson teaches isn't in them, and a comment says which module of
`agentlib` does it. Above all, nothing confines their commands, so start them in a copy of a folder.

Offline, one terminal has the API, with a window of 32,000 tokens:

```console
.venv/bin/agentlib-api --port 8080 --window 32000
```

Another has the agent:

```console
export ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_API_KEY=any
cp -r "$(.venv/bin/python -c 'import email; print(email.__path__[0])')" mails && cd mails
../.venv/bin/python ../docs/agents/03_auto_compact.py \\
    "Read every Python file one by one and write a report"
```

From lesson 05 on, the same command without a prompt goes on where the agent was stopped. To go
live, unset `ANTHROPIC_BASE_URL`, set your own key, and make `WINDOW` and the numbers below it those
of your model. No file here states a price or holds a cap. `agentlib` in a terminal does
([Live and local models](../live-and-local.md)). Only that of lesson 07 stops after 200 requests.

`python -m tools.agents` writes this folder from `tools/agents.txt` and the lessons' solutions.

| file | its layers | lines | more than the one before |
|---|---|---|---|
"""
"""What stands above the differences."""


@cache
def body(exercise: str) -> str:
    """Return what stands below the `def` of a solution."""
    first, _, rest = solution(exercise).partition(":\n")
    assert first.startswith("def "), first
    return rest.rstrip("\n")


def answer(exercise: str) -> Any:
    """Return the value of a solution that is no function."""
    _, _, value = solution(exercise).partition(" = ")
    return ast.literal_eval(value)


def written(stage: Stage) -> str:
    """Return the file of an agent."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        line_statement_prefix="#%",
        variable_start_string="<<",
        variable_end_string=">>",
        keep_trailing_newline=True,
    )
    text = environment.get_template("agents.txt").render(
        n=stage.n,
        hour=stage.hour,
        title=stage.title,
        file=f"{stage.name}.py",
        layers=stage.layers,
        model=MODEL,
        body=body,
        answer=answer,
        tokens="{:_}".format,
        blank="",
    )
    return formatted(text)


def formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "agent.py"]
    return subprocess.run(
        [*command, "-"],
        cwd=ROOT,
        input=text,
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout


def changed_lines(before: str, after: str) -> list[str]:
    """Return the difference between two files, a line of context around each part."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), n=1, lineterm=""
    )
    return [re.sub("^@@.*@@$", "@@", line) for line in lines][2:]


def counted(lines: Sequence[str]) -> str:
    """Say how many lines a difference adds and takes out."""
    added = sum(line.startswith("+") for line in lines)
    return f"+{added} −{sum(line.startswith('-') for line in lines)}"


def page(texts: Mapping[str, str]) -> str:
    """Return the page of the differences. `texts` are the files, by name."""
    rows: list[str] = []
    sections: list[str] = []
    pairs = [*zip((None, *STAGES), STAGES, strict=False), (HOUR, STAGES[5])]
    for before, stage in pairs:
        shown = before if before and before.hour else stage
        text = texts[f"{shown.name}.py"]
        lines: list[str] = []
        if before:
            after = texts[f"{stage.name}.py"]
            lines = changed_lines(texts[f"{before.name}.py"], after)
        file = f"[{shown.name}.py]({shown.name}.py)"
        layers = shown.layers.replace(", ", "`, `")
        difference = counted(lines) if before and not shown.hour else ""
        rows.append(
            f"| {file} | {f'`{layers}`' if layers else ''} | {text.count(chr(10))} "
            f"| {difference} |"
        )
        place = "hour" if shown.hour else shown.name[:2]
        heading = shown.title.rstrip(".")
        sections += [f'<a id="lesson-{place}"></a>', "", f"## {heading}", ""]
        sections += [f"{shown.cured} The whole file: {file}.", ""]
        if lines:
            sections += ["```diff", *lines, "```", ""]
    return PAGE + "\n".join([*rows, "", *sections])


def files() -> dict[str, str]:
    """Return all files of the folder, by name."""
    agents = {f"{stage.name}.py": written(stage) for stage in (*STAGES, HOUR)}
    return {**agents, "README.md": page(agents)}


def main() -> int:
    for name, text in files().items():
        (OUT / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {text.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
