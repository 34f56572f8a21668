"""What the model says becomes an answer: cut to fit, with ids and thinking."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from offline_api.completion import finished, fitting
from offline_api.tokens import TEXT, block_tokens
from tests.builders import call, say, text

Body = dict[str, Any]
TEXT_BLOCK = text("one two three")
CALL = call("", "bash", command="ls")
SAID = {"content": [TEXT_BLOCK, CALL], "stop_reason": "tool_use"}
BODY: Body = {"max_tokens": 500, "messages": [{"role": "user", "content": "Hi"}]}


def test_an_answer_that_fits_is_left_alone_but_for_its_ids():
    content, stop = finished(SAID, BODY, seed="s", room=1_000)
    assert stop == "tool_use"
    assert content[0] == TEXT_BLOCK
    assert content[1]["id"].startswith("toolu_")
    assert {**content[1], "id": ""} == {**CALL, "id": ""}


def test_a_text_is_cut_and_a_call_that_does_not_fit_is_left_out():
    assert fitting([TEXT_BLOCK, CALL], TEXT + 2) == [text("one ")]
    assert fitting([TEXT_BLOCK, CALL], TEXT + 5) == [TEXT_BLOCK]
    assert fitting([CALL, TEXT_BLOCK], 20) == []
    assert fitting([TEXT_BLOCK], TEXT) == []


@given(st.text(max_size=200), st.integers(0, 120))
def test_a_cut_text_is_a_beginning_and_fits(text: str, limit: int):
    block = {"type": "text", "text": text}
    kept = fitting([block], limit)
    assert sum(map(block_tokens, kept)) <= limit
    assert all(text.startswith(b["text"]) for b in kept)
    if block_tokens(block) <= limit:
        assert kept == [block]


def test_the_smaller_of_max_tokens_and_room_gives_the_stop_reason():
    short = {**BODY, "max_tokens": 8}
    assert finished(SAID, short, seed="s", room=1_000)[1] == "max_tokens"
    assert finished(SAID, short, seed="s", room=8)[1] == "max_tokens"
    assert finished(SAID, short, seed="s", room=7)[1] == "model_context_window_exceeded"
    assert finished(SAID, BODY, seed="s", room=0) == (
        [],
        "model_context_window_exceeded",
    )


def test_faults_of_the_answer_empty_it_or_cut_it_in_half():
    assert finished(SAID, BODY, seed="s", room=1_000, fault="empty") == ([], "end_turn")
    assert finished(SAID, BODY, seed="s", room=1_000, fault="refusal") == (
        [],
        "refusal",
    )
    content, stop = finished(SAID, BODY, seed="s", room=1_000, fault="truncated")
    assert (content, stop) == ([TEXT_BLOCK], "max_tokens")
    long = say("word " * 100)
    content, stop = finished(long, BODY, seed="s", room=1_000, fault="truncated")
    assert stop == "max_tokens"
    assert (
        content[0]["text"].split() == ["word"] * 48
    )  # 164 tokens, half of them, 4 for the block


def test_a_thinking_model_thinks_first():
    body = {**BODY, "thinking": {"type": "adaptive"}}
    content, _ = finished(SAID, body, seed="s", room=1_000)
    assert [block["type"] for block in content] == ["thinking", "text", "tool_use"]
    assert content[0]["thinking"] == "Next: bash."
