"""Policies on recorded sessions: a function is an engine, and is charged for what it
forgets."""

from dataclasses import replace
from itertools import pairwise

import pytest

from agentlib.api.spending import PRICED_AS, dollars, rates
from agentlib.auto_compact import auto_compact
from agentlib.messages import Message
from agentlib.micro_compact import micro_compact
from agentlib.transcripts import Session
from session_report.bills import bills
from session_report.need import needs
from session_report.playback import replay, stand_in
from session_report.policies import KEEPS_ALL, engine, judge
from windtunnel.runner import play
from windtunnel.tasks.generated import generated


@pytest.fixture(scope="module")
def session() -> Session:
    return play(generated(3), KEEPS_ALL).session


def keep_all(messages: list[Message], idle: float) -> list[Message]:
    return messages


def clear_when_cold(messages: list[Message], idle: float) -> list[Message]:
    return micro_compact(messages, keep_recent=0) if idle > 300 else messages


def test_a_policy_that_changes_nothing_costs_what_forgetting_nothing_costs(
    session: Session,
):
    own = judge([session], KEEPS_ALL, PRICED_AS, engine(keep_all))
    assert own.equals(judge([session], KEEPS_ALL, PRICED_AS))
    assert own["need"].item() == 0


def test_a_policy_is_told_how_long_the_cache_was_idle(session: Session):
    told: list[float] = []

    def listens(messages: list[Message], idle: float) -> list[Message]:
        told.append(idle)
        return messages

    replay(session, KEEPS_ALL, engine=engine(listens))
    gaps = [0.0, *(b.at - a.at for a, b in pairwise(session.requests))]
    assert told == pytest.approx(gaps)
    told.clear()
    replay(session, replace(KEEPS_ALL, keep_alive=20), engine=engine(listens))
    assert max(told) < 300 < max(gaps)


def test_clearing_in_a_cold_cache_costs_less_and_keeping_it_alive_too(session: Session):
    base = judge([session], KEEPS_ALL, PRICED_AS)["dollars"].item()
    cold = judge([session], KEEPS_ALL, PRICED_AS, engine(clear_when_cold))
    alive = judge([session], replace(KEEPS_ALL, keep_alive=20), PRICED_AS)
    assert cold["dollars"].item() < base
    assert alive["dollars"].item() < base
    assert cold["need"].item() > alive["need"].item() == 0


def test_the_dollars_have_the_price_of_reading_again_what_is_needed(session: Session):
    own = engine(clear_when_cold)
    frames = replay(session, KEEPS_ALL, engine=own)
    open_loop = sum(
        dollars(usage, PRICED_AS)
        for bill in bills(session, frames)
        for usage in bill.usages
    )
    rate = rates(PRICED_AS)
    missing = needs(frames)
    tokens = sum(need.tokens for need in missing)
    prompts = sum(
        f.prompt_tokens for f, n in zip(frames, missing, strict=True) if n.outputs
    )
    again = (rate["cache_write_5m"] * tokens + rate["cache_read"] * prompts) / 1e6
    judged = judge([session], KEEPS_ALL, PRICED_AS, own)
    assert judged["dollars"].item() == pytest.approx(open_loop + again)
    assert again == pytest.approx(0.02492, rel=1e-3)


@pytest.mark.parametrize("keep", [0, 1, 5])
def test_clearing_costs_the_same_by_settings_and_as_a_policy(
    session: Session, keep: int
):
    """Both set a cache marker after what will not change again."""
    settings = replace(KEEPS_ALL, enabled=True, auto=False, keep_recent=keep)
    own = engine(lambda messages, idle: micro_compact(messages, keep_recent=keep))
    by_settings = judge([session], settings, PRICED_AS)["dollars"].item()
    assert judge([session], KEEPS_ALL, PRICED_AS, own)[
        "dollars"
    ].item() == pytest.approx(by_settings, rel=0.02)


def test_a_summary_that_a_policy_puts_in_is_billed_once():
    session = play(generated(3), KEEPS_ALL).session
    asked = [0]

    def summarises(messages: list[Message], idle: float) -> list[Message]:
        asked[0] += 1
        if asked[0] != 8:
            return messages
        return auto_compact(
            messages, lambda messages, focus: stand_in(500), lambda: "t.jsonl"
        )

    frames = replay(session, KEEPS_ALL, engine=engine(summarises))
    billed = bills(session, frames)
    assert [n for n, bill in enumerate(billed, 1) if bill.summaries] == [8]
    [summary] = billed[7].summaries
    assert summary["output_tokens"] == pytest.approx(500, rel=0.02)
