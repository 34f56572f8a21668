"""Hold back what a live client must not send, where its bytes leave.

`spending.guard` stands around a call of the SDK. But one can make a client without it
(`with_options(middleware=[])`), and a middleware inside it can change a request or send
a second one. All of these leave by the same HTTP client, so `gate` looks there again.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2

from agentlib.api.spending import Cap, NotSent, is_free


class Refused(NotSent, anthropic.AnthropicError):
    """A request that was held back. The SDK hands its own errors on, and doesn't try
    again."""


def gate(address: str, cap: Cap | None) -> Callable[[httpx2.Request], None]:
    """Return a hook for the requests of an `httpx2.Client`, which raises Refused for one
    that goes elsewhere than to `address`, and so would take the key there.

    Under a cap it also raises for a request that costs something, unless `guard` has
    just let this thread send this model's message. That counts for one request.
    """

    def check(request: httpx2.Request) -> None:
        url = request.url
        place = f"{url.scheme}://{url.netloc.decode()}"
        if place != address:
            raise Refused(
                f"The key belongs to {address} and doesn't go to {place}. If you trust that "
                "address, set ANTHROPIC_BASE_URL to it."
            )
        try:
            if cap is None or is_free(request.method, str(url)):
                return
        except NotSent as error:
            raise Refused(str(error)) from None
        if cap.ticket != (threading.get_ident(), _model(request)):
            raise Refused(
                "The cap can't be held: this request isn't the one that was priced. Send one "
                "request for each call, of the same model, or go on without max_usd."
            )
        cap.ticket = None

    return check


def _model(request: httpx2.Request) -> Any:
    """Return the model that a body asks, None if it streams or can't be read."""
    try:
        body = json.loads(request.content)
        return None if body.get("stream") else body.get("model")
    except (ValueError, RecursionError, AttributeError, httpx2.RequestNotRead):
        return None
