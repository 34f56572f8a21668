"""Manual compact: the model's own call, noted in its turn."""

import copy

import pytest
from hypothesis import given

from agentlib.manual_compact import DONE, NAME, requested_focus
from agentlib.messages import last_assistant, of_type
from tests.builders import assistant, call, result, user
from tests.strategies import histories

ASK = user("Go.")


def asks(name="c", **inputs):
    return call(name, NAME, **inputs)


@pytest.mark.parametrize(
    ("turn", "focus"),
    [
        ([asks(focus="auth.py")], "auth.py"),
        ([asks(focus="")], ""),
        ([asks()], ""),
        ([asks(focus=None)], ""),
        ([asks(focus=["a"])], ""),
        ([call("a"), asks(focus="auth.py"), call("b")], "auth.py"),
        (
            [asks("c", focus="auth.py"), asks("d"), asks("e", focus="rules")],
            "auth.py; rules",
        ),
        ([call("a", "bash", focus="auth.py")], None),
        (["I shall compact."], None),
    ],
)
def test_the_focus_of_the_newest_turns_call(turn, focus):
    assert requested_focus([ASK, assistant(*turn)]) == focus


def test_the_call_is_carried_out_with_its_results_and_those_of_its_siblings_there():
    called = assistant(call("a"), asks(focus="auth.py"))
    answered = [ASK, called, user(result("a"), result("c", DONE))]
    assert requested_focus(answered) == "auth.py"
    assert requested_focus([*answered, assistant("Compacted.")]) is None


@given(histories())
def test_a_focus_is_found_exactly_where_the_newest_turn_calls(history):
    before = copy.deepcopy(history)
    newest = last_assistant(history)
    calls = of_type(history[newest], "tool_use") if newest >= 0 else []
    assert (requested_focus(history) is not None) == any(
        c["name"] == NAME for c in calls
    )
    assert history == before
