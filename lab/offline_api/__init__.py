"""The Messages API without a network: rules, tokens, cache, faults, edits, the server, and
the offline model.

    client           the real SDK in front of it; `client(live=True)` is agentlib's
    violation        the first of the API's rules that a list of messages breaks
    server           answers a request, in this process or (`python -m offline_api`) over HTTP
    chat_completions OpenAI's chat completions, translated into messages and back
    rules            refuses a request as the API does, in the API's words (rules.toml)
    body_schema      the shapes of a request
    message_rules    what may stand where in a list of messages
    tokens           counts a request's tokens, by kind of block
    cache            the rules of the prompt cache
    completion       a reply as the API sends it, whole or as a stream
    edits, thinking  the API's own context edits, and thinking blocks
    faults           failures on request
    limits           a time limit for somebody else's code
    model            the offline model's replies, from the request alone

The model shows how a mechanism works. It is no evidence about language models.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offline_api.connection import client
    from offline_api.message_rules import violation

__all__ = ["client", "violation"]


def __getattr__(name: str) -> Any:
    """Load `client` and `violation` when they are asked for, since a server needs neither."""
    if name == "client":
        from offline_api.connection import client

        return client
    if name == "violation":
        from offline_api.message_rules import violation

        return violation
    raise AttributeError(f"module 'offline_api' has no attribute {name!r}")
