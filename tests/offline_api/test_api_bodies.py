"""Four hundred bodies: what the real API takes works or is refused by name, the rest is
refused."""

import json
from collections import Counter
from typing import Any

import pytest

from offline_api.model import reply
from offline_api.server import Reply, Server
from tests.api_bodies import BETAS, ELSEWHERE, Case, invalid, valid


def sent(case: Case) -> Reply:
    path = f"/v1/messages{'/count_tokens' if case.counts else ''}"
    headers = {"x-api-key": "any", "anthropic-beta": BETAS}
    return Server(reply).answer("POST", path, headers, json.dumps(case.body).encode())


def refusal(answer: Reply) -> str:
    error: Any = json.loads(answer.body)["error"]
    return error["message"]


def test_there_are_two_hundred_of_each_and_no_two_are_the_same():
    for cases in (valid(), invalid()):
        bodies = Counter(
            json.dumps([case.counts, case.body], sort_keys=True) for case in cases
        )
        assert len(bodies) == 200


@pytest.mark.parametrize("case", valid(), ids=lambda case: case.name)
def test_a_body_that_the_api_takes_works_or_is_refused_as_not_simulated(case: Case):
    answer = sent(case)
    if any(name in case.name for name in ELSEWHERE):
        assert "not simulated" in refusal(answer)
    else:
        assert answer.status == 200, refusal(answer)


@pytest.mark.parametrize("case", invalid(), ids=lambda case: case.name)
def test_a_body_that_the_api_refuses_is_refused(case: Case):
    answer = sent(case)
    assert answer.status in (400, 404), case.body
    assert "Traceback" not in refusal(answer)
    assert "not simulated" not in refusal(answer)
