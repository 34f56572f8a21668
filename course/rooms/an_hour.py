"""The hour: the documents' agent in one notebook, built of the lessons' exercises."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agentlib import presets
from agentlib.pipeline import ContextEngine
from agentlib.settings import Settings
from course.checks.transcripts import plain_answers, plain_load, power_cut
from course.figures import charts
from course.page import run_sentence
from course.panels.panel import Panel, knobs
from course.table import Table, as_table
from session_report.amounts import many
from session_report.style import RED, Chart
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import REVIEW

WINDOW = 16_000
"""So small that a run takes a second, and that clearing alone doesn't save it."""
OFF = Settings(enabled=False).scaled(WINDOW)
DOCUMENTS = presets.LEARN_CLAUDE_CODE.scaled(WINDOW)
"""THRESHOLD 50,000 and KEEP_RECENT 3, in a window of 200,000, are 4,000 and 3 here."""
CLEARS = replace(DOCUMENTS, auto=False, manual=False)
"""Nothing but clearing."""
TURNS = 70
"""What the charts have room for, so that runs of different lengths compare."""


def at(threshold: int) -> Settings:
    """Return the documents' numbers with another threshold, in tokens."""
    return replace(DOCUMENTS, threshold=threshold)


LATE = at(10_400)
"""65 % of the window, and so few summaries that a picture shows each one."""


def chart(run: Run, title: str, killed: int = 0) -> Chart:
    """Draw the tokens of each request of a run. `killed`: a turn to mark."""
    refused = {"": run.refused} if run.refused else {}
    picture = charts.turns(run.table(), title=title, turns=TURNS, refused=refused)
    if killed:
        axes = picture.figure.axes[0]
        axes.axvline(killed + 0.5, color=RED, linewidth=1.5, linestyle=":")
        axes.text(killed + 1, 0.9 * WINDOW, "killed", color=RED)
    return picture


def after_a_power_cut(append: Callable[..., Any], engine: ContextEngine) -> Run:
    """Write each message with `append`, lose the power after turn 17, and go on.

    The file loses its last 40 bytes, in the middle of a line. The finished functions of
    lesson 05 read the rest and answer the call whose result is gone.
    """
    parts = power_cut(append, plain_load, plain_answers)
    return play(REVIEW, LATE, engine=engine, **parts)


def agent_panel(engine: ContextEngine) -> Panel:
    """Run the task with an engine for each threshold, in tokens, and KEEP_RECENT."""

    def draw(threshold: int, keep_recent: int) -> tuple[bytes, str]:
        run = play(
            REVIEW, replace(at(threshold), keep_recent=keep_recent), engine=engine
        )
        count = len(run.session.compactions)
        title = f"{many(run.turns, 'turn')}, {many(count, 'compaction')}"
        title += ", the report is written" if run.checks["done"] else ", no report"
        return chart(run, title).png(), run_sentence(run)

    return Panel(
        knobs(DOCUMENTS, threshold=(3_000, 13_000, 200), keep_recent=(0, 20, 1)), draw
    )


def rows(runs: Mapping[str, Run]) -> Table:
    """Lay runs out, a row for each, with a mark at the last."""
    frame = {
        name: {
            "turns": run.turns,
            "summaries": len(run.session.compactions),
            "sent": run.sent,
            "described": run.checks["described"],
            "rule": run.checks["rule kept"],
            "report": run.checks["done"],
        }
        for name, run in runs.items()
    }
    [files] = {run.checks["files"] for run in runs.values()}
    units = {"sent": "tokens", "described": f"of {files} files"}
    return as_table(frame, units=units, mark=[list(runs)[-1]])
