"""The report on session files in a terminal: `.venv/bin/agentlib-sessions`."""

import ast
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, track
from rich.text import Text

from agentlib import presets
from agentlib.cli.render import plain
from agentlib.settings import Settings
from agentlib.spending import price_list
from agentlib.transcripts import Session
from session_report import PROJECTS, files, load, report
from session_report.answer import answer
from session_report.overview import overview
from session_report.terminal import run
from session_report.what_if import LARGE, SMALL, choices, what_if

NOTHING_READ = 1
"""An exit code."""
_ALONE = ("projects", "days", "sessions")
"""Tables that say nothing about a single session."""
_NO_PRICE = (
    "no session has a model with a known price; --price-as MODEL takes that of another"
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    run(command, argv, "agentlib-sessions", NOTHING_READ)


_FILE, _COUNT = click.Path(path_type=Path, dir_okay=False), click.IntRange(0)
_MODEL = click.Choice([*price_list()["models"]])


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--session", default="", help="One session only, by the beginning of its id."
)
@click.option(
    "--what-if", "is_asked", is_flag=True, help="Try other settings on the sessions."
)
@click.option(
    "--preset", type=click.Choice([*presets.ALL]), help="Where your settings start."
)
@click.option(
    "--threshold", type=click.IntRange(1), help="Yours: compact above so many tokens."
)
@click.option("--keep-recent", type=_COUNT, help="Yours: results that stay whole.")
@click.option(
    "--set", "more", multiple=True, metavar="NAME=VALUE", help="Yours: any setting."
)
@click.option("--window", type=click.IntRange(50_000), help="Tokens of the window.")
@click.option(
    "--price-as", type=_MODEL, metavar="MODEL", help="Whose prices --what-if takes."
)
@click.option("--html", type=_FILE, help="Write a page.")
@click.option("--json", "is_json", is_flag=True, help="Print whole tables as JSON.")
@click.option("--tables", is_flag=True, help="Print the tables too.")
@click.option(
    "--no-text", is_flag=True, help="Leave out every word and name of the sessions."
)
@click.option(
    "--jobs", type=_COUNT, default=0, help="Processes at once. Default: one a core."
)
def command(
    paths: tuple[Path, ...], session: str, html: Path | None, **given: Any
) -> None:
    """Say what filled the context window of your sessions, what they cost, and what
    other settings would have cost.

    PATHS are session files of Claude Code and other agents, or folders with such files.
    Without any it takes ~/.claude/projects. Files are only read, and nothing is sent
    anywhere.

    The answer comes first, in ten lines at most. --tables prints what it was made from.
    Of a single session, as one file or by --session, --tables and --html also have each
    miss of the cache, silent clearing and compaction, and what was lost and asked for
    again. Any setting of yours turns --what-if on.

    \b
    Examples:
      agentlib-sessions
      agentlib-sessions --what-if --html report.html --no-text
      agentlib-sessions ~/.claude/projects/-home-ada-shop --threshold 120000
      agentlib-sessions --session 5f1c

    Exit codes: 0 done, 1 no session could be read, 2 a wrong argument, 130 Ctrl-C.
    """
    found, own = _found(paths, session), _own(given)
    alone = _loaded(found[0]) if len(found) == 1 else None
    tables = report.of_overview(
        overview(found, session=alone, jobs=given["jobs"], track=_bar)
    )
    title = list[str]()
    if alone:
        if not given["no_text"]:
            days = [row["day"] for row in tables["days"][:1]]
            names = [row["project"] for row in tables["projects"][:1]]
            title = [plain(" · ".join([found[0].stem, *days, *names]))]
        tables |= report.of_session(alone)
    if own or given["is_asked"]:
        known: Any = {name: given[name] for name in ("window", "price_as", "jobs")}
        try:
            tables |= report.of_what_if(
                what_if(found, choices(own), track=_bar, **known)
            )
        except ValueError:
            tables["set this"] = [{"line": _NO_PRICE}]
    tables = report.shareable(tables, texts=not given["no_text"])
    if html:
        _replace(html, report.as_page(tables, *title))
        click.echo(f"wrote {html}", err=given["is_json"])
    if given["is_json"]:
        click.echo(json.dumps(tables, indent=1))
    elif given["tables"] or not html:
        console = Console()
        console.print(*(Text(f"- {line}") for line in answer(tables)), sep="\n")
        if given["tables"]:
            console.print(*report.as_text(tables, console.width))
        else:
            console.print(
                "--tables shows the tables, --html writes a page.", style="dim"
            )


def _found(paths: Sequence[Path], session: str) -> list[Path]:
    """List the files to read. Raises FileNotFoundError without Claude Code's own
    folder."""
    if not paths:
        click.echo(f"No path was given, so this reads {PROJECTS}.", err=True)
    found = [
        path for path in files(paths or [PROJECTS]) if path.stem.startswith(session)
    ]
    if session and len(found) != 1:
        raise click.UsageError(
            f"{len(found)} sessions have an id that begins with {session}."
        )
    return found


def _bar(done: Iterable[Any], *, total: int) -> Iterable[Any]:
    """Show progress. For a single file a moving bar says that its end is not in
    sight."""
    console = Console(stderr=True)
    return track(
        done, total=total if total > 1 else None, console=console, transient=True
    )


def _loaded(path: Path) -> Session:
    """Load one session, which may be large, and show how far that is."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading", total=path.stat().st_size)
        return load(path, lambda size: bar.advance(task, size))


def _own(given: dict[str, Any]) -> Settings | None:
    """Make the learner's own settings, if the arguments have any."""
    changes = {
        n: given[n] for n in ("threshold", "keep_recent") if given[n] is not None
    }
    for name, _, value in (each.partition("=") for each in given["more"]):
        changes[name] = value
        with suppress(ValueError, SyntaxError):
            changes[name] = ast.literal_eval(value)
    if not changes and not given["preset"]:
        return None
    window = given["window"] or (SMALL if (given["threshold"] or 0) <= SMALL else LARGE)
    base = presets.ALL[given["preset"] or "default"]
    if unknown := changes.keys() - vars(base):
        raise click.UsageError(f"there is no setting {', '.join(sorted(unknown))}")
    try:
        return Settings.from_env(
            base, environ={}, **{"context_window": window, **changes}
        )
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _replace(file: Path, text: str) -> None:
    """Write a file whole, or leave the old one as it is. A device or a pipe is written
    to."""
    if file.exists() and not file.is_file():
        file.write_text(text, encoding="utf-8")
        return
    file = file.resolve()  # a link stays one
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
