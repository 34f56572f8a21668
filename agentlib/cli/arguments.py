"""Define the command line of `python -m agentlib`, and derive the settings from it."""

import math
import pkgutil
from dataclasses import dataclass
from pathlib import Path as FilePath

from click import Argument, BadParameter, Choice, FloatRange, IntRange, Option, Parameter, Path

from agentlib import presets
from agentlib.settings import MODEL, Settings
from agentlib.step import ContextEngine


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The parsed command line. Each field is the option of the same name."""

    prompt: str | None
    workspace: FilePath | None
    in_place: bool
    transcripts: FilePath | None
    resume: FilePath | None
    preset: str | None
    window: int | None
    threshold: int | None
    keep_recent: int | None
    engine: ContextEngine
    live: bool
    model: str | None
    max_usd: float

    @property
    def cap(self) -> float | None:
        """Most dollars to spend, None for no cap."""
        return None if math.isinf(self.max_usd) else self.max_usd

    def settings(self, own: Settings | None = None) -> Settings:
        """Combine preset, environment and arguments. The later one wins.

        A resumed session keeps its `own` settings unless an argument changes them. Then neither
        the default preset nor the environment counts. Raises ValueError if the numbers don't fit.
        """
        own = None if self.preset else own
        base = own or presets.ALL[self.preset or "default"]
        amounts = {"context_window": self.window, "threshold": self.threshold}
        numbers = {**amounts, "keep_recent": self.keep_recent}
        return Settings.from_env(
            base.scaled(self.window) if self.window else base,
            environ={} if own else None,
            **{name: number for name, number in numbers.items() if number is not None},
        )


def engine(name: str) -> ContextEngine:
    """Import `module:function`. Raises BadParameter with what is wrong about the name."""
    try:
        return pkgutil.resolve_name(name)
    except Exception as error:  # importing somebody's module can raise anything
        hint = "write MODULE:FUNCTION, such as mine:compact"
        raise BadParameter(f"{name!r}: {type(error).__name__}: {error}; {hint}.") from error


def _utf_8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # the shell may pass other bytes


_FOLDER = Path(exists=True, file_okay=False, resolve_path=True, path_type=FilePath)
_NEW_FOLDER = Path(file_okay=False, resolve_path=True, path_type=FilePath)
_FILE = Path(exists=True, dir_okay=False, resolve_path=True, path_type=FilePath)
_COMPACT = "agentlib.pipeline:compact"
_DOLLARS = FloatRange(0, min_open=True)

OPTIONS: list[Parameter] = [
    Argument(["prompt"], required=False, type=_utf_8),
    Option(["--workspace"], type=_FOLDER, help="The folder to work on. Default: the current one."),
    Option(["--in-place"], is_flag=True, help="Work in the folder itself, not on a copy."),
    Option(["--transcripts"], type=_NEW_FOLDER, help="Where sessions go. Default: .transcripts."),
    Option(["--resume"], type=_FILE, help="Go on with a session, with its own settings."),
    Option(["--preset"], type=Choice(list(presets.ALL)), help="Whose settings to take."),
    Option(["--window"], type=IntRange(1_000), help="Tokens of the window; amounts are scaled."),
    Option(["--threshold"], type=IntRange(1), help="Compact when the context has more tokens."),
    Option(["--keep-recent"], type=IntRange(0), help="How many of the newest results stay whole."),
    Option(["--engine"], type=engine, default=_COMPACT, help="What compacts: MODULE:FUNCTION."),
    Option(["--live"], is_flag=True, help="Ask a real model, and work in the folder itself."),
    Option(["--model"], help=f"Live: which model. Default: MODEL_ID, or else {MODEL}."),
    Option(["--max-usd"], type=_DOLLARS, default=0.5, help="Live: stop after so many dollars."),
]
