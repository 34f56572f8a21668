"""OpenAI Agents SDK: a `call_model_input_filter` of a `RunConfig`.

>>> from agents import Agent, RunConfig, Runner
>>> from agentlib import presets
>>> from agentlib.adapters.openai_agents import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> config = RunConfig(call_model_input_filter=compaction.of("chat-1"))  # the conversation's id
>>> agent = Agent(name="mine", model=model, tools=tools)  # your model and your tools
>>> answer = Runner.run_sync(agent, prompt, run_config=config, max_turns=200)

The run's items and a `Session` of the SDK stay whole. An agent that is used as a tool,
or takes a conversation over, has its own list, and so its own view and session file.
The filter sees no bill, so every prompt's size is a guess. Leave room for that. The
agent's own model writes the summary, and its tokens are in the session's bills, but not
in the run's usage. If the model stands in the `RunConfig`, name it once more, as in
`compaction.of("chat-1", config_model)`. A conversation that the provider stores
(`previous_response_id`) can't be compacted here. Reasoning and the provider's own tools
stay as long as their turn does.
"""
# pyright: reportMissingImports=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from agents import (
    Agent,
    Handoff,
    Model,
    ModelTracing,
    MultiProvider,
    RunContextWrapper,
    handoff,
)

from agentlib.adapters.chat import arguments, blocks_of
from agentlib.adapters.conversation import Conversations
from agentlib.adapters.shapes import (
    filling,
    part,
    record,
    reply,
    result,
    said,
    text,
    use,
)
from agentlib.messages import Block, Message

OUTPUT = "_output"
"""Ends the type of an item that answers a call."""
ANSWERED = (
    "function_call",
    "custom_tool_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
    "computer_call",
)
"""Types of calls that the agent itself answers, with an item of its own."""


class Compaction(Conversations):
    """Make filters that send a view of the conversation that fits the window."""

    def of(self, name: Any, model: Any = None) -> Any:
        """Return the filter for one conversation. `model`: that of the `RunConfig`, if
        it has one."""
        if not isinstance(name, str) or not name:
            raise ValueError(f"name={name!r}; give the id of the conversation")
        return partial(self._filtered, name, model)

    async def _filtered(self, name: str, model: Any, data: Any) -> Any:
        agent = data.agent
        given = data.model_data

        async def ask(items: list[Any]) -> Message:
            context = RunContextWrapper(data.context)
            offered = [
                handoff(h) if isinstance(h, Agent) else h for h in agent.handoffs
            ]
            chosen = agent.model if model is None else model
            if not isinstance(chosen, Model):
                chosen = MultiProvider().get_model(chosen)
            answer = await chosen.get_response(
                given.instructions,
                items,
                replace(agent.model_settings, tool_choice=None),
                await agent.get_all_tools(context),
                None,
                [each for each in offered if isinstance(each, Handoff)],
                ModelTracing.DISABLED,
                previous_response_id=None,
                conversation_id=None,
                prompt=await agent.get_prompt(context),
            )
            return _reply(answer)

        def base() -> str:
            return f"{given.instructions or ''}{''.join(map(_described, agent.tools))}"

        view = await self.aview(name, given.input, ask, base=base)
        return given if view is given.input else replace(given, input=view)

    def ours(self, message: Any) -> Message:
        """Write an item in the wire's shape."""
        item: dict[str, Any] = record(message)
        kind = str(item.get("type") or "message")
        if kind.endswith(OUTPUT):
            name = item.get("call_id") or item.get("id") or ""
            return result(str(name), _output(kind, item.get("output")))
        if kind in ANSWERED:
            return reply([_call(kind, item)])
        if kind != "message":
            return reply([_own_tool(kind, item)])
        content = blocks_of(item.get("content"))
        role = item.get("role")
        return reply(content) if role == "assistant" else said(str(role), content)

    def said(self, parts: list[Any]) -> Any:
        """Write a user's message of texts and parts."""
        return {
            "role": "user",
            "content": [
                {"type": "input_text", "text": each} if isinstance(each, str) else each
                for each in parts
            ],
        }

    def changed(
        self, original: Any, texts: Mapping[str, str], *, thinking: bool
    ) -> Any:
        """Write an output with another text, in the form of its type."""
        item: dict[str, Any] = record(original)
        output = item.get("output")
        for new in texts.values():
            if item["type"] == f"shell_call{OUTPUT}":
                first = [record(each) for each in output or ()][:1]
                output = [{**each, "stdout": new, "stderr": ""} for each in first]
            elif item["type"] != f"computer_call{OUTPUT}":
                output = new
        return {**item, "output": output} if texts else original


def _call(kind: str, item: Mapping[str, Any]) -> Block:
    name = item.get("call_id") or item.get("id") or ""
    given = item.get("arguments", item.get("input"))
    if given is None:
        given = item.get("action") or item.get("operation")
    if kind == "computer_call":
        # Its screenshot has to stay, so the call has the weight.
        given = {"action": given, "screenshot": filling(1_500)}
    return use(str(name), str(item.get("name") or kind), arguments(given))


def _output(kind: str, output: Any) -> list[Block]:
    """Read what a tool gave back."""
    if kind == f"computer_call{OUTPUT}":
        return [part("image", output, fixed=True)]
    if isinstance(output, dict) and "text" not in output and "type" not in output:
        return [text(json.dumps(output, default=str))]
    parts = blocks_of([output] if isinstance(output, dict) else output)
    if kind != f"shell_call{OUTPUT}":
        return parts
    whole = [record(each) for each in output or ()]
    return [text(f"{each.get('stdout')}\n{each.get('stderr')}") for each in whole]


def _own_tool(kind: str, item: Mapping[str, Any]) -> Block:
    """Write a provider's own tool: its text if it has one, so that everybody weighs
    it."""
    output = item.get("output")
    return text(f"({kind}) {output}") if isinstance(output, str) else part(kind, item)


def _reply(answer: Any) -> Message:
    """Write the model's answer to the request for a summary."""
    used = answer.usage
    items = [record(item) for item in answer.output]
    content = list[Block]()
    stop = None
    for item in items:
        is_message = item.get("type") == "message"
        content += blocks_of(item.get("content")) if is_message else []
        if item.get("type") in ANSWERED:
            content.append(_call(item["type"], item))
        if item.get("status") == "incomplete":
            stop = "incomplete"
        if any(record(b).get("type") == "refusal" for b in item.get("content") or ()):
            stop = "refusal"
    cached = getattr(used.input_tokens_details, "cached_tokens", 0) or 0
    return reply(content, (used.input_tokens, used.output_tokens, cached, 0), stop)


def _described(tool: Any) -> str:
    names = ("name", "description", "params_json_schema")
    return "".join(str(getattr(tool, name, "")) for name in names)
