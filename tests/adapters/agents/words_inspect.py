"""inspect_ai's view, compacted again and again while the loop nudges, with a model that
writes summaries and with one whose summaries are refused. Prints for each compaction how
often the task and the nudge stand in the view."""

import asyncio
import json

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
)
from inspect_ai.tool import ToolCall

from agentlib import presets
from agentlib.adapters.inspect_agent import Compaction

TASK = "Read the numbers; never touch prod.cfg."
NUDGE = "Please proceed to the next step."
ROUNDS = 5


class Model:
    def __init__(self, stop):
        self.stop = stop

    async def generate(self, messages, tools=(), **options):
        answer = ChatMessageAssistant(content="## Accomplished\nread")
        choice = ChatCompletionChoice(message=answer, stop_reason=self.stop)
        return ModelOutput(choices=[choice])


def steps(start):
    """Eight calls, then a reply without one, and the loop's nudge."""
    for n in range(start, start + 8):
        call = ToolCall(id=f"t{n}", function="read", arguments={"n": n})
        yield ChatMessageAssistant(content=f"step {n}", tool_calls=[call])
        text = f"file {n}: " + "lorem ipsum dolor " * 90
        yield ChatMessageTool(content=text, tool_call_id=call.id, function="read")
    yield ChatMessageAssistant(content="I will go on.")
    yield ChatMessageUser(content=NUDGE)


for stop in ("stop", "content_filter"):
    compaction = Compaction(stop, presets.DEFAULT.scaled(4_000))
    view = [ChatMessageUser(content=TASK)]
    counts = []
    for number in range(ROUNDS):
        view += steps(8 * number)
        view, _ = asyncio.run(compaction.compact(Model(stop), view, []))
        text = "\n".join(message.text for message in view if message.role == "user")
        counts.append([text.count(TASK), text.count(NUDGE)])
    print(json.dumps(counts))
