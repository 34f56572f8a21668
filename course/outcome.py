"""Say in a sentence what came of a run."""

from collections.abc import Mapping
from typing import Any

from session_report.amounts import many
from windtunnel.runner import Run


def told(run: Run, *more: str) -> str:
    """Say what came of a run, in one line. `more`: parts to add before its checks."""
    again = f"{many(run.repeated, 'call')} made again"
    counts = f"{many(run.turns, 'turn')}, {again}, {run.sent:,} tokens sent"
    end = "Done." if run.checks["done"] else "Not done."
    sentences = ["; ".join([counts, *more]) + ".", end, _work(run.checks)]
    if run.refused:
        sentences.append(f"The API ended it: {run.refused.rstrip('.')}.")
    elif _is_stopped(run):
        sentences.append(f"It was stopped after {many(run.turns, 'request')}.")
    elif run.ended:
        sentences.append(f"It ended: {run.ended.rstrip('.')}.")
    return " ".join(filter(None, sentences))


def _is_stopped(run: Run) -> bool:
    """Tell whether the run used up its requests: a learner's loop, or the agent."""
    last = run.rounds[-1].events if run.rounds else ()
    is_stopped = any(event.kind == "stopped" for event in last)
    return is_stopped or run.ended == f"{run.turns} turns"


def _work(checks: Mapping[str, Any]) -> str:
    """Say what a run's report holds, or what a renaming left.

    >>> report = {"files": 19, "described": 4, "facts": 1, "rule kept": False}
    >>> print(_work(report))
    The report describes 4 of 19 files, has 1 fact and breaks the rule.
    >>> print(_work({"left": 7, "renamed": 22, "tests": False}))
    22 places are renamed and 7 are left; the tests fail.
    """
    if not checks.get("named", True):
        return "There is no report."
    if "described" in checks:
        files = f"describes {checks['described']} of {checks['files']} files"
        rule = "keeps the rule" if checks["rule kept"] else "breaks the rule"
        return f"The report {files}, has {many(checks['facts'], 'fact')} and {rule}."
    if "renamed" in checks:
        tests = "pass" if checks["tests"] else "fail"
        places = f"{checks['renamed']} places are renamed and {checks['left']} are left"
        return f"{places}; the tests {tests}."
    return ""
