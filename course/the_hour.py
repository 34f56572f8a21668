"""The hour's numbers and runs, without its pictures: for the notebook and the web page."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agentlib import presets
from agentlib.pipeline import ContextEngine
from agentlib.settings import Settings
from course.checks.transcripts import plain_answers, plain_load, power_cut
from session_report.amounts import many
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
KNOBS = {"threshold": (3_000, 13_000, 200), "keep_recent": (0, 20, 1)}
"""What the sliders offer: the least, the most, the step."""


def at(threshold: int) -> Settings:
    """Return the documents' numbers with another threshold, in tokens."""
    return replace(DOCUMENTS, threshold=threshold)


LATE = at(10_400)
"""65 % of the window, and so few summaries that a picture shows each one."""


def after_a_power_cut(
    append: Callable[..., Any], engine: ContextEngine, shell: bool = True
) -> Run:
    """Write each message with `append`, lose the power after turn 17, and go on.

    The file loses its last 40 bytes, in the middle of a line. The finished functions of
    lesson 05 read the rest and answer the call whose result is gone.
    """
    cut: Any = power_cut(append, plain_load, plain_answers)
    return play(REVIEW, LATE, engine=engine, shell=shell, **cut)


def moved(
    engine: ContextEngine, threshold: int, keep_recent: int, shell: bool = True
) -> tuple[Run, str]:
    """Run the task with an engine at other numbers, and return a title for its
    picture."""
    settings = replace(at(threshold), keep_recent=keep_recent)
    run = play(REVIEW, settings, engine=engine, shell=shell)
    count = many(len(run.session.compactions), "compaction")
    report = "the report is written" if run.checks["done"] else "no report"
    return run, f"{many(run.turns, 'turn')}, {count}, {report}"


def measures(run: Run) -> dict[str, Any]:
    """Return what the hour compares runs by."""
    return {
        "turns": run.turns,
        "summaries": len(run.session.compactions),
        "sent": run.sent,
        "described": run.checks["described"],
        "rule": run.checks["rule kept"],
        "report": run.checks["done"],
    }


def units(run: Run) -> dict[str, str]:
    """Return the units of `measures`, where they have some."""
    return {"sent": "tokens", "described": f"of {run.checks['files']} files"}
