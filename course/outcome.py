"""Say in a sentence what came of a run."""

from windtunnel.runner import Run

UNTOLD = ("named", "lost", "false")
"""Checks of a report that a run's sentence leaves out, because `done` and `described`
follow."""


def told(run: Run, *more: str) -> str:
    """Say what came of a run, in one line. `more`: parts to add before its checks."""
    words = {"True": "yes", "False": "no"}
    shown = {
        name: str(value) for name, value in run.checks.items() if name not in UNTOLD
    }
    checks = ", ".join(
        f"{name} {words.get(value, value)}" for name, value in shown.items()
    )
    counts = f"{run.turns:,} turns, {run.repeated:,} calls made again, {run.sent:,} tokens sent"
    text = "; ".join([counts, *more, checks]) + "."
    ended = f"The API ended it: {run.refused.rstrip('.')}." if run.refused else ""
    if run.ended and not ended:
        ended = f"It ended: {run.ended.rstrip('.')}."
    return f"{text} {ended}".rstrip()
