"""Lesson 07: a bad summary, a refused prompt, no summary at all."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pandas import DataFrame

from agentlib.api.requests import request, send
from agentlib.api.spending import PRICED_AS
from agentlib.auto_compact import auto_compact, summary_prompt
from agentlib.compaction.breaker import AGAIN, NEARLY_FULL, Breaker
from agentlib.estimation import estimate_text
from agentlib.loop import system_prompt
from agentlib.messages import Message
from agentlib.pipeline import ContextEngine, Now, compact
from agentlib.recovery import spoken_lines
from agentlib.settings import MODEL, Settings
from agentlib.step import Step
from agentlib.tools import Workspace
from course.checks.recovery import Ask
from course.checks.the_wall import eight_lines
from course.figures import charts
from course.naive_loop import TOOLS, bare, needs
from course.page import run_sentence
from course.panels.panel import Panel, choice, slider
from offline_api import client
from offline_api.faults import Fault, Kind
from session_report.amounts import many
from windtunnel.parts import PartFailed
from windtunnel.runner import asked_at, outcomes, play
from windtunnel.tasks.generated import FAILING as FAILING
from windtunnel.tasks.generated import TRADES as TRADES
from windtunnel.tasks.scenarios import SURVEY, Scenario
from windtunnel.trade import EVIDENCE as EVIDENCE

OPUS = PRICED_AS
"""The model at whose prices the lesson counts."""

WINDOW = 32_000
START = Settings(
    micro="off", manual=False, threshold_pct=65, summary_tokens=12_500
).scaled(WINDOW)
"""Compacts at 20,800 tokens, with summaries of 2,000."""
is_full, ask_model = needs(START)


# -- what the cells show ---------------------------------------------------------------

DOWN = Fault("tool_use", only="summary")
"""No summary ever comes."""


class Summariser:
    """Asks for a summary, which fails as `kind` says. `times` counts its requests."""

    def __init__(self, kind: Kind | None = None) -> None:
        self.llm = client(window=WINDOW, faults=[Fault(kind)] if kind else [])
        self.times = 0

    def __call__(self, messages: list[Message]) -> dict[str, Any]:
        self.times += 1
        wish: Message = {
            "role": "user",
            "content": summary_prompt(START.summary_tokens),
        }
        asked = request(MODEL, system_prompt(START), TOOLS, [*messages, wish], 8_000)
        return send(self.llm, asked).to_dict()


def layer(
    function: Callable[..., list[Message]], ask: Ask
) -> Callable[..., list[Message]]:
    """Make a layer that calls function(messages, ask) when the context is full."""

    def compacts(messages: list[Message]) -> list[Message]:
        return function(messages, ask) if is_full(messages) else messages

    return compacts


def fate(function: Callable[..., list[Message]], kind: Kind | None) -> str:
    """Run the survey while each summary fails, and say in a line what came of it."""
    try:
        run = bare(SURVEY, layer(function, Summariser(kind)), START)
    except PartFailed as failed:
        why = str(failed.__cause__).partition(" - ")[0]
        return f"crashes: {type(failed.__cause__).__name__}, {why:.30}"
    ends = f"{run.turns} turns, {run.checks['described'] or 0} of 8 files described, "
    ends += f"{run.checks['facts']} of 7 facts"
    return textwrap.shorten(run.refused, 34) or ends


def resting(is_open: Callable[..., bool], limit: int) -> ContextEngine:
    """Make an engine that asks is_open(outcomes, turns, limit, 10) before each turn.

    A compaction that left too much, or that is needed again soon, counts as failed.
    """
    outcomes = list[str]()
    turns = 0
    rest = 10
    stays = 0

    def engine(now: Now) -> Step:
        nonlocal stays, turns
        turns += 1
        is_needed = now.meter.estimate(now.messages) > now.settings.threshold_tokens
        much = NEARLY_FULL * now.settings.threshold_tokens
        if is_needed and outcomes and turns <= AGAIN and stays >= much:
            outcomes[-1] = "failed"
        failures = limit if is_open(outcomes, turns, limit, rest) else 0
        breaker = Breaker(failures, turns, limit, rest)
        settings = breaker.in_force(now.settings)
        summarize = breaker.guard(now.summarize)
        step = compact(replace(now, settings=settings, summarize=summarize))
        if step.compaction and not step.rested:
            helped = (
                not step.failure and step.tokens_after <= now.settings.threshold_tokens
            )
            outcomes.append("ok" if helped else "failed")
            stays = step.tokens_after
            turns = 0
        return step

    return engine


def cut_to_size(cut: Callable[..., list[str]], tokens: int) -> Callable[..., str]:
    """Make a summariser without a model: of what was said, `cut` keeps what fits into
    `tokens`.

    It raises ValueError if not even one line fits.
    """

    def summarize(messages: list[Message], focus: str, ask: Ask) -> str:
        lines = spoken_lines(messages)
        texts = ("\n".join(cut(lines, most)) for most in range(len(lines), 0, -1))
        for text in texts:
            if estimate_text(text, "summary") <= tokens:
                return text
        raise ValueError(
            f"not even one line of what was said fits into {tokens:,} tokens"
        )

    return summarize


def without_estimate(send_once: Callable[..., Any]) -> Callable[..., None]:
    """Make the loop of lesson 00 compact, but only if the API refuses the prompt."""

    def shrink(messages: list[Message]) -> list[Message]:
        return auto_compact(
            messages, lambda m, focus: ask_model(list(m)), lambda: "t.jsonl"
        )

    def loop(messages: list[Message], ask: Ask, workspace: Workspace) -> None:
        def ask_once(asked: list[Message]) -> Any:
            messages[:], reply = send_once(list(asked), ask, shrink)
            return reply

        eight_lines(messages, ask_once, workspace)

    return loop


def twenty_tasks(trades: DataFrame) -> DataFrame:
    """Return the mean of each policy over the generated tasks, its shares in
    percent."""
    shares = {"files": "files described", "facts": "facts kept", "rule": "rule kept"}
    most = trades.assign(rule=1)
    columns = {
        f"{name}, %": 100 * trades[kept] / most[name] for name, kept in shares.items()
    }
    shown = ["turns", "dollars", *columns]
    return trades.assign(**columns).groupby("policy", sort=False)[shown].mean()


FAULTS: tuple[Kind, ...] = (
    "529",
    "empty",
    "refusal",
    "larger",
    "truncated",
    "tool_use",
)
"""The ways to fail that the lesson explains."""


def fault_panel(scenario: Scenario, settings: Settings) -> Panel:
    """Run the task again while the summariser fails as the controls say.

    `rate` is in percent of the requests for a summary, `length` is that of each
    summary, and `how` is the failure. The axis has room for 63 turns, so that runs
    compare. A run in circles ends there: the first prompt takes 3 turns, and the second
    is stopped after 60.
    """
    axes: Any = {"top": 1.3 * settings.context_window, "turns": 63}

    def draw(rate: int, length: int, how: Kind) -> tuple[bytes, str]:
        faults = (Fault(how, rate=rate / 100, only="summary"),) if rate else ()
        moved = replace(settings, summary_tokens=length)
        run = play(scenario, moved, faults=faults, max_turns=60)
        title = f"Tokens in each prompt, {rate} % of the summaries failing"
        chart = charts.turns(run.table(), title=title, **axes)
        counts = outcomes(run.session)
        made = ", ".join(f"{counts[name]} {name}" for name in ("done", "cut to size"))
        asked = len(asked_at(run.session))
        failed = f"{asked - counts['done']} of {many(asked, 'summary request')} failed"
        return chart.png(), run_sentence(run, f"compactions: {made}", failed)

    meaning = "share of the requests for a summary that fail, in percent"
    controls = {
        "rate": slider("fails, %", 50, (0, 100, 10), meaning, waits=True),
        "length": slider(
            "length", settings.summary_tokens, (500, 3_000, 250), waits=True
        ),
        "how": choice("how", "tool_use", FAULTS, "the failure"),
    }
    return Panel(controls, draw)
