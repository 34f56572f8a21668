"""What each policy keeps of generated tasks, as a table in git. `make sweeps`.

A row for each policy and seed, in `agentlib/lab/tasks/sweeps.csv`. The lessons read it for claims
that one run can't carry. `make sweeps ARGS=3` only shows the means of three seeds.
"""

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

from pandas import DataFrame
from rich.progress import track

from agentlib import presets
from agentlib.lab.play import play, repeated
from agentlib.lab.scoreboard import Stage, with_focus
from agentlib.lab.tasks.generated import SWEEPS, generated
from agentlib.settings import MODEL, Settings
from tests.benchmarks.count import count

WINDOW, SEEDS, LONGEST = 32_000, 20, 150
START = Settings(micro="off", manual=False, threshold_pct=65, summary_tokens=6_250)
"""Lesson 03's: 1,000 tokens of summary in a window of 32,000."""
CLEARS = replace(START, micro="clear")
TAIL: Any = {"tail_tokens": 10_000, "trim_over": 10**9}
POLICIES = {
    "nothing forgotten": Stage(settings=Settings(context_window=10**6, enabled=False)),
    **{f"keep {n}": Stage(settings=replace(CLEARS, keep_recent=n)) for n in (0, 1, 3, 8)},
    "summary": Stage(settings=START),
    "shorter summary": Stage(settings=replace(START, summary_tokens=5_000)),
    "focus": Stage(settings=START, engine=with_focus),
    "update": Stage(settings=replace(START, **TAIL)),
    "head": Stage(settings=replace(START, head_tokens=4_000)),
    "head and tail": Stage(settings=replace(START, head_tokens=4_000, **TAIL)),
    "default": Stage(settings=presets.DEFAULT),
    "default, shorter summary": Stage(settings=replace(presets.DEFAULT, summary_tokens=3_500)),
}
"""Each policy's name, settings before scaling, and engine. A tail or a head brings the update."""


def row(policy: str, seed: int) -> dict[str, Any]:
    """Run one task under one policy."""
    task, stage = generated(seed), POLICIES[policy]
    settings = stage.settings.scaled(WINDOW) if stage.settings.enabled else stage.settings
    run = play(task, settings, engine=stage.engine, max_turns=LONGEST)
    return {
        "policy": policy,
        "seed": seed,
        "turns": run.turns,
        "dollars": round(run.dollars(MODEL), 4),
        "rule kept": run.checks["constraint"],
        "facts kept": run.checks["facts"],
        "facts": len(task.facts),
        "files described": run.checks["described"],
        "files": run.checks["files"],
        "read again": repeated(run.session.history, "read_file"),
        "done": run.checks["done"],
    }


def rows(seeds: Iterable[int]) -> list[dict[str, Any]]:
    """Run every policy on every seed, in as many processes as there are cores."""
    pairs = list(product(POLICIES, seeds))
    with ProcessPoolExecutor() as pool:
        runs = pool.map(row, *zip(*pairs, strict=True))
        return list(track(runs, "sweeps", total=len(pairs)))


def main(seeds: int) -> None:
    table = DataFrame(rows(range(seeds)))
    if seeds == SEEDS:
        table.to_csv(SWEEPS, index=False, lineterminator="\n")
    means = table.drop(columns="seed").groupby("policy", sort=False).mean()
    print(means.round(3).to_string())


if __name__ == "__main__":
    main(count(__doc__, "seeds", SEEDS))
