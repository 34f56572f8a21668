"""The judge in a terminal: `agentlib-judge mine:compact`, or `python -m windtunnel`."""

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from agentlib.api.spending import price_list
from agentlib.cli.arguments import Command
from agentlib.cli.program import engine_named, whose
from agentlib.settings import MODEL
from session_report.terminal import run
from windtunnel.judge import OTHERS, SEEDS, WINDOW, judge
from windtunnel.judge.shown import page, text
from windtunnel.programs.command import chosen, judge_program

BEATEN = 1
WRONG = 2
"""Exit codes."""
_FILE = click.Path(path_type=Path, dir_okay=False)


def numbers(context: Any, option: Any, value: str) -> list[int]:
    """Read numbers and ranges of them: 100-119,7."""
    with suppress(ValueError):
        ends = [[int(end) for end in part.split("-")] for part in value.split(",")]
        if seeds := [seed for part in ends for seed in range(part[0], part[-1] + 1)]:
            return seeds
    raise click.BadParameter(f"{value!r} is no list such as 100-119,7")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    run(command, argv, "windtunnel", "agentlib-judge", WRONG)


@click.command(cls=Command)
@click.argument("engine", default="")
@click.option(
    "--program",
    metavar="NAME|COMMAND",
    default="",
    help="Judge a program instead, such as pi or 'myagent run {prompt}'.",
)
@click.option("--again", default="", help="Its command for a second prompt.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set it for it.")
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Copy these files into its HOME.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep its requests and its output here.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Exit with 1 only if it is worse than in this verdict of --json or --keep.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(1),
    default=600.0,
    help="Its seconds a prompt.",
)
@click.option(
    "--at-least", default="", metavar="NAME|FILE", help="Exit with 1 if this beats it."
)
@click.option(
    "--seeds", callback=numbers, default=f"{SEEDS[0]}-{SEEDS[-1]}", help="Of the tasks."
)
@click.option("--session", "sessions", multiple=True, type=_FILE, help="Replay it too.")
@click.option("--price-as", type=click.Choice([*price_list()["models"]]), default=MODEL)
@click.option(
    "--window", type=click.IntRange(8_000), default=WINDOW, help="Its tokens."
)
@click.option("--html", type=_FILE, help="Write a page.")
@click.option("--json", "is_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--jobs", type=click.IntRange(0), default=0, help="Processes. Default: one a core."
)
def command(
    engine: str,
    program: str,
    again: str,
    env: Sequence[str],
    home: Path | None,
    keep: Path | None,
    baseline: Path | None,
    time_limit: float,
    at_least: str,
    html: Path | None,
    is_json: bool,
    **given: Any,
) -> int:
    """Judge an engine: MODULE:FUNCTION with the signature of
    `agentlib.pipeline.compact`. Or judge an agent's program, with --program.

    It tries random conversations, runs generated tasks with the offline model, and
    compares what they cost and what was kept with presets and with other systems'
    mechanisms.

    \b
    Examples:
      agentlib-judge mine:compact
      agentlib-judge mine:compact --at-least hermes --seeds 7001-7020
      agentlib-judge mine:compact --json > before.json
      agentlib-judge mine:compact --at-least before.json

    A program gets a task of three windows of text, and a server of its own. {url},
    {model}, {window} and {prompt} are filled in.

    \b
    Examples:
      agentlib-judge --program pi --window 100000 --seeds 1-5
      agentlib-judge --program 'myagent run {prompt}' \\
        --again 'myagent run -c {prompt}' --env ANTHROPIC_BASE_URL={url} --home config/

    Exit codes: 0 nothing is broken, and NAME or the verdict in FILE doesn't beat it, 1
    otherwise, 2 a wrong argument, 3 a program can't be judged, 130 Ctrl-C.
    """
    if program:
        if engine or at_least or html or given["sessions"]:
            raise click.UsageError(
                "--program goes with --again, --env, --home, --keep, --baseline, "
                "--window, --seeds, --price-as, --time-limit and --json alone"
            )
        return judge_program(
            chosen(program, again, env, home),
            given["window"],
            given["seeds"],
            model=given["price_as"],
            keep=keep,
            baseline=baseline,
            time_limit=time_limit,
            is_json=is_json,
        )
    if not engine:
        raise click.UsageError("name an engine as MODULE:FUNCTION, or a --program")
    least: Any = at_least
    if at_least and at_least not in OTHERS:
        try:
            least = json.loads(Path(at_least).read_text(encoding="utf-8"))["rows"]
        except (LookupError, TypeError):
            raise click.UsageError(
                f"{at_least} is no verdict; --json writes one"
            ) from None
    if engine not in OTHERS and not is_json:
        click.echo(f"{whose(engine, engine_named(engine))}.")
    others = [at_least] if at_least in OTHERS else []
    bar = partial(track, console=Console(stderr=True), transient=True)
    verdict = judge(
        engine, model=given.pop("price_as"), others=others, track=bar, **given
    )
    passes = verdict.passes(least)
    if html:
        html.write_text(page(verdict, passes), encoding="utf-8")
    if is_json:
        click.echo(json.dumps({**verdict.as_dict(), "passes": passes}, indent=1))
    else:
        click.echo(text(verdict, passes, least))
    return 0 if passes else BEATEN


if __name__ == "__main__":
    main()
