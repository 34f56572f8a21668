"""The report on session files in a terminal: `.venv/bin/agentlib-sessions`."""

import ast
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import click
from rich.console import Console
from rich.progress import Progress, track

from agentlib import presets
from agentlib.api.spending import own_prices, price_list
from agentlib.cli.arguments import Command
from agentlib.cli.render import plain
from agentlib.settings import Settings
from agentlib.transcripts import Session
from session_report import load, report
from session_report.answer import answer
from session_report.formats import Source
from session_report.formats.claude_code import places
from session_report.overview import overview, what_is_there, zone_name
from session_report.reading import has_id, sources
from session_report.terminal import Whole, hanging, quiet_pipe, run
from session_report.what_if import LARGE, OTHERS, SMALL, choices, what_if

NOTHING_READ = 1
"""An exit code."""
_NAMED = 5
"""How many ids are named when none fits."""
_ALONE = ("projects", "days", "sessions")
"""Tables that say nothing about a single session."""
_NO_PRICE = (
    "no session has a model with a known price; --price-as MODEL takes that of another"
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    run(command, argv, "session_report", "agentlib-sessions", NOTHING_READ)


_FILE = click.Path(path_type=Path, dir_okay=False)
_COUNT = click.IntRange(0)
_MODEL = click.Choice([*price_list()["models"]])


@click.command(cls=Command)
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
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="MODEL=IN,OUT[,READ,WRITE]",
    help="A model's price in dollars per million tokens, in place of the list's.",
)
@click.option(
    "--timezone",
    default="",
    metavar="NAME",
    help="Whose days, such as UTC or Asia/Tokyo. Default: this machine's.",
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
    Without any it takes ~/.claude/projects, or the folder that CLAUDE_CONFIG_DIR names.
    Files are only read, and nothing is sent anywhere.

    The answer comes first, in ten points at most. --tables prints what it was made from.
    Of a single session, as one file or by --session, --tables and --html also have each
    miss of the cache, silent clearing and compaction, and what was lost and asked for
    again. Any setting of yours turns --what-if on.

    \b
    Examples:
      agentlib-sessions
      agentlib-sessions --what-if --html report.html --no-text
      agentlib-sessions ~/.claude/projects/-home-ada-shop --threshold 120000
      agentlib-sessions --session 5f1c
      agentlib-sessions --price my-model=1,5,0.1,1.25 --timezone UTC

    Exit codes: 0 done, 1 no session could be read, 2 a wrong argument, 130 Ctrl-C.
    """
    with quiet_pipe():
        _report(paths, session, html, given)


def _report(
    paths: tuple[Path, ...], session: str, html: Path | None, given: dict[str, Any]
) -> None:
    """Read, add up and show, as the arguments say."""
    own = _own(given)
    prices = _prices(given["prices"])
    zone = _zone(given["timezone"])
    found = _found(paths, session)
    alone = _loaded(found[0]) if len(found) == 1 else None
    options: Any = {"jobs": given["jobs"], "track": _bar, "prices": prices}
    tables = report.of_overview(
        overview(found, session=alone, timezone=zone, **options)
    )
    title = list[str]()
    if alone:
        if not given["no_text"]:
            days = [row["day"] for row in tables["days"][:1]]
            names = [row["project"] for row in tables["projects"][:1]]
            title = [plain(" · ".join([found[0].name, *days, *names]))]
        with own_prices(prices):
            tables |= report.of_session(alone)
    if own or given["is_asked"]:
        known: Any = {name: given[name] for name in ("window", "price_as")}
        try:
            tables |= report.of_what_if(
                what_if(found, choices(own), **known, **options)
            )
        except ValueError as error:
            line = str(error) if str(error).startswith(OTHERS) else _NO_PRICE
            tables["set this"] = [{"line": line}]
    tables = report.shareable(tables, texts=not given["no_text"])
    place = zone_name(zone)
    lines = answer(tables)
    shown = {n: tables[n] for n in tables if not (alone and n in _ALONE)}
    if html:
        _replace(html, report.as_page(shown, *title, zone=place))
        click.echo(f"wrote {html}", err=given["is_json"])
    if given["is_json"]:
        click.echo(json.dumps(report.as_json(tables, lines, place), indent=1))
        return
    console = Whole()
    for line in lines:
        console.print(hanging(line, console.width))
    if given["tables"]:
        console.print(*report.as_text(shown, console.width, zone=place))
    elif not html:
        console.print("--tables shows the tables, --html writes a page.", style="dim")


def _prices(given: Sequence[str]) -> list[tuple[str, str]]:
    """Read prices of one's own."""
    prices = list[tuple[str, str]]()
    for text in given:
        model, mark, price = text.rpartition("=")
        try:
            if not (mark and model.strip()):
                raise ValueError("write MODEL=IN,OUT, such as my-model=1,5")
            prices.append((model.strip(), price))
            with own_prices(prices[-1:]):
                pass
        except ValueError as error:
            raise click.UsageError(f"--price {text}: {error}") from None
    return prices


def _zone(name: str) -> tzinfo | None:
    """Find a time zone by its name. None: the machine's own."""
    if not name:
        return None
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # no zone, a folder of zones, an odd name
        near = get_close_matches(name, sorted(available_timezones()), 3, 0.4)
        text = f"there is no time zone {name!r}"
        raise click.UsageError(
            f"{text}; near it: {', '.join(near)}" if near else f"{text}; UTC is one"
        ) from None


def _found(paths: Sequence[Path], session: str) -> list[Source]:
    """List the sessions to read. Raises FileNotFoundError without Claude Code's own
    folder."""
    if not paths:
        paths = places()
        named = " and ".join(map(str, paths))
        click.echo(f"No path was given, so this reads {named}.", err=True)
    every = sources(paths)
    if not every:
        there = map(what_is_there, paths)
        raise ValueError("\n".join(["no session could be read", *there]))
    found = [source for source in every if source.name.startswith(session)]
    found = found or [source for source in every if has_id(source, session)]
    if session and len(found) != 1:
        names = sorted({source.name for source in found or every})
        if not found:
            near = get_close_matches(session, names, _NAMED, 0.0)
            starts = {name: _common(name, session) for name in names}
            names = sorted(names, key=lambda name: (-starts[name], name not in near))
        rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = f": {', '.join(names[:_NAMED])}{rest}" if names else ""
        count = f"{len(found)} sessions have an id that begins with {session}"
        raise click.UsageError(f"{count}{listed if found else '; nearest' + listed}.")
    return found


def _common(one: str, other: str) -> int:
    """Return how many characters two ids begin with together."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _bar(done: Iterable[Any], *, total: int) -> Iterable[Any]:
    """Show progress. For a single file a moving bar says that its end is not in
    sight."""
    console = Console(stderr=True)
    return track(
        done, total=total if total > 1 else None, console=console, transient=True
    )


def _loaded(source: Source) -> Session | None:
    """Load one session, which may be large, and show how far that is. None: it can't be
    read, and `overview` says why."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading", total=source.size)
        try:
            return load(source, lambda size: bar.advance(task, size))
        except (ValueError, OSError):
            return None


def _own(given: dict[str, Any]) -> Settings | None:
    """Make the learner's own settings, if the arguments have any."""
    changes = {
        n: given[n] for n in ("threshold", "keep_recent") if given[n] is not None
    }
    for name, _, value in (text.partition("=") for text in given["more"]):
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
