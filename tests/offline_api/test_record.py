"""Each request leaves a record: in process a value, behind the command a line."""

import gzip
import io
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentlib.settings import MODEL
from offline_api.__main__ import listen, main
from offline_api.faults import Fault, NoAnswer
from offline_api.model import reply
from offline_api.record import Record, into, opened, recorded
from offline_api.server import Server
from offline_api.tokens import lay_out
from tests.builders import user
from tests.model_bodies import SYSTEM, calls

KEY = {"x-api-key": "any"}
ROOT = Path(__file__).parents[2]
ASKED = "Read every Python file one by one and write a report"
TOOL = {
    "name": "bash",
    "input_schema": {"type": "object", "properties": {"command": {}}},
}
WISH = (
    "Write a detailed summary of our conversation so far, and of all files in it. " * 3
)


def read(path: Path) -> list[Record]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Record(**json.loads(line)) for line in lines]


def body(**more: Any) -> dict[str, Any]:
    call, result = calls("I look.", ("bash", {"command": "ls"}, "9 99 a.py"))
    result["content"][0].pop("is_error")
    call["content"][1]["id"] = result["content"][0]["tool_use_id"] = "toolu_1"
    messages = [user(ASKED), call, result]
    same = {"model": MODEL, "max_tokens": 900, "system": SYSTEM, "tools": [TOOL]}
    return {**same, "messages": messages, **more}


def record(sent: Any, *, server: Server | None = None, **how: Any) -> Record:
    records: list[Record] = []
    answer = recorded((server or Server(reply)).answer, records.append, **how)
    raw = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    answer("POST", "/v1/messages", KEY, raw)
    (only,) = records
    return only


@pytest.mark.parametrize("stream", [False, True])
def test_a_record_tells_the_sizes_the_bill_and_the_end(stream: bool):
    cached: Any = {"cache_control": {"type": "ephemeral"}}
    cached["system"] = "Be brief. " * 1_000  # a small prompt isn't cached
    made = record(body(stream=stream, **cached), clock=lambda: 12.5)
    assert (made.time, made.path, made.model, made.status) == (
        12.5,
        "/v1/messages",
        MODEL,
        200,
    )
    assert made.sizes.keys() == {
        "tools",
        "system",
        "user",
        "assistant",
        "tool_use",
        "tool_result",
    }
    assert made.prompt == lay_out(body(**cached)).tokens
    assert (made.messages, made.tools, made.max_tokens) == (3, 1, 900)
    assert made.uncached + made.cache_read + made.cache_written == made.prompt
    assert (made.cache_written, made.output) == (made.prompt, 164)
    assert made.stop_reason in ("tool_use", "refusal", "end_turn")
    assert made.is_message
    assert not made.asks_for_summary
    assert made.broke == ""
    assert made.request is made.answer is None


def test_bodies_are_recorded_only_if_they_are_asked_for():
    whole = record(body(), bodies=True)
    assert whole.request == body()
    assert whole.answer is not None
    streamed = record(body(stream=True), bodies=True).answer
    assert streamed is not None
    assert streamed["content"] == whole.answer["content"]
    assert streamed["usage"] == whole.answer["usage"]
    assert ASKED not in record(body()).line()


def test_a_request_for_a_summary_is_told_apart():
    talk = [*body()["messages"], {"role": "assistant", "content": "Done."}, user(WISH)]
    assert record(body(messages=talk)).asks_for_summary
    assert not record(body()).asks_for_summary


def test_a_summary_that_a_program_put_back_has_its_own_size():
    summary = f"Earlier:\n- [task] {ASKED}\n- [done] a.py"
    for text in (user(summary), {"role": "assistant", "content": summary}):
        made = record(body(messages=[text, user("Continue.")]))
        assert made.sizes["summary"] > 20
    in_system = record(body(system=f"Be brief.\n{summary}"))
    assert in_system.sizes["summary"] > 20
    assert "system" not in in_system.sizes


@pytest.mark.parametrize(
    ("sent", "status", "broke"),
    [
        (body(messages=[{"role": "assistant", "content": "Hi"}]), 400, "end"),
        (body(model="gpt"), 404, "model: gpt"),
        (body(colour="red"), 400, "colour"),
        (body(messages=3), 400, "messages"),
        (body(messages=[user("word " * 2_000)]), 400, "prompt is too long"),
        (b"no json", 400, "not valid JSON"),
        (b"[1]", 400, "not an object"),
    ],
)
def test_a_rule_that_was_broken_is_named(sent: Any, status: int, broke: str):
    made = record(sent, server=Server(reply, window=1_500))
    assert made.status == status
    assert broke in made.broke
    assert made.output == 0


def test_an_answer_that_never_comes_is_recorded_too():
    server = Server(reply, faults=[Fault("timeout", at=1)])
    records: list[Record] = []
    answer = recorded(server.answer, records.append)
    with pytest.raises(NoAnswer):
        answer("POST", "/v1/messages", KEY, json.dumps(body()).encode())
    assert [each.status for each in records] == [0]


def test_what_was_written_is_read_again(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    records = [record(body()), record(body(model="x"), bodies=True)]
    for each in records:  # a log is continued
        with opened(path) as file:
            into(file)(each)
    assert read(path) == records
    if os.name != "nt":
        assert path.stat().st_mode & 0o077 == 0


SECRET = "my secret plan"
HOSTILE: dict[str, Any] = {
    "model of words": body(model=SECRET),
    "model that is a dict": body(model={SECRET: SECRET}),
    "half an emoji": body(model="\ud83d"),
    "C1": body(model=f"\x9b2J{SECRET}"),
    "a key for a model": body(model="sk-" + "ant-api03-secret" + "Ab1_" * 20),
    "a key for a key": body(**{"sk-" + "ant-api03-secret" + "Ab1_" * 20: 1}),
    "role": body(messages=[{"role": SECRET, "content": "hi"}]),
    "role in two quotes": body(messages=[{"role": f"{SECRET}' \"x", "content": "hi"}]),
    "block": body(messages=[user([{"type": SECRET, SECRET: SECRET}])]),
    "key": body(**{SECRET: SECRET}),
    "key of a block": body(
        messages=[user([{"type": "text", "text": "hi", SECRET: "\n"}])]
    ),
    "name of a tool": body(tools=[{**TOOL, "name": SECRET}]),
    "schema of a tool": body(tools=[{**TOOL, "input_schema": {"type": SECRET}}]),
    "tool_choice": body(tool_choice={"type": "tool", "name": SECRET}),
    "id": body(
        messages=[
            user([{"type": "tool_result", "tool_use_id": SECRET, "content": "x"}])
        ]
    ),
    "no end of tokens": b'{"model": "x", "messages": [], "max_tokens": 1e999}',
    "a long number of tokens": b'{"messages": [], "max_tokens": 1'
    + b"0" * 4_000
    + b"}",
    "a text": json.dumps(SECRET).encode(),
    "no JSON": SECRET.encode(),
    "deep": b'{"messages": ' + b"[" * 900 + b"]" * 900 + b"}",
    "no UTF-8": b'{"model": "\xff my secret plan"}',
}


@pytest.mark.parametrize("bodies", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_any_request_is_answered_and_leaves_one_line_of_ascii(
    name: str, bodies: bool, tmp_path: Path
):
    sent = HOSTILE[name]
    raw = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    log = tmp_path / "log.jsonl"
    with opened(log) as file:
        answer = recorded(Server(reply).answer, into(file), bodies=bodies)
        reply_ = answer("POST", "/v1/messages", KEY, raw)
    assert reply_.status in (200, 400, 404)
    (only,) = read(log)
    line = log.read_text(encoding="ascii")
    assert line[:-1].isprintable()
    assert only.status == reply_.status
    if not bodies:
        assert "secret" not in line
        assert only.status == 200 or only.broke


def test_a_full_disk_costs_no_answer(capsys: pytest.CaptureFixture[str]):
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    answer = recorded(Server(reply).answer, into(Full()))
    raw = json.dumps(body()).encode()
    assert answer("POST", "/v1/messages", KEY, raw).status == 200
    assert "No space left" in capsys.readouterr().err


# -- windows and paths -----------------------------------------------------------------


def test_each_name_of_the_model_has_its_own_window():
    server = Server(reply, window=9_000, windows={"small": 1_500})
    long = body(messages=[user("word " * 2_000)])
    assert record(long, server=server).status == 200
    assert record({**long, "model": "small"}, server=server).status == 400
    assert record({**long, "model": "other"}, server=server).status == 404
    listed = json.loads(server.answer("GET", "/v1/models", KEY, b"").body)
    assert {m["id"]: m["max_input_tokens"] for m in listed["data"]} == {
        MODEL: 9_000,
        "small": 1_500,
    }
    one = json.loads(server.answer("GET", "/v1/models/small", KEY, b"").body)
    assert one == listed["data"][1]


@pytest.mark.parametrize("path", ["/api/tags", "/props", "/version", "/", "/v1/props"])
def test_what_programs_ask_first_gets_the_apis_404(path: str):
    answer = Server(reply).answer("GET", path, KEY, b"")
    assert answer.status == 404
    assert json.loads(answer.body)["error"]["type"] == "not_found_error"


def test_the_api_may_stand_below_anthropic():
    raw = json.dumps(body()).encode()
    answer = Server(reply).answer("POST", "/anthropic/v1/messages", KEY, raw)
    assert answer.status == 200


# -- behind a socket -------------------------------------------------------------------


@contextmanager
def run(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "offline_api", "--port", "0", *options]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as server:
        try:
            yield server
        finally:
            server.terminate()


def spoken(port: int, head: str, raw: bytes = b"") -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
        wire.sendall(f"{head}\r\nHost: localhost\r\nConnection: close\r\n".encode())
        wire.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
        return b"".join(iter(lambda: wire.recv(65_536), b""))


def test_the_command_writes_its_log_while_it_runs_and_a_reset_prints_nothing(
    tmp_path: Path,
):
    log = tmp_path / "log.jsonl"
    with run("--log", str(log), "--model-window", "tiny=1_500") as server:
        assert server.stdout
        port = int(server.stdout.readline().rpartition(":")[2])
        head = "POST /v1/messages HTTP/1.1\r\nx-api-key: any"
        raw = json.dumps(body(model="tiny")).encode()
        assert b"200 OK" in spoken(port, head, raw)
        assert [each.model for each in read(log)] == ["tiny"]
        assert spoken(port, "HEAD / HTTP/1.1").endswith(b"\r\n\r\n")
        zipped = spoken(port, f"{head}\r\nContent-Encoding: gzip", gzip.compress(raw))
        assert b"400" in zipped
        assert b"Content-Encoding 'gzip'" in zipped
        for sent in (
            b"POST /v1/messages HT",
            head.encode() + b"\r\nContent-Length: 99\r\n\r\n{",
        ):
            wire = socket.create_connection(("127.0.0.1", port))
            wire.sendall(sent)
            time.sleep(0.1)
            # Closing with this option resets the connection.
            wire.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            wire.close()
        assert b"200 OK" in spoken(port, head, raw)
        time.sleep(0.2)
        server.terminate()
        _, errors = server.communicate()
    assert "Traceback" not in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--model-window", "tiny"], "'tiny'"),
        (["--model-window", "=5000"], "'=5000'"),
        (["--model-window", "tiny=many"], "'tiny=many'"),
        (["--model-window", "tiny=10"], "1,000"),
        (["--log-bodies"], "--log"),
        (["--log", "no/such/folder/log"], "no/such/folder/log"),
    ],
)
def test_a_wrong_option_is_named(
    options: list[str],
    named: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    served = "offline_api.__main__.listen"
    monkeypatch.setattr(served, lambda *_: pytest.fail("it serves"))
    with pytest.raises(SystemExit) as ended:
        main(["--port", "0", *options])
    assert ended.value.code
    assert named in capsys.readouterr().err


def test_a_server_of_this_process_can_be_recorded():
    records: list[Record] = []
    http = listen(recorded(Server(reply).answer, records.append))
    http.server_close()
    assert records == []


def test_a_server_tool_that_is_left_out_is_named():
    search = {"type": "web_search_20250305", "name": "web_search"}
    noted = record(body(tools=[TOOL, search]))
    assert (noted.status, noted.left_out) == (200, ["web_search_20250305"])
    choice = {"type": "tool", "name": "web_search"}
    insists = record(body(tools=[TOOL, search], tool_choice=choice))
    assert insists.status == 400
    assert "not simulated" in insists.broke
