"""Define the command line of `python -m agentlib`, and derive the settings from it."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import click

from agentlib import pipeline, presets
from agentlib.cli.program import engine_named, started_by
from agentlib.pipeline import ContextEngine
from agentlib.settings import Settings

_FOLDER = click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path)
_NEW_FOLDER = click.Path(file_okay=False, resolve_path=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path)


def function(name: str) -> ContextEngine:
    """Import an engine. Raises BadParameter with what is wrong about its name."""
    try:
        return engine_named(name)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


class Command(click.Command):
    """A command that takes no option's name as the value of the option before it.

    `--model --live` lacks a value, while click would ask for a model called "--live".
    A value that is meant so is written as `--model=--live`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words. Raises BadOptionUsage for an option without its value."""
        words = args[: args.index("--")] if "--" in args else args
        given = [
            option
            for option in self.get_params(ctx)
            if option.param_type_name == "option"
        ]
        names = {
            name for option in given for name in (*option.opts, *option.secondary_opts)
        }
        flags = {
            name
            for option in given
            if isinstance(option, click.Option) and (option.is_flag or option.count)
            for name in (*option.opts, *option.secondary_opts)
        }
        for word, following in pairwise(words):
            if word in names - flags and following.partition("=")[0] in names:
                raise click.BadOptionUsage(
                    word, f"Option {word!r} requires an argument.", ctx
                )
        return super().parse_args(ctx, args)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The parsed command line: the prompt, and an option for each other field."""

    prompt: str | None = None
    workspace: Annotated[
        Path | None, _FOLDER, "The folder to work on. Default: this one."
    ] = None
    in_place: Annotated[bool, bool, "Work in the folder itself, not on a copy."] = False
    transcripts: Annotated[Path | None, _NEW_FOLDER, "Where sessions go."] = None
    resume: Annotated[
        Path | None, _FILE, "Go on with a session, with its settings."
    ] = None
    preset: Annotated[
        str | None, click.Choice([*presets.ALL]), "Whose settings to take."
    ] = None
    window: Annotated[int | None, click.IntRange(1_000), "Tokens of the window."] = None
    threshold: Annotated[
        int | None, click.IntRange(1), "Compact above so many tokens."
    ] = None
    keep_recent: Annotated[
        int | None, click.IntRange(0), "Results that stay whole."
    ] = None
    engine: Annotated[
        ContextEngine, function, "What compacts: MODULE or FILE:FUNCTION."
    ] = pipeline.compact
    live: Annotated[bool, bool, "Ask a real model, and work in the folder itself."] = (
        False
    )
    env: Annotated[Path | None, _FILE, "Live: a .env file with the key."] = None
    model: Annotated[str | None, str, "Live: which model. Default: MODEL_ID."] = None
    price: Annotated[
        str | None, str, "Live: dollars per million tokens, as IN,OUT."
    ] = None
    max_usd: Annotated[
        float, click.FloatRange(0, min_open=True), "Live: most dollars."
    ] = 0.5

    @property
    def cap(self) -> float | None:
        """Most dollars to spend, None for no cap."""
        return None if self.max_usd == float("inf") else self.max_usd

    @property
    def folder(self) -> Path:
        """Where new sessions go: by default beside the workspace or in the current
        folder."""
        here = Path.cwd()
        source = self.workspace or here
        beside = source.parent if here.is_relative_to(source) else here
        return self.transcripts or beside / ".transcripts"

    def settings(self, own: Settings | None = None) -> Settings:
        """Combine preset, environment and arguments. The later one wins.

        A resumed session keeps its `own` settings unless an argument changes them. Then
        neither the default preset nor the environment counts. Raises ValueError if the
        numbers don't fit.
        """
        base = presets.ALL[self.preset] if self.preset else own or presets.DEFAULT
        numbers = {"context_window": self.window, "threshold": self.threshold}
        numbers |= {"keep_recent": self.keep_recent}
        given = {name: number for name, number in numbers.items() if number is not None}
        scaled = base.scaled(self.window) if self.window else base
        return Settings.from_env(scaled, environ={} if base is own else None, **given)


def options() -> list[click.Parameter]:
    """Make an option of each field of `Arguments` after the prompt: type or check, and
    help."""
    fields = list(get_type_hints(Arguments, include_extras=True).items())[1:]
    # With is_flag=False click would let an option stand without its value.
    return [
        click.Option(
            [f"--{name}".replace("_", "-")],
            type=kind,
            is_flag=kind is bool or None,
            help=text,
        )
        for name, (kind, text) in ((name, hint.__metadata__) for name, hint in fields)
    ]


TYPED = "agentlib.typed"
"""Where a click context keeps the options as they were typed."""
_GIVEN_AGAIN = (
    "in_place",
    "engine",
    "live",
    "env",
    "model",
    "price",
    "max_usd",
)
"""Options that a session's file doesn't keep, so that each run names them again."""


class AgentCommand(Command):
    """A command that remembers its options as they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, and note the options without the types of their values."""
        words = list(args)
        rest = super().parse_args(ctx, args)
        ctx.meta[TYPED] = self.make_parser(ctx).parse_args(words)[0]
        return rest


def to_resume(file: Path, folder: Path | None, typed_options: Mapping[str, Any]) -> str:
    """Return the command that goes on with a session, to paste into a shell.

    `folder`: the one that the agent works in, None for its copy, which is found by
    itself. Paths below the current folder are written from there.
    """
    words = [*started_by("agentlib", "agentlib"), "--resume", _from_here(file)]
    if folder:
        words += ["--workspace", _from_here(folder)]
    for name in _GIVEN_AGAIN:
        if name in typed_options:
            value = typed_options[name]
            words.append(f"--{name}".replace("_", "-"))
            words += [] if value is True else [str(value)]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
