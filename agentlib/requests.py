"""What is sent: a request with its cache markers, and blocks in the form the API takes back.

The API refuses some of what it returned itself: blank texts, extra keys, thinking whose prefix
has changed. Not here: what a context holds (the layers).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from agentlib.messages import Block, Message, blocks, last_assistant, of_type

if TYPE_CHECKING:
    import anthropic

_THINKING = ("thinking", "redacted_thinking")
_CACHE_MARK = {"type": "ephemeral"}
_KEYS = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking", "signature"),
    "tool_use": ("type", "id", "name", "input"),
    "tool_result": ("type", "tool_use_id", "content", "is_error"),
}


def without_thinking(messages: Sequence[Message], start: int) -> list[Message]:
    """Drop thinking from message `start` on; the newest models refuse it after a changed prefix.

    The thinking of a tool turn still unanswered stays: its results are the end of the list, and
    the API wants that turn back unmodified (facts: "blocks in the latest assistant message").
    """
    last = last_assistant(messages)
    unanswered = last if last >= 0 and of_type(messages[last], "tool_use") else -1
    return [
        *messages[:start],
        *(
            _stripped(message) if i != unanswered else message
            for i, message in enumerate(messages[start:], start)
        ),
    ]


def answered(messages: Sequence[Message]) -> list[Message]:
    """The list without the thinking of its newest assistant message, now that it is answered.

    What `without_thinking` had to leave after a changed prefix goes with the next reply.
    """
    newest, view = last_assistant(messages), list(messages)
    if newest >= 0:
        view[newest] = _stripped(view[newest])
    return view


def _stripped(message: Message) -> Message:
    found = blocks(message)
    kept = [block for block in found if block["type"] not in _THINKING]
    if len(kept) == len(found):
        return message
    # A turn that was all thinking keeps its place: the roles around it rely on it.
    return {**message, "content": kept or [{"type": "text", "text": "(thinking only)"}]}


def sendable(content: Sequence[Block]) -> list[Block]:
    """A reply's blocks as they may be sent back: the API returns blank texts and extra keys, and
    refuses both (facts: claude_code_sessions.md, pitfalls 8 and 11)."""
    kept = [b for b in content if b["type"] != "text" or b["text"].strip()]
    known = [{k: v for k, v in b.items() if k in _KEYS.get(b["type"], b)} for b in kept]
    return known or [{"type": "text", "text": "(empty reply)"}]


def request(
    model: str,
    system: str,
    tools: Sequence[Block],
    messages: Sequence[Message],
    max_tokens: int,
    settled: int = 0,
) -> dict[str, Any]:
    """Keyword arguments for `client.messages.create`, with cache markers on copies.

    Three of the four markers the API allows: the system prompt, the last of the `settled`
    messages (no layer will touch them again), and by `cache_control` the end of the request.
    """
    sent = list(messages)
    if 0 < settled < len(sent):
        sent[settled - 1] = _marked(sent[settled - 1])
    return {
        "model": model,
        "system": [{"type": "text", "text": system, "cache_control": _CACHE_MARK}],
        "tools": list(tools),
        "messages": sent,
        "max_tokens": max_tokens,
        "cache_control": _CACHE_MARK,
    }


def send(client: "anthropic.Anthropic", asked: dict[str, Any]) -> "anthropic.types.Message":
    """Send what `request` put together; the SDK retries, and raises what the API refuses."""
    create = cast("Callable[..., anthropic.types.Message]", client.messages.create)
    return create(**asked)


def _marked(message: Message) -> Message:
    *rest, last = blocks(message)
    if last["type"] in _THINKING:
        return message
    return {**message, "content": [*rest, {**last, "cache_control": _CACHE_MARK}]}
