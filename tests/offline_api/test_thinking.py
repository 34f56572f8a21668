"""A thinking block is taken back after the conversation in which it was created."""

import json
from typing import Any

import pytest

from agentlib.settings import MODEL
from offline_api import client
from offline_api.errors import Refusal
from offline_api.model import reply
from offline_api.server import Server
from offline_api.thinking import BETA, check_thinking, thought
from tests.builders import assistant, say, text, user

Body = dict[str, Any]
TOOL = {"name": "bash", "input_schema": {"type": "object"}}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def request(*messages: Body, system: Any = "Be kind.", tools: Any = (TOOL,)) -> Body:
    thinking = {"type": "adaptive"}
    return {
        "system": system,
        "tools": list(tools),
        "messages": messages,
        "thinking": thinking,
    }


def thoughtful(before: Body) -> Body:
    answer = text("Good.")
    return assistant(thought([answer], before), answer)


def dropped(*messages: Body) -> list[Body]:
    """What is left of the messages if the request asks for `drop_block`."""
    return list(
        check_thinking({**request(*messages), "thinking": DROP}, BETA)["messages"]
    )


HI = user("Hi")
MORE = user("More")
END = user("End")
FIRST = thoughtful(request(HI))
SECOND = thoughtful(request(HI, FIRST, MORE))
WHOLE = request(HI, FIRST, MORE, SECOND, END)


@pytest.mark.parametrize(
    "change",
    [
        {"system": "Be quick."},
        {"tools": []},
        {"messages": [user("Ho"), *WHOLE["messages"][1:]]},
    ],
)
def test_an_earlier_block_is_refused_after_a_change_unless_it_may_be_dropped(
    change: Body,
):
    check_thinking(WHOLE)
    with pytest.raises(Refusal, match="bound to a different conversation") as refusal:
        check_thinking(WHOLE | change)
    assert refusal.value.message.startswith("messages.1.content.0: Invalid `signature`")
    check_thinking(WHOLE | change | {"thinking": DROP}, f"other-beta,{BETA}")


@pytest.mark.parametrize(("behavior", "betas"), [("drop_block", ""), ("error", BETA)])
def test_a_block_is_dropped_only_with_the_header_and_the_behavior(
    behavior: str, betas: str
):
    binding = {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": behavior},
    }
    changed = WHOLE | {"system": "Be quick.", "thinking": binding}
    with pytest.raises(Refusal, match="bound to a different conversation"):
        check_thinking(changed, betas)


def test_only_what_follows_the_change_is_dropped():
    longer = [*WHOLE["messages"], thoughtful(WHOLE), END]
    assert dropped(*longer) == longer
    without = {"role": "assistant", "content": SECOND["content"][1:]}
    kept = dropped(*longer[:2], user("Less"), *longer[3:])
    assert kept == [*longer[:2], user("Less"), without, *longer[4:]]


def test_the_thinking_behind_a_dropped_block_goes_with_it():
    first, answer = FIRST["content"]
    hidden = {"type": "redacted_thinking", "data": "x"}
    alone = {"role": "assistant", "content": [first, hidden]}
    apart = {"role": "assistant", "content": [first, answer, hidden]}
    kept = dropped(user("Ho"), alone, MORE, apart, END, SECOND, END)
    rest = {"role": "assistant", "content": [answer, hidden]}
    assert kept == [user("Ho"), MORE, rest, END, SECOND, END]


def test_the_model_never_sees_a_dropped_block_and_nobody_pays_for_it():
    seen: list[Body] = []

    def model(body: Body) -> Body:
        seen.append(body)
        return say("Good.")

    api = client(model=model)
    turns: Any = [user("Ho"), FIRST, MORE, {"role": "assistant", "content": "So."}, END]
    asked: Any = {"model": MODEL, "thinking": DROP, "betas": [BETA], "messages": turns}
    answer = api.beta.messages.create(max_tokens=99, **asked)
    assert seen[0]["messages"][1]["content"] == FIRST["content"][1:]
    without: Any = asked | {"messages": [turns[0], seen[0]["messages"][1], *turns[2:]]}
    for same in (asked, without):
        counted = api.beta.messages.count_tokens(**same).input_tokens
        assert counted == answer.usage.input_tokens


def test_the_newest_block_may_stand_after_a_changed_conversation():
    check_thinking(request(user("Summary"), SECOND, END, system="Be quick."))


def test_a_forged_signature_is_refused():
    forged = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJl"}
    with pytest.raises(Refusal):
        check_thinking(
            request(HI, {"role": "assistant", "content": [forged]}, MORE, SECOND, END)
        )


def test_earlier_thinking_can_be_dropped_without_the_later_being_refused():
    without = {"role": "assistant", "content": FIRST["content"][1:]}
    third = thoughtful(WHOLE)
    check_thinking(request(HI, without, MORE, SECOND, END, third, MORE))


def test_cache_markers_and_the_form_of_a_text_change_nothing():
    mark = {"cache_control": {"type": "ephemeral"}}
    marked = {"role": "user", "content": [{"type": "text", "text": "Hi", **mark}]}
    system = [{"type": "text", "text": "Be kind.", **mark}]
    tools = [{**TOOL, **mark}]
    check_thinking(
        request(marked, FIRST, MORE, SECOND, END, system=system, tools=tools)
    )


@pytest.mark.parametrize(
    ("model", "form", "words"),
    [
        ("claude-haiku-4-5", "enabled", ""),
        ("claude-haiku-4-5-20251001", "enabled", ""),
        ("claude-haiku-4-5", "adaptive", "adaptive thinking is not supported"),
        ("claude-sonnet-4-6", "enabled", ""),
        ("claude-sonnet-4-6", "adaptive", ""),
        ("claude-opus-4-7", "adaptive", ""),
        ("claude-opus-4-7", "enabled", '"thinking.type.enabled" is not supported'),
        (MODEL, "enabled", '"thinking.type.enabled" is not supported'),
    ],
)
def test_each_model_takes_its_own_forms_of_thinking(model: str, form: str, words: str):
    names = ("claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-7")
    server = Server(reply, windows=dict.fromkeys(names, 200_000))
    thinking: Body = {"type": form}
    if form == "enabled":
        thinking["budget_tokens"] = 1_024
    body: Body = {"model": model, "max_tokens": 2_000, "thinking": thinking}
    body["messages"] = [{"role": "user", "content": "What rules hold?"}]
    answer = server.answer(
        "POST", "/v1/messages", {"x-api-key": "any"}, json.dumps(body).encode()
    )
    message = json.loads(answer.body)
    if words:
        assert message["error"]["message"].startswith(words)
    else:
        assert message["model"] == model
        assert message["content"][0]["type"] == "thinking"
