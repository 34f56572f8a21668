"""The bare loop with a layer of the learner's own: it sends what the layer gives, and tells."""

import pytest

from agentlib.auto_compact import summary_message
from agentlib.lab.naive_loop import MAX_TURNS, bare, needs
from agentlib.lab.tasks.scenarios import TRACE
from agentlib.messages import active_request
from agentlib.settings import Settings

SETTINGS = Settings().scaled(32_000)


def test_a_layer_that_does_nothing_leaves_the_agent_to_its_task():
    run = bare(TRACE, list, SETTINGS)
    assert run.checks["done"]
    assert (run.refused, run.repeated) == ("", 0)
    assert run.turns == sum(message["role"] == "assistant" for message in run.history)
    assert run.sent == sum(run.sizes) > 0
    assert run.sizes == sorted(run.sizes)


def test_what_a_layer_returns_is_sent_and_the_history_stays_whole():
    run = bare(TRACE, lambda messages: messages[-3:], SETTINGS)
    assert run.refused.startswith("messages.0.content.0: unexpected `tool_use_id`")
    assert len(run.context) == 3
    assert run.history[0] == {"role": "user", "content": TRACE.prompts[0]}


def test_a_run_without_an_end_is_stopped():
    run = bare(TRACE, lambda messages: messages[:1], SETTINGS)
    assert run.turns == MAX_TURNS
    assert run.repeated == MAX_TURNS - 1
    assert not run.checks["done"]


def test_what_a_layer_raises_comes_through():
    def broken(messages):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        bare(TRACE, broken, SETTINGS)


def test_is_full_is_past_the_point_and_ask_brings_a_summary_of_what_is_shown():
    is_full, ask = needs(SETTINGS)
    talk = [{"role": "user", "content": TRACE.prompts[0]}]
    assert not is_full(talk)
    assert is_full([*talk, {"role": "user", "content": "x " * 60_000}])
    assert TRACE.prompts[0] in ask(talk)


def test_a_layer_made_of_both_gets_the_task_done():
    is_full, ask = needs(Settings(threshold=7_500).scaled(32_000))
    asked = []

    def layer(messages):
        if not is_full(messages):
            return messages
        asked.append(len(messages))
        return [summary_message(ask(messages), "t", active_request(messages))]

    run = bare(TRACE, layer, SETTINGS)
    assert asked
    assert run.checks["done"]
