"""The Messages API in this process: rules, errors, tokens, cache, faults. No key, no network.

`Server.answer` takes what comes over the wire and gives what goes back; `transport` puts it
behind the real SDK. What the model says comes from `model`, a function of the request alone. It
emulates settings.MODEL as of November 2026; stop_sequences, tool_choice, citations, batches and
the beta endpoints are not emulated. Not here: what the model says (policy).

    rules, shapes, pictures, binding  what it refuses, in its own words
    counting                          how many tokens
    answers, streaming                what it gives back, whole or in pieces
    faults                            what goes wrong on request
"""

import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from agentlib.lab.api.completion import finished
from agentlib.lab.api.faults import Fault, Faults, Kind, error_of
from agentlib.lab.api.rules import MAX_OUTPUT, Refusal, read_body, refusal, too_large
from agentlib.lab.api.streaming import stream
from agentlib.lab.api.tokens import block_tokens, lay_out
from agentlib.lab.cache import PromptCache
from agentlib.settings import MODEL

if TYPE_CHECKING:
    import httpx2

Body = dict[str, Any]
_ONE_PAGE = {"has_more": False, "first_id": None, "last_id": None}
_canonical = json.JSONEncoder(sort_keys=True).encode
Model = Callable[[Body], Body]
"""body -> {"content": blocks, "stop_reason": str}."""


class Reply(NamedTuple):
    """What goes back over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes


class NoAnswer(Exception):
    """A fault asked for: the request is never answered."""


class Server:
    """One provider with one model, its prompt cache, and what it remembers of its clients.

    `model`: makes the reply. `window`: tokens of prompt and
    answer together. `key`: the one key accepted; None: any. `clock`: seconds, read once for each
    message request. Two fresh servers give the same bytes for the same requests, and ids never
    repeat: each is a hash of the body and of how often this server has answered it.
    """

    def __init__(
        self,
        model: Model,
        *,
        window: int = 200_000,
        model_ids: Sequence[str] = (MODEL,),
        key: str | None = None,
        faults: Sequence[Fault] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.model, self.clock = model, clock
        self.window, self.model_ids, self.key = window, model_ids, key
        self._faults = Faults(faults)
        self._cache = PromptCache()
        self._answered: Counter[str] = Counter()
        self._requests = 0

    def transport(self) -> "httpx2.MockTransport":
        """This server as the transport of an `httpx2.Client`."""
        import httpx2

        def handle(request: httpx2.Request) -> httpx2.Response:
            try:
                reply = self.answer(
                    request.method, request.url.path, request.headers, request.content
                )
            except NoAnswer:
                raise httpx2.ReadTimeout("The read operation timed out", request=request) from None
            return httpx2.Response(reply.status, headers=reply.headers, content=reply.body)

        return httpx2.MockTransport(handle)

    def answer(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        """One request, answered. Raises NoAnswer where a fault says so.

        A fault of ours (in the model or here) comes back as a 500 that says where it happened
        and is not to be retried.
        """
        self._requests += 1
        name = "req_" + sha256(b"%d %s" % (self._requests, raw)).hexdigest()[:24]
        try:
            return self._route(name, method, path, headers, raw)
        except Refused as refused:
            return _error(name, refused.refusal, refused.headers)
        except NoAnswer:
            raise
        except Exception:
            error = Refusal(500, "api_error", traceback.format_exc())
            return _error(name, error, {"x-should-retry": "false"})

    def _route(
        self, name: str, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> Reply:
        if not self._knows(headers):
            raise Refused(Refusal(401, "authentication_error", "invalid x-api-key"))
        match method, path.strip("/").split("/"):
            case "GET", ["v1", "models"]:
                return _reply(
                    name, 200, {"data": [*map(self._model_object, self.model_ids)], **_ONE_PAGE}
                )
            case "GET", ["v1", "models", model]:
                if model not in self.model_ids:
                    raise Refused(Refusal(404, "not_found_error", f"model: {model}"))
                return _reply(name, 200, self._model_object(model))
            case "POST", ["v1", "messages"]:
                return self._messages(name, raw)
            case "POST", ["v1", "messages", "count_tokens"]:
                return self._count(name, raw)
            case _:
                raise Refused(Refusal(404, "not_found_error", "Not Found"))

    def _knows(self, headers: Mapping[str, str]) -> bool:
        bearer = headers.get("authorization", "").removeprefix("Bearer").strip()
        given = headers.get("x-api-key", "").strip() or bearer
        return bool(given) and self.key in (None, given)

    def _model_object(self, model: str) -> Body:
        return {
            "type": "model",
            "id": model,
            "display_name": model,
            "created_at": "1970-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.window,
            "max_tokens": MAX_OUTPUT,
        }

    def _count(self, name: str, raw: bytes) -> Reply:
        body = self._read(raw, counts_only=True)
        return _reply(name, 200, {"input_tokens": lay_out(body).tokens})

    def _messages(self, name: str, raw: bytes) -> Reply:
        now = self.clock()
        body = self._read(raw)
        streamed = body.pop("stream", False)
        layout = lay_out(body)
        _refuse(too_large(len(raw), layout.tokens, self.window))
        fault = self._strike(body, layout.tokens)
        seed, times = self._seed(body)
        room = self.window - layout.tokens
        content, stop = finished(
            self.model(body), body, seed=f"{seed} {times}", room=room, fault=fault
        )
        self._answered[seed] += 1
        spent = sum(map(block_tokens, content))
        usage = self._cache.bill(layout.parts, layout.marks, now).usage(spent)
        message = {
            "id": "msg_" + sha256(f"{seed} {times}".encode()).hexdigest()[:24],
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": None,
            "usage": {**usage, "service_tier": "standard"},
        }
        if streamed:
            headers = {"request-id": name, "content-type": "text/event-stream; charset=utf-8"}
            return Reply(200, headers, stream(message))
        return _reply(name, 200, message)

    def _read(self, raw: bytes, counts_only: bool = False) -> Body:
        body = read_body(raw)
        if isinstance(body, Refusal):
            raise Refused(body)
        _refuse(refusal(body, models=self.model_ids, counts_only=counts_only))
        return {key: value for key, value in body.items() if value is not None}

    def _strike(self, body: Body, tokens: int) -> Kind | None:
        fault = self._faults.next(body["messages"])
        if fault == "timeout":
            raise NoAnswer
        error = fault and error_of(fault, tokens, self.window)
        if error:
            raise Refused(*error)
        return fault

    def _seed(self, body: Body) -> tuple[str, int]:
        seed = sha256(_canonical(body).encode()).hexdigest()
        return seed, self._answered[seed]


class Refused(Exception):
    """An error response on its way out: the refusal, and headers of its own."""

    def __init__(self, refusal: Refusal, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(refusal.message)
        self.refusal, self.headers = refusal, headers or {}


def _refuse(problem: Refusal | None) -> None:
    if problem:
        raise Refused(problem)


def _error(name: str, refusal: Refusal, headers: Mapping[str, str]) -> Reply:
    error: Body = {"type": refusal.type, "message": refusal.message}
    if refusal.type == "request_too_large":  # said by the gateway before the API: a bare body
        return Reply(refusal.status, {"content-type": "application/json"}, _bytes({"error": error}))
    if refusal.status == 529:
        error["details"] = None
    body = {"type": "error", "error": error, "request_id": name}
    return _reply(name, refusal.status, body, headers)


def _reply(name: str, status: int, body: Body, headers: Mapping[str, str] | None = None) -> Reply:
    standard = {"request-id": name, "content-type": "application/json"}
    return Reply(status, {**standard, **(headers or {})}, _bytes(body))


def _bytes(body: Body) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
