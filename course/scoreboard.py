"""The course's scorecard: one session through all lessons, with a row for the layers of
each.

The session is `scenarios.LONG` in a window of 32,000 tokens: four packages, one after
the other, and a report on 24 files at the end. `make sweeps` stores its rows. The
offline model illustrates a mechanism and is no evidence about language models. Tokens,
cache and dollars follow the API's rules. `make compare` compares presets over many
tasks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

from pandas import DataFrame, read_csv

from agentlib import presets
from agentlib.cli.program import fault
from agentlib.loop import meter_of
from agentlib.pipeline import ContextEngine, Now, Stack, compact, stacked
from agentlib.settings import MODEL, Settings
from agentlib.step import Step
from agentlib.transcripts import Session
from course import agent, file_at_work
from course import yours as own
from course.figures.climb import FACTS, FILES, climb
from course.parts_list import EVIDENCE, LESSONS, solved_by
from course.table import Table, as_table
from offline_api.model import HABITS, Habits
from session_report.style import Chart, wrapped
from windtunnel.runner import Run, play
from windtunnel.tasks.generated import SWEEPS
from windtunnel.tasks.scenarios import LONG, Scenario

WINDOW = 32_000


def column_of(model: str) -> str:
    """Return the name of the column of dollars at a model's prices."""
    return f"$ {model.removeprefix('claude-')}"


DOLLARS = column_of(MODEL)
"""The column of dollars, which names their model."""
ROWS = SWEEPS.with_name("scorecard.csv")
"""The rows: files described of 24, planted facts kept of 4."""
NO_RUNS: Mapping[str, Run] = {}
FROM = "02"
"""The first lesson whose scorecard has a row for the learner's own agent."""


def never(session: Session) -> str:
    """Let the agent go on. A run with a lambda in it couldn't be kept between
    processes."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the agent has after a lesson."""

    settings: Settings
    stop: Callable[[Session], str] = never
    """(session) -> why the agent stops by itself after this turn, or ""."""
    engine: ContextEngine = compact
    habits: Habits = HABITS


def warned(session: Session) -> str:
    """What the meter says if the next request is over the threshold, or ""."""
    size = meter_of(session, session.settings).estimate(session.context)
    point = session.settings.threshold_tokens
    return (
        f"stopped itself: {size:,} tokens next, {point:,} is the point"
        if size > point
        else ""
    )


FOCUS = "the rules of the user"


def with_focus(now: Now) -> Step:
    """Run the layers for a person who compacts by hand at the threshold and asks for
    `FOCUS`."""
    step = now.compact(auto=False)
    if step.compaction or step.tokens_after <= now.settings.threshold_tokens:
        return step
    return replace(now, reason="manual", focus=FOCUS).compact()


STAGES = {
    "00": Stage(settings=Settings(enabled=False)),
    "01": Stage(settings=Settings(micro="off", auto=False, manual=False), stop=warned),
    "02": Stage(settings=Settings(auto=False, manual=False)),
    "03": Stage(settings=replace(EVIDENCE, manual=False)),
    "04": Stage(settings=EVIDENCE, engine=with_focus),
    "05": Stage(settings=replace(EVIDENCE, recall=True), engine=with_focus),
    "06": Stage(
        settings=replace(EVIDENCE, recall=True, head_tokens=4_000, tail_tokens=16_000)
    ),
    "07": Stage(settings=presets.DEFAULT),
}
"""A lesson's number, and what the agent has when it is over: a layer more each time."""


@cache
def played(lesson: str, task: Scenario = LONG) -> Run:
    """Run a task with the layers of a lesson."""
    stage = STAGES[lesson]
    settings = stage.settings.scaled(WINDOW)
    return play(
        replace(task, name=lesson), settings, engine=stage.engine, stop=stage.stop
    )


def yours(lesson: str) -> dict[str, Run]:
    """Run the long session with the learner's `my_agent.py`, under its name.

    The settings are the lesson's, but the file's own numbers win. Without a file, or
    with no part of an engine in it, there is no run. An engine that raises is named with
    its line, and has no row.
    """
    if lesson < FROM:
        return {}
    loaded = agent()
    if loaded.engine is None:
        return {}
    text = own.text_of(own.workbook())
    if (lesson, text) not in _OWN:
        engine = _with_numbers_that_fit(lesson, loaded.engine)
        settings = STAGES[lesson].settings.scaled(WINDOW)
        task = replace(LONG, name=loaded.name)
        try:
            run = play(task, settings, engine=engine)
        except Exception as error:  # whatever the learner's layers raise
            print(wrapped(f"{fault(error, own.FILE)}. So your agent has no row."))
            return {}
        _OWN[lesson, text] = {loaded.name: run}
    return _OWN[lesson, text]


_OWN: dict[tuple[str, str], dict[str, Run]] = {}
"""Runs of the learner's agent by lesson and by the text of their file."""


def _with_numbers_that_fit(lesson: str, engine: ContextEngine) -> ContextEngine:
    """Clear with lesson 02's own numbers while nothing else makes room."""
    if lesson != FROM or not isinstance(engine, Stack):
        return engine
    numbers = engine.layers.numbers
    if not solved_by(numbers).count("02.3"):
        return engine
    print(
        wrapped(
            "Your numbers of 02.3 suit the renaming, which needs a few long files again. "
            "This session has 24 files, and no summary makes room yet. So your row clears "
            f"with {' and '.join(f'{name} {value}' for name, value in LESSONS.items())}."
        )
    )
    return stacked(*engine.layers, numbers={**numbers, **LESSONS})


def contents() -> str:
    """Return the table of contents of the learner's `my_agent.py`."""
    return file_at_work.contents(own.workbook(), agent())


def measures(run: Run, model: str = MODEL) -> dict[str, Any]:
    """What a run came to, by the scorecard's columns, at a model's prices.

    A run is done if its report names every file and says nothing false. If it names
    only some, `done` says how many: "23 of 24 named".
    """
    return {
        "turns": run.turns,
        column_of(model): round(run.dollars(model), 4),
        "rule kept": "yes" if run.checks["rule kept"] else "no",
        **{name: run.checks[name] for name in ("described", "facts")},
        "done": _done(run),
    }


def _done(run: Run) -> str:
    """Say whether a run is done, or else why not."""
    if run.checks["done"]:
        return "yes"
    if run.ended:
        return "stopped itself" if run.ended.startswith("stopped") else "refused"
    named = run.checks["named"]
    files = run.checks["files"]
    return f"{named} of {files} named" if 0 < named < files else "no"


def scorecard(
    upto: str, more: Mapping[str, Run] = NO_RUNS, model: str = MODEL
) -> DataFrame:
    """Return a row for each lesson from the first to `upto`, one for each run of `more`,
    and one for the learner's own agent.

    ▲ marks what is better than in the row above. `model`: whose prices to take. Raises
    ValueError if `upto` has no row.
    """
    rows = _with_runs(upto, more, model)
    shown = {name: dict(row) for name, row in rows.items()}
    for (_, before), (name, row) in pairwise(rows.items()):
        for column in _better(before, row):
            shown[name][column] = f"▲ {row[column]}"
    return DataFrame.from_dict(shown, orient="index").rename_axis("lesson")


def table(upto: str, more: Mapping[str, Run] = NO_RUNS, model: str = MODEL) -> Table:
    """Lay the scorecard out for reading, with a mark at its last row."""
    card = scorecard(upto, more, model)
    prices = column_of(model)
    card[prices] = [
        value if isinstance(value, str) else f"{value:.4f}" for value in card[prices]
    ]
    units = {"described": f"of {FILES} files", "facts": f"of {FACTS}"}
    return as_table(card, units=units, mark=[card.index[-1]])


def _better(before: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """Name the columns in which a row is better than the one before it."""
    [dollars] = [name for name in row if name.startswith("$ ")]
    more = [name for name in ("described", "facts") if row[name] > before[name]]
    kept = [
        name for name in ("rule kept", "done") if row[name] == "yes" != before[name]
    ]
    cheaper = row[dollars] < before[dollars] and row["done"] == before["done"] == "yes"
    return [*more, *kept, *[dollars] * cheaper]


def picture(upto: str, more: Mapping[str, Run] = NO_RUNS, model: str = MODEL) -> Chart:
    """Draw the scorecard's rows: dollars against files described."""
    return climb(_with_runs(upto, more, model), column_of(model))


def _with_runs(
    upto: str, more: Mapping[str, Run], model: str
) -> dict[str, dict[str, Any]]:
    """Return the lessons' rows, those of `more`, and the learner's own."""
    runs = {**more, **yours(upto)}
    rows = {name: measures(run, model) for name, run in runs.items()}
    return _rows(upto, model) | rows


def _rows(upto: str, model: str = MODEL) -> dict[str, dict[str, Any]]:
    """Return the rows by lesson, stored for `MODEL`, or else run. Raises ValueError if
    `upto` has none."""
    if upto not in STAGES:
        raise ValueError(f"no row for lesson {upto!r}; there are {', '.join(STAGES)}")
    if model != MODEL:
        return {
            lesson: measures(played(lesson), model)
            for lesson in STAGES
            if lesson <= upto
        }
    stored = (
        read_csv(ROWS, dtype={"policy": str}).set_index("policy").drop(columns="seed")
    )
    rows: Any = stored[stored.index <= upto].to_dict("index")
    return rows
