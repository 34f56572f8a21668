"""inspect_ai: a `CompactionStrategy`, for `react` and every other agent that takes one.

>>> from inspect_ai.agent import react
>>> from agentlib import presets
>>> from agentlib.adapters.inspect_agent import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> agent = react(tools=tools, compaction=compaction)  # your tools; the model is the task's

inspect_ai decides when to compact, by its own calibrated estimate, at our settings' threshold. The
engine decides what stays, and is always asked for a summary. inspect_ai keeps the view. The log of
the evaluation stays whole and has a `CompactionEvent` for each compaction. Each leaves a session
file besides, with the messages that went into it. System messages stand in front of every view.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from pathlib import Path
from typing import Any
from uuid import uuid4

from inspect_ai.model import ChatMessageTool, ChatMessageUser, CompactionStrategy, ContentText

from agentlib.adapters.conversation import Conversations, Names, reply, result, use
from agentlib.messages import Message, blocks, of_type, result_text
from agentlib.pipeline import compact
from agentlib.presets import DEFAULT
from agentlib.settings import Settings
from agentlib.step import ContextEngine


class Compaction(CompactionStrategy, Conversations):
    """Replace what inspect_ai finds too long by a view that fits the window."""

    def __init__(
        self, folder: Path | str, settings: Settings = DEFAULT, engine: ContextEngine = compact
    ) -> None:
        CompactionStrategy.__init__(self, type="summary", threshold=settings.threshold_tokens)
        Conversations.__init__(self, folder, settings, engine)

    @property
    def preserve_prefix(self) -> bool:
        """Don't send the first request again: the engine keeps the newest, beside its summary."""
        return False

    async def compact(self, model: Any, messages: list[Any], tools: list[Any]) -> Any:
        """Return the view, and its summary for the history."""
        system = [message for message in messages if message.role == "system"]
        said = [message for message in messages if message.role != "system"]
        ids = {message.id for message in said}

        async def ask(messages: list[Any]) -> str:
            return (await model.generate([*system, *messages], tools)).completion

        view = await self.aview(uuid4().hex, said, ask, "manual")
        new = (m for m in view if m.role == "user" and m.id not in ids)
        return [*system, *view], next(new, None)

    def ours(self, message: Any) -> Message:
        """Write a message in the wire's shape."""
        if message.role == "tool":
            return result(message.tool_call_id, message.text, wrong=message.error is not None)
        if message.role == "user":
            return {"role": "user", "content": message.text or "(no text)"}
        calls = [use(call.id, call.function, call.arguments) for call in message.tool_calls or ()]
        return reply([{"type": "text", "text": message.text}, *calls])

    def theirs(self, message: Message, names: Names) -> Any:
        """Write a summary, or a result that the engine changed."""
        for answer in of_type(message, "tool_result"):
            text, call = result_text(answer), answer["tool_use_id"]
            return ChatMessageTool(content=text, tool_call_id=call, function=names[call])
        return ChatMessageUser(content=[ContentText(text=b["text"]) for b in blocks(message)])
