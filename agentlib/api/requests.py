"""Build a request with its cache markers, send it, and take in the reply.

This is the one place that knows how a client fails. Whoever asks a model here meets two
failures, `TooLong` and `ModelFailed`, and the client's own error in them.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

from agentlib.api.refusals import excess, refused_sizes
from agentlib.api.replies import received
from agentlib.messages import THINKING, Block, Message, blocks

if TYPE_CHECKING:
    import anthropic

_CACHE_MARK = {"type": "ephemeral"}


def request(
    model: str,
    system: str,
    tools: Sequence[Block],
    messages: Sequence[Message],
    max_tokens: int,
    settled: int = 0,
) -> dict[str, Any]:
    """Build the keyword arguments for `client.messages.create`, with cache markers on
    copies.

    The API allows four markers. Three are used: after the system prompt, after the
    `settled` messages, which no layer will touch again, and, by `cache_control`, at the
    end.
    """
    marked = list(messages)
    if 0 < settled < len(marked):
        marked[settled - 1] = _marked(marked[settled - 1])
    # The API takes no empty text with a marker.
    texts = (
        [{"type": "text", "text": system, "cache_control": _CACHE_MARK}]
        if system
        else []
    )
    return {
        "model": model,
        "system": texts,
        "tools": list(tools),
        "messages": marked,
        "max_tokens": max_tokens,
        "cache_control": _CACHE_MARK,
    }


def _marked(message: Message) -> Message:
    *rest, last = blocks(message)
    if last["type"] in THINKING:  # the API allows no marker there
        return message
    return {**message, "content": [*rest, {**last, "cache_control": _CACHE_MARK}]}


class ModelFailed(Exception):
    """The client raised something in place of a reply."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{error!s:.500}")
        self.error = error
        """What the client raised."""


class TooLong(ModelFailed):
    """The API refused the request for its size.

    `limit` and `size` are those that it names, see `refusals.refused_sizes`.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.limit, self.size = refused_sizes(error)


def send(
    client: "anthropic.Anthropic", request: dict[str, Any]
) -> "anthropic.types.Message":
    """Send a request. The SDK tries again where that may help, and raises the API's
    refusals."""
    create = cast("Callable[..., anthropic.types.Message]", client.messages.create)
    return create(**request)


def reply_to(
    client: "anthropic.Anthropic",
    request: dict[str, Any],
    taken: Collection[str] = (),
    most: float = math.inf,
) -> dict[str, Any]:
    """Send a request, and return the reply as it may be sent back, see
    `replies.received`.

    `taken`: ids of earlier calls. `most`: characters of a reply that a later request
    could still hold. Raises TooLong or ModelFailed, whichever client it is. Ctrl-C and
    errors of this code pass through.
    """
    try:
        reply = send(client, request)
    except Exception as error:
        raise (TooLong if excess(error) else ModelFailed)(error) from error
    return received(reply.to_dict(warnings=False), taken, most)
