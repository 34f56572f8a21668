"""The exercises of lesson 12."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, cast

from agentlib import presets
from agentlib.api.spending import Usage
from agentlib.estimation import prompt_tokens
from agentlib.pipeline import ContextEngine, compact
from agentlib.settings import Settings
from course.checking import Answer, drawn, exercise, require, shown
from windtunnel.programs.field import rows as stored_rows
from windtunnel.programs.task import Task, task
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import Scenario, report_checks
from windtunnel.tasks.varied import write_files

WINDOW = 100_000
"""Tokens of the field's window. Claude Code takes none that is smaller."""
SEED = 1
"""Of the task that the pictures show."""
Row = Mapping[str, Any]
"""A stored run of a program."""
Request = dict[str, Any]
"""A request as a lesson's function gets it: `number`, `kind` and `tokens`."""
LIKE = "pi"
NEAR = 5
"""Whose decisions exercise 12.3 imitates, and how many points of the window it may be
off."""


def compactions_in(requests: Sequence[Request]) -> list[tuple[int, int]]:
    """Find where a conversation went on with less, from its requests alone."""
    made: list[tuple[int, int]] = []
    before = 0
    asked = False
    for request in requests:
        if request["kind"] == "summary":
            asked = before > 0
        elif request["kind"] in ("main", "refused"):
            if asked:
                made.append((before, request["tokens"]))
            before = request["tokens"]
            asked = False
    return made


def _requests(*pairs: tuple[str, int], every: int = 1) -> list[Request]:
    """Make requests whose numbers are `every` apart."""
    return [
        {"number": place * every, "kind": kind, "tokens": tokens}
        for place, (kind, tokens) in enumerate(pairs, 1)
    ]


def _with_tuples(answer: Answer) -> Answer:
    """Let a learner's function return its pairs as lists, or yield them."""

    def function(requests: Sequence[Request]) -> Any:
        found = answer.function(requests)
        if not isinstance(found, list | tuple | Iterator):
            return found
        pairs = cast(Iterable[Any], found)
        return [
            tuple(cast(list[Any], each)) if isinstance(each, list) else each
            for each in pairs
        ]

    return Answer(function if callable(answer.value) else answer.value)


@exercise("12.1", "each compaction, from its requests alone.", finished=compactions_in)
def _found(answer: Answer) -> None:
    """Remember the size of the last prompt, and whether a summary was asked for since.

    A prompt is a request of the kind "main" or "refused". If a summary was asked for
    since the last one, this prompt is what the compaction left. Then forget the summary.
    """
    plain = ("main", 50), ("main", 80), ("summary", 82), ("main", 30), ("main", 40)
    cases = {
        "one summary": _requests(*plain),
        "nothing was summarised": _requests(("main", 10), ("main", 20)),
        "two requests for one summary": _requests(
            ("main", 80), ("summary", 60), ("summary", 25), ("main", 30)
        ),
        "the prompt was refused first": _requests(
            ("main", 70), ("refused", 110), ("summary", 60), ("main", 30)
        ),
        "a title is asked for beside it": _requests(
            ("main", 80), ("summary", 82), ("other", 5), ("main", 30)
        ),
        "the run ends with a summary": _requests(("main", 80), ("summary", 82)),
        "the prompt has grown all the same": _requests(
            ("main", 60), ("summary", 40), ("main", 65)
        ),
        "there are two": _requests(*plain, ("summary", 45), ("main", 20)),
        "a prompt becomes smaller without a summary": _requests(
            ("main", 80), ("main", 50)
        ),
        "a prompt became smaller before": _requests(
            ("main", 90), ("main", 40), ("summary", 42), ("main", 30)
        ),
        "two have the same sizes, and a third is larger": _requests(
            *(("main", 80), ("summary", 82), ("main", 30)) * 2,
            *(("main", 85), ("summary", 82), ("main", 35)),
        ),
        "the prompt after a summary was refused": _requests(
            ("main", 80), ("summary", 82), ("refused", 60), ("main", 30)
        ),
        "a refused prompt stands between two summaries": _requests(
            *(("main", 80), ("summary", 82), ("refused", 60)),
            *(("summary", 62), ("main", 30)),
        ),
        "a title is asked for between two requests for one summary": _requests(
            ("main", 80), ("summary", 60), ("other", 5), ("summary", 25), ("main", 30)
        ),
        "a summary before the first prompt is none": _requests(
            ("summary", 82), ("main", 30), ("main", 40)
        ),
        "the prompt is as large as before": _requests(
            ("main", 60), ("summary", 40), ("main", 60)
        ),
        "another request comes first": _requests(
            ("other", 5), ("summary", 9), ("main", 30)
        ),
        "there are no requests": [],
    }
    _with_tuples(answer).agree(
        _listed({case: (compactions_in(each), each) for case, each in cases.items()})
        | _listed(drawn(compactions_in, _some_requests))
    )


def _listed(cases: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Name each case with its requests, which are too long to be listed as arguments."""
    named = dict[str, Sequence[Any]]()
    for case, (right, requests) in cases.items():
        each = [f"{r['number']} {r['kind']} {r['tokens']:,}" for r in requests]
        given = f", with the requests [{', '.join(each)}]" if each else ""
        named[case + given] = right, requests
    return named


def _some_requests(random: Random) -> tuple[list[Request]]:
    kinds = random.choices(("main", "summary", "refused", "other"), (4, 3, 1, 1), k=9)
    pairs = [(kind, 1_000 + 7 * random.randint(0, 999)) for kind in kinds]
    return (_requests(*pairs, every=random.choice((1, 2))),)


def decisions_of(made: Mapping[str, Any], window: int) -> dict[str, Any]:
    """Say what a program decided, from one compaction's measurements."""
    shown = made["shown"]
    return {
        "when": round(made["before"] / window, 2),
        "left": round(made["after"] / window, 2),
        "asks": "live" if made["cached"] > 0.5 else "afresh",
        "shows": "whole" if shown is not None and shown > 0.9 else "cut",
        "words": "kept" if made["words_kept"] else "retold",
    }


@exercise("12.2", "five decisions, from five measurements.", finished=decisions_of)
def _decided(answer: Answer) -> None:
    """round(share, 2) gives two decimals. `cached` and `shown` are shares from 0 to 1.

    `shown` may be None. A comparison of None with a number raises TypeError.
    """

    def made(**more: Any) -> dict[str, Any]:
        plain: dict[str, Any] = {"before": 83_658, "after": 35_783, "cached": 0.0}
        return {**plain, "shown": 0.208, "words_kept": 0, **more}

    first = answer.call(made(), WINDOW)
    keys: list[str] = [*decisions_of(made(), WINDOW)]
    missing = [
        key for key in keys if not isinstance(first, Mapping) or key not in first
    ]
    require(
        not missing, f"return a dict with all five keys; {', '.join(missing)} missing."
    )
    cases = {
        "a summary asked for afresh, from results that were cut": made(),
        "on the live prompt, and whole": made(cached=0.88, shown=1.0),
        "a little of the prompt was cached": made(cached=0.2),
        "nearly whole": made(shown=0.927),
        "no result was there to show": made(shown=None),
        "one message of the person stays": made(words_kept=1),
        "two messages of the person stay": made(words_kept=2),
        "three messages of the person stay": made(words_kept=3),
        "exactly half was cached": made(cached=0.5),
        "a little more than half was cached": made(cached=0.51),
        "exactly 0.9 was shown": made(shown=0.9),
        "a little more than half was shown": made(shown=0.6),
        "nothing was shown": made(shown=0.0),
        "the prompt was larger than the window": made(before=105_000),
        "two decimals": made(before=83_432, after=35_234),
        "a smaller window": made(before=41_000, after=1_000),
    }
    answer.agree(
        {
            case: (decisions_of(each, window), each, window)
            for case, each in cases.items()
            for window in ([50_000] if case == "a smaller window" else [WINDOW])
        }
    )


OURS = Settings(micro="off", manual=False, context_window=WINDOW, summary_tokens=2_300)
"""Our agent with nothing but summaries, as long as those of the imitated program."""


AS_PI = {"threshold_pct": 84, "tail_tokens": 28_000}
"""Numbers that pass 12.3. They run where the learner's don't yet."""


def imitated(numbers: Mapping[str, int]) -> Settings:
    """Return our settings with a program's two numbers, in the field's window."""
    return replace(
        OURS,
        threshold_pct=numbers["threshold_pct"],
        tail_tokens=numbers["tail_tokens"],
    )


@exercise("12.3")
def _as_theirs(answer: Answer) -> str:
    """threshold_pct is when, in percent of the window: a little above what is measured.
    The prompt that would be over it is compacted first, so it is never sent.

    What is left is the system prompt, the summary and the tail. Move tail_tokens.
    """
    numbers = answer.numbers("threshold_pct", "tail_tokens")
    for name in numbers:
        value = answer.value[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        require(is_number, f"{name} is {shown(value)}, which is no number.")
    share = numbers["threshold_pct"]
    require(
        share >= 1,
        f"threshold_pct is in percent, so {share:g} is less than one; write {100 * share:g}.",
    )
    run = own_run(settings=imitated(numbers))
    when, left = means(compactions_in(requests_of(row_of(run))))
    theirs = means(pairs_of(of_seed(LIKE)))
    says = f"ours compacts at {when:.0f} % and leaves {left:.0f} %"
    wanted = f"{LIKE} at {theirs[0]:.0f} % and {theirs[1]:.0f} %"
    is_near = abs(when - theirs[0]) <= NEAR and abs(left - theirs[1]) <= NEAR
    require(is_near, f"{says}, {wanted}; be within {NEAR} points of both.")
    return f"{says}, {wanted}."


def complaints_in(requests: Sequence[Request]) -> list[tuple[int, str]]:
    """Name the requests at which a run went wrong, by the server's numbers."""
    found: list[tuple[int, str]] = []
    before = 0
    asked = False
    for request in requests:
        if request["kind"] == "summary":
            asked = before > 0
        elif request["kind"] in ("main", "refused"):
            if request["kind"] == "refused":
                found.append((request["number"], "refused"))
            elif asked and request["tokens"] > 2 / 3 * before:
                found.append((request["number"], "shallow"))
            before = request["tokens"]
            asked = False
    return found


@exercise("12.4", "each with the number of its request.", finished=complaints_in)
def _complains(answer: Answer) -> None:
    """Go through the requests as in 12.1, and note request["number"] of a prompt at once.

    A prompt after a summary is shallow if it has more than two thirds of the prompt
    before. One that was refused is "refused" and nothing else.
    """
    cases = {
        "nothing is wrong": _requests(("main", 90), ("summary", 92), ("main", 30)),
        "a prompt was refused": _requests(
            ("main", 90), ("refused", 110), ("summary", 80), ("main", 30)
        ),
        "three quarters are left": _requests(
            ("main", 80), ("summary", 82), ("main", 60)
        ),
        "exactly two thirds are left": _requests(
            ("main", 90), ("summary", 92), ("main", 60)
        ),
        "it grew": _requests(("main", 60), ("summary", 62), ("main", 66)),
        "it ends refused after a summary": _requests(
            ("main", 90), ("summary", 92), ("refused", 120)
        ),
        "a prompt stays large without a summary": _requests(
            ("main", 80), ("main", 79), ("main", 78)
        ),
        "another prompt follows a shallow one": _requests(
            ("main", 80), ("summary", 9), ("main", 60), ("main", 70)
        ),
        "a prompt follows a refused one": _requests(
            ("main", 90), ("summary", 9), ("refused", 120), ("main", 85)
        ),
        "a refused prompt is the one before": _requests(
            ("main", 60), ("refused", 110), ("summary", 9), ("main", 50)
        ),
        "a title is asked for in between": _requests(
            ("main", 80), ("other", 5), ("summary", 9), ("main", 60)
        ),
        "two of them": _requests(
            ("main", 80), ("summary", 9), ("main", 70), ("summary", 9), ("main", 60)
        ),
        "a title is asked for after the summary": _requests(
            ("main", 80), ("summary", 9), ("other", 5), ("main", 60)
        ),
        "a title is no prompt": _requests(
            ("main", 80), ("summary", 9), ("other", 70), ("main", 30)
        ),
        "a title is no summary": _requests(("main", 80), ("other", 5), ("main", 70)),
        "a prompt became smaller before": _requests(
            ("main", 90), ("main", 40), ("summary", 9), ("main", 30)
        ),
        "a little more than two thirds is left": _requests(
            ("main", 9_000), ("summary", 90), ("main", 6_010)
        ),
        "a shallow one, then a refused one": _requests(
            ("main", 80), ("summary", 9), ("main", 60), ("refused", 110)
        ),
        "two prompts were refused": _requests(
            ("main", 90), ("refused", 110), ("refused", 105), ("main", 30)
        ),
        "a shallow one follows a refused one": _requests(
            ("main", 90), ("refused", 110), ("summary", 9), ("main", 85)
        ),
        "a summary before the first prompt is none": _requests(
            ("summary", 9), ("main", 60), ("main", 70)
        ),
        "two prompts have the same size": _requests(
            *(("main", 80), ("main", 60), ("main", 80)),
            *(("summary", 9), ("main", 60)),
        ),
        "there are no requests": [],
        "the server's numbers have gaps": _requests(
            ("main", 90), ("refused", 110), ("summary", 9), ("main", 85), every=3
        ),
    }
    _with_tuples(answer).agree(
        _listed({case: (complaints_in(each), each) for case, each in cases.items()})
        | _listed(drawn(complaints_in, _some_requests))
    )


# -- the field -------------------------------------------------------------------------


@cache
def field() -> dict[str, list[Row]]:
    """Return the stored runs by program, five seeds each."""
    every: dict[str, list[Row]] = {}
    for row in stored_rows():
        every.setdefault(row["program"], []).append(row)
    return every


def of_seed(program: str, seed: int = SEED) -> Row:
    """Return one stored run. Raises ValueError if there is none."""
    for row in field().get(program, ()):
        if row["seed"] == seed:
            return row
    raise ValueError(
        f"no run of {program!r} with seed {seed}; there are {', '.join(field())}"
    )


def requests_of(row: Row) -> list[Request]:
    """List a run's requests: number, kind and size of each.

    `row` is a stored run, or one of `agentlib-judge --program … --json`.
    """
    columns = zip(row["numbers"], row["kinds"], row["prompts"], strict=True)
    return [
        {"number": number, "kind": kind, "tokens": tokens}
        for number, kind, tokens in columns
    ]


def pairs_of(row: Row) -> list[tuple[int, int]]:
    """Return a stored run's compactions, before and after."""
    return [(made["before"], made["after"]) for made in row["compactions"]]


def means(pairs: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the mean sizes before and after, in percent of the field's window."""
    if not pairs:
        return 0.0, 0.0
    before, after = (100 * mean(each[n] for each in pairs) / WINDOW for n in (0, 1))
    return before, after


# -- our own agent on the same task ----------------------------------------------------


def scenario(seed: int = SEED) -> Scenario:
    """Return the field's task for an agent of ours."""
    asked = task(seed, WINDOW)
    return Scenario(
        name=f"field {seed}",
        prompts=asked.prompts,
        make_workspace=partial(_fill, asked),
        checks=partial(_checks, asked),
    )


def _fill(asked: Task, folder: Path) -> None:
    write_files(folder, asked.files)


def _checks(asked: Task, folder: Path, history: Any = ()) -> dict[str, Any]:
    return report_checks(folder, history, below=asked.folders[1], first=asked.line)


_runs: dict[tuple[Any, Settings], Run] = {}


def own_run(engine: ContextEngine = compact, settings: Settings | None = None) -> Run:
    """Run the field's task with an engine, or with other settings."""
    chosen = settings or replace(presets.DEFAULT, context_window=WINDOW)
    if (engine, chosen) not in _runs:
        given: dict[str, Any] = {} if engine is compact else {"engine": engine}
        _runs[engine, chosen] = play(scenario(), chosen, **given)
    return _runs[engine, chosen]


def row_of(run: Run, program: str = "our agent") -> Row:
    """Lay a run of ours out as a stored one."""
    kinds: list[str] = []
    sizes: list[int] = []
    made: list[dict[str, Any]] = []
    compactions = list(run.session.compactions)
    before = 0
    for request in run.session.requests:
        asked: list[Usage] = []
        while compactions and compactions[0].seen <= request.seen:
            asked += compactions.pop(0).usage
        after = prompt_tokens(request.usage)
        kinds += [*["summary"] * len(asked), "main"]
        sizes += [*map(prompt_tokens, asked), after]
        if asked:
            ends = {"before": before, "after": after}
            made.append({"by": "summary", "request": len(kinds), **ends})
        before = after
    if run.refused_tokens:
        kinds.append("refused")
        sizes.append(run.refused_tokens)
    row = {"program": program, "version": "", "window": WINDOW, "seed": SEED}
    numbers = list(range(1, len(kinds) + 1))
    measured = {"kinds": kinds, "prompts": sizes, "numbers": numbers}
    return {**row, **measured, "compactions": made}
