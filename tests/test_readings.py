"""The table of readings, and the pictures of lesson 01."""

import pytest

from agentlib.estimation import TokenMeter
from agentlib.lab.replay.estimates import (
    BLOCKS,
    CHARS,
    LAST_BILL,
    METER,
    error_percent,
    growths,
    readings,
    rings_at,
)
from agentlib.messages import Message
from agentlib.session_file import Request
from agentlib.transcripts import Session

HELLO: Message = {"role": "user", "content": "x" * 100}
ANSWER: Message = {"role": "assistant", "content": "y" * 200}


def request(context: list[Message], billed: int) -> Request:
    usage = {"input_tokens": billed, "output_tokens": 9}
    return Request(context=context, usage=usage, reply=ANSWER, at=0.0, seen=len(context))


def session() -> Session:
    sent = [request([HELLO], 50), request([HELLO, ANSWER, HELLO], 150)]
    return Session(session_id="s", requests=sent)


def test_each_way_reads_what_it_could_know_before_the_request():
    first, second = readings(session()).to_dict("records")
    assert (first["billed"], second["billed"]) == (50, 150)
    # 131 + 2 characters of Python text; 100 of text alone
    assert (first[CHARS], first[BLOCKS]) == (33, 34)
    assert first[LAST_BILL] == first[CHARS]
    # the bill of 50, and 236 + 2 + 131 + 2 characters that are new
    assert second[LAST_BILL] == 50 + 92
    meter = TokenMeter(len(str([])))
    meter.observe([HELLO], {"input_tokens": 50})
    assert second[METER] == meter.estimate([HELLO, ANSWER, HELLO]) == 50 + 57 + 30


def test_growth_is_from_request_to_request():
    assert list(growths(session())) == [100]
    assert list(growths(Session(session_id="empty"))) == []


def test_an_alarm_by_a_low_estimate_rings_late_and_by_a_high_one_early():
    assert error_percent(40, 100) == -60
    assert rings_at(171_000, -60) == 427_500
    assert rings_at(171_000, -55) == 380_000
    assert rings_at(171_000, 100) == 85_500
    with pytest.raises(ValueError, match="-100 % off reads nothing"):
        rings_at(171_000, -100)
