"""LangChain: a middleware for `create_agent`, and so for `create_deep_agent`.

>>> from langchain.agents import create_agent
>>> from agentlib.adapters.langchain import Compaction
>>> compaction = Compaction("sessions", settings)  # such as Settings(context_window=200_000)
>>> agent = create_agent(model, tools, middleware=[compaction])  # your model and your tools
>>> answer = agent.invoke({"messages": [{"role": "user", "content": prompt}]})

The agent's state keeps all of its messages. Only the request is a view, so nothing is lost. Each
conversation has a session file, named by the id of its first message. The agent's own model writes
the summary, with the same system prompt and tools. If you stream messages, the summary is streamed
as well. The view shows only the text of a person's message or a result that the engine changed.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agentlib.adapters.conversation import Conversations, Names, reply, result, use
from agentlib.messages import THINKING, Message, blocks, of_type, result_text


class Compaction(Conversations, AgentMiddleware):
    """Send a view of the conversation that fits the window."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Send the view, and a request for a summary before it if the engine wants one."""

        def ask(messages: list[Any]) -> str:
            return handler(request.override(messages=messages)).result[0].text

        view = self.view(request.messages[0].id, request.messages, ask)
        return handler(request.override(messages=view))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same for `ainvoke` and `astream`."""

        async def ask(messages: list[Any]) -> str:
            return (await handler(request.override(messages=messages))).result[0].text

        view = await self.aview(request.messages[0].id, request.messages, ask)
        return await handler(request.override(messages=view))

    def ours(self, message: Any) -> Message:
        """Write a message in the wire's shape. Of a person's message it takes the text."""
        if message.type == "tool":
            return result(message.tool_call_id, message.text, wrong=message.status == "error")
        if message.type != "ai":
            return {"role": "user", "content": message.text or "(no text)"}
        parts = blocks({"content": message.content})
        said = [block for block in parts if block["type"] in ("text", *THINKING)]
        calls = [use(call["id"], call["name"], call["args"]) for call in message.tool_calls]
        usage: dict[str, Any] = message.usage_metadata or {}
        cached: dict[str, Any] = usage.get("input_token_details", {})
        counts = [usage.get(name, 0) for name in ("input_tokens", "output_tokens")]
        counts += [cached.get(name) or 0 for name in ("cache_read", "cache_creation")]
        return reply([*said, *calls], *counts)

    def theirs(self, message: Message, names: Names) -> Any:
        """Write a summary, or a message that the engine changed."""
        if message["role"] == "assistant":
            calls = [{**call, "args": call["input"]} for call in of_type(message, "tool_use")]
            return AIMessage(of_type(message, "text"), tool_calls=calls)
        for answer in of_type(message, "tool_result"):
            call = answer["tool_use_id"]
            return ToolMessage(result_text(answer), name=names[call], tool_call_id=call)
        return HumanMessage(blocks(message))
