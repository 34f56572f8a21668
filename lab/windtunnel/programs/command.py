"""The judge's `--program`: run a program on each seed, and print what it decided and
what it broke."""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from agentlib.settings import MODEL
from windtunnel.programs.program import (
    Program,
    from_command,
    from_known,
    known,
    variables,
)
from windtunnel.programs.run import TIME_LIMIT, Run, Step, check, run
from windtunnel.programs.task import Result, task
from windtunnel.programs.verdict import Reading

NOT_JUDGED = 3
"""The exit code if something of ours stood in the way, and nothing else is broken."""
_NOTHING = Result(False, 0, 0, 0, 0, False, ())
MODEL_NOTE = (
    "One scripted model answered. What a program decides holds for any model; what is "
    "kept in the end depends on this one."
)


def chosen(name: str, again: str, env: Sequence[str], home: Path | None) -> Program:
    """Return the program of the options.

    Raises ValueError if they don't fit together.
    """
    if name not in known():
        return from_command(name, again, env, home)
    program = from_known(name)
    if again or home:
        option = "--again" if again else "--home"
        raise ValueError(
            f"{option} is for a command of your own; {name} is known with its own"
        )
    return replace(program, env={**program.env, **variables(env)})


def judge_program(
    program: Program,
    window: int,
    seeds: Sequence[int],
    *,
    is_json: bool,
    baseline: Path | None = None,
    **options: Any,
) -> int:
    """Judge a program in a terminal, and return its exit code: 1 if something is broken,
    3 if nothing is and a run can't be judged.

    `baseline`: an earlier verdict. Then 1 means that a seed has a finding that it hadn't,
    or passes no more.
    """
    before = read_verdict(baseline) if baseline else None
    rows: list[dict[str, Any]] = []
    try:
        for row in judged(program, window, seeds, **options):
            rows.append(row)
            if not is_json:
                click.echo(text(row))
    finally:
        if is_json:
            click.echo(as_json(rows))
    if not is_json:
        click.echo(MODEL_NOTE)
        if program.about:
            click.echo(f"{program.name}: {' '.join(program.about.split())}")
    if before is not None:
        worse = [told for row in rows for told in became_worse(row, before)]
        if not is_json:
            click.echo("\n".join(worse) or "Nothing is worse than in the baseline.")
        if worse:
            return 1
        rows = [row for row in rows if row["seed"] not in before]
    verdicts = {row["verdict"] for row in rows}
    return 1 if "broken" in verdicts else NOT_JUDGED if "not judged" in verdicts else 0


def as_json(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows as a verdict that `read_verdict` reads."""
    return json.dumps({"note": MODEL_NOTE, "rows": rows}, indent=1)


def read_verdict(path: Path) -> dict[int, tuple[bool, set[str]]]:
    """Read of an earlier verdict for each seed whether it passed, and the kinds of its
    findings. Raises ValueError if the file is no verdict."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        return {
            row["seed"]: (
                row["verdict"] == "passes",
                {each["kind"] for each in row["findings"]},
            )
            for row in rows
        }
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"--baseline {path} is no verdict; --json prints one, and --keep writes one"
        ) from None


def became_worse(
    row: dict[str, Any], before: Mapping[int, tuple[bool, set[str]]]
) -> Iterator[str]:
    """Say what is worse than before: a new kind of finding, or a seed that passed. Sizes
    aren't."""
    if row["seed"] not in before:
        return
    passed, known = before[row["seed"]]
    for kind in sorted({each["kind"] for each in row["findings"]} - known):
        yield f"WORSE: seed {row['seed']} has a finding that is new: {kind.upper()}."
    if passed and row["verdict"] != "passes":
        yield f"WORSE: seed {row['seed']} passed before."


def judged(
    program: Program,
    window: int,
    seeds: Sequence[int],
    *,
    model: str,
    keep: Path | None = None,
    time_limit: float = TIME_LIMIT,
) -> Iterator[dict[str, Any]]:
    """Run a program on the task of each seed and yield a row for each.

    `model`: the one whose prices count. `keep`: a folder for the verdict so far, and,
    below the seed's number, for the requests with their bodies and the output. What
    goes wrong in one run ends that one, and its row says so.
    """
    check(program, window)
    rows: list[dict[str, Any]] = []
    for number, seed in enumerate(seeds, 1):
        at = f"{program.name}, seed {seed} ({number} of {len(seeds)})"
        click.echo(f"{at}: it begins", err=True)
        try:
            with _progress(at) as tell:
                ran = run(
                    program,
                    task(seed, window),
                    window,
                    time_limit=time_limit,
                    tell=tell,
                )
            row = Reading(ran).row(model)
            if keep:
                _keep(ran, row, keep / str(seed))
        except Exception as error:
            row = failed(program, seed, window, f"{type(error).__name__}: {error}")
        rows.append(row)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            part = keep / "verdict.json.part"
            part.write_text(as_json(rows), encoding="utf-8")
            part.replace(keep / "verdict.json")
        yield row


@contextmanager
def _progress(at: str) -> Generator[Callable[[int], object]]:
    """Show in a terminal how many requests there were."""
    with Console(stderr=True).status(at) as status:
        yield lambda count: status.update(f"{at}: request {count}")


def failed(program: Program, seed: int, window: int, why: str) -> dict[str, Any]:
    """Return the row of a run that our own judge couldn't finish."""
    steps = (Step("", None, 0.0, "", f"our judge failed: {why[:300]}", 1, 0, _NOTHING),)
    empty = Run(program, task(seed, window), window, steps, (), "")
    return Reading(empty).row(MODEL)


def _keep(ran: Run, row: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "requests.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(record.line() for record in ran.records)
    output = "\n".join(step.output for step in ran.steps)
    (folder / "output.txt").write_text(output, encoding="utf-8", errors="replace")
    (folder / "verdict.json").write_text(json.dumps(row, indent=1), encoding="utf-8")


def text(row: dict[str, Any]) -> str:
    """Write a row for a reader."""
    name = f"{row['program']} {row['version']}".strip()
    lines = [
        f"{name}, seed {row['seed']}, window {row['window']:,}: {row['requests']} "
        f"requests, ${row['dollars']:.2f}, {row['read']:.0%} of the prompts read from "
        f"the cache, {row['seconds']:.0f} s"
    ]
    for each in row["compactions"]:
        lines.append(f"  {_told(each)}")
    for each in row["findings"]:
        lines.append(f"  {each['kind'].upper()}: {each['text']}")
    if row["unconfined"]:
        lines.append(f"  Not confined: {row['unconfined']}.")
    # A program may have sent half an emoji, which no terminal can print.
    return "\n".join(lines).encode("utf-8", "replace").decode("utf-8")


def _told(compaction: dict[str, Any]) -> str:
    sizes = f"{compaction['before']:,} -> {compaction['after']:,} tokens"
    at = f"request {compaction['request']}: {sizes} by {compaction['by']}"
    parts = [at]
    if compaction["by"] == "summary":
        if compaction["shown"] is not None:
            parts.append(f"the summariser saw {compaction['shown']:.0%} of what went")
        parts.append(f"{compaction['summary_tokens']:,} tokens of summary")
        parts.append(f"put back as {compaction['put_back']}")
    parts.append(f"the person's words: {compaction['words']}")
    return ", ".join(parts)
