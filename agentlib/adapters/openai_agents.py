"""OpenAI Agents SDK: a `call_model_input_filter` of a `RunConfig`.

>>> from agents import Agent, RunConfig, Runner
>>> from agentlib import presets
>>> from agentlib.adapters.openai_agents import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> config = RunConfig(call_model_input_filter=compaction.of("chat-1"))  # the conversation's id
>>> agent = Agent(name="mine", model=model, tools=tools)  # your model and your tools
>>> answer = Runner.run_sync(agent, prompt, run_config=config, max_turns=200)

The run's items and a `Session` of the SDK stay whole. The filter sees no bill, so every prompt's
size is a guess. Leave room for that. The agent's model writes the summary, and its tokens aren't in
the run's usage. A conversation that the provider stores (`previous_response_id`) can't be compacted
here. Reasoning and the provider's own tools stay as long as their turn does, and no summary knows
them.
"""
# pyright: reportMissingImports=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, groupby
from typing import Any

from agents import ItemHelpers, ModelTracing, MultiProvider, RunContextWrapper
from agents.run import ModelInputData

from agentlib.adapters.conversation import Conversations, Names, reply, result, use
from agentlib.messages import Message, blocks, of_type, result_text

Turn = tuple[dict[str, Any], ...]
"""The items of one reply, or one other item."""


class Compaction(Conversations):
    """Make filters that send a view of the conversation that fits the window."""

    def of(self, name: str) -> Any:
        """Return the filter for one conversation."""
        return partial(self._filtered, name)

    async def _filtered(self, name: str, data: Any) -> Any:
        agent, instructions = data.agent, data.model_data.instructions
        known = agent.model if hasattr(agent.model, "get_response") else None
        model = known or MultiProvider().get_model(agent.model)
        tools = await agent.get_all_tools(RunContextWrapper(data.context))
        rest = dict.fromkeys(("previous_response_id", "conversation_id", "prompt"))

        async def ask(turns: list[Turn]) -> str:
            given = [instructions, [*chain(*turns)], agent.model_settings, tools, None, []]
            answer = await model.get_response(*given, ModelTracing.DISABLED, **rest)
            texts: list[Any] = [ItemHelpers.extract_text(item) for item in answer.output]
            return "".join(text or "" for text in texts)

        view = await self.aview(name, [*_turns(data.model_data.input)], ask)
        return ModelInputData(input=[*chain(*view)], instructions=instructions)

    def ours(self, message: Turn) -> Message:
        """Write a turn in the wire's shape."""
        item = message[0]
        if item.get("type") == "function_call_output":
            return result(item["call_id"], _text(item["output"]))
        if not _is_reply(item):
            return {"role": "user", "content": _text(item.get("content")) or "(no text)"}
        calls = [each for each in message if each.get("type") == "function_call"]
        said = [{"type": "text", "text": _text(each.get("content"))} for each in message]
        uses = [use(c["call_id"], c["name"], json.loads(c["arguments"] or "{}")) for c in calls]
        return reply([*said, *uses])

    def theirs(self, message: Message, names: Names) -> Turn:
        """Write a summary, or a result that the engine changed."""
        for answer in of_type(message, "tool_result"):
            item = {"type": "function_call_output", "call_id": answer["tool_use_id"]}
            return ({**item, "output": result_text(answer)},)
        texts = [{"type": "input_text", "text": block["text"]} for block in blocks(message)]
        return ({"role": "user", "content": texts},)


def _turns(items: Iterable[dict[str, Any]]) -> Iterator[Turn]:
    for is_reply, group in groupby(items, _is_reply):
        turn = tuple(group)
        yield from [turn] if is_reply else [(item,) for item in turn]


def _is_reply(item: dict[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") in ("function_call", "reasoning")


def _text(content: Any) -> str:
    parts = [{"text": content}] if isinstance(content, str) else content or []
    return "\n".join(part["text"] for part in parts if part.get("text"))
