"""Every preset over every task, its dollars, and what it kept. `make compare`.

The tasks of real code in a window of 32,000 tokens, the one of over 400,000 unscaled,
then generated ones whose seeds no setting was tuned on; where DEFAULT is dominated; and
the facts that stand in the context over five compactions. Each table is printed as soon
as it is done, so Ctrl-C loses only the one being made. `make compare ARGS=3` for three
generated tasks. Ends with 1 if DEFAULT keeps less than two thirds of what is stated.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas
from pandas import DataFrame
from rich.progress import track

from agentlib import loop, presets
from agentlib.api.spending import MILLION, PRICED_AS, dollars, model_facts
from agentlib.messages import Message, of_type
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from offline_api import client
from session_report.need import needs
from session_report.playback import replay
from tests.benchmarks.bench import LEAST
from tests.benchmarks.count import count
from windtunnel.runner import Run, outcomes, play, repeated
from windtunnel.tasks import scenarios
from windtunnel.tasks import varied as generated
from windtunnel.tasks.scenarios import Clock, Scenario

WINDOW = 32_000
FIRST_SEED = 1_000
GENERATED = 20
DEFAULT = "default"
WANTED = {"files": 1.0, "facts": 1.0, "rules": 1.0, "done": 1.0}
"""What DEFAULT keeps of the generated tasks, as shares of all."""
LONGEST = 400
"""Requests for each prompt; a run that needs more is not done."""


@cache
def measures(
    task: Scenario, settings: Settings, model: str = PRICED_AS
) -> Mapping[str, Any]:
    """What one run took and came to, made once in each process.

    Tokens are `sent` in all prompts, billed as `uncached`, `written` and `read`;
    `billed` is what those cost in uncached ones. `$` includes the answers. `again`
    counts files read again and results recalled. `need` counts texts and calls that
    quote what the context had lost. `facts` of `of` stand in the report, and
    `described` of `files`.
    """
    run = play(task, settings, max_turns=LONGEST)
    made = outcomes(run.session)
    history = run.session.history
    return {
        "turns": run.turns,
        **_bill(run, model),
        "compactions": made["done"],
        "failures": made.total() - made["done"],
        "again": repeated(history, "read_file") + _recalls(history),
        "need": sum(each.outputs for each in needs(replay(run.session, run.settings))),
        "described": run.checks.get("described", 0),
        "files": run.checks.get("files", 0),
        "facts": run.checks.get("facts", 0) if task.facts else 0,
        "of": len(task.facts),
        "rule": bool(run.checks["rule kept"]) if task.rule else None,
        "done": bool(run.checks["done"]),
        "ended": run.refused,
    }


def _recalls(history: Sequence[Message]) -> int:
    calls = (call for message in history for call in of_type(message, "tool_use"))
    return sum(call["name"] == "recall" for call in calls)


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
            yield {
                "scenario": task.name,
                "engine": name,
                **measures(task, scaled, model),
            }


def compare(
    presets: Mapping[str, Settings],
    tasks: Iterable[Scenario],
    *,
    window: int | None = None,
    model: str = PRICED_AS,
) -> DataFrame:
    """The rows as a table with the index (scenario, engine); `attrs["model"]` names the
    prices."""
    return as_table(rows(presets, tasks, window=window, model=model), model)


def as_table(rows: Iterable[Mapping[str, Any]], model: str = PRICED_AS) -> DataFrame:
    """The rows as a table with the index (scenario, engine); `attrs["model"]` names the
    prices."""
    table = DataFrame(list(rows)).set_index(["scenario", "engine"])
    table.attrs["model"] = model
    return table


def dominated(table: DataFrame, name: str = "default") -> list[str]:
    """A sentence for each task in which another engine is cheaper and no worse in
    anything else: done, rule, facts, files described, files fetched again, failures.

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
            sentences.append(
                f"{task}: by {best['engine']}, {saved:.1%} cheaper and no worse"
            )
    return sentences


def _beats(other: Mapping[str, Any], mine: Mapping[str, Any]) -> bool:
    kept = all(
        (other[k] or 0) >= (mine[k] or 0)
        for k in ("done", "rule", "facts", "described")
    )
    spared = all(other[k] <= mine[k] for k in ("again", "failures"))
    return other["$"] < mine["$"] and kept and spared


def shown(table: DataFrame, task: str) -> str:
    """One task's rows as text of at most 79 columns; a dash: it has nothing of the kind
    to keep."""
    heads = (
        "sent",
        "$",
        "comp",
        "fail",
        "again",
        "need",
        "files",
        "facts",
        "rule",
        "done",
    )
    lines = [
        f"{task}: thousands of tokens; $ of {table.attrs['model']}",
        _line("", heads),
    ]
    for engine, row in table.loc[task].iterrows():
        facts = "-" if not row["of"] else f"{row['facts']}/{row['of']}"
        rule = "-" if row["rule"] is None else "yes" if row["rule"] else "no"
        cells = [f"{row['sent'] / 1e3:.0f}", f"{row['$']:.3f}"]
        cells += [
            str(row[name]) for name in ("compactions", "failures", "again", "need")
        ]
        cells.append(f"{row['described']}/{row['files']}" if row["files"] else "-")
        lines.append(
            _line(str(engine), [*cells, facts, rule, "yes" if row["done"] else "no"])
        )
    return "\n".join(lines)


def _line(name: str, cells: Sequence[str]) -> str:
    widths = (6, 7, 5, 5, 6, 5, 7, 7, 5, 5)
    return f"{name:<20.20}" + "".join(
        f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)
    )


def table(tasks: Sequence[Scenario], window: int | None) -> DataFrame:
    """The rows of these tasks, one task after the other; their sums; where DEFAULT is
    dominated. Returns the rows."""
    found: list[DataFrame] = []
    for task in tasks:
        hidden = not sys.stderr.isatty()
        made = rows(presets.ALL, [task], window=window)
        total = len(presets.ALL)
        found.append(
            as_table(track(made, task.name, total, transient=True, disable=hidden))
        )
        print(f"\n{shown(found[-1], task.name)}", flush=True)
    whole = pandas.concat(found)
    if len(tasks) > 1:
        print(f"\nall {len(tasks)} together\n{totals(whole)}")
    said = dominated(whole, DEFAULT)
    print(f"\n{DEFAULT} is dominated in {len(said)} of {len(tasks)} tasks:")
    print("\n".join(f"  {line}" for line in said) or "  nowhere", flush=True)
    return whole


def falls_short(whole: DataFrame) -> list[str]:
    """Say in which measures DEFAULT is below two thirds of `WANTED`."""
    rows = whole.xs(DEFAULT, level="engine")
    kept = {
        "files": rows["described"].sum() / rows["files"].sum(),
        "facts": rows["facts"].sum() / rows["of"].sum(),
        "rules": rows["rule"].dropna().astype(float).mean(),
        "done": rows["done"].mean(),
    }
    return [
        f"{DEFAULT} keeps {kept[name]:.0%} ({name}), where {wanted:.0%} is stated"
        for name, wanted in WANTED.items()
        if kept[name] < LEAST * wanted
    ]


def totals(whole: DataFrame) -> str:
    """Sums over the tasks, an engine a line, the cheapest first."""
    sums = whole.assign(ruled=whole["rule"].notna(), rule=whole["rule"].eq(True), all=1)
    found = sums.groupby("engine").sum(numeric_only=True).sort_values("$")
    heads = "  comp  again  need   files   facts    rule    done"
    lines = [f"{'':<21}{'sent k':>7}{'$':>8}{heads}"]
    for name, row in found.iterrows():
        counts = [
            ("described", "files"),
            ("facts", "of"),
            ("rule", "ruled"),
            ("done", "all"),
        ]
        shares = "".join(f"{f'{row[a]:.0f}/{row[b]:.0f}':>8}" for a, b in counts)
        tokens = f"{row['sent'] / 1e3:>7.0f}{row['$']:>8.3f}"
        counted = f"{row['compactions']:>6.0f}{row['again']:>7.0f}{row['need']:>6.0f}"
        lines.append(f"{name:<21}{tokens}{counted}{shares}")
    return "\n".join(lines)


def tell_generations(seeds: Iterable[int]) -> None:
    """Facts in the context of those read, after each of five compactions by hand."""
    tasks = [generated.chapters(seed) for seed in seeds]
    for window in (WINDOW, None):
        print(
            f"\nfacts standing after 1 to 5 compactions, window {window or 'as preset'}"
        )
        for name, settings in presets.ALL.items():
            scaled = settings.scaled(window) if window else settings
            runs = [list(generations(task, scaled)) for task in tasks]
            told = map(tell_sum, zip(*runs, strict=True))
            print(f"{name:<22}" + "".join(f"{kept:>9}" for kept in told), flush=True)


def generations(task: Scenario, settings: Settings) -> Iterator[tuple[int, int]]:
    """(facts in the context, facts read so far) after each prompt and a compaction by
    hand.

    What the agent compacts by itself comes on top.
    """
    clock = Clock()
    llm = client(window=settings.context_window, clock=clock)
    with TemporaryDirectory() as name:
        work = Path(name, "work")
        task.make_workspace(work)
        terms = {"settings": settings, "clock": clock}
        with Session.create(name, session_id=task.name, **terms) as session:
            given = {"session": session, **terms}
            for number, prompt in enumerate(task.prompts):
                clock.pause(task.pauses[number])
                list(loop.run(llm, prompt, Workspace(work), max_turns=400, **given))
                loop.equipped(llm, Workspace(work), **given).compact_now()
                yield standing(session.context, task), standing(session.history, task)


def standing(messages: Sequence[object], task: Scenario) -> int:
    """How many of the task's facts are in these messages."""
    text = json.dumps(messages, ensure_ascii=False)
    return sum(fact in text for fact in task.facts)


def tell_sum(counts: Sequence[tuple[int, int]]) -> str:
    return f"{sum(kept for kept, _ in counts)}/{sum(read for _, read in counts)}"


def main(count: int) -> int:
    """Print all tables. Return the exit code."""
    print(f"Real code, window {WINDOW:,}")
    table(list(scenarios.ALL.values()), WINDOW)
    print("\nReal code of over 400,000 tokens, unscaled")
    table([scenarios.LONG], None)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    print(f"\nGenerated, seeds {seeds[0]} to {seeds[-1]}, window {WINDOW:,}")
    whole = table([generated.scenario(seed) for seed in seeds], WINDOW)
    print("\nGenerated, large, unscaled")
    table([generated.large(seed) for seed in seeds[: max(1, count // 4)]], None)
    tell_generations(seeds[:3])
    less = falls_short(whole)
    print(f"\n{DEFAULT} keeps what is stated" if not less else "\n" + "\n".join(less))
    return 1 if less else 0


if __name__ == "__main__":
    try:
        raise SystemExit(main(count(__doc__, "generated tasks", GENERATED)))
    except KeyboardInterrupt:
        raise SystemExit("stopped; the tables above are whole") from None
