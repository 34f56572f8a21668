"""Lesson 12: what the field's own programs decide, read off their requests."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# matplotlib has no complete types.

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import course
from agentlib.pipeline import ContextEngine, compact
from course.checks.the_field import AS_PI as AS_PI
from course.checks.the_field import (
    LIKE,
    compactions_in,
    field,
    means,
    of_seed,
    own_run,
    requests_of,
    row_of,
)
from course.checks.the_field import imitated as imitated
from course.figures.sawteeth import name_of, sawteeth
from course.figures.sawteeth import shown as shown
from course.table import Table, as_table
from session_report.style import Chart
from windtunnel.runner import Run


def own_engine() -> ContextEngine:
    """Return the engine of the learner's `my_agent.py`, or the course's."""
    return course.agent().engine or compact


# -- what the cells show ---------------------------------------------------------------


def note(pairs: Sequence[tuple[int, int]], decided: Mapping[str, str]) -> str:
    """Write the line beside a run's row."""
    if not pairs:
        return "no summary"
    when, left = means(pairs)
    times = f"{len(pairs)} ×  {when:.0f} → {left:.0f} %"
    words = f"asks {decided['asks']}, shows {decided['shows']}" if decided else ""
    return f"{times}\n{words}".strip()


def usual(program: str, decide: Callable[..., Mapping[str, Any]]) -> dict[str, str]:
    """Return what a program decided most often, over its seeds."""
    every = [
        decide(made, row["window"])
        for row in field()[program]
        for made in row["compactions"]
        if made["by"] == "summary"
    ]
    counts = {
        name: Counter(str(each[name]) for each in every)
        for name in ("asks", "shows", "words")
    }
    return {name: count.most_common(1)[0][0] for name, count in counts.items() if count}


def usual_decisions(
    decide: Callable[..., Mapping[str, Any]],
) -> dict[str, dict[str, str]]:
    """Return what each program decided most often."""
    return {program: usual(program, decide) for program in field()}


def picture(
    find: Callable[..., Iterable[Any]],
    decisions: Mapping[str, Mapping[str, str]],
    engine: ContextEngine = compact,
) -> Chart:
    """Draw the field, its decisions, and a run of ours with an engine, with the
    compactions that the learner's function finds."""
    rows = [of_seed(program) for program in field()]
    notes = [note([*find(requests_of(row))], decisions[row["program"]]) for row in rows]
    whose = "our agent" if engine is compact else "your agent"
    own = row_of(own_run(engine), whose)
    source = "the course's" if engine is compact else "my_agent.py"
    notes.append(f"{note([*find(requests_of(own))], {})}\n{source}")
    title = "Some compact rarely and deep, others often and shallow"
    return sawteeth([*rows, own], notes, title)


def table(decisions: Mapping[str, Mapping[str, str]]) -> Table:
    """Lay out what each program decided, over five seeds."""
    frame: dict[str, dict[str, Any]] = {
        name_of(own[0]): {
            name: decisions[program].get(name, "")
            for name in ("asks", "shows", "words")
        }
        for program, own in field().items()
    }
    return as_table(frame, align="left")


def beside(run: Run, program: str = LIKE) -> Chart:
    """Draw a program's run and one of ours on the same task, below each other."""
    rows = [of_seed(program), row_of(run)]
    notes = [note(compactions_in(requests_of(row)), {}) for row in rows]
    return sawteeth(rows, notes, f"{name_of(rows[0])}, and our agent with its numbers")


def asking_live(decisions: Mapping[str, Mapping[str, str]]) -> int:
    """Count the programs whose usual request for a summary is on the live prompt."""
    every = {program.partition("-0.")[0]: each for program, each in decisions.items()}
    return sum(each.get("asks") == "live" for each in every.values())


def complained(
    complain: Callable[..., Iterable[tuple[int, str]]],
    find: Callable[..., Iterable[Any]],
) -> Table:
    """Lay out how often each program was refused, and how often it compacted and hardly
    got smaller, of all seeds."""
    frame: dict[str, dict[str, Any]] = {}
    for program, own in field().items():
        counts = [
            Counter(what for _, what in complain(requests_of(row))) for row in own
        ]
        made = sum(len([*find(requests_of(row))]) for row in own)
        first = [number for number, _ in complain(requests_of(of_seed(program)))][:1]
        frame[name_of(own[0])] = {
            "compactions": made,
            "shallow": sum(each["shallow"] for each in counts),
            "refused": sum(each["refused"] for each in counts),
            "first at": first[0] if first else math.nan,
        }
    words = (
        "Sums of five runs. `first at` is the server's number of a request of the first run. "
        "Claude Code's refusals are by our "
        "server, which doesn't accept a thinking block after a compaction."
    )
    return as_table(frame, units={"first at": "request"}, caption=words)


def how_many(
    complain: Callable[..., Iterable[tuple[int, str]]],
    find: Callable[..., Iterable[Any]],
    program: str,
) -> str:
    """Say whether few or most compactions of a program were shallow."""
    rows = [requests_of(row) for row in field()[program]]
    shallow = sum(what == "shallow" for row in rows for _, what in complain(row))
    share = shallow / max(1, sum(len([*find(row)]) for row in rows))
    return "most" if share > 0.5 else "few"
