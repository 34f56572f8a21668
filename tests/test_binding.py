"""A thinking block is taken back where it was created, and nowhere else."""

from typing import Any

import pytest

from agentlib.lab.api.binding import broken_binding, sign

Body = dict[str, Any]
TOOL = {"name": "bash", "input_schema": {"type": "object"}}


def asked(*messages: Body, system: Any = "Be kind.", tools: Any = (TOOL,)) -> Body:
    return {"system": system, "tools": list(tools), "messages": list(messages)}


def user(text: str) -> Body:
    return {"role": "user", "content": text}


def thoughtful(before: Body, thinking: str = "Hm.") -> Body:
    block = {"type": "thinking", "thinking": thinking, "signature": sign(thinking, before)}
    return {"role": "assistant", "content": [block, {"type": "text", "text": "Good."}]}


HI, MORE, END = user("Hi"), user("More"), user("End")
FIRST = thoughtful(asked(HI))
SECOND = thoughtful(asked(HI, FIRST, MORE))


def test_a_conversation_goes_on_with_all_its_thinking():
    assert broken_binding(asked(HI, FIRST, MORE, SECOND, END)) is None


def test_a_conversation_without_thinking_has_nothing_to_check():
    assert broken_binding(asked(HI)) is None


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"system": "Be quick."}, "`system` prompt differs from the one"),
        ({"tools": []}, "`tools` differ from the ones"),
    ],
)
def test_an_earlier_block_is_bound_to_system_and_tools(change: Body, part: str):
    found = broken_binding(asked(HI, FIRST, MORE, SECOND, END) | change)
    assert found is not None
    assert found.startswith("messages.1.content.0: Invalid `signature` in `thinking` block. The ")
    assert found.endswith(f"The {part} this block was created with.")


def test_an_earlier_block_is_bound_to_the_messages_before_it():
    found = broken_binding(asked(user("Ho"), FIRST, MORE, SECOND, END))
    assert found is not None
    assert "bound to a different conversation" in found
    assert found.endswith(
        "The `messages` before it differ from the ones this block was created with."
    )


def test_the_latest_block_may_stand_after_a_changed_conversation():
    assert broken_binding(asked(user("Summary"), SECOND, END, system="Be quick.")) is None


def test_the_latest_block_must_be_unmodified():
    thinking, text = SECOND["content"]
    changed = {"role": "assistant", "content": [{**thinking, "thinking": "Ha."}, text]}
    found = broken_binding(asked(HI, FIRST, MORE, changed, END))
    assert found is not None
    assert found.startswith("messages.3.content.0: `thinking` or `redacted_thinking` blocks in the")


def test_a_forged_signature_is_invalid_anywhere():
    forged = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJl"}
    found = broken_binding(asked(HI, {"role": "assistant", "content": [forged]}, END))
    assert found == "messages.1.content.0: Invalid `signature` in `thinking` block"


def test_earlier_thinking_can_be_dropped_without_the_later_being_refused():
    without = {"role": "assistant", "content": FIRST["content"][1:]}
    third = thoughtful(asked(HI, FIRST, MORE, SECOND, END))
    assert broken_binding(asked(HI, without, MORE, SECOND, END, third, MORE)) is None


def test_cache_markers_and_the_form_of_a_text_change_nothing():
    mark = {"cache_control": {"type": "ephemeral"}}
    marked = {"role": "user", "content": [{"type": "text", "text": "Hi", **mark}]}
    system = [{"type": "text", "text": "Be kind.", **mark}]
    body = asked(marked, FIRST, MORE, SECOND, END, system=system, tools=[{**TOOL, **mark}])
    assert broken_binding(body) is None
