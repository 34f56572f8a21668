"""The command line of `python -m agentlib`, and the settings that follow from it.

Not here: what is done with them (`__main__`).
"""

import importlib
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from typing import cast

from agentlib import presets
from agentlib.settings import MODEL, Settings
from agentlib.step import ContextEngine

_ABOUT = """examples:
  python -m agentlib "Read every Python file in this directory one by one and write a report"
  python -m agentlib --workspace ~/any/project --threshold 12000
  python -m agentlib --resume .transcripts/20261121-101500-1.jsonl
  python -m agentlib --live --max-usd 0.20 "Explain what this project does"

Offline, the default, a simulated model answers, without a key, and works on a copy of the folder:
version control, virtual environments, node_modules and caches are left out. The copy lies beside
the session file, as SESSION.workspace; --resume finds it there again.

An argument wins over the environment (CLAUDE_CODE_AUTO_COMPACT_WINDOW, DISABLE_COMPACT,
CLAUDE_AUTOCOMPACT_PCT_OVERRIDE, DISABLE_AUTO_COMPACT), the environment over the preset.

Exit code: 0 done, 1 an error or stopped early, 2 a wrong argument, 130 Ctrl-C. The session is kept
in every case."""


def parser() -> ArgumentParser:
    """The parser; each option's help has an example."""
    made = ArgumentParser(
        prog="python -m agentlib",
        usage="python -m agentlib [PROMPT] [options]   (--help lists them)",
        description="A coding agent that outlives its context window.",
        epilog=_ABOUT,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "prompt",
        nargs="?",
        type=_prompt,
        metavar="PROMPT",
        help="what to do; without it you are asked, line after line",
    )
    _add_places(made)
    _add_numbers(made)
    _add_engine(made)
    _add_live(made)
    made.add_argument(
        "--version", action="version", version=_version(), help="the version, e.g. --version"
    )
    return made


def _add_places(made: ArgumentParser) -> None:
    made.add_argument(
        "--workspace",
        metavar="DIR",
        help="the folder to work on, e.g. --workspace ~/any/project (default: the current one)",
    )
    made.add_argument(
        "--in-place",
        action="store_true",
        help="offline too, work in the folder itself, e.g. --workspace ~/any/project --in-place",
    )
    made.add_argument(
        "--transcripts",
        metavar="DIR",
        help="where session files and copies go, e.g. --transcripts ~/sessions (default: "
        ".transcripts in the current folder; where that would lie in the workspace, beside it)",
    )
    made.add_argument(
        "--resume",
        metavar="FILE",
        help="go on with a session, with its own settings where no option says otherwise, "
        "e.g. --resume .transcripts/20261121-101500-1.jsonl",
    )


def _add_numbers(made: ArgumentParser) -> None:
    made.add_argument(
        "--preset",
        metavar="NAME",
        help=f"whose way to forget, e.g. --preset claude-code; there are {', '.join(presets.ALL)}",
    )
    made.add_argument(
        "--window",
        metavar="N",
        type=_amount(1_000),
        help="a window of N tokens, the preset's other amounts in proportion, e.g. --window 32000",
    )
    made.add_argument(
        "--threshold",
        metavar="N",
        type=_amount(1),
        help="compact once the context is over N tokens, e.g. --threshold 12000",
    )
    made.add_argument(
        "--keep-recent",
        metavar="N",
        type=_amount(0),
        help="leave the newest N tool results whole, e.g. --keep-recent 3",
    )


def _add_engine(made: ArgumentParser) -> None:
    made.add_argument(
        "--engine",
        metavar="MODULE:FUNCTION",
        type=engine_of,
        help="what compacts, in place of agentlib.pipeline:compact, e.g. --engine mine:compact",
    )


def engine_of(name: str) -> ContextEngine:
    """The function that `module:function` names; ArgumentTypeError says what is wrong with it."""
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise ArgumentTypeError(f"{name!r} is no module:function; write one, such as mine:compact")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except Exception as error:  # whatever a module of somebody's does when it is imported
        raise ArgumentTypeError(
            f"{name!r} can't be imported ({type(error).__name__}: {error}); a module of your own "
            "lies in the current folder or is installed"
        ) from error
    if not callable(found):
        raise ArgumentTypeError(f"{name!r}: {module} has no function {function}; check its name")
    return cast(ContextEngine, found)


def _add_live(made: ArgumentParser) -> None:
    made.add_argument(
        "--live",
        action="store_true",
        help="ask a real model, and work in the folder itself; the key is ANTHROPIC_API_KEY, or "
        "stands in .env; shell commands are confirmed, or run in bubblewrap; e.g. --live",
    )
    made.add_argument(
        "--model",
        metavar="M",
        help=f"live, which model, e.g. --model {MODEL} (default: MODEL_ID, else this one)",
    )
    made.add_argument(
        "--max-usd",
        metavar="X",
        type=_dollars,
        default=0.5,
        help="live, stop once X dollars are spent, e.g. --max-usd 0.20 (default 0.50; inf: no cap)",
    )


def _prompt(text: str) -> str:
    if not text.strip():
        raise ArgumentTypeError(f"{text!r} is empty; say what to do, or leave it out to be asked")
    # What the shell gave may be no UTF-8; the session file and the API are.
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _amount(least: int) -> Callable[[str], int]:
    def amount(text: str) -> int:
        digits = text.replace(",", "").replace("_", "")
        if not (digits.isascii() and digits.isdigit() and int(digits) >= least):
            raise ArgumentTypeError(
                f"{text!r} is no whole number from {least:,} on; write one, such as {least or 3}"
            )
        return int(digits)

    return amount


def _dollars(text: str) -> float:
    with suppress(ValueError):
        if (amount := float(text)) > 0:
            return amount
    raise ArgumentTypeError(f"{text!r} is no amount above 0; write dollars, such as 0.20, or inf")


def _version() -> str:
    with suppress(metadata.PackageNotFoundError):
        return f"agentlib {metadata.version('agentlib-course')}"
    return "agentlib (not installed)"


def settings_of(given: Namespace, own: Settings | None = None) -> Settings:
    """Arguments before the environment before the preset; of a session, arguments before its `own`.

    Raises ValueError for an unknown preset, for numbers that don't go together, and for what is
    no number in the environment.
    """
    own = None if given.preset else own
    base = own or _preset(given.preset or "default")
    window = {"context_window": given.window} if given.window else {}
    base = base.scaled(given.window) if given.window else base
    settings = Settings.from_env(base, environ={} if own else None, **window)
    if given.threshold and given.threshold > settings.context_window:
        raise ValueError(
            f"--threshold {given.threshold} is past the window of {settings.context_window:,} "
            "tokens and would never be reached; take less, or a larger --window"
        )
    asked = {name: getattr(given, name) for name in ("threshold", "keep_recent")}
    return replace(settings, **{name: n for name, n in asked.items() if n is not None})


def _preset(name: str) -> Settings:
    found = presets.ALL.get(name.lower().replace("_", "-"))
    if found is None:
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(presets.ALL)}")
    return found
