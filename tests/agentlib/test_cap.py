"""The cap as its owner sees it: requests that reach the endpoint of a live run.

test_spending holds the cap's parts. Here the program itself runs, and only the server
counts. Two properties follow: no course of replies leads to a request after the cap,
and what a stopped request may cost is counted.
"""

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.api.live import live_client
from agentlib.api.spending import Cap, CapReached, LiveError, dollars, guard
from agentlib.cli.main import DONE, main
from offline_api import client
from offline_api.server import Headers, Reply, Server
from tests.builders import without
from tests.fakes import good
from tests.loopback import JSON, message, response, served
from tests.runs import ctrl_c

MODEL = "claude-haiku-5-5"
USAGE = {"input_tokens": 50_000, "output_tokens": 10_000}
"""One cent."""


def answer(usage: Any = USAGE) -> Reply:
    whole = message(usage=usage)
    return response(whole if usage is not None else without(whole, "usage"))


def torn() -> Reply:
    return response(message(usage=USAGE), content_length="9999")


def stopped() -> Reply:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    return answer()


class Counting(Server):
    """An endpoint that counts the requests for a message, and lists no models."""

    def __init__(self, reply: Callable[[], Reply]) -> None:
        super().__init__(good)
        self.reply = reply
        self.count = 0

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        if not path.startswith("/v1/messages"):
            return response({}, 404)
        self.count += 1
        return self.reply()


@dataclass(frozen=True)
class Case:
    """What a person asks for, what the endpoint does, and what may reach it."""

    reply: Callable[[], Reply]
    options: list[str] = field(default_factory=list[str])
    requests: int = 1
    ends_well: bool = False
    lines: str = "one\ntwo\nthree\n"


CASES = {
    "under the cap": Case(answer, ["--max-usd", "0.05"], 3, True),
    "no cap": Case(answer, ["--max-usd", "inf"], 3, True),
    "reached by the second": Case(answer, ["--max-usd", "0.015"], 2),
    "reached by the first": Case(answer, ["--max-usd", "0.01"], 1),
    "an own price reaches it": Case(
        answer, ["--model", "tiny", "--price", "0,1", "--max-usd", "0.01"]
    ),
    "an own price of a second model reaches it": Case(
        answer,
        ["--model", "first", "--price", "0,1", "--max-usd", "0.015"],
        requests=2,
        lines="one\n/model second\ntwo\nthree\n",
    ),
    "no usage": Case(lambda: answer(None)),
    "a usage of words": Case(lambda: answer({"input_tokens": "many"})),
    "the reply breaks off": Case(torn),
    "a gateway in between": Case(lambda: response({}, 504)),
    "no price": Case(answer, ["--model", "unknown"], 0),
    "a price of 400 digits": Case(
        answer, ["--model", "tiny", "--price", "9" * 400 + ",1"], 0
    ),
    "no number": Case(answer, ["--max-usd", "nan"], 0),
    "a wait of an hour": Case(
        lambda: response({}, 429, retry_after="3600"), requests=3
    ),  # one for each line, because nothing was spent
}


@pytest.fixture
def live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Any]]:
    """Run the program against an endpoint. Return its exit code and the requests."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")

    def run(case: Case) -> tuple[int, int]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(case.lines))
        with served(Counting(case.reply)) as wire:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
            argv = ["--live", "--workspace", "project", "--transcripts", "t"]
            code = main([*argv, *case.options])
            return code, wire.server.count

    return run


@pytest.mark.parametrize("name", CASES)
def test_no_request_leaves_after_the_cap(
    name: str, live: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    case = CASES[name]
    waited = list[float]()
    # Of this module alone: other threads go on sleeping.
    sdk_time = SimpleNamespace(**vars(time) | {"sleep": waited.append})
    monkeypatch.setattr("anthropic._base_client.time", sdk_time)
    code, requests = live(case)
    assert requests == case.requests
    assert (code == DONE) == case.ends_well
    assert sum(waited) <= 60


def test_a_price_that_is_given_counts_before_that_of_the_environment(
    live: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MODEL_ID", "priced-twice")
    monkeypatch.setenv("MODEL_PRICE", "0,0")
    code, requests = live(Case(answer, ["--price", "0,1", "--max-usd", "0.01"]))
    assert requests == 1
    assert code != DONE


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_request_that_is_stopped_counts_in_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    replies = iter([stopped, answer])
    with served(Counting(lambda: next(replies)())) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        api = client(live=True, env=None, max_usd=0.000_1, say=str)
        ask: Any = {"model": MODEL, "max_tokens": 1_000}
        ask |= {"messages": [{"role": "user", "content": "Hi."}]}
        with ctrl_c(), pytest.raises(KeyboardInterrupt):
            api.messages.create(**ask)
        with pytest.raises(CapReached):
            api.messages.create(**ask)
        assert wire.server.count == 1


def test_a_client_with_a_cap_that_nothing_reaches_is_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    with pytest.raises(ValueError, match="max_usd=nan"):
        client(live=True, env=None, max_usd=float("nan"), say=str)


@pytest.mark.parametrize("asked", [{"stream": True}, {"model": "unknown"}])
def test_what_no_cap_can_hold_reaches_nobody(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    """The model may be named in the request alone, as a second one for summaries is."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    ask: Any = {"model": MODEL, "max_tokens": 9, "messages": [], **asked}
    with served(Counting(answer)) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        api = client(live=True, env=None, max_usd=1.0, say=str)
        with pytest.raises(LiveError):
            api.messages.create(**ask)
        assert wire.server.count == 0


def test_a_cap_is_held_by_the_price_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    monkeypatch.setenv("MODEL_ID", "named")
    monkeypatch.setenv("MODEL_PRICE", "0,1")
    ask: Any = {"model": "named", "max_tokens": 9, "messages": []}
    with served(Counting(answer)) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        api = live_client(None, max_usd=0.01, say=str)
        api.messages.create(**ask)
        with pytest.raises(CapReached):
            api.messages.create(**ask)
        assert wire.server.count == 1


class Sent:
    """A request as the SDK hands it to the guard."""

    method = "POST"
    url = "https://api.anthropic.com/v1/messages"
    retries_taken = 0

    def __init__(self) -> None:
        self.json = {"model": MODEL, "max_tokens": 9}


class Got:
    """A response as the guard reads it."""

    status_code = 200
    is_success = True

    def __init__(self, usage: Any) -> None:
        self.text = answer(usage).body
        self.headers = JSON
        self.http_response = self

    def read(self) -> bytes:
        return self.text


COUNTS = st.fixed_dictionaries(
    {
        "input_tokens": st.integers(0, 60_000),
        "output_tokens": st.integers(0, 20_000),
        "cache_read_input_tokens": st.integers(0, 60_000),
        "cache_creation_input_tokens": st.integers(0, 60_000),
    }
)


@given(replies=st.lists(st.none() | COUNTS, max_size=12), most=st.floats(0, 0.05))
def test_no_course_of_replies_leads_past_the_cap(replies: list[Any], most: float):
    sent = list[Any]()

    def call_next(request: Any) -> Any:
        sent.append(replies[len(sent)])
        return Got(sent[-1])

    cap = Cap(most)
    handle = guard("https://api.anthropic.com", cap)
    for _ in replies:
        with suppress(CapReached, LiveError):
            handle(Sent(), call_next)
    *before, last = sent or [{}]
    assert None not in before
    spent = sum(dollars(usage, MODEL) for usage in before)
    assert spent < most or not sent
    if len(sent) < len(replies):  # the run ended: for money, or for want of a count
        assert last is None or spent + dollars(last, MODEL) >= most
