"""The sentence of a run: what it took, what came of it, what ended it."""

import pytest

from agentlib.presets import DEFAULT
from course.outcome import told
from session_report.amounts import many
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW, TRACE

SMALL = DEFAULT.scaled(32_000)


@pytest.mark.parametrize("most", [1, (60, 2)])
def test_a_run_that_used_up_its_requests_says_after_how_many(most):
    run = play(REVIEW, SMALL, max_turns=most)
    requests = many(run.turns, "request")
    assert told(run).endswith(f"no report. It was stopped after {requests}.")


def test_a_loop_of_the_learners_says_so_in_the_same_words():
    def asks_again(messages, ask, workspace):
        while True:
            ask(messages)

    run = play(TRACE, SMALL, loop=asks_again, max_turns=3)
    assert told(run).endswith(" It was stopped after 3 requests.")


def test_a_run_that_is_done_with_its_last_request_was_not_stopped():
    run = play(TRACE, SMALL)
    assert told(play(TRACE, SMALL, max_turns=run.turns)) == told(run)
    assert "stopped" not in told(run)
