"""What the commands share in a terminal: how they end."""

import multiprocessing
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from textwrap import fill

import click
from rich.console import Console
from rich.text import Text

from agentlib.cli.program import typed

STOPPED = 130
"""The exit code of Ctrl-C. A wrong argument gives 2."""


def run(
    command: click.Command,
    argv: Sequence[str] | None,
    module: str,
    script: str,
    failed: int,
) -> None:
    """Run the command of a module and a script, and exit with its code.

    An error is one line, and exits with `failed`.
    """
    name = typed(module, script)
    try:
        sys.exit(command.main(argv, name, standalone_mode=False) or 0)
    except click.Abort:  # Ctrl-C, which the workers ignore
        for worker in multiprocessing.active_children():
            worker.terminate()
        sys.exit(STOPPED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (ValueError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(failed)


class Whole(Console):
    """A console that leaves it to `quiet_pipe` when its reader goes away."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, where rich would end the program with 1."""
        raise BrokenPipeError


def hanging(line: str, width: int) -> Text:
    """Break a point of an answer into lines of so many characters, under each other.

    >>> print(hanging("Of this 57 % cache reads.", 16).plain)
    - Of this 57 %
      cache reads.
    """
    return Text(
        fill(f"- {line}", width, subsequent_indent="  ", break_on_hyphens=False)
    )


@contextmanager
def quiet_pipe() -> Generator[None]:
    """End the block without an error if the reader of the output goes away, as `head`
    does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left must not raise again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
