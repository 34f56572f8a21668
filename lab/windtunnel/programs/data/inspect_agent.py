"""inspect_ai's react agent with its own compaction and one tool, bash. Arguments:
address, window, prompt."""

import os
import subprocess
import sys
from pathlib import Path

address, window, prompt = sys.argv[1:]
os.environ |= {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": address}

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.agent import react  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import CompactionSummary  # noqa: E402
from inspect_ai.tool import tool  # noqa: E402


@tool
def bash():
    async def execute(command: str) -> str:
        """Run a command.

        Args:
            command: the command
        """
        call = ["bash", "-c", command]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr or "(no output)"

    return execute


compaction = CompactionSummary(threshold=int(0.9 * int(window)))  # its share by default
task = Task(
    dataset=[Sample(input=prompt)], solver=react(tools=[bash()], compaction=compaction)
)
(log,) = eval(
    task,
    model="anthropic/claude-haiku-5-5",
    display="none",
    log_dir=str(Path.home() / "logs"),
    max_tokens=8_192,
    message_limit=2_000,
)
print(log.samples[0].output.completion if log.samples else log.error)
sys.exit(log.status != "success")
