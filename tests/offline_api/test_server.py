"""The Messages API in process, seen through the real SDK."""

import json
from typing import Any

import anthropic
import pytest

from agentlib.settings import MODEL
from offline_api import client
from offline_api.server import Server
from offline_api.tokens import lay_out
from tests.builders import call, say

Body = dict[str, Any]
HI: Any = [{"role": "user", "content": "Read a.py and b.py."}]
LONG: Any = [{"role": "user", "content": "word " * 1_000}]
CACHED: Any = {"cache_control": {"type": "ephemeral"}}


def model(body: Body) -> Body:
    calls = (call("", "read_file", path=p, note="读") for p in ("a.py", "b.py"))
    return say("I read both files. " * 5, *calls)


def offline(**how: Any) -> anthropic.Anthropic:
    return client(model=how.pop("model", model), **how)


def ask(
    api: anthropic.Anthropic, messages: Any = HI, **more: Any
) -> anthropic.types.Message:
    given: Any = {"model": MODEL, "max_tokens": 500, **more}
    return api.messages.create(messages=messages, **given)


def test_an_answer_has_the_shape_of_the_api():
    answer = ask(offline())
    assert (answer.type, answer.role, answer.model) == ("message", "assistant", MODEL)
    assert [block.type for block in answer.content] == ["text", "tool_use", "tool_use"]
    assert answer.stop_reason == "tool_use"
    assert answer.id.startswith("msg_")
    assert answer._request_id is not None
    assert answer._request_id.startswith("req_")


def test_two_fresh_clients_give_the_same_bytes():
    server = Server(model)
    twin = Server(model)
    raw = json.dumps({"model": MODEL, "max_tokens": 9, "messages": HI}).encode()
    headers = {"x-api-key": "any"}
    first, again = (
        server.answer("POST", "/v1/messages", headers, raw) for _ in range(2)
    )
    assert twin.answer("POST", "/v1/messages", headers, raw) == first
    assert again != first


def test_ids_are_unique_however_often_the_same_body_is_sent():
    api = offline()
    answers = [ask(api) for _ in range(5)]
    calls = [b.id for a in answers for b in a.content if b.type == "tool_use"]
    assert len({answer.id for answer in answers}) == 5
    assert len({answer._request_id for answer in answers}) == 5
    assert len(set(calls)) == 10


def test_usage_writes_reads_and_forgets_the_cache():
    now = [0.0]
    api = offline(clock=lambda: now[0])
    cold = ask(api, LONG, **CACHED).usage
    warm = ask(api, [*LONG, {"role": "user", "content": "More."}], **CACHED).usage
    now[0] = 301.0
    late = ask(api, LONG, **CACHED).usage
    size = lay_out({"model": MODEL, "messages": LONG}).tokens
    assert (cold.cache_creation_input_tokens, cold.cache_read_input_tokens) == (size, 0)
    assert (warm.cache_creation_input_tokens, warm.cache_read_input_tokens) == (6, size)
    assert (late.cache_creation_input_tokens, late.cache_read_input_tokens) == (size, 0)
    assert cold.input_tokens == warm.input_tokens == late.input_tokens == 0
    uncached = ask(api, LONG).usage
    assert (uncached.input_tokens, uncached.cache_read_input_tokens) == (size, 0)


def test_tokens_are_counted_as_they_are_billed_over_the_window_too():
    api = offline(window=500)
    counted = api.messages.count_tokens(model=MODEL, messages=HI)
    assert counted.input_tokens == ask(api).usage.input_tokens
    assert api.messages.count_tokens(model=MODEL, messages=LONG).input_tokens > 500


def test_a_prompt_over_the_window_is_a_bad_request_with_both_numbers():
    size = lay_out({"model": MODEL, "messages": LONG}).tokens
    assert ask(offline(window=size + 200), LONG).stop_reason == "tool_use"
    assert (
        ask(offline(window=size), LONG).stop_reason == "model_context_window_exceeded"
    )
    with pytest.raises(anthropic.BadRequestError) as refused:
        ask(offline(window=size - 1), LONG)
    assert f"prompt is too long: {size} tokens > {size - 1} maximum" in str(
        refused.value
    )


def test_images_are_not_simulated():
    image: Any = {
        "type": "image",
        "source": {"type": "base64", "data": "R0lGODlhCgAKAA=="},
    }
    with pytest.raises(anthropic.BadRequestError, match="not simulated: image"):
        ask(offline(), [{"role": "user", "content": [image]}])


def test_an_unknown_model_and_an_unknown_path_are_not_found():
    with pytest.raises(anthropic.NotFoundError, match="model: claude-x"):
        ask(offline(), model="claude-x")
    with pytest.raises(anthropic.NotFoundError, match="Not Found"):
        offline().beta.files.list()


def test_a_fault_in_the_model_comes_back_with_its_traceback_and_is_not_retried():
    calls: list[Body] = []

    def broken(body: Body) -> Body:
        calls.append(body)
        raise KeyError("no such note")

    with pytest.raises(anthropic.InternalServerError) as failed:
        ask(offline(model=broken))
    assert len(calls) == 1
    assert isinstance(failed.value.body, dict)
    message = failed.value.body["error"]["message"]
    assert "in broken" in message
    assert "KeyError: 'no such note'" in message


@pytest.mark.parametrize(
    "headers", [{}, {"x-api-key": ""}, {"authorization": "Bearer "}]
)
def test_without_a_key_nobody_is_answered(headers: dict[str, str]):
    reply = Server(model).answer("GET", "/v1/models", headers, b"")
    assert reply.status == 401
    assert json.loads(reply.body)["error"] == {
        "type": "authentication_error",
        "message": "invalid x-api-key",
    }


def test_an_error_names_its_request():
    server = Server(model)
    headers = {"x-api-key": "any"}
    refused = server.answer("POST", "/v1/messages", headers, b"{")
    body = json.loads(refused.body)
    assert body["type"] == "error"
    assert body["request_id"] == refused.headers["request-id"]


@pytest.mark.parametrize("most", [1, 2, 5, 9])
def test_a_reply_that_max_tokens_cuts_comes_with_its_beginning(most: int):
    answer = ask(offline(), max_tokens=most)
    assert answer.stop_reason == "max_tokens"
    assert answer.usage.output_tokens <= most
    (text,) = [block.text for block in answer.content if block.type == "text"]
    assert text
    assert "I read both files.".startswith(text.strip())
