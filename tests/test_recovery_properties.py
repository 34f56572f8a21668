"""Random conversations in an emergency: what holds whether the summary fails or not."""

import copy
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from strategies import histories, requests_of, short, some_settings, unseen_of

from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import meter
from agentlib.messages import active_request, exchanges, violation
from agentlib.pipeline import compact
from agentlib.recovery import without_oldest


def fails(messages, focus):
    raise SummaryFailed("no model to be had")


@given(histories(), some_settings, st.booleans(), st.sampled_from(["auto", "reactive"]))
def test_an_emergency_keeps_the_rules_the_request_and_the_unseen(history, settings, fail, reason):
    hurry = replace(settings, threshold=1, auto=True, enabled=True, emergency_at=1e-6)
    before = copy.deepcopy(history)
    for stop in requests_of(history):
        told = history[:stop]
        summarize = fails if fail else short
        calls = {"summarize": summarize, "archive": lambda: "t.jsonl", "idle": 0.0}
        step = compact(told, hurry, meter=meter(hurry.estimator), reason=reason, **calls)
        assert violation(step.messages) is None
        assert unseen_of(step.messages).keys() == unseen_of(told).keys()
        if hurry.tail_tokens is None:  # a tail by tokens may split a result that is too large
            assert unseen_of(step.messages) == unseen_of(told)
        assert active_request(step.messages) == active_request(told)
        assert step.tokens_after <= step.tokens_before
    assert history == before


@given(histories(min_size=1))
def test_less_is_less_by_whole_exchanges_and_the_newest_stays(history):
    for stop in requests_of(history):
        told = history[:stop]
        less = without_oldest(told)
        assert violation(less) is None
        assert unseen_of(less) == unseen_of(told)
        found = len(exchanges(told))
        assert len(exchanges(less)) == (found - max(1, found // 5) if found > 1 else found)
