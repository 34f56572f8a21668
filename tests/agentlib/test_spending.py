"""Dollars checked on paper against the dated price file, and the cap before a real
socket."""

import gzip
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from email.utils import formatdate
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlib.api import spending
from agentlib.api.bounded import BOUNDED, MOST_BYTES
from agentlib.api.spending import (
    RETRIES,
    Cap,
    CapReached,
    LiveError,
    NoPrice,
    dollars,
    guard,
    model_facts,
    own_price,
    own_prices,
    price_list,
    priced,
    rates,
    unpriced,
)
from agentlib.settings import MODEL
from offline_api.cache import PromptCache
from offline_api.server import Reply, Server
from tests.builders import without
from tests.fakes import good
from tests.loopback import Script, Wire, message, response, served

OPUS = "claude-opus-5-5"
MILLION = 1_000_000
HI: Any = [{"role": "user", "content": "word " * 1_000}]
PRICE = 1_604 * 0.1e-6 + 6 * 0.5e-6  # "Good.": 1.6 and .35 rounded up, 4 a block


@pytest.mark.parametrize(
    ("kind", "price"),
    [
        ("input_tokens", 4.0),
        ("output_tokens", 20.0),
        ("cache_creation_input_tokens", 5.0),
        ("cache_read_input_tokens", 0.2),
    ],
)
def test_a_million_tokens_of_each_kind_cost_their_price(kind: str, price: float):
    assert dollars({kind: MILLION}, OPUS) == pytest.approx(price)


def test_a_write_that_lives_an_hour_costs_twice_the_input():
    usage = {
        "cache_creation_input_tokens": MILLION,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 0,
            "ephemeral_1h_input_tokens": MILLION,
        },
    }
    assert dollars(usage, OPUS) == pytest.approx(8.0)
    usage["cache_creation"] = {"ephemeral_1h_input_tokens": MILLION // 2}
    assert dollars(usage, OPUS) == pytest.approx(6.5)


def test_a_long_prompt_makes_the_whole_request_five_times_dearer():
    short = {
        "input_tokens": 60_000,
        "cache_read_input_tokens": 40_000,
        "output_tokens": 1_000,
    }
    longer = {**short, "cache_read_input_tokens": 40_001}
    assert dollars(short, MODEL) == pytest.approx(0.0069)
    assert dollars(longer, MODEL) == pytest.approx(0.0345, rel=1e-4)
    assert rates(OPUS, 900_000) == rates(OPUS, 1)


def test_a_dated_id_finds_its_model_and_an_unknown_one_is_an_error():
    assert model_facts("claude-haiku-4-5-20251001") == model_facts("claude-haiku-4-5")
    with pytest.raises(ValueError, match="no price is known for the model 'gpt-x'"):
        dollars({"input_tokens": 1}, "gpt-x")


def test_a_price_of_ones_own_is_for_other_models_than_the_files_and_may_be_nothing():
    own_price("own-model", "0.5, 2")
    usage = {
        "input_tokens": MILLION,
        "cache_read_input_tokens": MILLION,
        "output_tokens": MILLION,
    }
    assert dollars(usage, "own-model") == pytest.approx(3.0)
    own_price("own-model", "0,0")
    assert dollars(usage, "own-model") == 0
    own_price(OPUS, "0,0")
    assert dollars(usage, OPUS) == pytest.approx(24.2)


def test_a_price_may_say_what_the_cache_costs_and_count_instead_of_the_files():
    own_price("own-model", "1, 5, 0.1, 1.25")
    hour = {"ephemeral_1h_input_tokens": MILLION}
    read = {"cache_read_input_tokens": MILLION}
    assert dollars(read, "own-model") == pytest.approx(0.1)
    short = {"cache_creation_input_tokens": MILLION}
    assert dollars(short, "own-model") == pytest.approx(1.25)
    assert dollars({**short, "cache_creation": hour}, "own-model") == pytest.approx(2)
    with own_prices([("claude-opus-4-5", "0,0")]):
        assert dollars(short, "claude-opus-4-5") == 0
    assert dollars(short, "claude-opus-4-5") == pytest.approx(6.25)


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-5-20251101",
        "claude-opus-4-5[1m]",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "eu.anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic.claude-opus-4-5-20251101-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-5-v1:0",
        "claude-opus-4-5@20251101",
        "claude-opus-4-5@default",
        "vertex_ai/claude-opus-4-5@20251101",
        "anthropic/claude-opus-4.5",
        "openrouter/anthropic/claude-opus-4.5:beta",
        "anthropic/claude-4.5-opus",
        "anthropic--claude-4.5-opus",
        "claude-opus-4-5-thinking",
        "Claude-Opus-4-5",
        "claude-opus-4-5-latest",
        "us-gov.anthropic.claude-opus-4-5-20251101-v1:0",
        "databricks-claude-opus-4-5",
    ],
)
def test_a_name_of_another_service_finds_its_model(name: str):
    assert model_facts(name) == model_facts("claude-opus-4-5")


@pytest.mark.parametrize(
    "name",
    ["claude-opus-4-5-mini", "my-claude-opus-4-5", "claude-opus", "claude-opus-4-", ""],
)
def test_a_name_with_anything_else_is_another_model(name: str):
    with pytest.raises(NoPrice):
        model_facts(name)


def test_fast_mode_the_us_and_searches_cost_more_and_what_is_unknown_is_named():
    usage = {"input_tokens": 1_000, "output_tokens": 2_000}
    assert dollars({**usage, "speed": "fast"}, OPUS) == pytest.approx(0.088)
    assert dollars({**usage, "inference_geo": "us"}, OPUS) == pytest.approx(0.0484)
    searched = {**usage, "server_tool_use": {"web_search_requests": 3}}
    assert dollars(searched, OPUS) == pytest.approx(0.074)
    odd = {
        **searched,
        "speed": "fast",
        "service_tier": "priority",
        "inference_geo": "mars",
    }
    assert unpriced(usage, OPUS) == unpriced(searched, OPUS) == {}
    assert len(unpriced(odd, OPUS)) == 2
    assert unpriced(odd, "claude-haiku-4-5")["web searches"] == 3
    assert len(unpriced(odd, "claude-haiku-4-5")) == 4


@pytest.mark.parametrize("split", [800, 600, 0])
def test_a_split_over_its_sum_makes_no_negative_write(split: int):
    usage = {"cache_creation_input_tokens": 600}
    bill = priced(
        {**usage, "cache_creation": {"ephemeral_1h_input_tokens": split}}, OPUS
    )
    expected = min(split, 600) * 8 + (600 - min(split, 600)) * 5
    assert bill["written"] == (600, pytest.approx(expected / MILLION))


@pytest.mark.parametrize(
    "price", ["0", "1,2,3,4,5", "a,b", "-1,2", "nan,1", "1,inf", ","]
)
def test_another_text_is_no_price(price: str):
    with pytest.raises(ValueError, match=re.escape(f"price={price!r}; ")):
        own_price("own-model", price)


@pytest.mark.parametrize("price", ["9" * 400 + ",1", "0,1000001", "1,1,1," + "9" * 308])
def test_a_price_that_no_cap_could_count_is_refused_before_it_counts(price: str):
    with pytest.raises(
        ValueError, match=r"^price has \d{7,20}; .* at most \$1,000,000"
    ):
        own_price("endless", price)
    with pytest.raises(NoPrice):
        model_facts("endless")


def test_the_price_file_is_dated_whole_and_knows_the_model():
    prices = price_list()
    assert date.fromisoformat(prices["collected"]) >= date(2026, 11, 26)
    assert {type(source) for source in prices["sources"]} == {str}
    assert MODEL in prices["models"]
    for facts in prices["models"].values():
        assert facts["cache_write_5m"] == pytest.approx(1.25 * facts["input"])
        assert facts["cache_write_1h"] == pytest.approx(2 * facts["input"])
        assert 0 < facts["cache_read"] <= 0.1 * facts["input"] + 1e-12
    assert model_facts(MODEL)["min_cacheable_tokens"] == PromptCache().min_tokens


@pytest.mark.parametrize("max_usd", [-0.01, float("nan")])
def test_a_cap_that_nothing_reaches_is_refused(max_usd: float):
    with pytest.raises(ValueError, match=r"max_usd=.*; choose dollars, 0 or more"):
        Cap(max_usd)


def test_a_cap_stops_before_the_request_after_it_was_reached():
    cap = Cap(0.01)
    for _ in range(2):
        cap.check()
        cap.add({"input_tokens": 1_000}, OPUS)
    cap.check()
    assert cap.add({"input_tokens": 1_000}, OPUS) == pytest.approx(0.004)
    with pytest.raises(
        CapReached, match=r"cap of \$0.0100 is reached: \$0.0120 were spent"
    ):
        cap.check()


@pytest.fixture(autouse=True)
def no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that would wait for longer than the SDK's own first waits."""
    wait = time.sleep

    def waited(seconds: float) -> None:
        assert seconds < 10, f"it would wait {seconds:,} seconds"
        wait(seconds)

    monkeypatch.setattr(time, "sleep", waited)


@pytest.fixture
def wire() -> Iterator[Wire]:
    with served(Server(good)) as provider:
        yield provider


def metered(wire: Wire, cap: Cap | None) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="any",
        base_url=wire.url,
        middleware=[guard(wire.url, cap)],
        max_retries=0,
    )


def ask(api: anthropic.Anthropic, **more: Any) -> anthropic.types.Message:
    given: Any = {"model": MODEL, "max_tokens": 50, "messages": HI, **more}
    return api.messages.create(**given)


def test_a_plain_answer_is_counted_by_its_usage(wire: Wire):
    cap = Cap(1.0)
    usage = ask(metered(wire, cap)).usage.to_dict()
    assert cap.spent == pytest.approx(PRICE)
    assert cap.spent == pytest.approx(dollars(usage, MODEL))


def test_a_stream_under_a_cap_is_refused_before_anything_is_sent(wire: Wire):
    with pytest.raises(LiveError, match="can't be held for a streamed answer"):
        ask(metered(wire, Cap(1.0)), stream=True)
    assert wire.headers == []


@pytest.mark.parametrize("cap", [None, Cap(1.0)])
def test_a_web_page_is_no_messages_api(cap: Cap | None):
    page = response(b"<html>Log in</html>", content_type="text/html")
    with (
        served(Script(page)) as wire,
        pytest.raises(LiveError, match="is not a Messages API"),
    ):
        ask(metered(wire, cap))


def test_the_cap_does_not_stop_what_is_free(wire: Wire):
    api = metered(wire, Cap(0.0))
    assert api.messages.count_tokens(model=MODEL, messages=HI).input_tokens == 1_604
    with pytest.raises(CapReached):
        ask(api)


def test_a_cap_without_a_price_is_refused_before_anything_is_sent(wire: Wire):
    with pytest.raises(LiveError, match=r"cap .* 'claude-x'"):
        ask(metered(wire, Cap(1.0)), model="claude-x")
    assert wire.headers == []
    with pytest.raises(anthropic.NotFoundError):
        ask(metered(wire, None), model="claude-x")


@pytest.mark.parametrize("max_usd", [0.0, 1.0])
def test_a_call_that_is_no_message_is_refused_under_a_cap(wire: Wire, max_usd: float):
    batch: Any = [{"custom_id": "a", "params": {"model": MODEL, "max_tokens": 9}}]
    api = metered(wire, Cap(max_usd))
    for batches in (api.messages.batches, api.beta.messages.batches):
        with pytest.raises(LiveError, match="what it costs isn't known"):
            batches.create(requests=batch)
    with pytest.raises((LiveError, CapReached)):
        ask(api, extra_body={"model": ""})
    assert wire.headers == []


def test_threads_that_share_a_cap_ask_one_after_the_other(wire: Wire):
    cap = Cap(PRICE * 1.5)
    api = metered(wire, cap)
    refused = list[CapReached]()

    def work() -> None:
        try:
            ask(api)
        except CapReached as error:
            refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wire.headers) == 2
    assert len(refused) == 6


def test_a_compaction_by_the_api_is_counted_beside_the_message():
    usage = {"input_tokens": 10, "output_tokens": 1_000_000}
    bills = [{"type": "compaction", **usage}, {"type": "message", **usage}]
    price = dollars(usage, MODEL)
    assert Cap(9.0).add({**usage, "iterations": bills}, MODEL) == 2 * price


def reply(usage: Any) -> Reply:
    """A response with this usage. `usage` None: with none."""
    whole = message(usage=usage)
    return response(whole if usage is not None else without(whole, "usage"))


GOOD = {"input_tokens": 1_000, "output_tokens": 10}


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [1],
        {**GOOD, "input_tokens": None},
        {**GOOD, "input_tokens": "1000"},
        {**GOOD, "output_tokens": -1},
        {**GOOD, "output_tokens": float("nan")},
        {**GOOD, "cache_read_input_tokens": True},
        {**GOOD, "cache_creation": {"ephemeral_1h_input_tokens": -5}},
        {"prompt_tokens": 1_000, "completion_tokens": 10},
    ],
)
def test_under_a_cap_a_reply_without_a_countable_usage_stops_the_run(usage: Any):
    with served(Script(reply(usage))) as wire:
        api = metered(wire, Cap(1.0))
        ask(api)
        with pytest.raises(LiveError, match="doesn't say how many tokens"):
            ask(api)
        assert len(wire.headers) == 1
        ask(metered(wire, None))


def test_null_counts_of_the_cache_are_countable():
    usage = {**GOOD, "cache_read_input_tokens": None, "cache_creation": {"x": None}}
    with served(Script(reply(usage))) as wire:
        cap = Cap(1.0)
        ask(metered(wire, cap))
        assert cap.spent == pytest.approx(dollars(GOOD, MODEL))
        cap.check()


def busy(code: int = 529, **headers: str) -> Reply:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    return response({"type": "error", "error": error}, code, **headers)


def patient(wire: Wire, said: list[str]) -> anthropic.Anthropic:
    middleware = [guard(wire.url, None, said.append)]
    return anthropic.Anthropic(
        api_key="any", base_url=wire.url, middleware=middleware, max_retries=RETRIES
    )


@pytest.mark.parametrize("code", [429, 500, 529])
def test_a_failure_that_passes_is_waited_for_and_said(code: int):
    said: list[str] = []
    failures = [busy(code, retry_after_ms="5")] * 4
    with served(Script(*failures, reply(GOOD))) as wire:
        assert ask(patient(wire, said)).stop_reason == "end_turn"
    assert (
        said
        == [f"{wire.url} can't answer now ({code}); trying again in 0.005 seconds"] * 4
    )


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ({"retry_after": "3600"}, "3,600"),
        ({"retry_after": "61"}, "61"),
        ({"retry_after": "1e9"}, "1,000,000,000"),
        ({"retry_after_ms": "99000", "retry_after": "1"}, "99"),
    ],
)
def test_a_wait_of_more_than_a_minute_ends_the_run_with_the_number(
    asked: Any, seconds: str
):
    said: list[str] = []
    number = pytest.raises(LiveError, match=rf"asks to wait {seconds} seconds \(429\)")
    with served(Script(busy(429, **asked))) as wire, number:
        ask(patient(wire, said))
    assert (len(wire.headers), said) == (1, [])


def test_all_waits_of_a_request_together_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spending, "PATIENCE", 0.2)
    end = pytest.raises(LiveError, match=r"asks to wait 0 seconds \(500\): go on later")
    with served(Script(busy(500, retry_after_ms="60"))) as wire, end:
        ask(patient(wire, []))
    assert 2 <= len(wire.headers) <= 8


def test_after_the_last_try_the_error_is_the_apis():
    said: list[str] = []
    with (
        served(Script(busy(retry_after_ms="1"))) as wire,
        pytest.raises(anthropic.APIStatusError),
    ):
        ask(patient(wire, said))
    assert len(wire.headers) == len(said) + 1 == RETRIES + 1


def test_silence_ends_the_run_without_another_try():
    class Silent(Server):
        def answer(self, *asked: Any) -> Reply:
            time.sleep(0.3)
            return reply(GOOD)

    with served(Silent(good)) as wire:
        api = patient(wire, []).with_options(timeout=0.1)
        with pytest.raises(LiveError, match=r"didn.t answer in time: timed out"):
            ask(api)
    assert len(wire.headers) == 1


# -- requests that may have cost something, and nobody says how much ---------------------

WHOLE = json.dumps(
    message(usage={"input_tokens": 50_000, "output_tokens": 5_000})
).encode()
TYPE = b"content-type: application/json\r\n"


def head(length: int | None, *more: bytes, status: bytes = b"200 OK") -> bytes:
    size = () if length is None else (b"content-length: %d\r\n" % length,)
    lines = (TYPE, *size, *more)
    return b"HTTP/1.1 " + status + b"\r\n" + b"".join(lines) + b"\r\n"


ALL = head(len(WHOLE)) + WHOLE
ZIPPED = gzip.compress(WHOLE)
BROKEN = {
    "nothing": b"",
    "the status": ALL[:12],
    "half a head": ALL[:40],
    "the head": head(len(WHOLE)),
    "a part": ALL[:-300],
    "all but a byte": ALL[:-1],
    "all but a byte, no length": head(None) + WHOLE[:-1],
    "a bad chunk": head(None, b"transfer-encoding: chunked\r\n") + b"zz\r\n",
    "no last chunk": head(None, b"transfer-encoding: chunked\r\n")
    + b"%x\r\n" % len(WHOLE)
    + WHOLE,
    "bad gzip": head(4, b"content-encoding: gzip\r\n") + b"nope",
    "half of a gzip": head(len(ZIPPED) // 2, b"content-encoding: gzip\r\n")
    + ZIPPED[: len(ZIPPED) // 2],
    "another encoding": head(9, b"content-encoding: br\r\n") + b"123456789",
    "two lengths": head(9, b"content-length: 5\r\n") + b"123456789",
    "no http": b"220 mail.example ESMTP\r\n",
    "no usage": head(2) + b"{}",
    "a list": head(2) + b"[]",
    "an empty body": head(0),
    "a page": ALL.replace(b"application/json", b"text/html"),
    "too many tokens": head(len(WHOLE) + 400)
    + WHOLE.replace(b"50000", b"50000" + b"0" * 400),
    "a gateway's error": head(2, status=b"504 Gateway Time-out") + b"no",
    "another one": head(2, status=b"502 Bad Gateway") + b"{}",
}


@contextmanager
def raw(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends these bytes to each request and closes the connection."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(65_536)
                before, _, body = data.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", before)
                size = int(length[1]) if length else 0
                while len(body) < size:
                    body += connection.recv(65_536)
                if body:  # no question about the endpoint's models
                    asked.append(body)
                connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        # Closing alone doesn't wake the thread that waits.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def live(url: str, cap: Cap | None) -> anthropic.Anthropic:
    """A client as a live run has it."""
    return anthropic.Anthropic(
        api_key="any",
        base_url=url,
        middleware=[guard(url, cap)],
        max_retries=RETRIES,
        http_client=anthropic.DefaultHttpxClient(follow_redirects=False, **BOUNDED),
    )


@pytest.mark.parametrize("kind", BROKEN)
def test_under_a_cap_a_reply_that_cannot_be_counted_is_the_last(kind: str):
    cap = Cap(0.001)
    with raw(BROKEN[kind]) as (url, asked), live(url, cap) as api:
        for _ in range(5):
            with suppress(LiveError, anthropic.APIError, CapReached):
                ask(api)
        assert len(asked) == 1
    assert cap.is_void or cap.spent >= cap.max_usd
    with pytest.raises((LiveError, CapReached)):
        cap.check()


@pytest.mark.parametrize("kind", ["all but a byte", "nothing", "bad gzip"])
def test_a_reply_that_breaks_off_is_not_called_a_missing_network(kind: str):
    with (
        raw(BROKEN[kind]) as (url, _),
        live(url, Cap(1.0)) as api,
        pytest.raises(LiveError) as error,
    ):
        ask(api)
    assert "Nobody answers" not in str(error.value)
    assert "broke off" in str(error.value)


@pytest.mark.parametrize("kind", ["all but a byte", "a bad chunk"])
def test_without_a_cap_a_reply_that_breaks_off_is_asked_for_three_times(kind: str):
    with (
        raw(BROKEN[kind]) as (url, asked),
        live(url, None) as api,
        pytest.raises(LiveError),
    ):
        ask(api)
    assert len(asked) == 3


def test_a_connection_that_is_refused_is_free_and_said():
    cap = Cap(1.0)
    said = list[str]()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    api = anthropic.Anthropic(
        api_key="any", base_url=url, middleware=[guard(url, cap, said.append)]
    )
    with pytest.raises(LiveError, match="Nobody answers"):
        ask(api)
    assert (cap.spent, cap.is_void, len(said)) == (0.0, False, 2)
    cap.check()


def test_an_error_of_the_api_itself_is_free():
    cap = Cap(1.0)
    with served(Script(busy(504, retry_after_ms="1"), reply(GOOD))) as wire:
        ask(metered(wire, cap).with_options(max_retries=2))
    assert cap.spent == pytest.approx(dollars(GOOD, MODEL))


def test_a_request_that_is_stopped_counts_as_the_most_it_can_cost():
    cap = Cap(1.0)

    def stop(request: Any, call_next: Any) -> Any:
        raise KeyboardInterrupt

    url = "http://127.0.0.1:9"
    api = anthropic.Anthropic(
        api_key="any", base_url=url, middleware=[guard(url, cap), stop]
    )
    with pytest.raises(KeyboardInterrupt):
        ask(api, max_tokens=20_000)
    assert cap.spent == cap.assumed >= dollars({"output_tokens": 20_000}, MODEL)
    assert not cap.is_void


@given(st.binary(max_size=300), st.integers(0, len(ALL)))
@settings(max_examples=60, deadline=None)
def test_no_bytes_at_all_lead_to_a_second_request_under_a_reached_cap(noise, cut):
    cap = Cap(0.0001)
    with raw(ALL[:cut] + noise) as (url, asked), live(url, cap) as api:
        for _ in range(3):
            with suppress(LiveError, anthropic.APIError, CapReached):
                ask(api)
        assert len(asked) == 1


@pytest.mark.parametrize("unit", ["B", "gzip"])
def test_a_reply_is_read_up_to_a_bound(unit: str):
    large = b" " * (MOST_BYTES + 10) + WHOLE
    body = gzip.compress(large) if unit == "gzip" else large
    more = [b"content-encoding: gzip\r\n"] if unit == "gzip" else []
    answer = head(len(body), *more) + body
    with (
        raw(answer) as (url, _),
        live(url, Cap(1.0)) as api,
        pytest.raises(LiveError),
    ):
        ask(api)


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_an_error_of_ten_megabytes_is_cut(coding: str):
    text = json.dumps({"error": {"type": "x", "message": "word " * 2_000_000}}).encode()
    body = gzip.compress(text) if coding == "gzip" else text
    with served(Script(response(body, 400, content_encoding=coding))) as wire:
        web = anthropic.DefaultHttpxClient(**BOUNDED)
        api = metered(wire, Cap(1.0)).with_options(http_client=web)
        with pytest.raises(anthropic.BadRequestError) as refused:
            ask(api)
    assert 90_000 < len(str(refused.value)) < 120_000


def test_a_compressed_reply_of_usual_size_is_read():
    answer = head(len(ZIPPED), b"content-encoding: gzip\r\n") + ZIPPED
    with raw(answer) as (url, _), live(url, Cap(1.0)) as api:
        assert ask(api).usage.input_tokens == 50_000


# -- waits ---------------------------------------------------------------------------


def ahead(seconds: float) -> str:
    return formatdate(time.time() + seconds, usegmt=True)


@pytest.mark.parametrize("code", [429, 529])
def test_a_date_to_wait_for_is_read(code: int):
    said: list[str] = []
    with served(Script(busy(code, retry_after=ahead(300)))) as wire:
        with pytest.raises(LiveError, match=r"asks to wait (299|300) seconds"):
            ask(patient(wire, said))
        assert (len(wire.headers), said) == (1, [])


def test_dates_that_move_along_end_within_three_minutes(
    monkeypatch: pytest.MonkeyPatch,
):
    waits = list[float]()
    monkeypatch.setattr(time, "sleep", waits.append)
    said: list[str] = []
    end = pytest.raises(LiveError, match="asks to wait")
    with served(Script(busy(retry_after=ahead(58)))) as wire, end:
        ask(patient(wire, said))
    assert len(said) == len([wait for wait in waits if wait > 1]) == 1
    assert "seconds" in said[0]


@pytest.mark.parametrize(
    "date", ["soon", "", "Thu, 99 Foo 2026", "Thu, 26 Nov 2020 08:00:00 GMT"]
)
def test_a_date_that_is_none_or_over_asks_for_no_wait(date: str):
    assert spending._retry_after({"retry-after": date}) == 0  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("code", [400, 403, 418])
def test_a_wish_to_try_again_is_bounded_and_said_whatever_the_code(code: int):
    said: list[str] = []
    script = busy(code, x_should_retry="true", retry_after="59")
    with served(Script(script)) as wire:
        api = patient(wire, said).with_options(max_retries=0)
        with pytest.raises(anthropic.APIStatusError):
            ask(api)
    assert len(said) == 1
    script = busy(code, x_should_retry="true", retry_after="61")
    with served(Script(script)) as wire, pytest.raises(LiveError, match="asks to wait"):
        ask(patient(wire, said))


def test_a_refusal_that_need_not_be_tried_again_is_not():
    said: list[str] = []
    with served(Script(busy(529, x_should_retry="false"))) as wire:
        with pytest.raises(anthropic.APIStatusError):
            ask(patient(wire, said))
        assert (len(wire.headers), said) == (1, [])


@pytest.mark.parametrize(
    ("model", "more", "paid"),
    [
        ("claude-sonnet-4-6", {}, 0.45),
        ("claude-sonnet-4-6", {"service_tier": "batch"}, 0.225),
        ("us.anthropic.claude-sonnet-4-6-v1:0", {}, 0.495),
        ("bedrock/eu.anthropic.claude-sonnet-4-6", {"inference_geo": "us"}, 0.495),
        ("global.anthropic.claude-sonnet-4-6", {}, 0.45),
        ("eu.anthropic.claude-sonnet-4-20250514-v1:0", {}, 0.45),
        ("claude-sonnet-4-6-high", {}, 0.45),
        ("anthropic.claude-sonnet-4-6-v1:0:200k", {}, 0.45),
        ("claude-sonnet-4-20250514", {}, 0.45),
        ("claude-opus-4-1-20250805", {}, 2.25),
        ("gpt-5.3-codex", {}, 0.315),
        ("openai/gpt-5.3-codex-high", {"service_tier": "auto"}, 0.315),
        ("gpt-5.6-sol", {"service_tier": "fast"}, 1.2),
        ("gpt-5.6-sol", {"service_tier": "flex"}, 0.3),
        ("gemini-3.1-pro-preview", {}, 0.32),
    ],
)
def test_any_listed_model_costs_what_its_tier_and_its_place_cost(
    model: str, more: dict[str, Any], paid: float
) -> None:
    usage = {"input_tokens": 100_000, "output_tokens": 10_000, **more}
    assert dollars(usage, model) == pytest.approx(paid)
    assert unpriced(usage, model) == {}


def test_a_long_prompt_of_another_model_has_its_tier_at_every_service_tier() -> None:
    usage = {"input_tokens": 300_000, "output_tokens": 10_000}
    assert dollars(usage, "gpt-5.6-sol") == pytest.approx(0.3 * 8 + 0.3)
    fast = {**usage, "service_tier": "priority"}
    assert dollars(fast, "gpt-5.6-sol") == pytest.approx(0.3 * 16 + 0.6)


@pytest.mark.parametrize("model", ["qwen3-coder:30b", "ollama/llama3", "gpt-99", ""])
def test_a_local_or_unknown_model_has_no_price(model: str) -> None:
    with pytest.raises(NoPrice):
        dollars({"input_tokens": 1}, model)
