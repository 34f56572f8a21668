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
from agentlib.step import Step
from agentlib.tools import Workspace
from course.checking import Answer, conversation, exercise, require, shown
from course.naive_loop import TOOLS
from offline_api import client
from offline_api.edits import BETAS, edits_for
from session_report.amounts import many
from session_report.style import wrapped
from windtunnel.judge import MINE, SEEDS, Verdict, field_of, judge, protocol
from windtunnel.judge.protocol import broken
from windtunnel.judge.spreads import Interval, side
from windtunnel.parts import PartFailed
from windtunnel.tasks.scenarios import Clock, Scenario

FEW = (103, 104, 106)
TEN = SEEDS[:10]
"""The judge's tasks on which an exercise is checked, and those of the lesson's own
claims."""
Before = Callable[[list[Message]], list[Message]]
"""What a framework calls before each request: (the run's messages) -> those to send."""

# -- the exercises ---------------------------------------------------------------------


def compacts_in_pauses(now: Now) -> Step:
    """Compact early if the prompt has to be written to the cache again anyway."""
    if now.idle > now.settings.cache_ttl:
        return now.compact(threshold_pct=30)
    return now.compact()


@exercise("11.1", finished=compacts_in_pauses)
def _engine(answer: Answer) -> str:
    """Begin with `return now.compact()`. It is DEFAULT and breaks nothing.

    Then change the settings in one case that you choose, not in all, which costs too
    much: `now.compact(threshold_pct=30)`.

    Lesson 08: when does compacting cost nothing that isn't paid anyway? `now.idle` says
    so.
    """
    fault = broken(answer.function, cases=10)
    size = many(len(fault.get("case", ())), "exchange")
    smallest = f" The smallest such case has {size}." if "case" in fault else ""
    require(not fault, f"{fault.get('what')}.{smallest}")
    other = (
        "asked the same again, it answers otherwise, so its verdict can't be repeated"
    )
    varies = "take out what is random, counts calls or looks at a clock"
    first = _answers(answer.function)
    require(first == _answers(answer.function), f"{other}; {varies}.")
    verdict = judge(answer.function, seeds=FEW, cases=0)  # ten were tried
    require(not verdict.faults, "; ".join({*verdict.faults.values()}))
    mine, default = (verdict.spreads[name].means for name in (MINE, "default"))
    says = f"in three tasks it costs {mine['cost']:.0f} % of forgetting nothing, and keeps "
    says += f"{mine['kept']:.0f} %"
    # One that counts its calls may change only now.
    require(first == _answers(answer.function), f"{other}; {varies}.")
    acts = "If there is a rule of yours in it, it never acted: its condition was never"
    acts += " true there, or its settings changed nothing"
    require(mine != default, f"{says}, just as DEFAULT does. {acts}.")
    fits = mine["cost"] < 100 and mine["kept"] >= 75
    require(
        fits, f"{says}. It should cost less than forgetting nothing, and keep 75 %."
    )
    return f"{says}."


def _answers(engine: ContextEngine) -> list[list[Message]]:
    """Return what an engine sends in some conversations, request by request."""
    sent = list[list[Message]]()

    def noted(now: Now) -> Step:
        step = run_engine(engine, now)
        sent.append(step.applied(now.messages))
        return step

    for seed in range(3):
        protocol.fault(noted, protocol.conversation(seed))
    return sent


@exercise("11.2", "the means alone never say so.", finished=side)
def _claim(answer: Answer) -> None:
    """Two spreads overlap unless one ends before the other begins.

    mine[2] < other[1]: all of mine is below all of the other. That is -1.
    """
    cases = {
        "mine ends before the other begins": (-1, (60, 55, 65), (80, 75, 85)),
        "mine begins behind the other's end": (1, (92, 88, 96), (70, 60, 80)),
        "mine is lower, but the spreads overlap": (0, (62, 54, 69), (66, 60, 73)),
        "mine is higher, but the spreads overlap": (0, (47, 40, 53), (38, 33, 43)),
        "mine lies within the other": (0, (50, 49, 52), (65, 48, 68)),
        "the other lies within mine": (0, (50, 10, 90), (60, 55, 65)),
        "mine ends where the other begins": (0, (60, 55, 65), (70, 65, 75)),
        "mine begins where the other ends": (0, (70, 65, 75), (60, 55, 65)),
        "mine ends just before the other begins": (
            -1,
            (60.2, 55.3, 65.1),
            (70.4, 65.4, 75.5),
        ),
    }
    answer.agree(cases)


def remembers(
    history: list[Message], view: list[Message], seen: int, compact: Before
) -> list[Message]:
    """Return what to send: what was sent last, and what is new since then,
    compacted."""
    return compact([*view, *history[seen:]])


@exercise(
    "11.3",
    "each message is compacted once, however often it comes.",
    finished=remembers,
)
def _view(answer: Answer) -> None:
    """The framework's history never gets shorter. What you sent last is `view`, and it
    did.

    The messages from `seen` on are new. They follow the view.
    """
    history = conversation(*[900] * 6)
    view = list[Message]()
    seen = 0
    history.append(history[0])  # the person asks the same again
    for end in (1, 5, 7, 7, 14):
        asked: list[list[Message]] = []

        def short(messages: list[Message], asked: Any = asked) -> list[Message]:
            asked.append(list(messages))
            return (
                [messages[0], *messages[-2:]] if len(messages) > 3 else list(messages)
            )

        sent = answer.call(history[:end], view, seen, short)
        new = [*view, *history[seen:end]]
        case = f"with a history of {end}, {seen} of them seen, and a view of {len(view)} messages"
        require(
            len(asked) == 1,
            f"{case}, compact should be called once, not {len(asked)} times.",
        )
        wanted = (
            f"compact should get the view and the {many(end - seen, 'new message')}"
        )
        same = "in this order" if len(asked[0]) == len(new) else f"not {len(asked[0])}"
        require(asked[0] == new, f"{case}, {wanted}, {len(new)} in all, {same}.")
        require(
            sent == short(new),
            f"{case}, return what compact returns, not {shown(sent)}.",
        )
        view = sent
        seen = end


@exercise("11.4", "so much of your settings the API understands.", finished=edits_for)
def _edits(answer: Answer) -> None:
    """Copy the edits printed above, and put the settings' own numbers in their places.

    `clear_at_least` goes in only if it isn't 0, and the second edit only from 50,000
    tokens on.
    """
    for keep, threshold, least in ((5, 50_000, 0), (2, None, 3_000), (0, 20_000, 0)):
        settings = Settings(keep_recent=keep, threshold=threshold, clear_at_least=least)
        case = f"with keep_recent={keep}, {threshold=}, clear_at_least={least:,}"
        returned = Answer(answer.call(settings))
        edits: list[Block] = returned.typed(list, f"{case}, return a list of edits")
        own, asked = (
            {e.get("type"): e for e in each} for each in (edits, edits_for(settings))
        )
        require(
            [*own] == [*asked],
            f"{case}, return edits of the types {[*asked]}, not {[*own]}.",
        )
        for kind, edit in asked.items():
            for name in {**edit, **own[kind]}:
                right = edit.get(name)
                value = own[kind].get(name)
                require(
                    right == value,
                    f"{case}, {name} of {kind} should be {right}, not {value}.",
                )


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
