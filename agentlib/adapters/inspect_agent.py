"""inspect_ai: a `CompactionStrategy`, for `react` and every other agent that takes one.

>>> from inspect_ai.agent import react
>>> from agentlib import presets
>>> from agentlib.adapters.inspect_agent import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> agent = react(tools=tools, compaction=compaction)  # your tools; the model is the task's

inspect_ai decides when to compact, by its own calibrated estimate, at our settings'
threshold. The engine decides what stays, and is always asked for a summary. inspect_ai
keeps the view. The log of the evaluation stays whole and has a `CompactionEvent` for
each compaction. Each leaves a session file besides, with the messages that went into
it. System messages stand in front of every view. Reasoning stays with its message, even
behind a new summary.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from inspect_ai.model import ChatMessageUser, CompactionStrategy, ContentText

from agentlib.adapters.conversation import (
    Conversations,
    Message,
    reply,
    result,
    said,
    use,
)


@dataclass(eq=False)
class Compaction(Conversations, CompactionStrategy):
    """Replace what inspect_ai finds too long by a view that fits the window."""

    reason = "manual"
    preserve_prefix = False
    """Don't send the first request again: the engine keeps the newest, beside its
    summary."""

    def __post_init__(self) -> None:
        CompactionStrategy.__init__(
            self, type="summary", threshold=self.settings.threshold_tokens
        )

    async def compact(self, model: Any, messages: list[Any], tools: list[Any]) -> Any:
        """Return the view, and its summary for the history."""

        async def ask(messages: list[Any]) -> str:
            return (await model.generate(messages, tools)).completion

        view = await self.aview(uuid4().hex, messages, ask)
        return view, next(
            (m for m in view if m.role == "user" and m not in messages), None
        )

    def ours(self, message: Any) -> Message:
        """Write a message in the wire's shape."""
        if message.role == "tool":
            return result(
                message.tool_call_id, message.text, wrong=message.error is not None
            )
        if message.role != "assistant":
            return said(message.role, message.text)
        calls = [
            use(call.id, call.function, call.arguments)
            for call in message.tool_calls or ()
        ]
        return reply([{"type": "text", "text": message.text}, *calls])

    def theirs(self, texts: list[str], original: Any) -> Any:
        """Write a summary, or a result that the engine changed."""
        if original:
            return original.model_copy(update={"content": "\n".join(texts)})
        return ChatMessageUser(content=[ContentText(text=text) for text in texts])
