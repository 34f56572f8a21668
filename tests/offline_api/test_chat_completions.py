"""OpenAI's chat completions: the same model, rules and cache as behind /v1/messages.

`tests/adapters/test_openai_sdk.py` asks by OpenAI's own SDK.
"""

import json
from typing import Any

import pytest

from agentlib.settings import MODEL
from offline_api.chat_completions import chunks, either, to_messages
from offline_api.model import reply
from offline_api.record import Record, recorded
from offline_api.server import Reply, Server
from tests.builders import call, say, text

Body = dict[str, Any]
READ: Body = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
}
TWO = say("I read both. 读", *(call("", command=f"cat {p}.py") for p in "ab"))
HI = {"role": "user", "content": "Read every Python file and write a report"}


def ask(
    messages: list[Body], server: Server | None = None, path: str = "/v1", **more: Any
) -> Reply:
    body = {"model": MODEL, "messages": messages, **more}
    answers = either((server or Server(reply)).answer)
    headers = {"authorization": "Bearer any"}
    return answers(
        "POST", f"{path}/chat/completions", headers, json.dumps(body).encode()
    )


def read(reply: Reply) -> Body:
    assert reply.status == 200, reply.body
    return json.loads(reply.body)


def error(reply: Reply) -> Body:
    assert reply.status >= 400
    return json.loads(reply.body)["error"]


@pytest.mark.parametrize("path", ["/v1", ""])
def test_an_answer_has_parallel_calls_and_a_bill_with_the_cached_tokens_in_it(
    path: str,
):
    server = Server(lambda body: TWO)
    system = {"role": "system", "content": "Work well. " * 1_000}
    asked = [read(ask([system, HI], server, path, tools=[READ])) for _ in range(2)]
    whole = asked[1]
    (choice,) = whole["choices"]
    assert choice["finish_reason"] == "tool_calls"
    given = [c["function"]["arguments"] for c in choice["message"]["tool_calls"]]
    assert [json.loads(each)["command"] for each in given] == ["cat a.py", "cat b.py"]
    bill = whole["usage"]
    assert bill["prompt_tokens_details"]["cached_tokens"] == bill["prompt_tokens"]
    assert bill["prompt_tokens"] == 3_650
    assert bill["total_tokens"] == bill["prompt_tokens"] + bill["completion_tokens"]


def test_a_stream_adds_up_to_the_whole_answer():
    whole = read(ask([HI], Server(lambda body: TWO), tools=[READ]))
    options = {"include_usage": True}
    sent = ask(
        [HI],
        Server(lambda body: TWO),
        tools=[READ],
        stream=True,
        stream_options=options,
    )
    assert sent.headers["content-type"].startswith("text/event-stream")
    lines = sent.body.decode().strip().split("\n\n")
    assert lines.pop() == "data: [DONE]"
    parts = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert parts == [*chunks(whole, usage=True)]
    deltas = [choice["delta"] for part in parts for choice in part["choices"]]
    text = "".join(delta.get("content") or "" for delta in deltas)
    assert text == whole["choices"][0]["message"]["content"]
    calls: dict[int, str] = {}
    for delta in deltas:
        for part in delta.get("tool_calls", ()):
            calls[part["index"]] = (
                calls.get(part["index"], "") + part["function"]["arguments"]
            )
    assert [json.loads(each)["command"] for each in calls.values()] == [
        "cat a.py",
        "cat b.py",
    ]
    assert parts[-1]["usage"] == whole["usage"]


def test_a_conversation_with_results_is_the_messages_one():
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "bash", "arguments": a},
        }
        for n, a in enumerate(('{"command": "ls"}', '{"command": '))
    ]
    body = to_messages(
        {
            "model": MODEL,
            "messages": [
                {"role": "developer", "content": "Be brief."},
                HI,
                {"role": "assistant", "content": None, "tool_calls": calls},
                {"role": "tool", "tool_call_id": "c0", "content": "a.py"},
                {"role": "tool", "tool_call_id": "c1", "content": [], "name": "bash"},
                {"role": "user", "content": [text("And on.")]},
            ],
            "tools": [READ],
            "tool_choice": "required",
            "stop": "END",
            "temperature": 0.3,
        }
    )
    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user"]
    assert [b["type"] for b in body["messages"][2]["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    assert body["messages"][1]["content"][1]["input"] == {"arguments": '{"command": '}
    assert body["tool_choice"] == {"type": "any"}
    assert body["stop_sequences"] == ["END"]
    assert body["system"][0]["text"] == "Be brief."


def test_what_openai_takes_and_anthropic_refuses_is_taken():
    said = {"role": "assistant", "content": "I am ready."}
    for messages in ([said, HI], [HI, said], [HI, {"role": "user", "content": ""}]):
        read(ask(messages, tools=[READ]))


CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("messages", "words", "code"),
    [
        (
            [{"role": "user", "content": "word " * 3_000}],
            "However, your messages",
            None,
        ),
        (
            [HI, {"role": "tool", "tool_call_id": "c9", "content": "x"}],
            "preceeding message",
            "",
        ),
        (
            [HI, {"role": "assistant", "tool_calls": [CALL]}, HI],
            "did not have response messages: c1",
            "",
        ),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
            "not simulated: image",
            "",
        ),
    ],
)
def test_a_refusal_has_the_words_and_the_code_of_openai(
    messages: list[Body], words: str, code: str | None
):
    told = error(ask(messages, Server(reply, window=2_000)))
    assert words in told["message"]
    assert told["type"] == "invalid_request_error"
    assert told["code"] == ("context_length_exceeded" if code is None else None)


def test_what_is_not_there_is_named():
    assert error(ask([HI], model="gpt-x"))["code"] == "model_not_found"
    wanted = {"type": "json_object"}
    told = error(ask([HI], response_format=wanted))["message"]
    assert "structured output" in told
    assert "n: Extra inputs" in error(ask([HI], n=2))["message"]
    answers = either(Server(reply).answer)
    headers = {"authorization": "Bearer any"}
    assert answers("POST", "/v1/responses", headers, b"{}").status == 404
    for broken in (b"{", b"[]", b'{"messages": 3}', b'{"model": "m", "messages": [7]}'):
        assert answers("POST", "/v1/chat/completions", headers, broken).status == 400
    assert answers("POST", "/v1/chat/completions", {}, b"{}").status == 401


def test_it_is_recorded_as_the_request_that_it_becomes():
    records: list[Record] = []
    answers = either(recorded(Server(reply).answer, records.append, bodies=True))
    body = {"model": MODEL, "messages": [HI], "stream": True, "tools": [READ]}
    headers = {"authorization": "Bearer any"}
    answers("POST", "/chat/completions", headers, json.dumps(body).encode())
    (record,) = records
    assert record.is_message
    assert record.prompt == 96
    assert record.tools == 1
    assert record.stop_reason == "tool_use"
