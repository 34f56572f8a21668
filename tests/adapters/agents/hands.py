"""Three plain tools, which agents without their own are given."""

import subprocess
from pathlib import Path


def bash(command: str) -> str:
    """Run a command.

    Args:
        command: the command
    """
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False
    )
    return done.stdout or "(no output)"


def read_file(path: str) -> str:
    """Read a file.

    Args:
        path: its path
    """
    return Path(path).read_text()


def write_file(path: str, content: str) -> str:
    """Write a file.

    Args:
        path: its path
        content: its text
    """
    Path(path).write_text(content)
    return "ok"
