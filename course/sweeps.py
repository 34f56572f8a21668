"""What each policy keeps of generated tasks, as tables in git. `make sweeps`.

The lessons read them for claims that one run can't carry. `lab/windtunnel/tasks/sweeps.csv`
has a row for each policy and seed. `clearing.csv` has renaming tasks, which need two
results at a time: a row for each KEEP_RECENT and seed, with clearing alone.
`moments.csv` has one compaction by hand, at each turn of each task, beside lesson 03's
layer. `survival.csv` says what became of the person's rule: a row for each way of
`TELLINGS` and seed. `trades.csv` has the presets and the lengths of DEFAULT's
summaries, as `sweeps.csv`. `failing.csv` has the course's report under each preset,
while a share of the summaries fails. `parts.csv` has lesson 06's hand-off without each
of its parts. `scorecard.csv` has the long session with the layers of each lesson.
`bench.csv` has the bench's presets on that report, with dollars by model, and
`hump.csv` the generated tasks with plain `Settings()`, a row for each KEEP_RECENT and
seed. `field.csv` has the presets and the field's engines on the judge's tasks, and
`narrow.csv` three of them in a narrower window. `mechanisms.csv` has the engines that
the judge's tasks can't tell from the course's own, on tasks made for them. `kinds.csv`
has lesson 10's tasks, a row for each policy, number of compactions (`generation`) and
seed. In it each kind has the sum of 1 if it was kept, 2 if it was told, and 4 if it was
acted on, so 7 is all three and 0 is lost. `make sweeps ARGS=3` only shows the means of
three seeds.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from pandas import DataFrame
from rich.progress import track

from agentlib import presets
from agentlib.api.spending import PRICED_AS
from agentlib.auto_compact import summary_message
from agentlib.head_and_tail import handoff_prompt, summary_index
from agentlib.messages import Message, exchanges, of_type, waiting
from agentlib.settings import MODEL, Settings
from course.generations import places, planted
from course.panels.what_if import PRESETS
from course.parts_list import EVIDENCE
from course.rooms import what_survives
from course.scoreboard import (
    ROWS,
    STAGES,
    Stage,
    measures,
    played,
    with_focus,
)
from offline_api.faults import Fault
from offline_api.model import HABITS, Habits
from windtunnel.judge import OTHERS, work
from windtunnel.judge import SEEDS as JUDGED
from windtunnel.parts import layer_of
from windtunnel.runner import Run, asked_at, play, repeated
from windtunnel.tasks import kinds, mechanisms
from windtunnel.tasks.generated import (
    BENCH,
    CLEARING,
    FAILING,
    FIELD,
    HUMP,
    KINDS_KEPT,
    MOMENTS,
    NARROW,
    PARTS,
    SURVIVAL,
    SWEEPS,
    TRADES,
    generated,
)
from windtunnel.tasks.scenarios import REVIEW, Scenario
from windtunnel.tasks.varied import scenario

WINDOW = 32_000
SEEDS = 20
LONGEST = 150
START = Settings(micro="off", manual=False, threshold_pct=65, summary_tokens=6_250)
"""Lesson 03's: 1,000 tokens of summary in a window of 32,000."""
CLEARS = replace(START, micro="clear")
TAIL: Any = {"tail_tokens": 10_000, "trim_over": 10**9}
POLICIES = {
    "nothing forgotten": Stage(settings=Settings(context_window=10**6, enabled=False)),
    **{
        f"keep {n}": Stage(settings=replace(CLEARS, keep_recent=n))
        for n in (0, 1, 3, 8)
    },
    "summary": Stage(settings=START),
    "shorter summary": Stage(settings=replace(START, summary_tokens=5_000)),
    "focus": Stage(settings=START, engine=with_focus),
    "update": Stage(settings=replace(START, **TAIL)),
    "head": Stage(settings=replace(START, head_tokens=4_000)),
    "head and tail": Stage(settings=replace(START, head_tokens=4_000, **TAIL)),
    "default": Stage(settings=presets.DEFAULT),
    "default, shorter summary": Stage(
        settings=replace(presets.DEFAULT, summary_tokens=3_500)
    ),
    "summary, searched": Stage(
        settings=replace(START, recall=True), habits=Habits(searches=True)
    ),
}
"""Each policy's name, settings before scaling, and engine. A tail or a head brings the
update."""


LENGTHS = (1_000, 2_000, 3_000, 5_000, 7_000, 9_000, 12_500)
TRADED = {
    "nothing forgotten": POLICIES["nothing forgotten"],
    "KEEP_RECENT 0": Stage(settings=Settings(keep_recent=0)),
    **{
        name: Stage(settings=preset)
        for name, preset in presets.ALL.items()
        if name != "default"
    },
    **{
        f"DEFAULT, {tokens:,}": Stage(
            settings=replace(presets.DEFAULT, summary_tokens=tokens)
        )
        for tokens in LENGTHS
    },
}
"""Whole agents, to be compared by what they cost and keep."""


def row(policy: str, seed: int) -> dict[str, Any]:
    """Run one task under one policy."""
    task = generated(seed)
    stage = {**POLICIES, **TRADED}[policy]
    settings = (
        stage.settings.scaled(WINDOW) if stage.settings.enabled else stage.settings
    )
    run = play(
        task, settings, engine=stage.engine, habits=stage.habits, max_turns=LONGEST
    )
    return {
        "policy": policy,
        "seed": seed,
        "turns": run.turns,
        "dollars": round(run.dollars(MODEL), 4),
        "rule kept": run.checks["rule kept"],
        "facts kept": run.checks["facts"],
        "facts": len(task.facts),
        "files described": run.checks["described"],
        "files": run.checks["files"],
        "read again": repeated(run.session.history, "read_file"),
        "done": run.checks["done"],
    }


def scorecard_row(policy: str, seed: int) -> dict[str, Any]:
    """Run the long session with the layers of a lesson."""
    return {"policy": policy, "seed": seed, **measures(played(policy))}


def told_in(task: Scenario, number: int) -> Scenario:
    """Return the task with its rule told in the prompt with this number."""
    told = next(prompt for prompt in task.prompts if task.rule in prompt)
    rule = told[: told.index(task.rule) + len(task.rule) + 3]
    prompts = [prompt.removeprefix(rule) for prompt in task.prompts]
    prompts[number] = rule + prompts[number]
    return replace(task, prompts=tuple(prompts))


TELLINGS = {
    "Told first": (0, HABITS),
    "Rules first": (0, replace(HABITS, rules_first=True)),
    "Told last": (-1, HABITS),
}
"""Where the person tells the rule, and the habits of the model that summarises."""


def survival_row(telling: str, seed: int) -> dict[str, Any]:
    """Run one task as lesson 03 does, and say where each compaction left the rule."""
    number, habits = TELLINGS[telling]
    task = told_in(generated(seed), number)
    run = play(task, START.scaled(WINDOW), habits=habits)
    return {
        "telling": telling,
        "seed": seed,
        "facts": len(task.facts),
        "facts kept": run.checks["facts"],
        "rule kept": run.checks["rule kept"],
        "rule": "|".join(places(run.session, planted(task))["the rule"]),
    }


QUESTION = "Where is `LIMIT` set? Follow it through the files."
OLD_HEADINGS = {
    "Earlier questions": "Pending questions",
    "Progress notes": "Remaining work",
}
PARTS_SETTINGS = replace(START.scaled(WINDOW), summary_tokens=600)
WITHOUT = ("nothing", "the head", "the hand-off", "the update", "all three")


def hand_off(messages: list[Message], summarize: Any, without: str) -> list[Message]:
    """Put a summary in place of the middle as lesson 06 does, without one part or
    all."""
    head, note, update = (without not in (part, "all three") for part in WITHOUT[1:4])
    first = int(head)
    start = exchanges(messages)[-1][0]
    newest = messages[start:]
    updates = update and summary_index(messages) is not None
    prompt = handoff_prompt(PARTS_SETTINGS.summary_tokens, update=updates)
    for new, old in OLD_HEADINGS.items():
        prompt = prompt if note else prompt.replace(new, old)
    text = summarize([*messages, {"role": "user", "content": prompt}])
    replaced = range(first, start)
    words = [text for i, text in waiting(messages) if i in replaced]
    return [
        *messages[:first],
        summary_message(text, "t", words, reference_only=note),
        *newest,
    ]


def parts_row(without: str, seed: int) -> dict[str, Any]:
    """Run a task whose rule is told first, and whose second request is broken off after
    a turn."""
    task = told_in(generated(seed), 0)
    first, *others = task.prompts
    task = replace(task, prompts=(first, QUESTION, *others), pauses=(0.0, *task.pauses))
    limits = (LONGEST, 1, *[LONGEST] * len(others))
    layer = layer_of(partial(hand_off, without=without), given="summarize")
    run = play(task, PARTS_SETTINGS, layers=[layer], max_turns=limits)
    return {
        "without": without,
        "seed": seed,
        "report": run.checks["done"],
        "rule kept": run.checks["rule kept"],
        "facts kept": run.checks["facts"],
        "facts": len(task.facts),
        "described": run.checks["described"],
        "files": run.checks["files"],
        "dollars": round(run.dollars(PRICED_AS), 4),
    }


KEEPS = (1, 2, 3, 4, 5, 6, 8, 12, 20, 40)
RENAMINGS = 12
CLEARS_ALONE = Settings(auto=False, manual=False).scaled(WINDOW)


def clearing_row(keep_recent: int, seed: int) -> dict[str, Any]:
    """Run one renaming task with clearing alone. Every fifth generated task is one."""
    task = scenario(5 * seed + 3)
    settings = replace(CLEARS_ALONE, keep_recent=keep_recent)
    run = play(task, settings)
    return {
        "keep_recent": keep_recent,
        "seed": seed,
        "turns": run.turns,
        "tokens": run.sent,
        "dollars": round(run.dollars(PRICED_AS), 4),
        "again": run.repeated,
        "done": run.checks["done"],
    }


SMALL_WINDOW = 20_000
"""The generated tasks fit into 32,000 tokens, and lesson 03's layer would never compact
there."""
MOMENTS_TRIED = (None, *range(-36, 2))


def moment_row(from_report: int | None, seed: int) -> dict[str, Any]:
    """Compact once by hand, so many turns after the one that writes the report.

    None: run lesson 03's layer, and note its last compaction before the report. Seed 0
    is the review. Return nothing if the task has no such turn or compaction.
    """
    task, window = (generated(seed), SMALL_WINDOW) if seed else (REVIEW, WINDOW)
    auto = replace(EVIDENCE, manual=False).scaled(window)
    run = play(task, auto if from_report is None else replace(auto, auto=False))
    written = report_turn(run)
    if from_report is None:
        turn = max((n - 1 for n in asked_at(run.session) if n <= written), default=0)
        if not turn:
            return {}
    else:
        turn = written + from_report
        if not 2 <= turn <= run.turns or (seed and from_report < -14):
            return {}
        run = play(task, run.settings, compact_after=turn)
    return {
        "by": "auto" if from_report is None else "person",
        "from_report": turn - written,
        "seed": seed,
        "turn": turn,
        "described": run.checks["described"],
        "files": run.checks["files"],
        "facts": run.checks["facts"],
        "rule kept": run.checks["rule kept"],
    }


def report_turn(run: Run) -> int:
    """Return the number of the first turn that writes a file."""
    replies = [m for m in run.session.history if m["role"] == "assistant"]
    calls = [[call["name"] for call in of_type(reply, "tool_use")] for reply in replies]
    return 1 + ["write_file" in names for names in calls].index(True)


SHARES = (0.5, 0.75, 0.9, 1.0)
FAILS = 10


def failing_row(case: tuple[str, float], seed: int) -> dict[str, Any]:
    """Run the report under a preset while a share of its summaries is answered by a
    tool call."""
    preset, share = case
    fault = Fault("tool_use", rate=share, seed=seed, only="summary")
    run = play(
        REVIEW, presets.ALL[preset].scaled(WINDOW), faults=(fault,), max_turns=LONGEST
    )
    names = ("described", "facts", "done")
    checks = {name: run.checks[name] for name in names}
    return {
        "preset": preset,
        "share": share,
        "seed": seed,
        "turns": run.turns,
        **checks,
    }


PRICES = (MODEL, "claude-sonnet-5-5", PRICED_AS, "claude-opus-4-8", "claude-haiku-4-5")


def bench_row(preset: str, seed: int) -> dict[str, Any]:
    """Run the report under a preset. There is one seed, and it changes nothing."""
    run = play(REVIEW, PRESETS[preset].scaled(WINDOW))
    checks = {
        name: run.checks[name] for name in ("files", "described", "facts", "rule kept")
    }
    prices = {model: round(run.dollars(model), 6) for model in PRICES}
    return {"preset": preset, "seed": seed, **checks, **prices}


HUMP_KEEPS = (0, 1, 2, 3, 4, 5, 6, 8, 12, 20)


def hump_row(keep_recent: int, seed: int) -> dict[str, Any]:
    """Run one task that reads and reports, with plain `Settings()` but for this
    number."""
    run = play(
        generated(seed), replace(Settings(), keep_recent=keep_recent).scaled(WINDOW)
    )
    done = run.checks["done"]
    spent = round(run.dollars(MODEL), 4)
    kept = {name: run.checks[name] for name in ("rule kept", "facts", "described")}
    numbers = {"turns": run.turns, "dollars": spent, "done": done, **kept}
    return {"keep_recent": keep_recent, "seed": seed, **numbers}


def field_row(engine: str, number: int) -> dict[str, Any]:
    """Run the judge's task with this number with an engine or a preset."""
    return work((engine, JUDGED[number]))


def narrow_row(engine: str, number: int) -> dict[str, Any]:
    """Run the judge's task with this number in a window that forces many
    compactions."""
    return work((engine, JUDGED[number]), window=12_000)


KINDS_CASES = [
    *product(kinds.LAYERS, kinds.LENGTHS, kinds.KEEPS, kinds.MODELS, range(1, 9)),
    *product(
        ["words"], [max(kinds.LENGTHS)], [max(kinds.KEEPS)], ["heeds"], range(1, 9)
    ),
]
"""The words, alone with DEFAULT's room for them, stand in one row of the lesson."""


def kinds_row(case: tuple[str, int, int, str, int], seed: int) -> dict[str, Any]:
    """Play one of lesson 10's tasks, and add up each kind's marks."""
    layer, tokens, keep_recent, model, generation = case
    on = what_survives.ON[layer]
    run = kinds.play_kinds(
        seed, generation, tokens, model, keep_recent=keep_recent, **on
    )
    found = kinds.marks(run, seed)
    sums = {
        kind: sum(2**n * mark for n, mark in enumerate(found[kind].values()))
        for kind in kinds.KINDS
    }
    names = {
        "layer": layer,
        "tokens": tokens,
        "keep_recent": keep_recent,
        "model": model,
    }
    return {**names, "generation": generation, "seed": seed, **sums}


MECHANISM_CASES = [
    (name, engine) for name in mechanisms.NEEDED for engine in (mechanisms.BESIDE, name)
]


def rows(
    make: Callable[..., dict[str, Any]], policies: Iterable[Any], seeds: Iterable[int]
) -> list[dict[str, Any]]:
    """Run every policy on every seed, in as many processes as there are cores."""
    pairs = list(product(policies, seeds))
    with ProcessPoolExecutor() as pool:
        runs = pool.map(make, *zip(*pairs, strict=True))
        return list(filter(None, track(runs, make.__name__, total=len(pairs))))


TABLES: dict[Path, tuple[Callable[..., dict[str, Any]], list[Any], int]] = {
    SWEEPS: (row, [*POLICIES], SEEDS),
    CLEARING: (clearing_row, [*KEEPS], RENAMINGS),
    MOMENTS: (moment_row, [*MOMENTS_TRIED], SEEDS),
    SURVIVAL: (survival_row, [*TELLINGS], SEEDS),
    TRADES: (row, [*TRADED], SEEDS),
    FAILING: (failing_row, [*product(presets.ALL, SHARES)], FAILS),
    PARTS: (parts_row, [*WITHOUT], SEEDS),
    BENCH: (bench_row, [*PRESETS], 1),
    ROWS: (scorecard_row, [*STAGES], 1),
    HUMP: (hump_row, [*HUMP_KEEPS], RENAMINGS),
    FIELD: (field_row, [*OTHERS], len(JUDGED)),
    KINDS_KEPT: (kinds_row, KINDS_CASES, SEEDS),
    mechanisms.MECHANISMS: (mechanisms.row, MECHANISM_CASES, mechanisms.SEEDS),
    NARROW: (narrow_row, ["default", "cleared_by_tokens", "spilled"], len(JUDGED)),
}
"""What makes a row of each table, the policies it is given, and the number of seeds."""


def main(seeds: int) -> None:
    for path, (make, policies, most) in TABLES.items():
        table = DataFrame(rows(make, policies, range(min(seeds, most))))
        if seeds == SEEDS:
            table.to_csv(path, index=False, lineterminator="\n")
        numbers = table.drop(columns="seed").groupby(table.columns[0], sort=False)
        means = numbers.mean(numeric_only=True)
        print(means.round(3).to_string())
