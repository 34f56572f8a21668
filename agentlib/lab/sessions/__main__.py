"""The report on session files in a terminal: `python -m agentlib.lab.sessions`."""

import ast
import json
import multiprocessing
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from agentlib import presets
from agentlib.lab.sessions import PROJECTS, files, load
from agentlib.lab.sessions.overview import overview
from agentlib.lab.sessions.report import (
    as_page,
    as_text,
    of_overview,
    of_session,
    of_what_if,
    shareable,
    turn_chart,
)
from agentlib.lab.sessions.what_if import choices, what_if
from agentlib.settings import Settings

NothingRead = click.ClickException
"""There is no session to report on. The exit code is 1; a wrong argument gives 2."""
STOPPED = 130
_ALONE = ("projects", "days", "sessions")
"""Tables that say nothing about a single session."""
_NO_PRICE = "no session has a model with a known price; --price-as MODEL takes that of another"


def main() -> None:
    """Run the command and exit with its code."""
    try:
        command.main(prog_name="agentlib-sessions", standalone_mode=False)
    except click.Abort:
        for worker in multiprocessing.active_children():
            worker.terminate()
        sys.exit(STOPPED)
    except click.ClickException as error:  # NothingRead, or UsageError with exit code 2
        error.show()
        sys.exit(error.exit_code)


_FILE, _COUNT = click.Path(path_type=Path, dir_okay=False), click.IntRange(0)


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--session", default="", help="One session only, by the beginning of its id.")
@click.option("--what-if", "is_asked", is_flag=True, help="Try other settings on the sessions.")
@click.option("--preset", type=click.Choice([*presets.ALL]), help="Where your settings start.")
@click.option("--threshold", type=_COUNT, help="Yours: compact above so many tokens.")
@click.option("--keep-recent", type=_COUNT, help="Yours: results that stay whole.")
@click.option("--set", "more", multiple=True, metavar="NAME=VALUE", help="Yours: any setting.")
@click.option("--window", type=_COUNT, default=0, help="Tokens of the window.")
@click.option("--price-as", default="", metavar="MODEL", help="Whose prices --what-if takes.")
@click.option("--html", type=_FILE, help="Write a page.")
@click.option("--json", "is_json", is_flag=True, help="Print whole tables as JSON.")
@click.option("--no-text", is_flag=True, help="Leave out every word and name of the sessions.")
@click.option("--jobs", type=_COUNT, default=0, help="Processes at once. Default: one a core.")
def command(paths: tuple[Path, ...], session: str, html: Path | None, **given: Any) -> None:
    """Say what filled the context window of your sessions, what they cost, and what other settings
    would have cost.

    PATHS are session files of Claude Code and other agents, or folders with such files. Without any
    it takes ~/.claude/projects. Files are only read, and nothing is sent anywhere.

    A single session, as one file or by --session, is told in detail: its pauses, silent clearings
    and compactions, and what each compaction lost that was asked for again. Any setting of yours
    turns --what-if on.

    \b
    Examples:
      agentlib-sessions
      agentlib-sessions --what-if --html report.html --no-text
      agentlib-sessions ~/.claude/projects/-home-ada-shop --threshold 120000
      agentlib-sessions --session 5f1c

    Exit codes: 0 done, 1 no session could be read, 2 a wrong argument, 130 Ctrl-C.
    """
    found, own = _found(paths, session), _own(given)
    alone, bar = found[1:] == [], partial(track, console=Console(stderr=True), transient=True)
    try:
        report = of_overview(overview(found, jobs=given["jobs"], track=bar))
    except ValueError as error:
        raise NothingRead(str(error)) from None
    if alone:
        report = {name: report[name] for name in report if name not in _ALONE}
        report |= of_session(load(found[0]))
    if own or given["is_asked"]:
        known: Any = {name: given[name] for name in ("window", "price_as", "jobs")}
        try:
            report |= of_what_if(what_if(found, choices(own), track=bar, **known))
        except ValueError:
            report["set this"] = [{"line": _NO_PRICE}]
    report = shareable(report, texts=not given["no_text"])
    if html:
        _replace(html, as_page(report, turn_chart(load(found[0])) if alone else None))
        click.echo(f"wrote {html}")
    elif given["is_json"]:
        click.echo(json.dumps(report, indent=1))
    else:
        Console().print(*as_text(report))


def _found(paths: Sequence[Path], session: str) -> list[Path]:
    """List the files to read."""
    if not paths:
        click.echo(f"No path was given, so this reads {PROJECTS}.", err=True)
    try:
        found = files(paths or [PROJECTS])
    except FileNotFoundError as error:
        raise NothingRead(str(error)) from None
    chosen = [path for path in found if path.stem.startswith(session)]
    if session and len(chosen) != 1:
        raise click.UsageError(f"{len(chosen)} sessions have an id that begins with {session}.")
    return chosen


def _own(given: dict[str, Any]) -> Settings | None:
    """Make the learner's own settings, if the arguments have any."""
    changes = {n: given[n] for n in ("threshold", "keep_recent") if given[n] is not None}
    for name, _, value in (each.partition("=") for each in given["more"]):
        try:
            changes[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            changes[name] = value
    if not changes and not given["preset"]:
        return None
    try:
        base = presets.ALL[given["preset"] or "default"]
        return Settings.from_env(base, environ={}, **changes)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _replace(file: Path, text: str) -> None:
    """Write a file whole, or leave the old one as it is."""
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
