"""What an estimate said, beside the bills."""

from dataclasses import replace

import pytest

from agentlib.estimation import estimate_tokens
from agentlib.messages import Message
from agentlib.session.file import Prefix, Request
from agentlib.settings import Settings
from agentlib.transcripts import Session
from windtunnel.estimates import growths, readings
from windtunnel.runner import play
from windtunnel.tasks.scenarios import RENAME, REVIEW

HELLO: Message = {"role": "user", "content": "x" * 100}
START = Settings(micro="off", manual=False, reactive=False).scaled(32_000)


def chars4(messages: list[Message]) -> int:
    return len(str(messages)) // 4


def test_a_refused_request_is_in_the_table_as_large_as_the_api_counted_it():
    run = play(RENAME, START, estimate=chars4)
    table = readings(run)
    assert list(table["billed"]) == [*run.sizes, int(run.refused.split()[4])]
    sent = [estimate_tokens(request.context) for request in run.session.requests]
    assert [abs(a - b) <= 1 for a, b in zip(table["said"][:-1], sent, strict=True)] == [
        True
    ] * 29
    assert table["said"].iloc[-1] == chars4(run.session.context)
    assert not table["rang"].any()


@pytest.mark.parametrize(("own", "alarms"), [(True, 3), (False, 4)])
def test_the_estimate_said_more_than_the_threshold_where_the_alarm_rang(
    own: bool, alarms: int
):
    run = play(REVIEW, START, **({"estimate": chars4} if own else {}))
    table = readings(run)
    assert len(table) == run.turns
    assert table["rang"].sum() == len(run.session.compactions) == alarms
    assert ((table["said"] > START.threshold_tokens) == table["rang"]).all()


def test_what_clearing_takes_away_is_not_in_what_was_said():
    run = play(REVIEW, replace(START, micro="clear", clear_at_least=8_000))
    table = readings(run)
    assert any(turn.step.tokens_cleared for turn in run.rounds)
    assert (table["said"] < START.threshold_tokens).all()


def test_growth_is_from_request_to_request():
    usages = [{"input_tokens": billed, "output_tokens": 9} for billed in (50, 150)]
    sent = [
        Request(sent=Prefix([HELLO], 1), usage=u, reply=HELLO, at=0.0, seen=1)
        for u in usages
    ]
    assert growths(Session(session_id="s", requests=sent)) == [100]
    assert growths(Session(session_id="empty")) == []
