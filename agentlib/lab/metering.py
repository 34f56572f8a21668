"""Between the SDK and a real model: the cap is held, and what goes wrong is said in a sentence.

A middleware of the SDK: it runs once for each attempt, reads the usage in each answer, plain or
streamed, and refuses the next request when the cap is reached. Not here: prices (cost), keys
(client).
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx2

from agentlib.lab.spending import Cap, model_facts

Usage = dict[str, Any]
_KINDS = ("json", "event-stream")


class LiveError(RuntimeError):
    """Why there is no real model to talk to, in one sentence for whoever started the run."""


def guard(base_url: str, cap: Cap | None) -> Callable[[Any, Any], Any]:
    """A middleware for `anthropic.Anthropic(middleware=[guard(…)])`. `cap` None: no limit.

    Raises CapReached before a request; LiveError where the key is refused, where nobody answers
    at `base_url` (after the SDK's own retries) or something else does, or where a cap can't be
    held without a price.
    """
    import anthropic

    def handle(request: Any, call_next: Any) -> Any:
        body: dict[str, Any] = request.json or {}
        model: str = "" if "count_tokens" in request.url else body.get("model", "")
        if cap and model:
            _check(cap, model)
        try:
            response = call_next(request)
        except anthropic.APITimeoutError:
            raise
        except anthropic.APIConnectionError as error:
            reason = error.__cause__ or error
            raise LiveError(
                f"Nobody answers at {base_url}: is there a network? {reason}"
            ) from error
        if response.status_code == 401:
            raise LiveError(
                f"The key was refused by {base_url} (401): check ANTHROPIC_API_KEY in the "
                "environment or in .env."
            )
        kind = response.headers.get("content-type", "")
        if response.status_code == 200 and not any(name in kind for name in _KINDS):
            raise LiveError(
                f"What answers at {base_url} is no Messages API: it sent {kind or '?'}."
            )
        if cap and model:
            _meter(response.http_response, partial(cap.add, model=model))
        return response

    return handle


def _check(cap: Cap, model: str) -> None:
    cap.check()
    try:
        model_facts(model)
    except ValueError as error:
        raise LiveError(f"The cap can't be held: {error}. Go on without max_usd.") from None


def _meter(response: httpx2.Response, count: Callable[[Usage], object]) -> None:
    if "text/event-stream" in response.headers.get("content-type", ""):
        response.stream = _Tapped(response.stream, count)
    elif response.is_success:
        count(json.loads(response.read()).get("usage") or {})


class _Tapped(httpx2.SyncByteStream):
    """A stream that counts its usage when it ends; a broken-off one counts what it had said."""

    def __init__(self, inner: Any, count: Callable[[Usage], object]) -> None:
        self._inner, self._count = inner, count
        self._usage: Usage = {}
        self._rest = b""

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._usage.update(_usage_in(line))
            yield chunk

    def close(self) -> None:
        self._count(self._usage)
        self._usage = {}
        self._inner.close()


def _usage_in(line: bytes) -> Usage:
    if not (line.startswith(b"data:") and b'"usage"' in line):
        return {}
    event: dict[str, Any] = json.loads(line[5:])
    found: Usage = event.get("message", event).get("usage") or {}
    return {name: value for name, value in found.items() if value is not None}
