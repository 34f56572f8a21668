"""A thinking block is taken back after the conversation in which it was created."""

from typing import Any

import pytest

from agentlib.lab.api.errors import Refusal
from agentlib.lab.api.thinking import check_thinking, thought

Body = dict[str, Any]
TOOL = {"name": "bash", "input_schema": {"type": "object"}}


def request(*messages: Body, system: Any = "Be kind.", tools: Any = (TOOL,)) -> Body:
    thinking = {"type": "adaptive"}
    return {"system": system, "tools": list(tools), "messages": messages, "thinking": thinking}


def user(text: str) -> Body:
    return {"role": "user", "content": text}


def thoughtful(before: Body) -> Body:
    answer = {"type": "text", "text": "Good."}
    return {"role": "assistant", "content": [thought([answer], before), answer]}


HI, MORE, END = user("Hi"), user("More"), user("End")
FIRST = thoughtful(request(HI))
SECOND = thoughtful(request(HI, FIRST, MORE))
WHOLE = request(HI, FIRST, MORE, SECOND, END)


@pytest.mark.parametrize(
    "change",
    [{"system": "Be quick."}, {"tools": []}, {"messages": [user("Ho"), *WHOLE["messages"][1:]]}],
)
def test_an_earlier_block_is_refused_after_a_change(change: Body):
    check_thinking(WHOLE)
    with pytest.raises(Refusal, match="bound to a different conversation") as refusal:
        check_thinking(WHOLE | change)
    assert refusal.value.message.startswith("messages.1.content.0: Invalid `signature`")


def test_the_newest_block_may_stand_after_a_changed_conversation():
    check_thinking(request(user("Summary"), SECOND, END, system="Be quick."))


def test_a_forged_signature_is_refused():
    forged = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJl"}
    with pytest.raises(Refusal):
        check_thinking(request(HI, {"role": "assistant", "content": [forged]}, MORE, SECOND, END))


def test_earlier_thinking_can_be_dropped_without_the_later_being_refused():
    without = {"role": "assistant", "content": FIRST["content"][1:]}
    third = thoughtful(WHOLE)
    check_thinking(request(HI, without, MORE, SECOND, END, third, MORE))


def test_cache_markers_and_the_form_of_a_text_change_nothing():
    mark = {"cache_control": {"type": "ephemeral"}}
    marked = {"role": "user", "content": [{"type": "text", "text": "Hi", **mark}]}
    system = [{"type": "text", "text": "Be kind.", **mark}]
    tools = [{**TOOL, **mark}]
    check_thinking(request(marked, FIRST, MORE, SECOND, END, system=system, tools=tools))
