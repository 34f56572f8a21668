"""inspect_ai's react, without our strategy and with it, and with one of inspect_ai's
own. Prints both results of each, as JSON. The model is scripted."""

import json
from typing import Any

from guests import BIG, SETTINGS, SUMMARY, compare, is_wish
from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import CompactionTrim, ModelOutput, get_model
from inspect_ai.tool import tool

from agentlib.adapters.inspect_agent import Compaction

STEPS = 14


@tool
def read() -> Any:
    async def execute(n: int) -> str:
        """Read.

        Args:
            n: the number
        """
        return f"file {n}: {BIG}"

    return execute


async def count(text: str) -> int:
    return len(text) // 4


def sample(compaction: Any, *, overlooks: bool) -> list[str]:
    """Return how it ended. `overlooks`: the model answers each wish for a summary with
    a call."""
    numbers = iter(range(STEPS))

    def answer(messages: Any, *_: Any) -> ModelOutput:
        if is_wish(messages[-1].text):
            if not overlooks:
                return ModelOutput.from_content("mockllm", SUMMARY)
            return ModelOutput.for_tool_call("mockllm", "read", {"n": -1})
        number = next(numbers, None)
        if number is None:
            return ModelOutput.for_tool_call("mockllm", "submit", {"answer": "done"})
        return ModelOutput.for_tool_call("mockllm", "read", {"n": number})

    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    model.api.count_text_tokens = count  # its own one asks the network
    task = Task(
        dataset=[Sample(input="Read the numbers.")],
        solver=react(tools=[read()], compaction=compaction),
    )
    [log] = eval(task, model=model, display="none", log_dir="logs", message_limit=200)
    [outcome] = log.samples
    results = sum(message.role == "tool" for message in outcome.messages)
    if log.status != "success":
        raise RuntimeError(log.error.message)
    return [outcome.output.completion, str(results)]


def summarised(compaction: Any) -> list[str]:
    return sample(compaction, overlooks=False)


def overlooked(compaction: Any) -> list[str]:
    return sample(compaction, overlooks=True)


def with_another_strategy_in_the_process(compaction: Any) -> list[str]:
    sample(CompactionTrim(threshold=SETTINGS.threshold_tokens), overlooks=False)
    return sample(compaction, overlooks=False)


compaction = Compaction("sessions", SETTINGS)
scenarios = [summarised, overlooked, with_another_strategy_in_the_process]
print(json.dumps(compare(scenarios, None, compaction)))
