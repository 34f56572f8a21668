"""pydantic-ai asks again where a structured answer is wanted and the model gives words.
Prints in how many of all requests the task stands."""

from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from agentlib import presets
from agentlib.adapters.pydantic_agent import Compaction
from agentlib.messages import SUMMARY_WANTED

TASK = "Read the numbers; never touch prod.cfg."
requests = []


def brain(messages, info):
    if SUMMARY_WANTED in str(messages[-1].parts[-1]):
        return ModelResponse([TextPart("## Accomplished\nread")])
    number = len(requests)
    requests.append(TASK in str(messages))
    if number in (2, 9):
        return ModelResponse([TextPart("I will go on.")])
    if number >= 24:
        done = ToolCallPart(info.output_tools[0].name, {"response": 1})
        return ModelResponse([done])
    return ModelResponse([ToolCallPart("read", {"n": number})])


compaction = Compaction("sessions", presets.DEFAULT.scaled(4_000))
agent = Agent(
    FunctionModel(brain), output_type=int, retries=5, capabilities=[compaction]
)


@agent.tool_plain
def read(n: int) -> str:
    return f"file {n}: " + "lorem ipsum dolor " * 90


agent.run_sync(TASK)
print(sum(requests), len(requests))
