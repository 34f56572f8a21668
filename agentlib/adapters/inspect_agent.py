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
it. Reasoning stays with its message, even behind a new summary.

inspect_ai ends a sample if a compaction leaves it over the threshold. So if there is no
summary, the messages are cut to size, as our own loop does in an emergency, and the
cause is told. An agent takes one strategy, so another one of inspect_ai's, such as
`CompactionEdit`, has no place beside ours.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from inspect_ai.model import (
    ChatMessageUser,
    CompactionStrategy,
    ContentText,
)
from inspect_ai.util import LimitExceededError

from agentlib.adapters.conversation import Conversations
from agentlib.adapters.shapes import part, reply, result, said, text, use
from agentlib.messages import Block, Message


@dataclass(eq=False)
class Compaction(Conversations, CompactionStrategy):
    """Replace what inspect_ai finds too long by a view that fits the window."""

    reason = "manual"
    is_cut = True
    keeps_views = True
    passing = (LimitExceededError,)
    preserve_prefix = False
    """Don't send the first request again: the engine keeps the newest, beside its
    summary."""

    def __post_init__(self) -> None:
        super().__post_init__()
        CompactionStrategy.__init__(
            self, type="summary", threshold=self.settings.threshold_tokens
        )

    async def compact(self, model: Any, messages: list[Any], tools: list[Any]) -> Any:
        """Return the view, and its summary for the history if a model wrote it."""
        written = list[str]()

        async def ask(messages: list[Any]) -> Message:
            output = await model.generate(messages, tools)
            choice = output.choices[0]
            used = output.usage
            answer = self.ours(choice.message)
            tokens = (0, 0, 0, 0)
            if used is not None:
                read = used.input_tokens_cache_read or 0
                cached = used.input_tokens_cache_write or 0
                prompt = used.input_tokens + read + cached
                tokens = (prompt, used.output_tokens, read, cached)
            written.append(output.completion.strip())
            stop, signed = choice.stop_reason, answer["signed"]
            return reply(answer["content"], tokens, stop, signed=signed)

        view = await self.aview(uuid4().hex, messages, ask)
        new = (m for m in view if m.role == "user" and m not in messages)
        summary = next(new, None)
        is_models = summary is not None and any(
            each and each in summary.text for each in written
        )
        return view, summary if is_models else None

    def ours(self, message: Any) -> Message:
        """Write a message in the wire's shape."""
        content = _blocks(message.content)
        if message.role == "tool":
            is_wrong = message.error is not None
            return result(message.tool_call_id or "", content, wrong=is_wrong)
        if message.role != "assistant":
            return said(message.role, content)
        calls = [
            use(call.id, call.function, call.arguments)
            for call in message.tool_calls or ()
        ]
        return reply([*content, *calls], signed=message.model)

    def said(self, parts: list[Any]) -> Any:
        """Write a user's message of texts and parts."""
        content = [ContentText(text=p) if isinstance(p, str) else p for p in parts]
        return ChatMessageUser(content=content)

    def changed(
        self, original: Any, texts: Mapping[str, str], *, thinking: bool
    ) -> Any:
        """Write a result with another text."""
        new = next(iter(texts.values()), original.content)
        return original.model_copy(update={"content": new})


def _blocks(content: Any) -> list[Block]:
    parts: list[Any] = (
        [ContentText(text=content)] if isinstance(content, str) else content
    )
    return [
        text(each.text) if each.type == "text" else part(each.type, each)
        for each in parts
    ]
