"""The course's scorecard: one session through all lessons, with a row for the layers of each.

The session is `scenarios.REVIEW` in a window of 32,000 tokens. The offline model illustrates a
mechanism and is no evidence about language models. Tokens, cache and dollars follow the API's
rules. `make compare` compares presets over many tasks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from agentlib import presets
from agentlib.lab.model import HABITS, Habits
from agentlib.lab.play import Run, play, repeated
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.loop import metered
from agentlib.messages import Message
from agentlib.pipeline import compact
from agentlib.settings import MODEL, Settings
from agentlib.step import ContextEngine, Step
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

WINDOW = 32_000
DOLLARS = f"$ {MODEL.removeprefix('claude-')}"
"""The column of dollars, which names their model."""
LOSSES = ("turns", DOLLARS, "rule kept", "described", "facts", "re-read", "done")
"""Columns that show what was lost: of 19 files described, and of 4 planted facts kept."""
PRICED_AS = "claude-opus-5-5"
"""The model at whose prices DEFAULT was chosen, and presets are compared."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the agent has after a lesson."""

    settings: Settings
    stop: Callable[[Session], str] = lambda session: ""
    """(session) -> why the agent stops by itself after this turn, or ""."""
    engine: ContextEngine = compact
    habits: Habits = HABITS


def warned(session: Session) -> str:
    """What the meter says if the next request is over the threshold, or ""."""
    size = metered(session, session.settings).estimate(session.context)
    point = session.settings.threshold_tokens
    return f"stopped itself: {size:,} tokens next, {point:,} is the point" if size > point else ""


FOCUS = "the rules of the user"


def with_focus(messages: Sequence[Message], settings: Settings, **given: Any) -> Step:
    """Run the layers for a person who compacts by hand at the threshold and asks for `FOCUS`."""
    step = compact(messages, replace(settings, auto=False), **given)
    if step.compaction or step.tokens_after <= settings.threshold_tokens:
        return step
    given |= {"reason": "manual", "focus": FOCUS}
    return compact(messages, settings, **given)


EVIDENCE = Settings(threshold_pct=65, summary_tokens=3_500)
"""A threshold that did well in replays of real sessions, and the median length of a summary there.

Lessons 03 to 06 scale both to 32,000 tokens. Files and facts aren't scaled, so the summary is
short for them."""

STAGES = {
    "00": Stage(settings=Settings(enabled=False)),
    "01": Stage(settings=Settings(micro="off", auto=False, manual=False), stop=warned),
    "02": Stage(settings=Settings(auto=False, manual=False)),
    "03": Stage(settings=replace(EVIDENCE, manual=False)),
    "04": Stage(settings=EVIDENCE, engine=with_focus),
    "05": Stage(settings=replace(EVIDENCE, recall=True), engine=with_focus),
    "06": Stage(settings=replace(EVIDENCE, recall=True, head_tokens=4_000, tail_tokens=16_000)),
    "07": Stage(settings=presets.DEFAULT),
}
"""A lesson's number, and what the agent has when it is over: a layer more each time."""


@cache
def played(lesson: str) -> Run:
    """The run behind a row. Raises ValueError for a lesson that has none."""
    if lesson not in STAGES:
        raise ValueError(f"no row for lesson {lesson!r}; there are {', '.join(STAGES)}")
    stage = STAGES[lesson]
    settings = stage.settings.scaled(WINDOW)
    return play(replace(REVIEW, name=lesson), settings, engine=stage.engine, stop=stage.stop)


def row(lesson: str) -> dict[str, Any]:
    """What the session came to with the layers of one lesson. Raises ValueError."""
    return {"lesson": lesson, **measures(played(lesson))}


def measures(run: Run) -> dict[str, Any]:
    """What a run of the session came to, by the scorecard's columns.

    `turns` are requests answered, `tokens sent` those of all prompts, summary requests included.
    """
    return {
        "turns": run.turns,
        "tokens sent": run.sent,
        DOLLARS: round(run.dollars(MODEL), 4),
        "rule kept": "yes" if run.checks["rule kept"] else "no",
        **{name: run.checks[name] for name in ("described", "facts")},
        "re-read": repeated(run.session.history, "read_file"),
        "done": "yes" if run.checks["done"] else "no",
    }


def scorecard(upto: str, columns: Sequence[str] = LOSSES) -> "DataFrame":
    """A row for each lesson from the first to `upto`. Raises ValueError as `row` does."""
    import pandas

    last = row(upto)
    before = [row(lesson) for lesson in STAGES if lesson < upto]
    return pandas.DataFrame([*before, last]).set_index("lesson")[list(columns)]
