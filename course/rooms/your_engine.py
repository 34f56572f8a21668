"""Lesson 11: an engine of your own, judged, carried into another agent, and rented."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pandas import DataFrame

from agentlib.api.spending import Usage, dollars
from agentlib.auto_compact import summarizer
from agentlib.estimation import TokenMeter
from agentlib.loop import system_prompt
from agentlib.messages import Block, Message
from agentlib.pipeline import ContextEngine, Now, run_engine
from agentlib.settings import MODEL, Settings
from agentlib.tools import Workspace
from course.checks.your_engine import Before, remembers
from course.naive_loop import TOOLS
from course.panels.field import field_panel as field_panel
from offline_api import client
from offline_api.edits import BETAS
from session_report.style import wrapped
from windtunnel.judge import MINE, SEEDS, Verdict, field_of, judge
from windtunnel.judge.spreads import Interval, side
from windtunnel.parts import PartFailed
from windtunnel.tasks.generated import generated as generated
from windtunnel.tasks.scenarios import Clock, Scenario
from windtunnel.trade import EVIDENCE as EVIDENCE

TEN = SEEDS[:10]
"""The judge's tasks on which an exercise is checked, and those of the lesson's own
claims."""


# -- what the cells show ---------------------------------------------------------------


def judged(
    engine: ContextEngine, name: str = MINE, earlier: Sequence[Verdict] = ()
) -> Verdict:
    """Judge an engine on ten tasks, under a name, with earlier verdicts beside it."""
    verdict = judge(engine, seeds=TEN)
    before = [row for each in earlier for row in each.rows]
    if not verdict.rows:
        raise PartFailed(
            f"{name} ran in no task: {next(iter(verdict.faults.values()))}"
        )
    rows = [{**row, "engine": name} for row in verdict.rows]
    return replace(verdict, name=name, rows=rows, others=[*verdict.others, *before])


def stands(verdict: Verdict) -> str:
    """Say where a verdict's engine stands, and what it may claim beside DEFAULT."""
    spread = verdict.spreads[verdict.name]
    beside = verdict.standing["yours is"]["default"]
    return wrapped(f"{verdict.name}: {spread}. Beside DEFAULT: {beside}.")


def moved(verdicts: Sequence[Verdict]) -> dict[str, int | str]:
    """Return which change, counted from 1, surely moved the dot furthest to the left,
    which up, and which down.

    It is "neither" if the spreads before and after each change overlap.
    """
    pairs = [*pairwise(verdict.spreads[verdict.name] for verdict in verdicts)]
    left = [_surely_less(after.cost, before.cost) for before, after in pairs]
    up = [_surely_less(before.kept, after.kept) for before, after in pairs]
    down = [_surely_less(after.kept, before.kept) for before, after in pairs]
    ways = {"left": left, "up": up, "down": down}
    return {
        way: 1 + by.index(max(by)) if max(by) else "neither" for way, by in ways.items()
    }


def _surely_less(mine: Interval, other: Interval) -> float:
    """Return by how much my mean is less, or 0 if the spreads overlap."""
    return other[0] - mine[0] if side(mine, other) < 0 else 0


def ways(way: Mapping[str, int | str]) -> str:
    """Say in a title which change moved the dot, and where to."""
    where = {"left": "to the left", "up": "up"}
    said = [
        f"change {way[to]} moves it {words}"
        for to, words in where.items()
        if way[to] != "neither"
    ]
    return ", ".join(said).capitalize() or "No change surely moves it left or up"


def heading(verdict: Verdict) -> str:
    """Say in a title where a verdict's engine stands, and how to read the picture."""
    spread = verdict.spreads[verdict.name]
    cost, kept = spread.cost[0], spread.kept[0]
    stands = f"{verdict.name.capitalize()} costs {cost:.0f} % and keeps {kept:.0f} %"
    return f"{stands}. Left is cheaper, up keeps more"


def roughly(summaries: int) -> str:
    """Return a number of summaries in the words of the prediction."""
    return "1" if summaries == 1 else "a few" if summaries <= 10 else "more than ten"


def share(less: int, more: int) -> str:
    """Return how many tasks have more, in the words of the prediction."""
    return "most" if more > 2 * less else "about half"


def pairs(
    claim: Callable[[Interval, Interval], int], *asked: Sequence[str]
) -> DataFrame:
    """Return a row for each (one, other, measure): their spreads, the claim, and a
    count of tasks.

    The count says in how many of the twenty tasks the one has less, and in how many it
    has more.
    """
    words = {-1: "less", 0: "none", 1: "more"}
    rows = dict[str, Any]()
    for one, other, measure in asked:
        spreads = [getattr(field_of().spreads[name], measure) for name in (one, other)]
        column = "dollars" if measure == "cost" else measure
        mine, its = (
            [row[column] for row in field_of(name).rows] for name in (one, other)
        )
        signs = [(a > b) - (a < b) for a, b in zip(mine, its, strict=True)]
        shown = (f"{mean:.0f} [{low:.0f}, {high:.0f}]" for mean, low, high in spreads)
        values = [measure, *shown, words[claim(*spreads)]]
        rows[f"{one} / {other}"] = [*values, f"{signs.count(-1)}/{signs.count(1)}"]
    columns = ["%", "the one", "the other", "claim", "less/more"]
    return DataFrame.from_dict(rows, orient="index", columns=columns)


# -- somebody else's agent -------------------------------------------------------------


@dataclass
class Desk:
    """What somebody else's agent works with: a task, its folder, a client, a request to
    fill."""

    task: Scenario
    folder: Path
    settings: Settings
    edits: Sequence[Block] = ()
    """Edits to ask the API for."""
    bills: list[Usage] = field(default_factory=list[Usage])
    """Those of the requests, and of the summaries."""
    requests: int = 0

    def __post_init__(self) -> None:
        self.task.make_workspace(self.folder)
        self.workspace = Workspace(self.folder)
        system = system_prompt(self.settings)
        self.client = client(window=self.settings.context_window, clock=Clock())
        self.request: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": 8_000,
            "system": system,
        }
        self.request |= {"tools": TOOLS, "cache_control": {"type": "ephemeral"}}
        if self.edits:
            self.request["betas"] = sorted(
                {BETAS.get(e.get("type", ""), "") for e in self.edits}
            )
            self.request["context_management"] = {"edits": [*self.edits]}

    def noted(self, reply: Any) -> list[Block]:
        """Note the bills of a reply, and return its blocks."""
        answer = reply.to_dict()
        self.bills += answer["usage"].get("iterations") or [answer["usage"]]
        self.requests += 1
        return answer["content"]

    def compacting(self, engine: ContextEngine) -> Before:
        """Make an engine a function of messages."""
        settings = self.settings
        request = self.request
        options: Any = {key: request[key] for key in ("model", "system", "tools")}
        options["summary_tokens"] = settings.summary_tokens
        meter = TokenMeter(len(str(options)))
        summarize = summarizer(self.client, on_usage=self.bills.append, **options)

        def before(messages: list[Message]) -> list[Message]:
            now = Now(
                messages,
                settings,
                meter=meter,
                summarize=summarize,
                archive=lambda: "run.jsonl",
            )
            return run_engine(engine, now).applied(messages)

        return before


def hired(
    agent: Callable[[Desk, Before], list[Message]],
    task: Scenario,
    settings: Settings,
    engine: ContextEngine | None = None,
    hook: Callable[..., list[Message]] = remembers,
    edits: Sequence[Block] = (),
) -> dict[str, Any]:
    """Let somebody else's agent do a task, with an engine by a hook or with edits of
    the API.

    Return requests, summaries, cents and what came of it, as a row of a table.
    """
    with TemporaryDirectory() as name:
        desk = Desk(task, Path(name, "work"), settings, edits)
        short = desk.compacting(engine) if engine else list
        view = list[Message]()
        seen = 0

        def before(history: list[Message]) -> list[Message]:
            nonlocal view, seen
            view = hook(history, view, seen, short)
            seen = len(history)
            return view

        checks = task.checks(desk.folder, agent(desk, before))
    return {
        "requests": desk.requests,
        "summaries": len(desk.bills) - desk.requests,
        "cents": round(100 * sum(dollars(usage, MODEL) for usage in desk.bills), 2),
        **{name: checks[name] for name in ("described", "facts")},
        "rule kept": "yes" if checks["rule kept"] else "no",
    }
