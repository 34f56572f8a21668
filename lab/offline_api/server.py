"""The Messages API in this process: rules, errors, tokens, cache, faults. No key, no
network.

`Server.answer` takes an HTTP request and returns the response. `Server.transport` puts
it behind the real SDK. `model`, a function of the request alone, makes the replies. The
server emulates settings.MODEL as of November 2026. Images, documents, batches and files
are not simulated. The model obeys stop_sequences and tool_choice. `python -m
offline_api` serves it over HTTP.

    rules, body_schema, thinking  which requests are refused, in the API's words
    edits                         context_management: clearing and compaction by the server
    tokens                        how many tokens a request has
    completion                    from the model's reply to an answer, or to a stream of events
    faults                        errors on request
"""

import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import httpx2

from agentlib.messages import Block
from agentlib.settings import MODEL
from offline_api.body_schema import Body, not_simulated
from offline_api.cache import Bill, PromptCache
from offline_api.completion import events, finished, server_sent
from offline_api.edits import (
    cleared,
    compaction_due,
    edits_of,
    since_compaction,
    summary_request,
)
from offline_api.errors import Refusal
from offline_api.faults import Fault, Faults, Kind, NoAnswer
from offline_api.rules import MAX_OUTPUT, base_model, check, check_size, read_body
from offline_api.tokens import Layout, block_tokens, lay_out, text_tokens

Headers = Mapping[str, str]
Model = Callable[[Body], Body]
"""body -> {"content": blocks, "stop_reason": str}, and the `stop_sequence` that it
stopped at."""


class Reply(NamedTuple):
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes


Answer = Callable[[str, str, Headers, bytes], Reply]
"""method, path, headers, body -> response, such as a server's `answer`."""


class Server:
    """One provider with one model and its prompt cache.

    `window`: tokens of prompt and answer together. `windows`: the same for other names
    of the model, which are then known to it. `key`: the one key accepted; None:
    any. `clock`: seconds, read once for each message request. Two fresh servers give
    the same bytes for the same requests. Ids never repeat, because each is a hash of
    the body and of how often this server has answered it.
    """

    def __init__(
        self,
        model: Model,
        *,
        window: int = 200_000,
        windows: Mapping[str, int] | None = None,
        key: str | None = None,
        faults: Sequence[Fault] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.model = model
        self.clock = clock
        self.windows = {MODEL: window, **(windows or {})}
        self.key = key
        self._faults = Faults(faults)
        self._cache = PromptCache()
        self._times_answered: Counter[str] = Counter()
        self._requests = 0

    @property
    def window(self) -> int:
        """The window of settings.MODEL."""
        return self.windows[MODEL]

    def transport(self) -> httpx2.MockTransport:
        """Return this server as the transport of an `httpx2.Client`."""

        def handle(sent: httpx2.Request) -> httpx2.Response:
            try:
                reply = self.answer(
                    sent.method, sent.url.path, sent.headers, sent.content
                )
            except NoAnswer:
                raise httpx2.ReadTimeout(
                    "The read operation timed out", request=sent
                ) from None
            return httpx2.Response(
                reply.status, headers=reply.headers, content=reply.body
            )

        return httpx2.MockTransport(handle)

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        """Answer one request. Raises NoAnswer if a fault asks for that.

        An exception in the model or in the server comes back as a 500 with the
        traceback. Its headers tell the SDK not to retry.
        """
        self._requests += 1
        request_id = f"req_{_digest(b'%d %s' % (self._requests, raw))}"
        try:
            return _response(
                request_id, 200, {}, self._route(method, path, headers, raw)
            )
        except Refusal as refusal:
            return refused(refusal, request_id)
        except NoAnswer:
            raise
        except Exception:
            no_retry = {"x-should-retry": "false"}
            return refused(
                Refusal(500, "api_error", traceback.format_exc(), no_retry), request_id
            )

    def _route(
        self, method: str, path: str, headers: Headers, raw: bytes
    ) -> Body | str:
        path = placed(path)
        if not path.startswith("/v1/"):
            raise Refusal(404, "not_found_error", "Not Found")
        bearer = headers.get("authorization", "").removeprefix("Bearer").strip()
        key = headers.get("x-api-key", "").strip() or bearer
        if not key or self.key not in (None, key):
            raise Refusal(401, "authentication_error", "invalid x-api-key")
        betas = headers.get("anthropic-beta", "")
        match method, path.removeprefix("/"):
            case "POST", "v1/messages":
                return self._message(raw, betas)
            case "POST", "v1/messages/count_tokens":
                return self._count(raw, betas)
            case "GET", "v1/models":
                names = list(self.windows)
                listed = {"data": [*map(self._model, names)], "has_more": False}
                return {**listed, "first_id": names[0], "last_id": names[-1]}
            case "GET", model if base_model(model[len("v1/models/") :]) in self.windows:
                return self._model(model.removeprefix("v1/models/"))
            case _, batches if batches.startswith("v1/messages/batches"):
                raise not_simulated(batches, "batches")
            case _:
                raise Refusal(404, "not_found_error", "Not Found")

    def _window(self, model: str) -> int:
        """Return a model's window. With a date in its name, it is the same model."""
        return self.windows.get(model) or self.windows[base_model(model)]

    def _model(self, name: str) -> Body:
        sizes = {"max_input_tokens": self._window(name), "max_tokens": MAX_OUTPUT}
        names = {"id": name, "display_name": "The offline model"}
        return {"type": "model", **names, "created_at": "2026-11-01T00:00:00Z", **sizes}

    def _count(self, raw: bytes, betas: str) -> Body:
        body = check(read_body(raw), self.windows, counts_only=True, betas=betas)
        counted: Body = {"input_tokens": lay_out(cleared(body)[0]).tokens}
        if edits_of(body):
            before = {"original_input_tokens": lay_out(body).tokens}
            counted["context_management"] = before
        return counted

    def _message(self, raw: bytes, betas: str) -> Body | str:
        now = self.clock()
        body = check(read_body(raw), self.windows, betas=betas)
        streams = body.pop("stream", False)
        shown, applied = cleared(body)
        layout = lay_out(shown)
        window = self._window(body["model"])
        check_size(len(raw), layout.tokens, window)
        fault = self._faults.strike(body["messages"], layout.tokens, window)
        same = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        seed = f"{same} {self._times_answered[same]}"
        self._times_answered[same] += 1
        block = None
        bills = list[Body]()
        stop = "compaction"
        if edit := compaction_due(shown):
            block, bill = self._compaction(shown, edit, now)
            bills.append({"type": "compaction", **bill})
        if block and block["content"]:
            compacted = [*body["messages"], {"role": "assistant", "content": [block]}]
            body = shown = since_compaction({**body, "messages": compacted})
            layout = lay_out(shown)
        content = list[Block]()
        usage = Bill(0, 0, 0).usage(0)
        sequence = None
        if not (edit and edit.get("pause_after_compaction")):
            content, stop, sequence, usage = self._answer(
                body, shown, layout, seed, fault, now
            )
            bills.append({"type": "message", **usage})
        message: Body = {
            "id": f"msg_{_digest(seed.encode())}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [*([block] if block else []), *content],
            "stop_reason": stop,
            "stop_sequence": sequence,
            "stop_details": None,
            "usage": {**usage, "service_tier": "standard"},
        }
        if edit:
            message["usage"]["iterations"] = bills
        if edits_of(body):
            message["context_management"] = {"applied_edits": applied}
        return server_sent(events(message)) if streams else message

    def _answer(
        self,
        body: Body,
        shown: Body,
        layout: Layout,
        seed: str,
        fault: Kind | None,
        now: float,
    ) -> tuple[list[Block], str, str | None, Body]:
        """Return content, stop_reason, stop_sequence and usage of the model's answer.

        `shown`: the body as the model reads it, and `layout` of it. Thinking is bound
        to `body`, which the client sends again.
        """
        reply = self.model(shown)
        room = self._window(body["model"]) - layout.tokens
        content, stop = finished(reply, body, seed=seed, room=room, fault=fault)
        bill = self._cache.bill(layout.parts, layout.marks, now)
        size = sum(map(block_tokens, content))
        # A first word is returned even where its block counts for more.
        size = min(size, body["max_tokens"]) if stop == "max_tokens" else size
        usage = bill.usage(size)
        return content, stop, reply.get(stop), usage

    def _compaction(self, shown: Body, edit: Body, now: float) -> tuple[Block, Body]:
        """Return the compaction block, without content if there is no summary, and its
        bill."""
        request = summary_request(shown, edit)
        layout = lay_out(request)
        reply = self.model(request)
        text = "".join(each.get("text", "") for each in reply["content"])
        bill = self._cache.bill(layout.parts, layout.marks, now).usage(
            text_tokens(text)
        )
        summary = text if reply["stop_reason"] == "end_turn" else ""
        return {"type": "compaction", "content": summary.strip() or None}, bill


def placed(path: str) -> str:
    """Return a path as the API has it.

    Many endpoints speak this API below /anthropic, and some programs leave /v1 out.

    >>> placed("/anthropic/v1/messages"), placed("/chat/completions")
    ('/v1/messages', '/v1/chat/completions')
    """
    path = path.removeprefix("/anthropic").rstrip("/")
    is_short = path.startswith(("/messages", "/chat/", "/models"))
    return f"/v1{path}" if is_short else path


def refused(refusal: Refusal, request_id: str = "req_unread") -> Reply:
    """Return a refusal as the API's response."""
    error: Body = {"type": refusal.type, "message": refusal.message}
    if refusal.details or refusal.status == 529:
        error["details"] = refusal.details
    body = {"type": "error", "error": error, "request_id": request_id}
    return _response(request_id, refusal.status, refusal.headers, body)


def _response(
    request_id: str, status: int, headers: Headers, content: Body | str
) -> Reply:
    """Return an object as JSON, and a text as a stream of events."""
    kind = "text/event-stream; charset=utf-8"
    text = content
    if not isinstance(text, str):
        kind = "application/json"
        text = json.dumps(text, ensure_ascii=False)
    standard = {"request-id": request_id, "content-type": kind}
    return Reply(status, {**standard, **headers}, text.encode())


def _digest(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:24]
