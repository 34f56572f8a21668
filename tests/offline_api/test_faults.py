"""A bad day on request: which requests are struck, and what the SDK makes of it."""

from typing import Any

import anthropic
import pytest

from agentlib.messages import SUMMARY_WANTED
from agentlib.settings import MODEL
from offline_api import client
from offline_api.faults import Fault, Faults
from tests.builders import say

Body = dict[str, Any]
TURN: Any = [{"role": "user", "content": "Go on."}]
SUMMARY: Any = [*TURN, {"role": "user", "content": f"{SUMMARY_WANTED} Briefly."}]


def model(body: Body) -> Body:
    return say("Done. " * 40)


def ask(
    *faults: Fault, retries: int = 2, messages: Any = TURN
) -> anthropic.types.Message:
    api = client(model=model, faults=faults).with_options(max_retries=retries)
    return api.messages.create(model=MODEL, max_tokens=500, messages=messages)


@pytest.mark.parametrize(
    ("fault", "struck"),
    [
        (Fault("529", at=2), [2]),
        (Fault("529", at=(1, 4)), [1, 4]),
        (Fault("529", at=range(2, 4)), [2, 3]),
        (Fault("529"), [1, 2, 3, 4, 5]),
        (Fault("529", rate=0), []),
    ],
)
def test_a_fault_strikes_the_requests_it_names(fault: Fault, struck: list[int]):
    faults = Faults([fault])
    assert [n for n in range(1, 6) if faults.next(TURN)] == struck


def test_only_summaries_are_counted_where_that_is_asked():
    faults = Faults(
        [Fault("empty", at=2, only="summary"), Fault("500", at=3, only="turn")]
    )
    kinds = [
        faults.next(messages)
        for messages in (TURN, SUMMARY, TURN, SUMMARY, TURN, SUMMARY)
    ]
    assert kinds == [None, None, None, "empty", "500", None]


@pytest.mark.parametrize("bad", [{"kind": "418"}, {"kind": "500", "rate": 2}])
def test_a_fault_that_does_not_exist_is_refused(bad: dict[str, Any]):
    with pytest.raises(
        ValueError, match=r"kind='418'; choose one of 429|rate=2; choose a share"
    ):
        Fault(**bad)


@pytest.mark.parametrize("kind", ["429", "529", "500"])
def test_the_sdk_retries_twice_and_the_answer_is_as_without_the_fault(kind: Any):
    assert ask(Fault(kind, at=(1, 2))).to_dict() == ask().to_dict()


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("429", anthropic.RateLimitError),
        ("529", anthropic.OverloadedError),
        ("500", anthropic.InternalServerError),
        ("too_long", anthropic.BadRequestError),
        ("timeout", anthropic.APITimeoutError),
    ],
)
def test_a_fault_that_stays_is_raised_in_the_end(kind: Any, error: type[Exception]):
    with pytest.raises(error):
        ask(Fault(kind), retries=0)


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        ("429", {"retry-after": "1"}),
        ("529", {"x-should-retry": "true", "retry-after": None}),
    ],
)
def test_the_headers_say_whether_and_when_to_come_again(
    kind: Any, headers: dict[str, str | None]
):
    with pytest.raises(anthropic.APIStatusError) as refused:
        ask(Fault(kind), retries=0)
    sent = refused.value.response.headers
    assert {name: sent.get(name) for name in headers} == headers


def test_an_answer_may_be_larger_than_all_that_was_shown():
    shown: Any = [{"role": "user", "content": "So it went. " * 400}]
    answer = ask(Fault("larger"), messages=shown)
    assert answer.stop_reason == "end_turn"
    assert answer.usage.output_tokens > ask(messages=shown).usage.input_tokens


@pytest.mark.parametrize(
    "tools", [[], [{"name": "bash", "input_schema": {"type": "object"}}]]
)
def test_a_call_of_a_tool_may_come_in_place_of_the_answer(tools: Any):
    api = client(model=model, faults=[Fault("tool_use")])
    answer = api.messages.create(
        model=MODEL, max_tokens=500, messages=SUMMARY, tools=tools
    )
    kinds = [block.type for block in answer.content]
    assert (kinds, answer.stop_reason) == (
        (["text", "tool_use"], "tool_use") if tools else (["text"], "end_turn")
    )
