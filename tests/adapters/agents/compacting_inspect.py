"""inspect_ai's example. Arguments: address, prompt, window."""

import os
import sys

address, prompt = sys.argv[1:3]
os.environ |= {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": address}

from examples import run  # noqa: E402
from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_hands import bash, read_file, write_file  # noqa: E402

agent = run("inspect_agent", tools=[bash(), read_file(), write_file()])["agent"]
task = Task(dataset=[Sample(input=prompt)], solver=agent)
options = {"display": "none", "log_dir": "logs", "max_tokens": 4_000}
(log,) = eval(task, model="anthropic/claude-haiku-5-5", message_limit=200, **options)
(sample,) = log.samples
replies = [message for message in sample.messages if message.role == "assistant"]
print(sum(event.event == "compaction" for event in sample.events))
print(sum(len(reply.tool_calls or ()) for reply in replies))
