"""Lesson 04: obeying the call, its siblings, its focus, and when to compact."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pandas has no complete types.

from dataclasses import replace
from functools import partial
from pathlib import Path

from pandas import DataFrame

from agentlib.manual_compact import COMPACT_TOOL
from agentlib.messages import Message
from agentlib.pipeline import ContextEngine, Layer, Now, run_engine
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.tools import DEFINITIONS
from course.checking import conversation as conversation
from course.checks.manual_compact import AUTO as AUTO
from course.checks.manual_compact import BY_HAND as BY_HAND
from course.checks.manual_compact import summary_holds
from course.figures import charts as charts
from course.figures import moments
from course.figures.difference import Difference as Difference
from course.page import run_sentence
from course.panels.panel import Panel, slider, words
from course.rooms.museum import said
from session_report.style import wrapped
from windtunnel.runner import asked_at as asked_at
from windtunnel.runner import play
from windtunnel.tasks.generated import MOMENTS as MOMENTS
from windtunnel.tasks.generated import SWEEPS as SWEEPS
from windtunnel.tasks.scenarios import REVIEW, TRACE, Scenario, fill, report_checks


def clears_only(engine: ContextEngine) -> Layer:
    """Make a layer of an agent so far: it clears, and others compact."""

    def so_far(now: Now, step: Step) -> Step:
        settings = replace(now.settings, auto=False)
        quiet = replace(now, settings=settings, reason="auto", focus="")
        return run_engine(engine, quiet)

    return so_far


# -- what the cells show ---------------------------------------------------------------


def _both_packages(folder: Path) -> None:
    REVIEW.make_workspace(folder)
    fill(folder, project="fetch")


TWO = replace(
    REVIEW,
    name="two pieces of work",
    prompts=(*REVIEW.prompts, *TRACE.prompts),
    make_workspace=_both_packages,
    checks=partial(
        report_checks, below="packaging", facts=REVIEW.facts, first=REVIEW.rule
    ),
    pauses=(*REVIEW.pauses, 400.0),
)
"""The report, and then a question that has nothing to do with it."""


def ask(messages: list[Message]) -> str:
    """Send messages to the simulated API, and return its refusal or "accepted"."""
    answer = said(messages, tools=[*DEFINITIONS, COMPACT_TOOL])
    return wrapped(f"refused, {answer}") if answer.startswith("400") else "accepted"


def moment_panel(
    scenario: Scenario, settings: Settings, curve: DataFrame, after: int
) -> Panel:
    """A person compacts `after` a turn, and the agent goes on to the end of its task.

    The sliders are `after` and `summary_tokens`, and the field `words` is the focus.
    `curve`: the files described for each turn, as `figures.moments` draws them.
    """

    def draw(after: int, summary_tokens: int, words: str) -> tuple[bytes, str]:
        chosen = replace(settings, summary_tokens=summary_tokens)
        run = play(scenario, chosen, compact_after=after, focus=words.strip())
        files = int(run.checks["described"])
        title = f"Compacted after turn {after}: {files} of {total} files described"
        chart = moments.moment(
            curve, title=title, at=(after, files), name=f"yours: {files}"
        )
        sizes = f"{run.step.tokens_before:,} -> {run.step.tokens_after:,} tokens"
        return chart.png(), run_sentence(run, sizes, summary_holds(run, scenario))

    turns = (2, int(curve["turn"].max()), 1)
    tokens = settings.summary_tokens
    total = curve["files"].iloc[0]
    controls = {
        "after": slider("after turn", after, turns, "when you compact", waits=True),
        "summary_tokens": slider("summary", tokens, (200, 1_600, 40), waits=True),
        "words": words(
            "focus", "words for the summary to keep, e.g. rules of the user"
        ),
    }
    return Panel(controls, draw)
