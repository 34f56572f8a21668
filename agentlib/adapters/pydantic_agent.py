"""pydantic-ai: a capability of an `Agent`.

>>> from pydantic_ai import Agent
>>> from agentlib import presets
>>> from agentlib.adapters.pydantic_agent import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> agent = Agent(model, tools=tools, capabilities=[compaction])  # your model and your tools
>>> answer = agent.run_sync(prompt)

The run's messages stay whole, because only the request gets the view. (`ProcessHistory` would
replace them.) Each conversation has a session file, named by its `conversation_id`. The agent's own
model writes the summary, and its tokens aren't in the run's usage. System prompts stand in front of
every view. A person's message that the engine keeps is sent whole, but the engine itself and the
session file know only its text.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pydantic_ai import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.direct import model_request
from pydantic_ai.messages import UserPromptPart

from agentlib.adapters.conversation import Conversations, Names, reply, result, use
from agentlib.messages import Block, Message, blocks, of_type

SAID = ("user-prompt", "tool-return", "retry-prompt")
"""The parts of a request that belong to the conversation."""


class Compaction(Conversations, AbstractCapability[Any]):
    """Send a view of the conversation that fits the window."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Give the request the view, after a request for a summary if the engine wants one."""
        context, units = request_context, list(_units(request_context.messages))
        said = [u for u in units if u.kind == "response" or u.parts[0].part_kind in SAID]
        front = [u for u in units if u.kind == "request" and u.parts[0].part_kind not in SAID]

        async def ask(messages: list[Any]) -> str:
            names = ("model_settings", "model_request_parameters")
            options = {name: getattr(context, name) for name in names}
            return (await model_request(context.model, [*front, *messages], **options)).text or ""

        view = await self.aview(ctx.conversation_id, said, ask)
        return replace(context, messages=[*front, *view])

    def ours(self, message: Any) -> Message:
        """Write a response, or a request of one part, in the wire's shape."""
        part, wrong = message.parts[0], message.parts[0].part_kind == "retry-prompt"
        if message.kind == "response":
            said, used = [block for p in message.parts for block in _block(p)], message.usage
            counts = used.input_tokens, used.output_tokens
            return reply(said, *counts, used.cache_read_tokens, used.cache_write_tokens)
        if part.part_kind == "user-prompt":
            texts = [part.content] if isinstance(part.content, str) else part.content
            text = "\n".join(each for each in texts if isinstance(each, str))
            return {"role": "user", "content": text or "(no text)"}
        text = part.model_response() if wrong else part.model_response_str()
        if not part.tool_name:
            return {"role": "user", "content": text}
        return result(part.tool_call_id, text, wrong=wrong)

    def theirs(self, message: Message, names: Names) -> Any:
        """Write a summary, or a message that the engine changed."""
        if message["role"] == "assistant":
            texts = [TextPart(block["text"]) for block in of_type(message, "text")]
            uses = [
                ToolCallPart(c["name"], c["input"], c["id"]) for c in of_type(message, "tool_use")
            ]
            return ModelResponse([*texts, *uses])
        for answer in of_type(message, "tool_result"):
            call = answer["tool_use_id"]
            return ModelRequest([ToolReturnPart(names[call], answer["content"], call)])
        return ModelRequest([UserPromptPart(block["text"]) for block in blocks(message)])


def _units(messages: Iterable[Any]) -> Iterator[Any]:
    """Split each request into requests of one part. pydantic-ai joins them again."""
    for message in messages:
        split = message.parts if message.kind == "request" else ()
        yield from [replace(message, parts=[part]) for part in split] or [message]


def _block(part: Any) -> Iterator[Block]:
    if part.part_kind == "text":
        yield {"type": "text", "text": part.content}
    elif part.part_kind == "thinking" and part.signature:
        yield {"type": "thinking", "thinking": part.content, "signature": part.signature}
    elif part.part_kind == "tool-call":
        yield use(part.tool_call_id, part.tool_name, part.args_as_dict())
