"""The wire: cache markers on copies, and blocks as the API takes them back."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.api.replies import received, sendable
from agentlib.api.requests import request
from agentlib.api.spending import dollars
from agentlib.messages import changes, last_assistant, of_type, tool_names
from agentlib.settings import MODEL
from agentlib.step import drop_newest_thinking, drop_thinking
from offline_api import violation
from offline_api.body_schema import check_shape
from tests.builders import assistant, call, conversation, result, text, thinking, user
from tests.strategies import histories

MARK = {"type": "ephemeral"}
HIDDEN = {"type": "redacted_thinking", "data": "b3Bhcw=="}
ASK = user("Go.")


def thoughts(message):
    return of_type(message, "thinking") + of_type(message, "redacted_thinking")


def test_a_turn_that_was_all_thinking_keeps_its_place():
    view = drop_thinking([ASK, assistant(thinking()), ASK], 0)
    assert view[1] == assistant("(thinking only)")
    assert violation(view) is None


@given(histories(), st.integers(0, 12))
def test_only_thinking_goes_and_all_else_is_shared(history, start):
    before = copy.deepcopy(history)
    view = drop_thinking(history, start)
    newest = last_assistant(history)
    for i in range(len(history)):
        stays = i < start or (i == newest and bool(of_type(history[i], "tool_use")))
        assert thoughts(view[i]) == (thoughts(history[i]) if stays else [])
        assert (view[i] is history[i]) == (stays or not thoughts(history[i]))
    assert drop_thinking(view, start) == view
    assert violation(view) is None
    assert history == before


@given(histories())
def test_answered_touches_the_newest_assistant_message_only(history):
    newest = last_assistant(history)
    assert set(changes(history, drop_newest_thinking(history))) <= {newest}
    assert newest < 0 or not thoughts(drop_newest_thinking(history)[newest])


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([text("\n\n"), text("Hi.")], [text("Hi.")]),
        ([text(" "), call("a")], [call("a")]),
        ([{**text("Hi."), "citations": None, "parsed_output": None}], [text("Hi.")]),
        ([{**call("a"), "caller": {"type": "direct"}}], [call("a")]),
        ([thinking(""), call("a")], [thinking(""), call("a")]),
        ([HIDDEN], [HIDDEN]),
        ([text("")], [text("(empty reply)")]),
        ([], [text("(empty reply)")]),
    ],
)
def test_a_reply_is_sent_back_without_blank_texts_and_extra_keys(content, sent):
    before = copy.deepcopy(content)
    assert sendable(content) == sent
    assert content == before


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
    "server_tool_use",
]
KEYS = [
    "id",
    "name",
    "input",
    "text",
    "thinking",
    "signature",
    "data",
    "tool_use_id",
    "content",
]
junk = st.builds(
    lambda kind, keys: {"type": kind, **keys},
    st.sampled_from(TYPES) | anything,
    st.dictionaries(
        st.sampled_from(KEYS), st.sampled_from(["a", "a.b", {}]) | anything
    ),
)


@given(anything | st.lists(junk | anything, max_size=5), histories())
def test_any_reply_at_all_can_be_sent_back_and_is_left_alone_after_that(
    content, history
):
    before = copy.deepcopy(content)
    names = tool_names(history)
    said = {"role": "assistant", "content": sendable(content, names)}
    calls = of_type(said, "tool_use")
    body = {
        "model": "m",
        "messages": [ASK, said, user(*(result(c["id"]) for c in calls), "Go.")],
    }
    assert violation([*history, *body["messages"]]) is None
    check_shape(json.loads(json.dumps(body, allow_nan=False)))
    json.dumps(body, ensure_ascii=False).encode()
    assert sendable(said["content"], names) == said["content"]
    assert repr(content) == repr(before)  # in which NaN is NaN


def test_only_a_content_that_was_mended_is_kept_beside_the_new_one():
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": None,
        "service_tier": "standard",
    }
    whole = {
        "content": [{**call("a"), "caller": 1}],
        "usage": usage,
        "stop_reason": "tool_use",
    }
    assert received(whole) == {**whole, "content": [call("a")]}
    mended = received({**whole, "usage": {"output_tokens": "5"}}, ["a"])
    assert mended == {
        "content": [call("a_1")],
        "rawContent": whole["content"],
        "usage": {},
        "stop_reason": "tool_use",
    }


def asked(messages, settled=0):
    return request("m", "Be brief.", [{"name": "bash"}], messages, 100, settled)


def marks(messages):
    found = [
        (i, b)
        for i, m in enumerate(messages)
        for b in m["content"]
        if "cache_control" in b
    ]
    return [(i, block["type"], block["cache_control"]) for i, block in found]


def test_a_request_marks_the_system_prompt_the_settled_edge_and_the_end():
    messages = conversation(3)
    body = asked(messages, settled=3)
    assert body["system"] == [
        {"type": "text", "text": "Be brief.", "cache_control": MARK}
    ]
    assert marks(body["messages"]) == [(2, "tool_result", MARK)]
    assert body["cache_control"] == MARK
    assert (body["model"], body["max_tokens"], body["tools"]) == (
        "m",
        100,
        [{"name": "bash"}],
    )


def test_the_settled_marker_is_on_the_last_block_of_a_copy():
    batch = user(result("a", "1"), result("b", "2"))
    messages = [ASK, assistant(call("a"), call("b")), batch, assistant("Two."), ASK]
    sent = asked(messages, settled=3)["messages"]
    assert sent[2]["content"][0] is batch["content"][0]
    assert sent[2]["content"][1] == {**batch["content"][1], "cache_control": MARK}
    assert list(changes(messages, sent)) == [2]
    assert "cache_control" not in batch["content"][1]


@pytest.mark.parametrize("settled", [0, 5, 6])
def test_an_edge_at_the_start_or_the_end_needs_no_marker(settled):
    messages = [ASK, assistant("1"), ASK, assistant("2"), ASK]
    assert asked(messages, settled)["messages"] == messages


def test_thinking_carries_no_marker():
    messages = [ASK, assistant("Hm.", thinking()), ASK]
    assert asked(messages, settled=2)["messages"] == messages


@pytest.mark.parametrize(
    "block", [text("x" * 900), call("b") | {"input": {"a": "x" * 900}}]
)
def test_a_content_that_no_request_could_hold_is_cut(block):
    whole = [text("Hi."), call("a"), block, *([text("more")] * 9)]
    reply = received({"content": whole}, most=800)
    assert reply["content"][:2] == whole[:2]
    assert [part["type"] for part in reply["content"][2:]] == ["text"]
    assert len(str(reply["content"])) < 900
    assert reply["rawContent"] == whole
    assert received({"content": whole[:2]}, most=800)["content"] == whole[:2]


@pytest.mark.parametrize(
    "usage", [[1], "x", 5, True, {"cache_creation": ["x"]}, {"a_tokens": 1.5}]
)
def test_a_usage_of_any_kind_is_one_that_can_be_counted(usage):
    assert dollars(received({"content": [], "usage": usage})["usage"], MODEL) == 0


def test_an_empty_system_prompt_gets_no_marker():
    body = request(MODEL, "", [], [ASK], 9)
    check_shape(body)
    assert not body["system"]
    assert request(MODEL, "s", [], [ASK], 9)["system"][0]["cache_control"] == MARK
