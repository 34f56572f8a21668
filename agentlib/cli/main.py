"""Run `python -m agentlib`: from the arguments to the exit code."""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from agentlib.cli.arguments import OPTIONS, Arguments
from agentlib.cli.conversation import FAILED, STOPPED, Terminal, sentence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. An error is one line."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console or a pipe may lack characters
            encoding = "utf-8" if sys.platform == "win32" else None
            stream.reconfigure(encoding=encoding, errors="replace")
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = False if is_plain else None  # None: styles if the output is a terminal
    try:
        return agent.main(argv, "python -m agentlib", standalone_mode=False, color=color)
    except click.Abort:  # Ctrl-C
        return STOPPED
    except click.ClickException as error:
        text, code = error.format_message(), error.exit_code
    except (ValueError, OSError) as error:
        text, code = sentence(error), click.UsageError.exit_code
    except RuntimeError as error:  # there is no key
        text, code = sentence(error), FAILED
    click.echo(f"error: {text}", err=True)
    return code


@click.command(params=OPTIONS, context_settings={"max_content_width": 100})
@click.version_option(package_name="agentlib-course", message="agentlib %(version)s")
def agent(**given: Any) -> int:
    """A coding agent that outlives its context window.

    PROMPT is what to do. Without it you are asked, line after line, and /help lists commands.

    Offline, the default, a simulated model answers without a key. It understands six tasks:

    \b
      read files and report     "Read every Python file one by one and write a report"
      keep reading until        "Keep reading files until compaction triggers"
        compaction
      find where a value is set "Where is DEFAULT_TIMEOUT set?"
      rename a name everywhere  "Rename MAX_SIZE to SIZE_LIMIT everywhere and run the tests"
        and run the tests
      use the compact tool      "Compact the conversation, focus on the rules"
      say what a summary or     "Rule: the first line of every report must be '# For Ada'."
        a rule holds

    The offline agent works on a copy of the folder, without version control, virtual environments,
    node_modules and caches. The copy lies beside the session file, and --resume finds it
    there.

    An argument wins over the environment (CLAUDE_CODE_AUTO_COMPACT_WINDOW, DISABLE_COMPACT,
    CLAUDE_AUTOCOMPACT_PCT_OVERRIDE, DISABLE_AUTO_COMPACT), and the environment over the preset.

    \b
    Examples:
      python -m agentlib "Read every Python file in this directory one by one and write a report"
      python -m agentlib --workspace ~/any/project --preset claude-code --window 32000
      python -m agentlib --resume .transcripts/20261121-101500-1.jsonl --threshold 12000
      python -m agentlib --live --max-usd 0.20 "Explain what this project does"

    Exit codes: 0 done, 1 an error or stopped early, 2 a wrong argument, 130 Ctrl-C. The session is
    kept in each case.
    """
    arguments = Arguments(**given)
    with closing(Terminal(arguments)) as terminal:
        terminal.enter(arguments.workspace or (None if arguments.resume else Path.cwd()))
        return terminal.talk()
