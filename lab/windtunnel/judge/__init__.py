"""Judge an engine: does it keep the protocol, does the agent still do its work, and at
what cost?

`judge(engine)` answers in about a minute, and so does
`agentlib-judge mine:compact`. The work is done by the offline model, whose habits are no language
model's. So a verdict compares mechanisms, and says nothing about how well a model
summarises.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentlib import pipeline, presets
from agentlib.cli.program import engine_named
from agentlib.pipeline import ContextEngine
from agentlib.settings import MODEL, Settings
from session_report import load, policies
from session_report.policies import KEEPS_ALL
from windtunnel import engines
from windtunnel.judge.protocol import CASES, SECONDS, broken, guarded
from windtunnel.judge.spreads import BASE, Spread, beats, compared, front, spread
from windtunnel.runner import outcomes, play
from windtunnel.tasks.generated import FIELD, generated

if TYPE_CHECKING:
    from pandas import DataFrame

    from session_report.overview import Track
    from session_report.style import Chart

Row = dict[str, Any]
WINDOW = 16_000
LONGEST = 60
"""Tokens of the window, so that every task needs several compactions, and requests a
prompt."""
SEEDS = range(100, 120)
"""Tasks that no number of the course was chosen on."""
WHOLE = "nothing forgotten"
NAMED: dict[str, tuple[Settings, ContextEngine]] = {
    WHOLE: (KEEPS_ALL, pipeline.compact),
    **{name: (preset, pipeline.compact) for name, preset in presets.ALL.items()},
    BASE: (replace(presets.DEFAULT, words_tokens=0), pipeline.compact),
    **{name: (presets.DEFAULT, engine) for name, engine in engines.ALL.items()},
}
OTHERS = (*NAMED,)
"""What stands beside a judged engine. On seeds of your own, the presets alone: the rest
would take longer than a minute."""
MINE = "yours"
TITLE = "Left is cheaper, up is better kept; nobody beats the grey line"


def engine_of(name: str | ContextEngine) -> tuple[Settings, ContextEngine]:
    """Return settings and engine by name.

    The name is a preset, one of `windtunnel.engines`, or `module:function`. Raises
    ValueError if it leads to no function.
    """
    if not isinstance(name, str):
        return presets.DEFAULT, name
    if name in NAMED:
        return NAMED[name]
    return presets.DEFAULT, engine_named(name)


def work(
    case: tuple[Any, int],
    model: str = MODEL,
    window: int = WINDOW,
    seconds: float = SECONDS,
) -> Row:
    """Run a task, given as (engine, seed), and return what came of it.

    `facts` and `files` are shares of what was to be kept and described, and `kept` is
    the mean of these two and the rule. Raises PartFailed if the engine is broken.
    """
    (settings, engine) = engine_of(case[0])
    task = generated(case[1])
    settings = settings.scaled(window) if settings.enabled else settings
    run = play(task, settings, engine=guarded(engine, seconds), max_turns=LONGEST)
    rule = run.checks["rule kept"]
    checks = run.checks
    facts = checks["facts"] / len(task.facts)
    files = checks["described"] / checks["files"]
    return {
        "engine": case[0] if isinstance(case[0], str) else MINE,
        "seed": case[1],
        "dollars": round(run.dollars(model), 5),
        "kept": round((rule + facts + files) / 3, 4),
        "rule": int(rule),
        "facts": round(facts, 4),
        "files": round(files, 4),
        "done": int(checks["done"]),
        "again": run.repeated,
        "compactions": outcomes(run.session).total(),
        "ended": run.ended,
    }


def stored() -> list[Row]:
    """Return the rows of presets and engines on the tasks of `SEEDS`. `make sweeps`
    makes them."""
    from pandas import read_csv

    rows: Any = read_csv(FIELD, keep_default_na=False).to_dict("records")
    return rows


@dataclass(kw_only=True)
class Verdict:
    """What the judge found. `standing` is the table, `picture()` the field with a dot
    for yours."""

    name: str
    protocol: Row
    """The first broken case: `what`, `seed` and `case`; empty if none is broken."""
    faults: dict[str, str]
    """What broke or ended a task or a replay, by its seed or file."""
    rows: list[Row]
    """A row for each task that ran to its end."""
    others: list[Row]
    """The same of presets and engines."""
    needs: list[Row] = field(default_factory=list[Row])
    """For each recorded session the tokens, dollars, and need in 100 turns."""
    seconds: float = 0.0

    @cached_property
    def spreads(self) -> dict[str, Spread]:
        """The mean of each measure over the tasks, by engine, with its interval."""
        whole = {
            row["seed"]: row["dollars"] for row in self.others if row["engine"] == WHOLE
        }
        groups: dict[str, list[Row]] = {self.name: []}
        for row in [*self.rows, *self.others]:
            more = {
                "cost": 100 * row["dollars"] / whole[row["seed"]],
                "kept": 100 * row["kept"],
            }
            groups.setdefault(row["engine"], []).append({**row, **more})
        return {name: spread(rows) for name, rows in groups.items() if rows}

    def passes(self, least: str | Sequence[Row] = "") -> bool:
        """Return whether nothing is broken, and `least` doesn't beat it.

        `least`: the name of a preset or an engine, or the rows of an earlier verdict.
        Raises ValueError if that is on other tasks.
        """
        if self.protocol or self.faults:
            return False
        if not least:
            return True
        name, rows = (
            (least, list[Row]()) if isinstance(least, str) else ("least", least)
        )
        if rows and {row["seed"] for row in rows} != {row["seed"] for row in self.rows}:
            raise ValueError(
                "the earlier verdict is on other tasks; give the same seeds"
            )
        others = [*self.others, *({**row, "engine": name} for row in rows)]
        spreads = replace(self, others=others).spreads
        return not beats(spreads[name], spreads[self.name])

    @cached_property
    def standing(self) -> "DataFrame":
        """A row for each engine: its measures, and how it compares with yours."""
        from pandas import DataFrame

        best = front(self.spreads)
        mine = self.spreads.get(self.name)
        rows = {
            name: {
                **each.means,
                "cost from": each.cost[1],
                "cost to": each.cost[2],
                "kept from": each.kept[1],
                "kept to": each.kept[2],
                "front": name in best,
                "yours is": compared(mine, each) if mine and name != self.name else "",
            }
            for name, each in self.spreads.items()
        }
        return DataFrame.from_dict(rows, orient="index").rename_axis("engine")

    def picture(self, title: str = "", trail: Sequence[str] = ()) -> "Chart":
        """Draw the field: cost against what was kept, a dot with its spread for each
        engine.

        `trail`: names of others from which a line leads to yours.
        """
        from windtunnel.field import field as drawn

        dots = {name: (each.cost, each.kept) for name, each in self.spreads.items()}
        families = {"presets": [WHOLE, *presets.ALL, BASE]}
        families |= engines.FAMILIES
        mine = [*trail, self.name]
        return drawn(
            dots, families, front(self.spreads), mine=mine, title=title or TITLE
        )

    def as_dict(self) -> Row:
        """Return all of it as JSON takes it."""
        table: Any = self.standing.reset_index().to_dict("records")
        return {**asdict(replace(self, others=[])), "others": table}


def field_of(chosen: str = "default") -> Verdict:
    """Return the stored verdict on a preset or an engine: nothing is run.

    >>> field_of("hermes").passes("s24")
    True
    """
    rows = stored()
    own = [row for row in rows if row["engine"] == chosen]
    others = [row for row in rows if row["engine"] != chosen]
    return Verdict(name=chosen, protocol={}, faults={}, rows=own, others=others)


def judge(
    engine: str | ContextEngine,
    *,
    seeds: Sequence[int] = SEEDS,
    sessions: Sequence[Path | str] = (),
    others: Sequence[str] = (),
    model: str = MODEL,
    window: int = WINDOW,
    seconds: float = SECONDS,
    cases: int = CASES,
    jobs: int = 0,
    track: "Track | None" = None,
) -> Verdict:
    """Judge an engine, given as a function or as "module:function".

    `seeds`: of the tasks. Keep yours secret, and nobody can write an engine for them.
    `sessions`: recorded sessions to replay. `model`: whose prices to take. `window`:
    its tokens. On the usual tasks your engine is compared with all of `OTHERS`, whose
    results are stored. With other seeds, prices or windows it is compared with the
    presets and the `others` that you name. `seconds`: how long the engine may take for
    one request. `cases`: how many random conversations are tried. `jobs` and `track`
    are those of `session_report.overview.each`, but a function can't travel to other
    processes, so it runs in one. Raises ValueError if the name leads to no engine.
    """
    from session_report.overview import each, in_silence

    start = time.monotonic()
    track = track or in_silence
    function = engine_of(engine)[1]
    name = engine if isinstance(engine, str) else MINE
    run = partial(work, model=model, window=window)
    tasks = [(engine, seed) for seed in seeds]
    own = partial(run, seconds=seconds)
    rows, broke = each(
        own, tasks, jobs=jobs if isinstance(engine, str) else 1, track=track
    )
    faults = {f"task {seed}": words for (_, seed), words in broke.items()}
    faults |= {
        f"task {row['seed']}": row["ended"] for row in rows.values() if row["ended"]
    }
    beside = [row for row in stored() if row["seed"] in seeds]
    if (model, window) != (MODEL, WINDOW) or not {*seeds} <= {*SEEDS}:
        names = sorted({WHOLE, *presets.ALL, *others})
        pairs = [(other, seed) for other in names for seed in seeds]
        beside = [*each(run, pairs, jobs=jobs, track=track)[0].values()]
    needs, unread = replayed(function, sessions, model, seconds)
    return Verdict(
        name=name,
        protocol=broken(function, cases, seconds),
        faults=faults | unread,
        rows=[{**row, "engine": name} for row in rows.values()],
        others=[row for row in beside if row["engine"] != name],
        needs=needs,
        seconds=round(time.monotonic() - start, 1),
    )


def replayed(
    engine: ContextEngine, sessions: Sequence[Path | str], model: str, seconds: float
) -> tuple[list[Row], dict[str, str]]:
    """Replay recorded sessions with the engine, and with DEFAULT for comparison.

    Returns their rows, and why the replays of other files failed.
    """
    from session_report.overview import each

    engines = {MINE: guarded(engine, seconds), "default": pipeline.compact}

    def row(case: tuple[Path | str, str]) -> Row:
        table = policies.judge(
            [load(case[0])], presets.DEFAULT, model, engines[case[1]]
        )
        return {"session": str(case[0]), "engine": case[1], **table.iloc[0]}

    rows, unread = each(row, [*product(sessions, engines)], jobs=1)
    return [*rows.values()], {str(path): words for (path, _), words in unread.items()}
