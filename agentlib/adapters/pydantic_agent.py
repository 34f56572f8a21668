"""pydantic-ai: a capability of an `Agent`.

>>> from pydantic_ai import Agent
>>> from agentlib import presets
>>> from agentlib.adapters.pydantic_agent import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> agent = Agent(model, tools=tools, capabilities=[compaction])  # your model and your tools
>>> answer = agent.run_sync(prompt)

The run's messages stay whole, because only the request gets the view. (`ProcessHistory`
would replace them.) Each conversation has a session file, named by its
`conversation_id`. The agent's own model writes the summary, and its tokens aren't in
the run's usage. System prompts stand in front of every view. A person's message that
the engine keeps is sent whole, but the engine itself and the session file know only its
text. Of thinking, the session file has only the signature.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from dataclasses import replace
from typing import Any

from pydantic_ai import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.direct import model_request

from agentlib.adapters.conversation import (
    Conversations,
    Message,
    reply,
    result,
    said,
    use,
)


class Compaction(Conversations, AbstractCapability[Any]):
    """Send a view of the conversation that fits the window."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Give the request the view, after a request for a summary if the engine wants
        one."""
        names = ("model_settings", "model_request_parameters")
        options = {name: getattr(request_context, name) for name in names}

        async def ask(messages: list[Any]) -> str:
            return (
                await model_request(request_context.model, messages, **options)
            ).text or ""

        units = [
            unit for message in request_context.messages for unit in _units(message)
        ]
        return replace(
            request_context, messages=await self.aview(ctx.conversation_id, units, ask)
        )

    def ours(self, message: Any) -> Message:
        """Write a response, or a request of one part, in the wire's shape."""
        if message.kind == "response":
            seals = [
                p.signature or p.content
                for p in message.parts
                if p.part_kind == "thinking"
            ]
            hidden = [{"type": "redacted_thinking", "data": seal} for seal in seals]
            text = {"type": "text", "text": message.text or ""}
            calls = [
                use(c.tool_call_id, c.tool_name, c.args_as_dict())
                for c in message.tool_calls
            ]
            used = message.usage
            cached = used.cache_read_tokens, used.cache_write_tokens
            return reply(
                [*hidden, text, *calls],
                (used.input_tokens, used.output_tokens, *cached),
            )
        part = message.parts[0]
        if isinstance(part, ToolReturnPart):
            text, is_wrong = part.model_response_str(), part.outcome != "success"
            return result(part.tool_call_id, text, wrong=is_wrong)
        role = (
            "user"
            if part.part_kind in ("user-prompt", "retry-feedback", "speech")
            else "system"
        )
        content = getattr(part, "content", "") or ""
        texts = [content] if isinstance(content, str) else content
        return said(role, "\n".join(text for text in texts if isinstance(text, str)))

    def theirs(self, texts: list[str], original: Any) -> Any:
        """Write a summary, or a message that the engine changed."""
        if not original:
            return ModelRequest([UserPromptPart(text) for text in texts])
        if original.kind == "response":
            return replace(
                original, parts=[p for p in original.parts if p.part_kind != "thinking"]
            )
        return ModelRequest([replace(original.parts[0], content=texts[0])])


def _units(message: Any) -> list[Any]:
    """Split a request into requests of one part. pydantic-ai joins them again."""
    is_request = message.kind == "request"
    return (
        [replace(message, parts=[p]) for p in message.parts]
        if is_request
        else [message]
    )
