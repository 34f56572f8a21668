"""inspect_ai's react agent: it goes on until `submit`. Arguments: address, prompt."""

import os
import sys

address, prompt = sys.argv[1:]
os.environ |= {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": address}

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.agent import react  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_hands import bash, read_file, write_file  # noqa: E402

agent = react(tools=[bash(), read_file(), write_file()])
task = Task(dataset=[Sample(input=prompt)], solver=agent)
model = "anthropic/claude-haiku-5-5"
(log,) = eval(task, model=model, display="none", log_dir="logs", message_limit=100)
print(log.samples[0].output.completion)
