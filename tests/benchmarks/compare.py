"""Every preset over every task, its dollars, and what it kept. `make compare`.

The tasks of real code in a window of 32,000 tokens, the one of over 400,000 unscaled, then
generated ones whose seeds no setting was tuned on; where DEFAULT is dominated; and the facts that
stand in the context over five compactions. Each table is printed as soon as it is done, so Ctrl-C
loses only the one being made. `make compare ARGS=3` for three generated tasks.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas
from rich.progress import track

from agentlib import loop, presets
from agentlib.lab.client import client
from agentlib.lab.scoreboard import as_table, dominated, rows, shown
from agentlib.lab.tasks import scenarios
from agentlib.lab.tasks.scenarios import Clock, Scenario
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from tests.benchmarks import generated
from tests.benchmarks.count import count

WINDOW, FIRST_SEED, GENERATED = 32_000, 1_000, 20
DEFAULT = "default"


def table(tasks: Sequence[Scenario], window: int | None) -> None:
    """The rows of these tasks, one task after the other; their sums; where DEFAULT is dominated."""
    found: list[pandas.DataFrame] = []
    for task in tasks:
        hidden = not sys.stderr.isatty()
        made = rows(presets.ALL, [task], window=window)
        total = len(presets.ALL)
        found.append(as_table(track(made, task.name, total, transient=True, disable=hidden)))
        print(f"\n{shown(found[-1], task.name)}", flush=True)
    whole = pandas.concat(found)
    if len(tasks) > 1:
        print(f"\nall {len(tasks)} together\n{totals(whole)}")
    said = dominated(whole, DEFAULT)
    print(f"\n{DEFAULT} is dominated in {len(said)} of {len(tasks)} tasks:")
    print("\n".join(f"  {line}" for line in said) or "  nowhere", flush=True)


def totals(whole: pandas.DataFrame) -> str:
    """Sums over the tasks, an engine a line, the cheapest first."""
    sums = whole.assign(ruled=whole["rule"].notna(), rule=whole["rule"].eq(True), all=1)
    found = sums.groupby("engine").sum(numeric_only=True).sort_values("$")
    lines = [f"{'':<21}{'sent k':>7}{'billed k':>9}{'$':>8}  comp  again   facts    rule    done"]
    for name, row in found.iterrows():
        counts = [("facts", "of"), ("rule", "ruled"), ("done", "all")]
        shares = "".join(f"{f'{row[a]:.0f}/{row[b]:.0f}':>8}" for a, b in counts)
        tokens = f"{row['sent'] / 1e3:>7.0f}{row['billed'] / 1e3:>9.0f}{row['$']:>8.3f}"
        lines.append(f"{name:<21}{tokens}{row['compactions']:>6.0f}{row['again']:>7.0f}{shares}")
    return "\n".join(lines)


def tell_generations(seeds: Iterable[int]) -> None:
    """Facts in the context of those read, after each of five compactions by hand."""
    tasks = [generated.chapters(seed) for seed in seeds]
    for window in (WINDOW, None):
        print(f"\nfacts standing after 1 to 5 compactions, window {window or 'as preset'}")
        for name, settings in presets.ALL.items():
            scaled = settings.scaled(window) if window else settings
            runs = [list(generations(task, scaled)) for task in tasks]
            told = map(tell_sum, zip(*runs, strict=True))
            print(f"{name:<22}" + "".join(f"{kept:>9}" for kept in told), flush=True)


def generations(task: Scenario, settings: Settings) -> Iterator[tuple[int, int]]:
    """(facts in the context, facts read so far) after each prompt and a compaction by hand.

    What the agent compacts by itself comes on top.
    """
    clock = Clock()
    llm = client(window=settings.context_window, clock=clock)
    with TemporaryDirectory() as name:
        work = Path(name, "work")
        task.make_workspace(work)
        session = Session.create(name, settings=settings, session_id=task.name, clock=clock)
        given = {"session": session, "settings": settings, "clock": clock}
        for number, prompt in enumerate(task.prompts):
            clock.pause(task.pauses[number])
            list(loop.run(llm, prompt, Workspace(work), max_turns=400, **given))
            loop.compact_now(llm, workspace=Workspace(work), **given)
            yield standing(session.context, task), standing(session.history, task)


def standing(messages: Sequence[object], task: Scenario) -> int:
    """How many of the task's facts are in these messages."""
    text = json.dumps(messages, ensure_ascii=False)
    return sum(fact in text for fact in task.facts)


def tell_sum(counts: Sequence[tuple[int, int]]) -> str:
    return f"{sum(kept for kept, _ in counts)}/{sum(read for _, read in counts)}"


def main(count: int) -> None:
    print(f"Real code, window {WINDOW:,}")
    table(list(scenarios.ALL.values()), WINDOW)
    print("\nReal code of over 400,000 tokens, unscaled")
    table([scenarios.LONG], None)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    print(f"\nGenerated, seeds {seeds[0]} to {seeds[-1]}, window {WINDOW:,}")
    table([generated.scenario(seed) for seed in seeds], WINDOW)
    print("\nGenerated, large, unscaled")
    table([generated.large(seed) for seed in seeds[: max(1, count // 4)]], None)
    tell_generations(seeds[:3])


if __name__ == "__main__":
    try:
        main(count(__doc__, "generated tasks", GENERATED))
    except KeyboardInterrupt:
        raise SystemExit("stopped; the tables above are whole") from None
