"""OpenAI Agents SDK: a `call_model_input_filter` of a `RunConfig`.

>>> from agents import Agent, RunConfig, Runner
>>> from agentlib import presets
>>> from agentlib.adapters.openai_agents import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> config = RunConfig(call_model_input_filter=compaction.of("chat-1"))  # the conversation's id
>>> agent = Agent(name="mine", model=model, tools=tools)  # your model and your tools
>>> answer = Runner.run_sync(agent, prompt, run_config=config, max_turns=200)

The run's items and a `Session` of the SDK stay whole. The filter sees no bill, so every
prompt's size is a guess. Leave room for that. The agent's model writes the summary, and
its tokens aren't in the run's usage. A conversation that the provider stores
(`previous_response_id`) can't be compacted here. Reasoning and the provider's own tools
stay as long as their turn does, and the session file has only their names. System
messages among the items stand in front of every view.
"""
# pyright: reportMissingImports=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import json
from dataclasses import replace
from functools import partial
from typing import Any

from agents import ItemHelpers, Model, ModelTracing, MultiProvider, RunContextWrapper

from agentlib.adapters.conversation import (
    Conversations,
    Message,
    reply,
    result,
    said,
    use,
)


class Compaction(Conversations):
    """Make filters that send a view of the conversation that fits the window."""

    def of(self, name: str) -> Any:
        """Return the filter for one conversation."""
        return partial(self._filtered, name)

    async def _filtered(self, name: str, data: Any) -> Any:
        agent, given, own = data.agent, data.model_data, data.agent.model
        model = own if isinstance(own, Model) else MultiProvider().get_model(own)
        tools = await agent.get_all_tools(RunContextWrapper(data.context))
        options = (agent.model_settings, tools, None, [], ModelTracing.DISABLED)
        rest = dict.fromkeys(("previous_response_id", "conversation_id", "prompt"))

        async def ask(items: list[Any]) -> str:
            answer = await model.get_response(
                given.instructions, items, *options, **rest
            )
            return "".join(
                ItemHelpers.extract_text(item) or "" for item in answer.output
            )

        return replace(given, input=await self.aview(name, given.input, ask))

    def ours(self, message: dict[str, Any]) -> Message:
        """Write an item in the wire's shape."""
        kind = str(message.get("type"))
        if kind == "function_call_output":
            return result(message["call_id"], _text(message["output"]))
        if kind == "function_call":
            given = json.loads(message["arguments"] or "{}")
            return reply([use(message["call_id"], message["name"], given)])
        role = message.get("role", "user" if kind.endswith("_output") else "assistant")
        return said(role, _text(message.get("content")) or f"({kind})")

    def theirs(self, texts: list[str], original: Any) -> Any:
        """Write a summary, or a result that the engine changed."""
        if original:
            return (
                {**original, "output": "\n".join(texts)}
                if "output" in original
                else original
            )
        return {
            "role": "user",
            "content": [{"type": "input_text", "text": t} for t in texts],
        }


def _text(content: Any) -> str:
    parts = [{"text": content}] if isinstance(content, str) else content or []
    return "\n".join(part["text"] for part in parts if part.get("text"))
