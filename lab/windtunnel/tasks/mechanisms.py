"""Tasks for the mechanisms that the judge's twenty tasks never need, each from a seed.

The judge's tasks are kept as they are, so that their table stays comparable. Each task
here is made for one engine of `windtunnel.engines`, and is done with it and with the
course's own compaction, under the same settings. `mechanisms.csv` has a row for each
run. `make sweeps` writes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from agentlib import pipeline, presets
from agentlib.messages import of_type
from agentlib.settings import MODEL
from offline_api.faults import Fault
from windtunnel import engines
from windtunnel.runner import Run, outcomes, play
from windtunnel.tasks.generated import NOUNS, generated, module, write_files
from windtunnel.tasks.scenarios import TABLE, Scenario, report_checks

if TYPE_CHECKING:
    from pandas import DataFrame

MECHANISMS = Path(__file__).with_name("mechanisms.csv")
"""Each engine of `NEEDED` and the course's own on the task that is made for it."""
SEEDS = 8
LONGEST = 60
"""How many tasks each mechanism has, and how many requests a prompt may take."""
BESIDE = "default"
"""The name of the course's own compaction, which does the same tasks."""
UNSEEN = {
    "same_language": "the offline model writes its summaries in English whatever it is asked"
}
"""The engines that no task here can show, and why."""
MEASURES = {
    "done": "share of tasks done",
    "facts": "facts in the report",
    "plan": "share of the plan word for word",
}
"""What is told beside cost and tokens, in words."""
TELLING = 0.3
"""A difference that is told."""
_READ = f"{TABLE['generated']['read']}."
_REPORT = "{} and write a report{}."


@dataclass(frozen=True, kw_only=True)
class Need:
    """A task that needs a mechanism, and the circumstances in which it does."""

    task: Scenario
    window: int = 16_000
    """Tokens of the window."""
    faults: tuple[Fault, ...] = ()
    """What goes wrong on the way."""


def doubles(seed: int) -> Need:
    """The person asks eight times for the same file, which never changes."""
    folders, files = _folders(seed, 1, 3)
    path = min(files)
    return Need(task=_task(seed, [f"Read the file {path}."] * 8, files, folders[0]))


def long_arguments(seed: int) -> Need:
    """The agent writes a report on each of five folders, so its own calls are long."""
    folders, files = _folders(seed, 5, 3)
    prompts = [_report(folder) for folder in folders]
    return Need(task=_task(seed, prompts, files, folders[-1]))


def a_plan(seed: int) -> Need:
    """The agent writes PLAN.md, and then reads four more folders."""
    (first, *others), files = _folders(seed, 5, 3)
    prompts = [_report(first, " to PLAN.md"), *(_READ.format(each) for each in others)]
    return Need(task=_task(seed, prompts, files, first))


def no_summaries(seed: int) -> Need:
    """Each summary comes back as a call of a tool, as some models' do."""
    fault = Fault("tool_use", only="summary")
    return Need(task=generated(seed), faults=(fault,))


def refills(seed: int) -> Need:
    """Large files in a window so small that two pages fill it."""
    folders, files = _folders(seed, 1, 6, least=12_000)
    task = _task(seed, [_report(folders[0])], files, folders[0])
    return Need(task=task, window=8_000)


NEEDED: dict[str, Callable[[int], Need]] = {
    "identical_once": doubles,
    "short_arguments": long_arguments,
    "plan_put_back": a_plan,
    "second_model": no_summaries,
    "stops_refilling": refills,
}
"""By the engine's name, what makes the task that needs it."""


def _folders(
    seed: int, count: int, each: int, least: int = 0
) -> tuple[list[str], dict[str, str]]:
    """Make so many folders with so many files in each, path -> text.

    `least`: characters that each file has at least.
    """
    rng = Random(f"mechanisms {seed}")
    nouns = rng.sample(NOUNS, count * (each + 1))
    folders = nouns[:count]
    names = nouns[count:]
    files = dict[str, str]()
    for number, noun in enumerate(names):
        text = module(rng, noun, longest=3_000)
        while len(text) < least:
            text += module(rng, noun, longest=3_000)
        files[f"{folders[number % count]}/{noun}.py"] = text
    return folders, files


def _report(folder: str, where: str = "") -> str:
    return _REPORT.format(TABLE["generated"]["read"].format(folder), where)


def _task(
    seed: int, prompts: Sequence[str], files: dict[str, str], below: str
) -> Scenario:
    return Scenario(
        name=f"mechanisms {seed}",
        prompts=tuple(prompts),
        make_workspace=partial(write_files, files=files),
        checks=partial(report_checks, below=below),
    )


def played(engine: str, beside: str, seed: int) -> Run:
    """Do the task that is made for an engine with another one, or with the course's
    own.

    >>> played("identical_once", "default", 1).turns
    24
    """
    need = NEEDED[engine](seed)
    # What the person has said stands beside no summary of the field's engines.
    settings = replace(presets.DEFAULT, words_tokens=0).scaled(need.window)
    own = pipeline.compact if beside == BESIDE else engines.ALL[beside]
    return play(need.task, settings, engine=own, faults=need.faults, max_turns=LONGEST)


def row(case: tuple[str, str], seed: int) -> dict[str, Any]:
    """Run one task, given the engine it is made for and the one that does it.

    `plan`: the share of the plan's lines that stands word for word in the context at
    the end.
    """
    run = played(*case, seed)
    done = outcomes(run.session)
    return {
        "mechanism": case[0],
        "engine": case[1],
        "seed": seed,
        "turns": run.turns,
        "tokens": run.sent,
        "dollars": round(run.dollars(MODEL), 5),
        "done": int(run.checks["done"]),
        "described": run.checks["described"],
        "facts": run.checks["facts"],
        "plan": round(plan_left(run), 2),
        "compactions": done["done"],
        "failed": done.total() - done["done"],
    }


def plan_left(run: Run) -> float:
    """Return how much of PLAN.md stands word for word in the context at the end, as a
    share of its lines. The calls themselves don't count, because a compaction drops
    them."""
    calls = [call for m in run.session.history for call in of_type(m, "tool_use")]
    plans = [
        call["input"]["content"]
        for call in calls
        if call["name"] == "write_file" and call["input"]["path"] == "PLAN.md"
    ]
    if not plans:
        return 0.0
    context = {
        line.removeprefix("> ")
        for message in run.session.context
        for block in of_type(message, "text")
        for line in block["text"].splitlines()
    }
    lines = [line for line in plans[-1].splitlines() if line]
    return sum(line in context for line in lines) / len(lines)


@cache
def stored() -> "DataFrame":
    """Return the stored means of the runs, a row for each mechanism and engine."""
    from pandas import read_csv

    table: Any = read_csv(MECHANISMS)
    return table.groupby(["mechanism", "engine"]).mean(numeric_only=True)


def in_words(engine: str) -> str:
    """Say what the tasks that are made for an engine show beside the course's own, or
    why none does; "" for an engine that the judge's tasks show.

    >>> in_words("identical_once")
    "On tasks made for it: 113 % of default's cost, 54 % of its tokens."
    """
    if engine in UNSEEN:
        return f"No task here can show it, because {UNSEEN[engine]}."
    if engine not in NEEDED:
        return ""
    means: Any = stored()
    own = means.loc[(engine, BESIDE)]
    other = means.loc[(engine, engine)]
    cost, tokens = (100 * other[name] / own[name] for name in ("dollars", "tokens"))
    shares = f"{cost:.0f} % of {BESIDE}'s cost, {tokens:.0f} % of its tokens"
    others = [
        f"{words} {other[name]:.1f} instead of {own[name]:.1f}"
        for name, words in MEASURES.items()
        if abs(other[name] - own[name]) > TELLING
    ]
    return f"On tasks made for it: {', '.join([shares, *others])}."
