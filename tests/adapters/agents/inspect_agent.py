"""inspect_ai's react agent with three tools: it goes on until `submit`. Arguments: address, prompt.

Its tools are coroutines, so each of ours is wrapped.
"""

import os
import sys

address, prompt = sys.argv[1:]
os.environ |= {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": address}

import hands  # noqa: E402
from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.agent import react  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.tool import tool  # noqa: E402


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


agent = react(tools=[bash(), read_file(), write_file()])
task = Task(dataset=[Sample(input=prompt)], solver=agent)
model = "anthropic/claude-haiku-5-5"
(log,) = eval(task, model=model, display="none", log_dir="logs", message_limit=100)
print(log.samples[0].output.completion)
