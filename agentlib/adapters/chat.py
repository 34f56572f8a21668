"""Any loop over a list of messages, in OpenAI's chat shape or in Anthropic's: LiteLLM,
vLLM, Ollama, or a loop of your own.

>>> from agentlib import presets
>>> from agentlib.adapters.chat import Compaction
>>> settings = presets.DEFAULT.scaled(200_000)  # your model's window
>>> compaction = Compaction("sessions", settings)
>>> def ask(messages):  # as your loop asks, but without a forced tool
...     return client.messages.create(
...         model=model, messages=messages, tools=tools, max_tokens=4_000)
>>> view = compaction.view(messages, ask)  # before each request
>>> answer = ask(view)

Keep your own list whole, and append to it as before. Send the view in its place. `ask`
returns the answer as your client gives it: an object, a dict, or the text alone. An
async loop writes `await compaction.aview(messages, ask)`, with a coroutine function.

The list has no bills. Give the newest answer's `usage`, or every prompt's size is a
guess. Give `system` and `tools` if they aren't in the list, because they have a weight.
Each conversation wants a `name` of its own, which its session file has, too.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentlib.adapters.conversation import Conversations
from agentlib.adapters.shapes import (
    bare,
    part,
    record,
    reply,
    result,
    result_block,
    said,
    text,
    use,
    written,
)
from agentlib.messages import THINKING, Block, Message

KINDS = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "input_file": "file",
    "audio_url": "audio",
    "video_url": "video",
}
"""What OpenAI's APIs and LangChain call the media."""
WORDS = ("text", "input_text", "output_text", "summary_text", "refusal")
"""Kinds of content that are words."""
NAMED = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call")
"""Keys of a message that are read one by one. Any other has the weight of its JSON."""
MEDIA_KEYS = {"images": "image", "audio": "audio", "videos": "video"}
"""Keys of a message that hold media, as in Ollama's API."""
_SMALL = 100
"""Characters of JSON. What has fewer under its key stays beside a cleared result."""


@dataclass(frozen=True)
class Keyed:
    """What a message has beside its content, under a key of its own."""

    key: str
    value: Any
    is_listed: bool = False
    """Whether it is one of a list."""


@dataclass(eq=False)
class Compaction(Conversations):
    """Choose what to send of a list of messages."""

    def view(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        messages: Sequence[Any],
        ask: Callable[[list[Any]], Any],
        *,
        name: str = "chat",
        system: Any = "",
        tools: Sequence[Any] = (),
        usage: Any = None,
    ) -> list[Any]:
        """Return the messages to send instead of all.

        `ask` sends messages to the model and returns its answer. It is called for a
        summary, and only if the engine wants one. `usage`: the bill of the newest reply
        in the list. The list that is returned is always a new one, so it stays as it
        was sent when yours grows.
        """
        view = super().view(
            name,
            messages,
            lambda asked: answer_of(ask(asked)),
            base=lambda: f"{system}{_written(tools)}",
            bill=_bill(usage),
        )
        return list(view)

    async def aview(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        messages: Sequence[Any],
        ask: Callable[[list[Any]], Awaitable[Any]],
        *,
        name: str = "chat",
        system: Any = "",
        tools: Sequence[Any] = (),
        usage: Any = None,
    ) -> list[Any]:
        """Do the same with a coroutine function. If it is cancelled, so is `ask`."""

        async def asked(messages: list[Any]) -> Any:
            return answer_of(await ask(messages))

        view = await super().aview(
            name,
            messages,
            asked,
            base=lambda: f"{system}{_written(tools)}",
            bill=_bill(usage),
        )
        return list(view)

    def ours(self, message: Any) -> Message:
        """Write a message in the wire's shape."""
        whole: dict[str, Any] = record(message)
        role = whole.get("role")
        if role is None and "type" in whole:
            raise TypeError(
                f"an item {whole['type']!r:.40} of the Responses API is no message; give "
                "chat messages, or use agentlib.adapters.openai_agents"
            )
        content = [*blocks_of(whole.get("content")), *_beside(whole)]
        if role in ("tool", "function"):
            name = whole.get("tool_call_id") or whole.get("name") or ""
            return result(str(name), content)
        if role == "assistant":
            return reply([*content, *_calls(whole)])
        if role in ("system", "developer"):
            return said("system", content)
        return said("user", content)

    def said(self, parts: list[Any]) -> Any:
        """Write a user's message. It is a plain text if there is nothing else in it,
        because not every server takes a list."""
        beside = dict[str, Any]()
        for each in parts:
            if isinstance(each, Keyed) and each.is_listed:
                beside.setdefault(each.key, []).append(each.value)
            elif isinstance(each, Keyed):
                beside[each.key] = each.value
        shown = [each for each in parts if not isinstance(each, Keyed)]
        if all(isinstance(each, str) for each in shown):
            return {"role": "user", "content": "\n\n".join(shown), **beside}
        content = [text(each) if isinstance(each, str) else each for each in shown]
        return {"role": "user", "content": content, **beside}

    def changed(
        self, original: Any, texts: Mapping[str, str], *, thinking: bool
    ) -> Any:
        """Write a message with other results, or without its thinking."""
        whole: dict[str, Any] = record(original)
        content: Any = whole.get("content")
        if whole["role"] in ("tool", "function"):
            large = {each["part"].key for each in _beside(whole) if not _is_small(each)}
            kept = {key: value for key, value in whole.items() if key not in large}
            return {**kept, "content": next(iter(texts.values()), content)}
        parts = cast(list[Any], content if isinstance(content, list) else [])
        kept = parts if thinking else without_thinking(parts)
        return {**whole, "content": [_with_text(block, texts) for block in kept]}


def answer_of(answer: Any) -> Message | str:
    """Read a client's answer: OpenAI's, Anthropic's, Ollama's, a message, or a text.

    >>> answer_of({"choices": [{"message": {"content": "Hi."}, "finish_reason": "length"}]})[
    ...     "stop_reason"]
    'max_tokens'
    """
    if isinstance(answer, str):
        return answer
    whole: Any = record(answer)
    if not isinstance(whole, dict):
        raise TypeError(
            f"ask returned a {type(answer).__name__}; return the whole answer, without "
            "stream=True"
        )
    whole = cast(dict[str, Any], whole)
    if whole.get("error"):
        raise ValueError(f"ask returned an error: {whole['error']!r:.300}")
    if "output" in whole and not {"choices", "content", "message"} & {*whole}:
        raise TypeError("ask returned an answer of the Responses API; return its text")
    usage: dict[str, Any] = record(whole.get("usage") or {})
    choices = whole.get("choices")
    choice: dict[str, Any] = record(choices[0]) if choices else whole
    message: dict[str, Any] = record(choice.get("message") or choice)
    reasons = ("finish_reason", "stop_reason", "done_reason")
    stop = next((str(choice[key]) for key in reasons if choice.get(key)), None)
    content = [*blocks_of(message.get("content")), *_calls(message)]
    return reply(content, _tokens(usage), stop)


def _beside(message: Mapping[str, Any]) -> list[Block]:
    """Return the blocks of what a message has under keys of its own, such as reasoning.

    >>> [bare(block["text"])[:6] for block in _beside({"role": "user", "images": ["AAAA"]})]
    ['[image']
    """
    parts = list[Block]()
    for key, value in message.items():
        if key in NAMED or key == "cache_control" or not value:
            continue
        kind = MEDIA_KEYS.get(key, key)
        if key in MEDIA_KEYS and isinstance(value, list):
            each = cast(list[Any], value)
            parts += [part(kind, Keyed(key, one, True)) for one in each]
        else:
            is_small = key not in MEDIA_KEYS and len(written(value)) < _SMALL
            parts.append(part(kind, Keyed(key, value), fixed=is_small))
    return parts


def _is_small(block: Block) -> bool:
    return bare(block["text"]) == block["text"]


def _tokens(usage: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Read a bill. OpenAI's prompt has the cached tokens in it, Anthropic's has not."""

    def count(key: str) -> int:
        value = usage.get(key)
        return value if isinstance(value, int) else 0

    read = count("cache_read_input_tokens")
    stored = count("cache_creation_input_tokens")
    if "prompt_tokens" in usage:
        details: dict[str, Any] = record(usage.get("prompt_tokens_details") or {})
        cached = read or details.get("cached_tokens") or 0
        prompt = count("prompt_tokens")
        output = count("completion_tokens")
        return prompt, output, cached, 0
    prompt = count("input_tokens") + read + stored
    return prompt, count("output_tokens"), read, stored


def _bill(usage: Any) -> tuple[int, ...]:
    """Read a bill that somebody hands over, none for anything that is no bill."""
    plain: Any = record(usage)
    return _tokens(cast(dict[str, Any], plain)) if isinstance(plain, dict) else ()


def _calls(message: Mapping[str, Any]) -> list[Block]:
    """Return the calls of a reply of OpenAI's, whatever their arguments are."""
    calls = [record(call) for call in message.get("tool_calls") or ()]
    if message.get("function_call"):
        function = record(message["function_call"])
        calls.append({"id": function.get("name"), "function": function})
    return [_call(call) for call in calls]


def _call(call: Mapping[str, Any]) -> Block:
    function: dict[str, Any] = record(call.get("function") or call.get("custom") or {})
    given = function.get("arguments", function.get("input"))
    return use(
        str(call.get("id") or ""), str(function.get("name") or ""), arguments(given)
    )


def arguments(given: object) -> object:
    """Read a call's arguments. Those that are no JSON stay as they are.

    >>> arguments('{"n": 1}'), arguments('{"n": 1'), arguments("")
    ({'n': 1}, '{"n": 1', {})
    """
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        return json.loads(given or "{}")
    except ValueError:
        return given


def blocks_of(content: Any) -> list[Block]:
    """Read the content of a message: a text, a list of parts, or nothing."""
    if content is None:
        return []
    if isinstance(content, str):
        return [text(content)]
    return [block_of(each) for each in cast(list[Any], content)]


def block_of(given: Any) -> Block:
    """Read one part of a content, in whichever shape."""
    if isinstance(given, str):
        return text(given)
    block: dict[str, Any] = record(given)
    kind = str(block.get("type") or "text" if "text" in block else block.get("type"))
    if kind in WORDS:
        return text(str(block.get("text") or block.get("refusal") or ""))
    if kind == "tool_use":
        return use(str(block.get("id")), str(block.get("name")), block.get("input"))
    if kind == "tool_result":
        content = blocks_of(block.get("content"))
        is_wrong = bool(block.get("is_error"))
        return result_block(str(block.get("tool_use_id")), content, wrong=is_wrong)
    if kind in THINKING and (block.get("signature") or block.get("data")):
        return block
    return part(KINDS.get(kind, kind), given)


def without_thinking(content: Sequence[Any]) -> list[Any]:
    """Drop the thinking that a changed view would make invalid."""
    return [
        block
        for block in content
        if isinstance(block, str) or record(block).get("type") not in THINKING
    ]


def _with_text(block: Any, texts: Mapping[str, str]) -> Any:
    name = "" if isinstance(block, str) else record(block).get("tool_use_id", "")
    return {**record(block), "content": texts[name]} if name in texts else block


def _written(tools: Sequence[Any]) -> str:
    return json.dumps([record(tool) for tool in tools], default=str) if tools else ""
