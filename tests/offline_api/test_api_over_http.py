"""The offline API behind a socket, reached by the SDK as an agent of anybody would."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from agentlib.settings import MODEL
from offline_api import client
from offline_api.server import Server
from tests.builders import call, say
from tests.loopback import served

Body = dict[str, Any]
HI: Any = [{"role": "user", "content": "What is in a.py?"}]
ROOT = Path(__file__).parents[2]


def model(body: Body) -> Body:
    """Read a.py, then say what the tool returned."""
    last = body["messages"][-1]["content"]
    if isinstance(last, list) and last[-1]["type"] == "tool_result":
        return say(f"It holds {last[-1]['content']}.")
    return say("I read it. 好", call("", "read_file", path="a.py", n=[1, "读"]))


@pytest.fixture
def api() -> Iterator[anthropic.Anthropic]:
    with (
        served(Server(model)) as wire,
        anthropic.Anthropic(api_key="any", base_url=wire.url, max_retries=0) as sdk,
    ):
        yield sdk


def asked(**more: Any) -> Body:
    return {"model": MODEL, "max_tokens": 500, "messages": HI, **more}


@pytest.mark.parametrize("more", [{}, {"thinking": {"type": "adaptive"}}])
def test_a_stream_adds_up_to_the_message_that_comes_in_one_piece(api: Any, more: Body):
    whole = client(model=model).messages.create(**asked(**more))
    with api.messages.stream(**asked(**more)) as stream:
        text = "".join(stream.text_stream)
        streamed = stream.get_final_message()
    assert streamed.to_dict() == whole.to_dict()
    assert [block.type for block in whole.content][-2:] == ["text", "tool_use"]
    assert text == "I read it. 好"


def test_the_events_come_in_the_order_of_the_api(api: anthropic.Anthropic):
    kinds = [event.type for event in api.messages.create(**asked(stream=True))]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds == ["message_start", *block, *block, "message_delta", "message_stop"]


def test_an_async_client_gets_the_same_answers(api: anthropic.Anthropic):
    async def both() -> list[Any]:
        async with anthropic.AsyncAnthropic(
            api_key="any", base_url=api.base_url
        ) as sdk:
            async with sdk.messages.stream(**asked()) as stream:
                streamed = await stream.get_final_message()
            return [streamed, await sdk.messages.create(**asked())]

    contents = [answer.to_dict()["content"][0] for answer in asyncio.run(both())]
    assert contents == [{"type": "text", "text": "I read it. 好"}] * 2


@pytest.mark.parametrize("stream", [False, True])
def test_the_tool_runner_of_the_sdk_goes_on_without_a_thread(
    api: anthropic.Anthropic, stream: bool
):
    @beta_tool
    def read_file(path: str, n: list[Any]) -> str:
        """Read a file."""
        return f"{path} {n[1]}"

    runner = api.beta.messages.tool_runner(tools=[read_file], stream=stream, **asked())
    final: Any = runner.until_done()
    assert final.content[0].text == "It holds a.py 读."


def test_tokens_are_counted_as_they_are_billed(api: anthropic.Anthropic):
    counted = api.beta.messages.count_tokens(model=MODEL, messages=HI).input_tokens
    assert counted == api.messages.create(**asked()).usage.input_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_the_sdks_exception(api: anthropic.Anthropic, stream: bool):
    with pytest.raises(
        anthropic.BadRequestError, match="colour: Extra inputs"
    ) as refused:
        api.messages.create(**asked(stream=stream, extra_body={"colour": "red"}))
    assert refused.value.request_id
    with pytest.raises(anthropic.NotFoundError, match="model: claude-x"):
        api.messages.create(**asked(stream=stream) | {"model": "claude-x"})
    with pytest.raises(anthropic.NotFoundError, match="not_found_error"):
        api.beta.files.list()


def test_the_one_model_is_listed_with_its_window(api: anthropic.Anthropic):
    (listed,) = api.models.list()
    assert listed == api.models.retrieve(MODEL)
    assert (listed.id, listed.max_input_tokens) == (MODEL, 200_000)
    with pytest.raises(anthropic.NotFoundError):
        api.models.retrieve("claude-x")


def test_structured_output_and_batches_are_refused_as_not_simulated(
    api: anthropic.Anthropic,
):
    config: Any = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    with pytest.raises(
        anthropic.BadRequestError, match="not simulated: structured output"
    ):
        api.messages.create(**asked(output_config=config))
    with pytest.raises(anthropic.BadRequestError, match="not simulated: batches"):
        api.messages.batches.create(requests=[])
    with pytest.raises(anthropic.BadRequestError, match="not simulated: batches"):
        api.messages.batches.retrieve("msgbatch_1")


@contextmanager
def started(*options: str) -> Iterator[subprocess.Popen[str]]:
    """`python -m offline_api` in a process of its own."""
    command = [sys.executable, "-m", "offline_api", *options]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_command_prints_where_it_listens_and_ctrl_c_stops_it():
    with started("--port", "0", "--window", "1000") as process:
        assert process.stdout
        name, _, url = process.stdout.readline().strip().partition("=")
        assert name == "ANTHROPIC_BASE_URL"
        body = {"model": MODEL, "max_tokens": 9, "messages": HI}
        headers = {"x-api-key": "any"}
        request = urllib.request.Request(
            f"{url}/v1/messages", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request) as response:
            assert json.load(response)["role"] == "assistant"
        sdk = anthropic.Anthropic(api_key="any", base_url=url)
        with pytest.raises(anthropic.BadRequestError, match="> 1000 maximum"):
            sdk.messages.create(
                **asked() | {"messages": [{**HI[0], "content": "a b " * 1_000}]}
            )
        if os.name == "posix":
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=10)
            assert process.returncode == 0
            assert "Traceback" not in errors


def test_a_port_that_is_taken_is_one_sentence():
    with served(Server(model)) as wire:
        port = wire.url.rpartition(":")[2]
        with started("--port", port) as process:
            _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert errors.startswith(f"Error: port {port}: ")
    assert "choose another --port" in errors


# -- clients that an SDK is not --------------------------------------------------------


@contextmanager
def raw_socket(wire: Any) -> Iterator[socket.socket]:
    with socket.create_connection(
        ("127.0.0.1", wire.http.server_port), timeout=10
    ) as open_socket:
        yield open_socket


def spoken(
    wire: Any, *lines: str, body: bytes = b"", host: str = "localhost"
) -> tuple[int, Body]:
    """Send a request as it stands; return the status and the JSON of the answer."""
    head = "\r\n".join(
        [lines[0], f"Host: {host}", "x-api-key: any", *lines[1:], "", ""]
    )
    with raw_socket(wire) as connection:
        connection.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    start, _, content = answer.partition(b"\r\n\r\n")
    return int(start.split()[1]), json.loads(content)


POST = "POST /v1/messages HTTP/1.1"


@pytest.fixture(scope="module")
def wire() -> Iterator[Any]:
    with served(Server(model), silence=0.3) as running:
        yield running


@pytest.mark.parametrize(
    ("lines", "body", "status", "kind"),
    [
        ((POST, "Content-Length: abc"), b"", 400, "invalid_request_error"),
        ((POST, "Content-Length: -5"), b"", 400, "invalid_request_error"),
        ((POST, f"Content-Length: {'9' * 400}"), b"", 400, "invalid_request_error"),
        ((POST, "Transfer-Encoding: chunked"), b"zz\r\n", 400, "invalid_request_error"),
        (
            (POST, "Content-Length: 100000"),
            b"[" * 100_000,
            400,
            "invalid_request_error",
        ),
        (
            (POST, "Content-Length: 32000001"),
            b" " * 32_000_001,
            413,
            "request_too_large",
        ),
        (("BREW /v1/messages HTTP/1.1",), b"", 501, "invalid_request_error"),
    ],
    ids=range(7),
)
def test_what_is_no_request_is_refused_in_the_apis_form(
    wire: Any, capfd: Any, lines: tuple[str, ...], body: bytes, status: int, kind: str
):
    answered, answer = spoken(wire, *lines, body=body)
    assert (answered, answer["error"]["type"]) == (status, kind)
    assert "Traceback" not in answer["error"]["message"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1.example.org", "localhost:x"]
)
def test_another_host_is_refused(wire: Any, host: str):
    assert spoken(wire, POST, host=host)[0] == 403


def test_a_silent_client_is_let_go(wire: Any):
    with raw_socket(wire) as connection:
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        assert connection.recv(1) == b""


def test_a_hundred_clients_at_once_are_all_answered(wire: Any):
    body = json.dumps(asked()).encode()

    def once(_: int) -> int:
        return spoken(wire, POST, f"Content-Length: {len(body)}", body=body)[0]

    with ThreadPoolExecutor(100) as pool:
        assert [*pool.map(once, range(100))] == [200] * 100
