"""LangChain: a middleware for `create_agent`, and so for `create_deep_agent`.

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
...     print(path, len(load(path).compactions), "compactions")

The agent's state keeps all of its messages. Only the request is a view, so nothing is
lost. Each conversation has a session file, named by the id of its first message. The
agent's own model writes the summary, with the same system prompt and tools. If you
stream messages, the summary is streamed as well. The engine and the session file know
only the text of a person's message. The view sends it whole. Of a result that the
engine changed, and of a reply that may not keep its thinking, it sends the text and the
calls. System messages among the others stand in front of every view.

LangChain caches no prompt by itself. `AnthropicPromptCachingMiddleware()`, behind
`compaction` in the list, does so.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage

from agentlib.adapters.conversation import Conversations, reply, result, said, use
from agentlib.messages import THINKING, Message, blocks

WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Parts of what was written to the cache. The first is 0 if the others say how long it
lives."""


class Compaction(Conversations, AgentMiddleware):
    """Send a view of the conversation that fits the window."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Send the view, and a request for a summary before it if the engine wants
        one."""

        def ask(messages: list[Any]) -> str:
            return handler(request.override(messages=messages)).result[0].text

        view = self.view(request.messages[0].id, request.messages, ask)
        return handler(request.override(messages=view))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Do the same for `ainvoke` and `astream`."""

        async def ask(messages: list[Any]) -> str:
            return (await handler(request.override(messages=messages))).result[0].text

        view = await self.aview(request.messages[0].id, request.messages, ask)
        return await handler(request.override(messages=view))

    def ours(self, message: Any) -> Message:
        """Write a message in the wire's shape. Of a person's message it takes the
        text."""
        if message.type == "tool":
            return result(
                message.tool_call_id, message.text, wrong=message.status == "error"
            )
        if message.type != "ai":
            return said("system" if message.type == "system" else "user", message.text)
        kept = [
            b
            for b in blocks({"content": message.content})
            if b["type"] in ("text", *THINKING)
        ]
        calls = [
            use(call["id"], call["name"], call["args"]) for call in message.tool_calls
        ]
        usage: dict[str, Any] = message.usage_metadata or {}
        cached: dict[str, Any] = usage.get("input_token_details", {})
        tokens = [usage.get(name, 0) for name in ("input_tokens", "output_tokens")]
        tokens += [
            cached.get("cache_read") or 0,
            sum(cached.get(name) or 0 for name in WRITTEN),
        ]
        return reply([*kept, *calls], tokens)

    def theirs(self, texts: list[str], original: Any) -> Any:
        """Write a summary, or a copy of a message with another text."""
        if original:
            return original.model_copy(update={"content": "\n".join(texts)})
        return HumanMessage([{"type": "text", "text": text} for text in texts])
