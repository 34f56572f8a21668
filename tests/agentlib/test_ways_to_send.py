"""Every way in which the SDK can send something, under a cap: priced, free or refused.

The ways are read from the installed SDK. One that a new version adds is refused by the
guard, and if it gets through, a test here names it.
"""

import inspect
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anthropic
import pytest
from anthropic._models import FinalRequestOptions
from anthropic._resource import AsyncAPIResource, SyncAPIResource
from anthropic.lib.middleware import BetaRefusalFallbackMiddleware

from agentlib.api.live import live_client
from agentlib.api.spending import Cap, CapReached, LiveError, NotSent, guard, is_free
from offline_api.server import Headers, Reply, Server
from tests.fakes import good
from tests.loopback import message, response, served

MODEL = "claude-haiku-5-5"
ASK: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi."}],
}
HALF_A_DOLLAR: dict[str, Any] = {"input_tokens": 0, "output_tokens": 1_000_000}
PRICED = {
    "messages.create",
    "messages.parse",
    "beta.messages.create",
    "beta.messages.parse",
    "beta.messages.tool_runner",
}
FREE = {
    "messages.count_tokens",
    "beta.messages.count_tokens",
    "models.list",
    "models.retrieve",
    "beta.models.list",
    "beta.models.retrieve",
}
LOCAL = {
    "beta.messages.thread",  # makes an object, whose sends are messages.create's
    "beta.webhooks.parse_unverified",
    "beta.webhooks.unwrap",
    "close",
    "copy",
    "is_closed",
    "platform_headers",
    "with_middleware",
    "with_options",
}
"""Calls that send nothing by themselves."""


class Shop(Server):
    """An endpoint that answers anything with a message of one price, and keeps what came
    to it."""

    def __init__(self, usage: dict[str, Any], **more: Any) -> None:
        super().__init__(good)
        self.came = list[tuple[str, str]]()
        self.message = message(usage=usage, **more)

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        self.came.append((method, path))
        return response(self.message)


@contextmanager
def shop(
    monkeypatch: pytest.MonkeyPatch, max_usd: float | None, **more: Any
) -> Iterator[tuple[anthropic.Anthropic, list[tuple[str, str]]]]:
    """A live client of an endpoint whose messages cost half a dollar each, and what
    came there."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    with served(Shop(HALF_A_DOLLAR | more.pop("usage", {}), **more)) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        api = live_client(None, max_usd=max_usd, say=str, warn=str)
        assert isinstance(wire.server, Shop)
        yield api, wire.server.came


def names(root: Any, kind: type) -> list[str]:
    """List each public call of a client and of its resources, by its path."""
    every = list[str]()
    for name in dir(type(root)):
        if name.startswith(("_", "with_raw", "with_streaming")):
            continue
        part = inspect.getattr_static(type(root), name)
        if not callable(part):
            inner = getattr(root, name, None)
            inside = names(inner, kind) if isinstance(inner, kind) else []
            every += [f"{name}.{each}" for each in inside]
        elif not inspect.isclass(part):
            every.append(name)
    return every


WAYS = names(anthropic.Anthropic(api_key="any"), SyncAPIResource)


def call(api: anthropic.Anthropic, name: str, form: str = "", **more: Any) -> None:
    """Make the call of this name with arguments of any kind, and use what it returns.

    `form`: "with_raw_response" or "with_streaming_response".
    """
    *parts, last = name.split(".")
    place: Any = api
    for part in parts:
        place = getattr(place, part)
    function = getattr(getattr(place, form) if form else place, last)
    given = more | {
        each.name: ASK.get(each.name, b"x" if each.name in ("file", "archive") else "x")
        for each in inspect.signature(getattr(place, last)).parameters.values()
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
        and (each.name in ASK or each.default is each.empty)
    }
    if name == "request":
        post = FinalRequestOptions(method="post", url="/v1/messages", json_data=ASK)
        given["options"] = post
    made = function(**given)
    if hasattr(made, "__enter__"):
        with made:
            pass
    elif hasattr(made, "__next__"):
        next(made)


def test_each_call_of_the_sdk_is_priced_free_or_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    priced, free, local, streams = set[str](), set[str](), set[str](), set[str]()
    for name in WAYS:
        with shop_in_process(monkeypatch) as (api, came):
            try:
                call(api, name)
            except NotSent:
                assert came == []
                continue
            except LiveError:  # of a stream
                assert came == []
                streams.add(name)
                continue
            except Exception:
                pass
            places = set(came)
        if ("POST", "/v1/messages") in places:
            priced.add(name)
        elif places:
            free.add(name)
            assert all(is_free(*place) for place in places)
        else:
            local.add(name)
    assert len(WAYS) > 390
    assert priced == {*PRICED, "request"}
    assert free == FREE
    assert streams == {"messages.stream", "beta.messages.stream"}
    assert local == LOCAL


@contextmanager
def shop_in_process(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[anthropic.Anthropic, list[tuple[str, str]]]]:
    """A client of its own for each call, because one of them closes its client. No
    socket is opened."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    server = Shop({"input_tokens": 1, "output_tokens": 1})
    api = live_client(None, max_usd=1.0, say=str, warn=str)
    monkeypatch.setattr(api._client, "_transport", server.transport())
    yield api, server.came


FORMS: dict[str, Callable[[anthropic.Anthropic, str], Any]] = {
    "raw": lambda api, name: call(api, name, "with_raw_response"),
    "streaming": lambda api, name: call(api, name, "with_streaming_response"),
    "options": lambda api, name: call(api.with_options(timeout=9), name),
    "without the guard": lambda api, name: call(api.copy(middleware=[]), name),
    "no model": lambda api, name: call(api, name, extra_body={"model": ""}),
    "null model": lambda api, name: call(api, name, extra_body={"model": None}),
    "streams": lambda api, name: call(api, name, extra_body={"stream": True}),
    "says that it counts": lambda api, name: call(
        api, name, extra_query={"x": "/v1/messages/count_tokens"}
    ),
}
SENDING = sorted(PRICED | {"messages.batches.create", "beta.messages.batches.create"})


@pytest.mark.parametrize("form", FORMS)
def test_after_the_cap_no_form_of_a_call_sends_anything(
    form: str, monkeypatch: pytest.MonkeyPatch
):
    with shop(monkeypatch, 0.1) as (api, came):
        api.messages.create(**ASK)
        for name in SENDING:
            if form in ("raw", "streaming") and not name.endswith("create"):
                continue  # it has no such form
            with pytest.raises((CapReached, LiveError)):
                FORMS[form](api, name)
        assert came == [("POST", "/v1/messages")]


RAW: dict[str, Callable[[anthropic.Anthropic], Any]] = {
    "post": lambda api: api.post("/v1/messages", cast_to=object, body=ASK),
    "bytes": lambda api: api.post(
        "/v1/messages", cast_to=object, content=json.dumps(ASK).encode()
    ),
    "query": lambda api: api.post(
        "/v1/messages?of=/v1/messages/count_tokens", cast_to=object, body=ASK
    ),
    "fragment": lambda api: api.post(
        "/v1/messages#/v1/messages/count_tokens", cast_to=object, body=ASK
    ),
    "parameter": lambda api: api.post(
        "/v1/messages;/v1/messages/count_tokens", cast_to=object, body=ASK
    ),
    "dots": lambda api: api.post("/v1/models/../messages", cast_to=object, body=ASK),
    "put": lambda api: api.put("/v1/messages", cast_to=object, body=ASK),
    "the old completions": lambda api: api.post(
        "/v1/complete", cast_to=object, body=ASK
    ),
    "batches": lambda api: api.post(
        "/v1/messages/batches", cast_to=object, body={"requests": [{"params": ASK}]}
    ),
    "its HTTP client": lambda api: api._client.post(
        f"{api.base_url}".rstrip("/") + "/v1/messages", json=ASK
    ),
}


@pytest.mark.parametrize("way", RAW)
def test_after_the_cap_no_raw_call_sends_anything(
    way: str, monkeypatch: pytest.MonkeyPatch
):
    with shop(monkeypatch, 0.1) as (api, came):
        api.messages.create(**ASK)
        with pytest.raises((CapReached, LiveError)):
            RAW[way](api)
        assert came == [("POST", "/v1/messages")]


@pytest.mark.parametrize("way", [each for each in RAW if each != "post"])
def test_a_call_whose_cost_is_not_known_is_refused_before_the_cap(
    way: str, monkeypatch: pytest.MonkeyPatch
):
    with shop(monkeypatch, 5.0) as (api, came):
        if way in ("query", "fragment"):  # a message, and priced as one
            RAW[way](api)
            assert len(came) == 1
            return
        with pytest.raises(LiveError, match="The cap can't be held"):
            RAW[way](api)
        assert came == []
        api.messages.create(**ASK)  # nothing was sent, so the cap holds


def test_an_asynchronous_client_cannot_have_the_guard_and_knows_no_other_way():
    with pytest.raises(TypeError, match="async"):
        anthropic.AsyncAnthropic(
            api_key="any", middleware=[guard("https://api.anthropic.com", Cap(1.0))]
        )
    client = anthropic.AsyncAnthropic(api_key="any")
    only_there = set(names(client, AsyncAPIResource)) - set(WAYS)
    assert only_there == {
        "beta.environments.work.poller",
        "beta.environments.work.worker",
        "beta.sessions.events.tool_runner",
    }


@pytest.mark.parametrize(("max_usd", "requests"), [(0.1, 1), (1.2, 3)])
def test_twenty_threads_on_one_client_send_one_request_at_a_time(
    max_usd: float, requests: int, monkeypatch: pytest.MonkeyPatch
):
    refused = list[Exception]()
    start = threading.Barrier(20)

    def ask(api: anthropic.Anthropic) -> None:
        start.wait()
        try:
            api.messages.create(**ASK)
        except CapReached as error:
            refused.append(error)

    with shop(monkeypatch, max_usd) as (api, came):
        copies = [api, *(api.with_options(timeout=60) for _ in range(19))]
        threads = [threading.Thread(target=ask, args=(each,)) for each in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(came) == requests
        assert len(refused) == 20 - requests


def test_threads_without_the_guard_do_not_leave_in_the_shade_of_one_with_it(
    monkeypatch: pytest.MonkeyPatch,
):
    cap = Cap(1.0)
    monkeypatch.setattr("agentlib.api.live.Cap", lambda most: cap)
    with shop(monkeypatch, 1.0) as (api, came):
        bare = api.copy(middleware=[])
        errors = list[Exception]()

        def sneak() -> None:
            try:
                bare.messages.create(**ASK)
            except LiveError as error:
                errors.append(error)

        with cap.one_at_a_time():
            cap.ticket = threading.get_ident(), MODEL
            thread = threading.Thread(target=sneak)
            thread.start()
            thread.join()
        assert len(errors) == 1
        assert came == []


def test_a_middleware_that_asks_twice_is_let_out_once(monkeypatch: pytest.MonkeyPatch):
    with shop(monkeypatch, 5.0) as (api, came):

        def twice(request: Any, call_next: Any) -> Any:
            call_next(request)
            return call_next(request)

        with pytest.raises(LiveError, match="isn't the one that was priced"):
            api.with_middleware(twice).messages.create(**ASK)
        with pytest.raises(LiveError, match="can't be held"):
            api.messages.create(**ASK)  # what the first one cost is lost
        assert len(came) == 1


def test_a_middleware_that_asks_another_model_is_held_back(
    monkeypatch: pytest.MonkeyPatch,
):
    with shop(monkeypatch, 5.0) as (api, came):

        def dearer(request: Any, call_next: Any) -> Any:
            return call_next(request.copy(body={**ASK, "model": "claude-opus-5-5"}))

        def nested(request: Any, call_next: Any) -> Any:
            api.messages.create(**ASK)
            return call_next(request)

        for middleware in (dearer, nested):
            with pytest.raises(LiveError):
                api.with_middleware(middleware).messages.create(**ASK)
        assert came == []
        api.messages.create(**ASK)  # nothing was sent, so the cap holds
        assert len(came) == 1


def test_the_sdks_own_fallback_is_let_out_once(monkeypatch: pytest.MonkeyPatch):
    fall_back = BetaRefusalFallbackMiddleware([{"model": "claude-opus-5-5"}])
    refusal = {"stop_reason": "refusal", "content": []}
    with shop(monkeypatch, 5.0, **refusal) as (api, came):
        with suppress(LiveError):
            api.with_middleware(fall_back).beta.messages.create(**ASK)
        assert len(came) == 1


SUMMARY: dict[str, Any] = {"type": "compaction", **HALF_A_DOLLAR}


@pytest.mark.parametrize(
    ("more", "requests"),
    [
        ({"iterations": [SUMMARY, {**SUMMARY, "type": "message"}]}, 2),
        ({"iterations": [{**SUMMARY, "model": "claude-opus-5-5"}]}, 1),
        ({"iterations": [{**SUMMARY, "model": "never-heard-of"}]}, 1),
        ({"iterations": [{**SUMMARY, "output_tokens": "many"}]}, 1),
        ({"iterations": ["many"]}, 1),
        ({"service_tier": "priority"}, 1),
        ({"inference_geo": "mars"}, 1),
        ({"service_tier": "standard", "iterations": None}, 4),
    ],
)
def test_a_reply_that_bills_something_beside_itself_is_counted_or_the_last(
    more: dict[str, Any], requests: int, monkeypatch: pytest.MonkeyPatch
):
    with shop(monkeypatch, 2.0, usage=more) as (api, came):
        for _ in range(6):
            with suppress(CapReached, LiveError):
                api.messages.create(**ASK)
        assert len(came) == requests


ELSEWHERE: dict[str, Callable[[anthropic.Anthropic, str], Any]] = {
    "an address in the call": lambda api, url: api.post(
        f"{url}/v1/messages", cast_to=object, body=ASK
    ),
    "another base": lambda api, url: api.copy(base_url=url).messages.create(**ASK),
    "without the guard": lambda api, url: api.copy(
        base_url=url, middleware=[]
    ).messages.create(**ASK),
    "its HTTP client": lambda api, url: api._client.get(url),
}


@pytest.mark.parametrize("max_usd", [None, 5.0])
@pytest.mark.parametrize("way", ELSEWHERE)
def test_the_key_goes_to_its_own_address_alone(
    way: str, max_usd: float | None, monkeypatch: pytest.MonkeyPatch
):
    with (
        served(Shop(HALF_A_DOLLAR)) as other,
        shop(monkeypatch, max_usd) as (api, came),
    ):
        with pytest.raises(LiveError, match=r"doesn't go to http://127\."):
            ELSEWHERE[way](api, other.url)
        assert other.headers == []
        api.messages.create(**ASK)
        assert len(came) == 1


@pytest.mark.parametrize("max_usd", [None, 5.0])
def test_a_redirect_that_a_call_wants_followed_takes_the_key_nowhere(
    max_usd: float | None, monkeypatch: pytest.MonkeyPatch
):
    class Elsewhere(Server):
        def answer(self, *asked: Any) -> Reply:
            return Reply(307, {"location": f"{other.url}/v1/messages"}, b"")

    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    with served(Shop(HALF_A_DOLLAR)) as other, served(Elsewhere(good)) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        api = live_client(None, max_usd=max_usd, say=str, warn=str)
        with pytest.raises(LiveError):
            api.post(
                "/v1/messages",
                cast_to=object,
                body=ASK,
                options={"follow_redirects": True},
            )
        assert other.headers == []
