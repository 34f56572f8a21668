"""The plain tools for inspect_ai. Its tools are coroutines, so each of ours is
wrapped."""

import hands
from inspect_ai.tool import tool


@tool
def bash():
    async def execute(command: str) -> str:
        """Run a command.

        Args:
            command: the command
        """
        return hands.bash(command)

    return execute


@tool
def read_file():
    async def execute(path: str) -> str:
        """Read a file.

        Args:
            path: its path
        """
        return hands.read_file(path)

    return execute


@tool
def write_file():
    async def execute(path: str, content: str) -> str:
        """Write a file.

        Args:
            path: its path
            content: its text
        """
        return hands.write_file(path, content)

    return execute
