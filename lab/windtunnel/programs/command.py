"""The judge's `--program`: run a program on each seed, and print what it decided and
what it broke."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from windtunnel.programs.program import (
    Program,
    from_command,
    from_known,
    known,
    variables,
)
from windtunnel.programs.run import TIME_LIMIT, Run, run
from windtunnel.programs.task import task
from windtunnel.programs.verdict import Reading

NOT_JUDGED = 3
"""The exit code if something of ours stood in the way, and nothing else is broken."""
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
    **options: Any,
) -> int:
    """Judge a program in a terminal, and return its exit code: 1 if something is broken,
    3 if nothing is and a run can't be judged."""
    rows: list[dict[str, Any]] = []
    for row in judged(program, window, seeds, **options):
        rows.append(row)
        if not is_json:
            click.echo(text(row))
    if is_json:
        click.echo(json.dumps({"note": MODEL_NOTE, "rows": rows}, indent=1))
    else:
        click.echo(MODEL_NOTE)
        if program.about:
            click.echo(f"{program.name}: {' '.join(program.about.split())}")
    verdicts = {row["verdict"] for row in rows}
    return 1 if "broken" in verdicts else NOT_JUDGED if "not judged" in verdicts else 0


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

    `model`: the one whose prices count. `keep`: a folder for the requests with their
    bodies, its output and a picture, below the seed's number.
    """
    for seed in seeds:
        ran = run(program, task(seed, window), window, time_limit=time_limit)
        row = Reading(ran).row(model)
        if keep:
            _keep(ran, row, keep / str(seed))
        yield row


def _keep(ran: Run, row: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "requests.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(record.line() for record in ran.records)
    output = "\n".join(step.output for step in ran.steps)
    (folder / "output.txt").write_text(output, encoding="utf-8")
    (folder / "verdict.json").write_text(json.dumps(row, indent=1), encoding="utf-8")
    if row["prompts"]:
        # matplotlib takes a third of the command's start.
        from windtunnel.programs.picture import prompts

        (folder / "prompts.png").write_bytes(prompts(row).png())


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
        hosts = f"; it asked for {', '.join(row['hosts'])}" if row["hosts"] else ""
        lines.append(f"  Not confined: {row['unconfined']}{hosts}.")
    return "\n".join(lines)


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
