"""The cap counts every dollar of plain answers and of streams, and nothing that is free."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from loopback import Wire, served

from agentlib.lab.api.server import Reply, Server
from agentlib.lab.client import LiveError
from agentlib.lab.metering import guard
from agentlib.lab.spending import Cap, CapReached, dollars
from agentlib.settings import MODEL

Body = dict[str, Any]
HI: Any = [{"role": "user", "content": "word " * 1_000}]
PRICE = 1_604 * 0.1e-6 + 6 * 0.5e-6  # "Good.": 1.6 and .35 rounded up, 4 a block


def brain(body: Body) -> Body:
    return {"content": [{"type": "text", "text": "Good."}], "stop_reason": "end_turn"}


@pytest.fixture
def wire() -> Iterator[Wire]:
    with served(Server(brain)) as provider:
        yield provider


def metered(wire: Wire, cap: Cap | None) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="any", base_url=wire.url, middleware=[guard(wire.url, cap)], max_retries=0
    )


def ask(api: anthropic.Anthropic, **more: Any) -> anthropic.types.Message:
    given: Any = {"model": MODEL, "max_tokens": 50, "messages": HI, **more}
    return api.messages.create(**given)


def test_a_plain_answer_is_counted_by_its_usage(wire: Wire):
    cap = Cap(1.0)
    usage = ask(metered(wire, cap)).usage.to_dict()
    assert cap.spent == pytest.approx(PRICE)
    assert cap.spent == pytest.approx(dollars(usage, MODEL))


def test_a_stream_is_counted_whole(wire: Wire):
    cap = Cap(1.0)
    with metered(wire, cap).messages.stream(model=MODEL, max_tokens=50, messages=HI) as stream:
        assert stream.get_final_text() == "Good."
    assert cap.spent == pytest.approx(PRICE)


def test_a_stream_that_is_broken_off_counts_what_it_had_said(wire: Wire):
    cap = Cap(1.0)
    with metered(wire, cap).messages.stream(model=MODEL, max_tokens=50, messages=HI) as stream:
        next(iter(stream))
    assert cap.spent == pytest.approx(PRICE, rel=0.02)


@pytest.mark.parametrize("cap", [None, Cap(1.0)])
def test_a_web_page_is_no_messages_api(cap: Cap | None):
    class Page(Server):
        def answer(self, *asked: Any) -> Reply:
            return Reply(200, {"content-type": "text/html"}, b"<html>Log in</html>")

    with served(Page(brain)) as page, pytest.raises(LiveError, match="no Messages API: it sent te"):
        ask(metered(page, cap))


def test_a_refused_request_costs_nothing(wire: Wire):
    cap = Cap(1.0)
    with pytest.raises(anthropic.BadRequestError):
        ask(metered(wire, cap), messages=[])
    assert cap.spent == 0


def test_nothing_is_sent_once_the_cap_is_reached(wire: Wire):
    cap = Cap(1.5 * PRICE)
    api = metered(wire, cap)
    for _ in range(2):
        ask(api)
    with pytest.raises(CapReached):
        ask(api)
    assert len(wire.headers) == 2


def test_the_cap_does_not_stop_what_is_free(wire: Wire):
    api = metered(wire, Cap(0.0))
    assert api.messages.count_tokens(model=MODEL, messages=HI).input_tokens == 1_604
    with pytest.raises(CapReached):
        ask(api)


def test_a_cap_without_a_price_is_refused_before_anything_is_sent(wire: Wire):
    with pytest.raises(LiveError, match="The cap can't be held: no price is known for the model"):
        ask(metered(wire, Cap(1.0)), model="claude-x")
    assert wire.headers == []
    with pytest.raises(anthropic.NotFoundError):
        ask(metered(wire, None), model="claude-x")
