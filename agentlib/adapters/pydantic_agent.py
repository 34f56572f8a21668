"""pydantic-ai: a capability of an `Agent`.

>>> from pydantic_ai import Agent
>>> from agentlib import presets
>>> from agentlib.adapters.pydantic_agent import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> agent = Agent(model, tools=tools, capabilities=[compaction])  # your model and your tools
>>> answer = agent.run_sync(prompt)

The run's messages stay whole, because only the request gets the view. (`ProcessHistory`
would replace them.) So a `message_history` may be taken up again, cut or edited. The
agent's own model writes the summary, as words even where the agent's answer is
structured. Its tokens are in the session's bills, and not in the run's usage. Each
conversation has a session file, named by its `conversation_id`. Of thinking, the file
has only the signature.
"""
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic_ai import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.direct import model_request

from agentlib.adapters.conversation import Conversations
from agentlib.adapters.shapes import part, reply, result, said, text, use
from agentlib.messages import Block, Message

MEDIA = {
    "image-url": "image",
    "audio-url": "audio",
    "video-url": "video",
    "document-url": "document",
    "binary": "file",
    "uploaded-file": "file",
}
"""What pydantic-ai calls what isn't text."""


class Compaction(Conversations, AbstractCapability[Any]):
    """Send a view of the conversation that fits the window."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Give the request the view, after a request for a summary if the engine wants
        one."""

        async def ask(messages: list[Any]) -> Message:
            return self.ours(await _answer(request_context, messages))

        messages = request_context.messages
        try:
            units = [unit for message in messages for unit in _units(message)]
        except Exception as error:
            self.say("adapter_failed", f"the whole list is sent: {error!r:.500}")
            return request_context
        asked = request_context.model_request_parameters
        name = ctx.conversation_id or "conversation"
        view = await self.aview(name, units, ask, base=partial(_base, asked))
        if view is units:
            return request_context
        return replace(request_context, messages=_joined(view, messages))

    def ours(self, message: Any) -> Message:
        """Write a response, or a request of one part, in the wire's shape."""
        if message.kind == "response":
            used = message.usage
            cached = used.cache_read_tokens, used.cache_write_tokens
            return reply(
                [_block(each) for each in message.parts],
                (used.input_tokens, used.output_tokens, *cached),
                message.finish_reason,
                signed=message.model_name or message.provider_name,
            )
        asked = message.parts[0]
        if isinstance(asked, ToolReturnPart):
            content = [text(asked.model_response_str()), *map(_content, asked.files)]
            is_wrong = asked.outcome != "success"
            return result(asked.tool_call_id, content, wrong=is_wrong)
        kind = asked.part_kind
        if kind == "retry-prompt" and asked.tool_name:
            return result(asked.tool_call_id, asked.model_response(), wrong=True)
        if kind in ("user-prompt", "speech"):
            content = getattr(asked, "content", None) or asked.transcript or ""
            parts = [content] if isinstance(content, str) else content
            return said("user", [_content(each) for each in parts])
        if kind in ("system-prompt", "instruction", "instruction-delta"):
            return said("system", str(asked.content))
        # The framework's word on the reply before it goes when that reply goes.
        return reply([part(kind, asked)])

    def said(self, parts: list[Any]) -> Any:
        """Write a user's message of texts and parts."""
        return ModelRequest(
            [UserPromptPart(p if isinstance(p, str) else [p]) for p in parts]
        )

    def changed(
        self, original: Any, texts: Mapping[str, str], *, thinking: bool
    ) -> Any:
        """Write a message with another result, or without its thinking."""
        if original.kind == "response":
            parts = [p for p in original.parts if thinking or p.part_kind != "thinking"]
            return replace(original, parts=parts)
        new = next(iter(texts.values()))
        return replace(original, parts=[replace(original.parts[0], content=new)])


async def _answer(request_context: Any, messages: list[Any]) -> Any:
    """Ask for words, with the same tools, and none of them forced."""
    asked = request_context.model_request_parameters
    mode = asked.output_mode if asked.output_mode == "tool" else "text"
    plainly = replace(
        asked, allow_text_output=True, output_object=None, output_mode=mode
    )
    settings: Any = {**(request_context.model_settings or {})}
    settings.pop("tool_choice", None)
    return await model_request(
        request_context.model,
        _joined(messages, request_context.messages),
        model_settings=settings,
        model_request_parameters=plainly,
    )


def _block(given: Any) -> Block:
    """Write one part of a response."""
    match given.part_kind:
        case "text":
            return text(given.content)
        case "thinking" if given.signature:
            return {"type": "redacted_thinking", "data": given.signature}
        case "tool-call":
            return use(given.tool_call_id, given.tool_name, given.args_as_dict())
        case kind:
            return part(kind, given)


def _content(given: Any) -> Block:
    """Write one part of what a person said or a tool returned."""
    words = given if isinstance(given, str) else getattr(given, "content", None)
    if isinstance(words, str):
        return text(words)
    kind = str(getattr(given, "kind", type(given).__name__))
    if kind == "cache-point":  # nothing is said there, and it may not stand alone
        return text("")
    media = str(getattr(given, "media_type", "")).partition("/")[0]
    return part(media if media in ("image", "audio") else MEDIA.get(kind, kind), given)


def _units(message: Any) -> list[Any]:
    """Split a request into requests of one part."""
    if message.kind != "request" or len(message.parts) < 2:
        return [message] if message.parts else []
    return [replace(message, parts=[each]) for each in message.parts]


def _joined(view: Sequence[Any], messages: Sequence[Any]) -> list[Any]:
    """Put the units of a request together again, the whole one if all are there."""
    homes = {
        id(each): message
        for message in messages
        if message.kind == "request"
        for each in message.parts
    }
    joined = list[Any]()
    for home, units in _runs(view, homes):
        parts = [each for unit in units for each in unit.parts]
        if home is None:
            joined += units
        elif list(map(id, parts)) == list(map(id, home.parts)):
            joined.append(home)
        else:
            joined.append(replace(home, parts=parts))
    return joined


def _runs(
    view: Sequence[Any], homes: Mapping[int, Any]
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the units that follow one another in the same request."""
    home = None
    run = list[Any]()
    for unit in view:
        parts = unit.parts if unit.kind == "request" else ()
        own = homes.get(id(parts[0])) if parts else None
        if run and own is not home:
            yield home, run
            run = []
        home = own
        run.append(unit)
    if run:
        yield home, run


def _base(asked: Any) -> str:
    """Return the instructions and the tools."""
    parts = [each.content for each in asked.instruction_parts or ()]
    tools = [*asked.function_tools, *asked.output_tools]
    known = [f"{t.name}{t.description}{t.parameters_json_schema}" for t in tools]
    return "".join([*parts, *known])
