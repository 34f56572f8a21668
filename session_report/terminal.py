"""What the commands share in a terminal: how they end."""

import multiprocessing
import sys
from collections.abc import Sequence

import click

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
