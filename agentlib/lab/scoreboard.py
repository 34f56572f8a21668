"""Runs beside each other: the course's scorecard, and presets compared over tasks.

The scorecard is one session through all lessons: `scenarios.REVIEW` in a window of 32,000 tokens,
a row for the layers of each lesson. What the offline model does illustrates a mechanism and is no
evidence about language models; tokens, cache and dollars follow the API's rules.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from agentlib import presets
from agentlib.estimation import TokenMeter
from agentlib.lab.play import Run, outcomes, play
from agentlib.lab.spending import MILLION, dollars, model_facts
from agentlib.lab.tasks.scenarios import REVIEW, Scenario
from agentlib.messages import Message, of_type
from agentlib.pipeline import compact
from agentlib.settings import MODEL, Settings
from agentlib.step import ContextEngine, Reason, Step
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

WINDOW = 32_000
DOLLARS = f"$ {MODEL.removeprefix('claude-')}"
"""The column of dollars, which names their model."""
PRICED_AS = "claude-opus-5-5"
"""The model at whose prices DEFAULT was chosen, and presets are compared."""
LONGEST = 400
"""Requests for each prompt of a comparison; a run that needs more is not done."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the agent has after a lesson."""

    settings: Settings
    stop: Callable[[Session], str] = lambda session: ""
    """(session) -> why the agent stops by itself after this turn, or ""."""
    engine: ContextEngine = compact


def warned(session: Session) -> str:
    """What the meter says if the next request is over the threshold, or ""."""
    meter, settings = TokenMeter(len(session.system) + len(str(session.tools))), session.settings
    for sent in session.requests:
        meter.observe(sent.context, sent.usage)
    size, point = meter.estimate(session.context), settings.threshold_tokens
    return f"stopped itself: {size:,} tokens next, {point:,} is the point" if size > point else ""


FOCUS = "the rules of the user"


def with_focus(
    messages: Sequence[Message],
    settings: Settings,
    *,
    reason: Reason = "auto",
    focus: str = "",
    **given: Any,
) -> Step:
    """The layers, with a person who compacts by hand at the threshold and asks for `FOCUS`."""
    quiet = replace(settings, auto=False)
    step = compact(messages, quiet, reason=reason, focus=focus, **given)
    if step.compaction or step.tokens_after <= settings.threshold_tokens:
        return step
    return compact(messages, settings, reason="manual", focus=FOCUS, **given)


EVIDENCE = Settings(threshold_pct=65, summary_tokens=3_500)
"""The threshold and the length of a summary that replays of real sessions recommend."""

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
    """What the session came to with the layers of one lesson.

    `turns` are requests answered, `tokens sent` those of all prompts, summary requests included.
    Raises ValueError.
    """
    run = played(lesson)
    return {
        "lesson": lesson,
        "turns": run.turns,
        "tokens sent": run.sent,
        DOLLARS: round(run.dollars(MODEL), 4),
        "rule kept": "yes" if run.checks["constraint"] else "no",
        "re-read": reread(run.session.history),
        "done": "yes" if run.checks["done"] else "no",
    }


def reread(history: Sequence[Message]) -> int:
    """Count the reads that ask for the very lines that an earlier read asked for.

    >>> read = {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}}
    >>> reread([{"role": "assistant", "content": [read]}] * 3)
    2
    """
    reads = Counter(str(sorted(c["input"].items())) for c in _calls(history, "read_file"))
    return sum(times - 1 for times in reads.values())


def _calls(history: Sequence[Message], name: str) -> list[dict[str, Any]]:
    calls = (c for m in history if m["role"] == "assistant" for c in of_type(m, "tool_use"))
    return [call for call in calls if call["name"] == name]


def scorecard(upto: str) -> "DataFrame":
    """A row for each lesson from the first to `upto`. Raises ValueError as `row` does."""
    import pandas

    last = row(upto)
    before = [row(lesson) for lesson in STAGES if lesson < upto]
    return pandas.DataFrame([*before, last]).set_index("lesson")


@cache
def measures(task: Scenario, settings: Settings, model: str = PRICED_AS) -> Mapping[str, Any]:
    """What one run took and came to, made once in each process.

    Tokens are `sent` in all prompts, billed as `uncached`, `written` and `read`; `billed` is what
    those cost in uncached ones. `$` includes the answers. `again` counts files read again and
    results recalled. `facts` of `of` stand in the report.
    """
    run = play(task, settings, max_turns=LONGEST)
    made, history = outcomes(run.session), run.session.history
    return {
        "turns": run.turns,
        **_bill(run, model),
        "compactions": made["done"],
        "failures": made.total() - made["done"],
        "again": reread(history) + len(_calls(history, "recall")),
        "facts": run.checks.get("facts", 0) if task.facts else 0,
        "of": len(task.facts),
        "rule": bool(run.checks["constraint"]) if task.constraint else None,
        "done": bool(run.checks["done"]),
        "ended": run.refused,
    }


def _bill(run: Run, model: str) -> dict[str, Any]:
    def total(name: str) -> int:
        return sum(usage.get(name) or 0 for usage in run.usages)

    prompts = sum(dollars({**usage, "output_tokens": 0}, model) for usage in run.usages)
    return {
        "sent": run.sent,
        "uncached": total("input_tokens"),
        "written": total("cache_creation_input_tokens"),
        "read": total("cache_read_input_tokens"),
        "billed": round(prompts * MILLION / model_facts(model)["input"]),
        "output": total("output_tokens"),
        "$": round(run.dollars(model), 4),
    }


def rows(
    presets: Mapping[str, Settings],
    tasks: Iterable[Scenario],
    *,
    window: int | None = None,
    model: str = PRICED_AS,
) -> Iterator[dict[str, Any]]:
    """A row for each task and preset as it is done; those done before come at once.

    `window`: tokens to which all settings are scaled; None leaves each its own.
    """
    for task in tasks:
        for name, settings in presets.items():
            scaled = settings.scaled(window) if window else settings
            yield {"scenario": task.name, "engine": name, **measures(task, scaled, model)}


def compare(
    presets: Mapping[str, Settings],
    tasks: Iterable[Scenario],
    *,
    window: int | None = None,
    model: str = PRICED_AS,
) -> "DataFrame":
    """The rows as a table with the index (scenario, engine); `attrs["model"]` names the prices."""
    return as_table(rows(presets, tasks, window=window, model=model), model)


def as_table(rows: Iterable[Mapping[str, Any]], model: str = PRICED_AS) -> "DataFrame":
    """The rows as a table with the index (scenario, engine); `attrs["model"]` names the prices."""
    import pandas

    table = pandas.DataFrame(list(rows)).set_index(["scenario", "engine"])
    table.attrs["model"] = model
    return table


def dominated(table: "DataFrame", name: str = "default") -> list[str]:
    """A sentence for each task in which another engine is cheaper and no worse in anything else:
    done, rule, facts, files fetched again, failures.

    The cheapest of those is named. Raises KeyError for a name that is not in the table.
    """
    sentences: list[str] = []
    records: list[Any] = table.reset_index().to_dict("records")
    for task in dict.fromkeys(row["scenario"] for row in records):
        engines = {row["engine"]: row for row in records if row["scenario"] == task}
        mine = engines[name]
        if better := [row for row in engines.values() if _beats(row, mine)]:
            best = min(better, key=lambda row: row["$"])
            saved = 1 - best["$"] / mine["$"]
            sentences.append(f"{task}: by {best['engine']}, {saved:.1%} cheaper and no worse")
    return sentences


def _beats(other: Mapping[str, Any], mine: Mapping[str, Any]) -> bool:
    kept = all((other[k] or 0) >= (mine[k] or 0) for k in ("done", "rule", "facts"))
    spared = all(other[k] <= mine[k] for k in ("again", "failures"))
    return other["$"] < mine["$"] and kept and spared


def shown(table: "DataFrame", task: str) -> str:
    """One task's rows as text of at most 72 columns; a dash: it has nothing of the kind to keep."""
    heads = ("sent", "billed", "$", "comp", "fail", "again", "facts", "rule", "done")
    lines = [f"{task}: thousands of tokens; $ of {table.attrs['model']}", _line("", heads)]
    for engine, row in table.loc[task].iterrows():
        facts = "-" if not row["of"] else f"{row['facts']}/{row['of']}"
        rule = "-" if row["rule"] is None else "yes" if row["rule"] else "no"
        cells = [f"{row['sent'] / 1e3:.0f}", f"{row['billed'] / 1e3:.0f}", f"{row['$']:.3f}"]
        cells += [str(row[name]) for name in ("compactions", "failures", "again")]
        lines.append(_line(str(engine), [*cells, facts, rule, "yes" if row["done"] else "no"]))
    return "\n".join(lines)


def _line(name: str, cells: Sequence[str]) -> str:
    widths = (6, 7, 7, 5, 5, 6, 6, 5, 5)
    return f"{name:<20.20}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
