"""Engines side by side: each does each task from its start, and what it took stands in a table.

The offline agent works again under every engine, so what a layer takes away shows in what it does
next. What it does illustrates a mechanism and says nothing about language models; tokens, cache
and dollars follow the API's rules. Not here: the tasks (scenarios, generated), and charts.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from agentlib import loop, pipeline
from agentlib.estimation import prompt_tokens
from agentlib.lab.client import client
from agentlib.lab.scoreboard import reread
from agentlib.lab.spending import MILLION, dollars, model_facts
from agentlib.lab.tasks.scenarios import Clock, Scenario
from agentlib.messages import of_type
from agentlib.settings import Settings
from agentlib.step import ContextEngine
from agentlib.tools import Workspace
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

PRICED_AS = "claude-opus-5-5"
"""Whose prices DEFAULT was chosen at, and all are compared at; the file of prices knows it."""
MAX_TURNS = 400
"""Requests for each prompt; a run that needs more is not done."""
COLUMNS = 72
Usage = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Settings and what is done with them."""

    settings: Settings
    compact: ContextEngine = pipeline.compact


Pair = tuple[str, Scenario]
Track = Callable[[Sequence[Pair]], Iterable[Pair]]
"""Passes on what it is given and shows how far it is, as `rich.progress.track` does."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One task under one engine: the session, what was billed, what came of it."""

    session: Session
    usages: tuple[Usage, ...]
    checks: Mapping[str, Any]
    ended: str
    """The API's words where it ended the run with an error, else ""."""


def play(
    scenario: Scenario, engine: Engine, after: Callable[[Session, Workspace], None] | None = None
) -> Run:
    """Do the task in a fresh workspace, with its pauses; the window is the settings' own.

    `after`: called after each prompt. Whatever ends it, Ctrl-C too, the folder is removed.
    """
    import anthropic

    clock, usages, ended = Clock(), list[Usage](), ""
    with TemporaryDirectory() as name:
        place = Path(name, "work")
        scenario.make_workspace(place)
        work, settings = Workspace(place), engine.settings
        session = Session.create(name, settings=settings, session_id=scenario.name, clock=clock)
        try:
            for turn in _turns(scenario, engine, session, work, clock, after):
                usages += turn.usages
        except (anthropic.APIStatusError, loop.RequestTooLarge) as error:
            ended = str(getattr(error, "message", error))
        checks = scenario.checks(place, session.history)
    return Run(session=session, usages=tuple(usages), checks=checks, ended=ended)


def _turns(
    scenario: Scenario,
    engine: Engine,
    session: Session,
    work: Workspace,
    clock: Clock,
    after: Callable[[Session, Workspace], None] | None,
) -> Iterator[loop.Turn]:
    llm = client(window=engine.settings.context_window, clock=clock)
    known: dict[str, Any] = {"settings": engine.settings, "session": session, "clock": clock}
    for number, prompt in enumerate(scenario.prompts):
        clock.pause(scenario.pauses[number] if scenario.pauses else 0)
        yield from loop.run(llm, prompt, work, engine=engine.compact, max_turns=MAX_TURNS, **known)
        if after:
            after(session, work)


@cache
def measures(scenario: Scenario, engine: Engine, model: str = PRICED_AS) -> Mapping[str, Any]:
    """What one run took and came to; the same in every process, made once in each.

    Tokens: `sent` in all prompts (the summaries' too), as they were billed `uncached`, `written`
    and `read`, and `billed`: what all that costs in uncached ones. `$` with the answers. `again`:
    files read again and results recalled. `facts` of `of` stand in the report at the end.
    """
    run = play(scenario, engine)
    compactions = run.session.compactions
    return {
        "turns": len(run.session.requests),
        **_bill(run.usages, model),
        "compactions": sum(done.failure is None for done in compactions),
        "failures": sum(done.failure is not None for done in compactions),
        "again": _again(run.session),
        "facts": run.checks.get("facts", 0) if scenario.facts else 0,
        "of": len(scenario.facts),
        "rule": bool(run.checks["constraint"]) if scenario.constraint else None,
        "done": bool(run.checks["done"]),
        "ended": run.ended,
    }


def _bill(usages: Sequence[Usage], model: str) -> dict[str, Any]:
    def total(name: str) -> int:
        return sum(usage.get(name) or 0 for usage in usages)

    prompts = sum(dollars({**usage, "output_tokens": 0}, model) for usage in usages)
    return {
        "sent": sum(map(prompt_tokens, usages)),
        "uncached": total("input_tokens"),
        "written": total("cache_creation_input_tokens"),
        "read": total("cache_read_input_tokens"),
        "billed": round(prompts * MILLION / model_facts(model)["input"]),
        "output": total("output_tokens"),
        "$": round(sum(dollars(usage, model) for usage in usages), 4),
    }


def _again(session: Session) -> int:
    """What the agent had to fetch a second time: reads repeated, and results recalled."""
    calls = (c for m in session.history if m["role"] == "assistant" for c in of_type(m, "tool_use"))
    return reread(session.history) + sum(call["name"] == "recall" for call in calls)


def rows(
    engines: Mapping[str, Settings | Engine],
    scenarios: Iterable[Scenario],
    *,
    window: int | None = None,
    model: str = PRICED_AS,
    track: Track = iter,
) -> Iterator[dict[str, Any]]:
    """A row for each scenario and engine as it is done; those done before come at once.

    `window`: tokens to which every engine's settings are scaled; None: each at its own. Stopped by
    Ctrl-C, it has lost only the run it was at: called again, it goes on there.
    """
    pairs = [(name, scenario) for scenario in scenarios for name in engines]
    for name, scenario in track(pairs):
        engine = _scaled(engines[name], window)
        yield {"scenario": scenario.name, "engine": name, **measures(scenario, engine, model)}


def _scaled(engine: Settings | Engine, window: int | None) -> Engine:
    whole = engine if isinstance(engine, Engine) else Engine(settings=engine)
    if window is None:
        return whole
    return Engine(settings=whole.settings.scaled(window), compact=whole.compact)


def compare(
    engines: Mapping[str, Settings | Engine], scenarios: Iterable[Scenario], **options: Any
) -> "DataFrame":
    """The rows as a table with the index (scenario, engine). Options as in `rows`.

    `attrs["model"]` says whose prices the dollars are.
    """
    import pandas

    found = pandas.DataFrame(list(rows(engines, scenarios, **options)))
    found = found.set_index(["scenario", "engine"])
    found.attrs["model"] = options.get("model", PRICED_AS)
    return found


_WORSE_IF_LESS = ("done", "rule", "facts")
_WORSE_IF_MORE = ("again", "failures")


def dominated(table: "DataFrame", name: str = "default") -> list[str]:
    """Where an engine is dominated: a sentence for each scenario in which another one is cheaper
    and no worse in anything else: done, rule, facts, files fetched again, failures.

    The cheapest of those is named, with the dollars it saves. Empty: nowhere. KeyError for a name
    that is not in the table.
    """
    said: list[str] = []
    records: list[Any] = table.reset_index().to_dict("records")
    for scenario in dict.fromkeys(row["scenario"] for row in records):
        found = {row["engine"]: row for row in records if row["scenario"] == scenario}
        mine = found[name]
        better = [row for row in found.values() if _beats(row, mine)]
        if better:
            best = min(better, key=lambda row: row["$"])
            saved = 1 - best["$"] / mine["$"]
            said.append(f"{scenario}: by {best['engine']}, {saved:.1%} cheaper and no worse")
    return said


def _beats(other: Mapping[str, Any], mine: Mapping[str, Any]) -> bool:
    """Cheaper, and at least as good in everything that both were measured by."""
    less = all((other[k] or 0) >= (mine[k] or 0) for k in _WORSE_IF_LESS)
    more = all(other[k] <= mine[k] for k in _WORSE_IF_MORE)
    return other["$"] < mine["$"] and less and more


def shown(table: "DataFrame", scenario: str) -> str:
    """One scenario's rows as text of at most 72 columns, for a notebook or a terminal.

    A dash: this task has nothing of the kind to keep.
    """
    heads = ("sent", "billed", "$", "comp", "fail", "again", "facts", "rule", "done")
    lines = [f"{scenario}: thousands of tokens; $ of {table.attrs['model']}", _line("", heads)]
    for engine, row in table.loc[scenario].iterrows():
        facts = "-" if not row["of"] else f"{row['facts']}/{row['of']}"
        rule = "-" if row["rule"] is None else "yes" if row["rule"] else "no"
        cells = [f"{row['sent'] / 1e3:.0f}", f"{row['billed'] / 1e3:.0f}", f"{row['$']:.3f}"]
        cells += [str(row[name]) for name in ("compactions", "failures", "again")]
        lines.append(_line(str(engine), [*cells, facts, rule, "yes" if row["done"] else "no"]))
    return "\n".join(lines)


def _line(name: str, cells: Sequence[str]) -> str:
    widths = (6, 7, 7, 5, 5, 6, 6, 5, 5)
    return f"{name:<20.20}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))


def generations(scenario: Scenario, engine: Engine) -> list[tuple[int, int]]:
    """(facts still in the context, facts read so far) each time a prompt was done and the
    conversation compacted by hand. What the engine compacts by itself comes on top.
    """
    counted: list[tuple[int, int]] = []

    def compacted(session: Session, work: Workspace) -> None:
        llm = client(window=engine.settings.context_window, clock=session.clock)
        known: dict[str, Any] = {"settings": engine.settings, "clock": session.clock}
        loop.compact_now(llm, session, work, engine=engine.compact, **known)
        counted.append((_standing(session.context), _standing(session.history)))

    def _standing(messages: Sequence[Any]) -> int:
        text = json.dumps(messages, ensure_ascii=False)
        return sum(fact in text for fact in scenario.facts)

    play(scenario, engine, compacted)
    return counted
