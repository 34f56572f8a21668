"""LangChain: a middleware for `create_agent`, and for `create_deep_agent`.

>>> from glob import glob
>>> from langchain.agents import create_agent
>>> from agentlib import presets
>>> from agentlib.adapters.langchain import Compaction
>>> from agentlib.transcripts import load
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> agent = create_agent(model, tools, middleware=[compaction])  # your model and your tools
>>> answer = agent.invoke({"messages": [{"role": "user", "content": prompt}]})
>>> for path in glob("sessions/*.jsonl"):
...     print(path, sum(each.message is not None for each in load(path).compactions))

The agent's state keeps all of its messages, because only the request is a view. So
checkpoints, time travel, edited messages and interrupts work as before. The agent's own
model writes the summary, with the same system prompt and tools, without a structured
answer and without a forced tool. A `ToolStrategy` brings a tool for the answer, which
this request doesn't have, so there it isn't read from the prompt cache. It has the tag
`nostream`, so it stays out of `stream_mode="messages"`. Each conversation has a session
file, named by the id of its first message.

deepagents has a summariser of its own. Ours has its name, `SummarizationMiddleware`, so
it takes its place, in the main agent and in the general-purpose sub-agent. A sub-agent
of your own wants `middleware=[compaction]`, too. LangChain refuses two middlewares of
one name, so nobody has both by accident.

LangChain caches no prompt by itself. `AnthropicPromptCachingMiddleware()`, behind
`compaction` in the list, does so.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langgraph.errors import GraphBubbleUp

from agentlib.adapters.chat import block_of, without_thinking
from agentlib.adapters.conversation import Conversations
from agentlib.adapters.shapes import reply, result, said, use
from agentlib.messages import Block, Message

CALLS = ("tool_use", "tool_call", "function_call", "input_json_delta")
"""Kinds of content that say what `tool_calls` says again."""
WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Parts of what was written to the cache. The first is 0 if the others say how long it
lives."""


class Compaction(Conversations, AgentMiddleware):
    """Send a view of the conversation that fits the window."""

    passing = (GraphBubbleUp,)
    """What `interrupt` raises, for one."""

    @property
    def name(self) -> str:
        """The name of the summariser that deepagents brings, whose place it takes."""
        return "SummarizationMiddleware"

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Send the view, and a request for a summary before it if the engine wants
        one."""

        def ask(messages: list[Any]) -> Message:
            return self.ours(_first(handler(_plainly(request, messages))))

        view = self.view(
            _name(request), request.messages, ask, base=partial(_base, request)
        )
        return handler(_with(request, view))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Do the same for `ainvoke` and `astream`."""

        async def ask(messages: list[Any]) -> Message:
            return self.ours(_first(await handler(_plainly(request, messages))))

        view = await self.aview(
            _name(request), request.messages, ask, base=partial(_base, request)
        )
        return await handler(_with(request, view))

    def ours(self, message: Any) -> Message:
        """Write a message in the wire's shape."""
        content = _blocks(message.content)
        if message.type == "tool":
            is_wrong = message.status == "error"
            return result(message.tool_call_id, content, wrong=is_wrong)
        if message.type not in ("ai", "AIMessageChunk"):
            is_person = message.type in ("human", "HumanMessageChunk")
            return said("user" if is_person else "system", content)
        calls = [
            use(call["id"] or "", call["name"], call["args"])
            for call in message.tool_calls
        ]
        usage: dict[str, Any] = message.usage_metadata or {}
        cached: dict[str, Any] = usage.get("input_token_details", {})
        tokens = [usage.get(name, 0) for name in ("input_tokens", "output_tokens")]
        tokens += [
            cached.get("cache_read") or 0,
            sum(cached.get(name) or 0 for name in WRITTEN),
        ]
        ended = message.response_metadata
        stop = ended.get("stop_reason") or ended.get("finish_reason")
        return reply([*content, *calls], tokens, stop, signed=ended or message.id)

    def said(self, parts: list[Any]) -> Any:
        """Write a user's message of texts and parts."""
        return HumanMessage(
            [
                {"type": "text", "text": part} if isinstance(part, str) else part
                for part in parts
            ]
        )

    def changed(
        self, original: Any, texts: Mapping[str, str], *, thinking: bool
    ) -> Any:
        """Write a copy of a message with another result, or without its thinking."""
        content: Any = next(iter(texts.values()), original.content)
        if not thinking and isinstance(content, list):
            content = without_thinking(cast(list[Any], content))
        return original.model_copy(update={"content": content})


def _blocks(content: Any) -> list[Block]:
    parts = [content] if isinstance(content, str) else content
    return [
        block_of(part)
        for part in parts
        if not (isinstance(part, dict) and part.get("type") in CALLS)
    ]


def _name(request: Any) -> str:
    first = request.messages[0] if request.messages else None
    return str(getattr(first, "id", None) or "conversation")


def _base(request: Any) -> str:
    """Return the system prompt and what the tools tell of themselves."""
    system = request.system_message
    tools = (
        json.dumps(tool, default=str)
        if isinstance(tool, dict)
        else f"{tool.name} {tool.description} {getattr(tool, 'args', '')}"
        for tool in request.tools
    )
    return f"{system.text if system else ''}{''.join(tools)}"


def _with(request: Any, view: list[Any]) -> Any:
    return request if view is request.messages else request.override(messages=view)


def _plainly(request: Any, messages: list[Any]) -> Any:
    """Ask for words: no structured answer, no forced tool, nothing for a stream."""
    model = request.model
    if hasattr(model, "model_copy") and hasattr(model, "tags"):
        tags = [*(model.tags or ()), "nostream"]
        model = model.model_copy(update={"tags": tags})
    forced = ("tool_choice", "response_format")
    return request.override(
        messages=messages,
        model=model,
        response_format=None,
        tool_choice=None,
        model_settings={
            name: value
            for name, value in request.model_settings.items()
            if name not in forced
        },
    )


def _first(response: Any) -> Any:
    """Return the reply itself, in whatever the next middleware has wrapped it."""
    inner = getattr(response, "model_response", response)
    return getattr(inner, "result", [inner])[0]
