"""The agent with a real model: llama.cpp's server and 98 MB of SmolLM2, on this
machine.

Nothing here depends on what the model says. `make test-local` runs it.
"""

import os
import signal
import socket
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from agentlib import loop
from agentlib.api.live import served_window
from agentlib.auto_compact import SummaryFailed, summarizer
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client

WINDOW = 2_048
SMALL = Settings(
    context_window=WINDOW, output_reserve=48, buffer=200, summary_tokens=40
)
HI: Any = [{"role": "user", "content": "Say hello."}]


class Served:
    """The server as a process, which can be killed and started again at the same
    address."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        place = Path(__file__).parent / "serve.py"
        command = [os.environ["LOCAL_PYTHON"], str(place), str(self.port), str(WINDOW)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(300):
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/health").status_code == 200:
                    return
            assert self.process.poll() is None, "the server ended"
            time.sleep(0.1)
        raise TimeoutError("the server didn't start")

    def await_work(self) -> None:
        """Wait until the server works on a request."""
        for _ in range(300):
            if httpx2.get(f"{self.url}/slots").json()[0]["is_processing"]:
                return
            time.sleep(0.02)
        raise TimeoutError("no request came")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    running = Served()
    yield running
    running.kill()


@pytest.fixture
def api(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> Iterator[anthropic.Anthropic]:
    names = {"BASE_URL": server.url, "API_KEY": "local"}
    for name, value in names.items():
        monkeypatch.setenv(f"ANTHROPIC_{name}", value)
    monkeypatch.setenv("MODEL_ID", "smollm2")
    monkeypatch.setenv("MODEL_PRICE", "0,0")
    with client(live=True, env=None, say=str) as live:
        yield live


def run(
    api: anthropic.Anthropic, folder: Path, words: str | None, session: Session
) -> list[Any]:
    work = Workspace(folder)
    return list(
        loop.run(api, words, work, session=session, settings=SMALL, model="smollm2")
    )


def talk(folder: Path, settings: Settings, words: int) -> Session:
    """A session of four long exchanges that nobody has compacted yet."""
    session = Session.create(folder, settings=settings, session_id="s")
    for number in range(4):
        session.say(f"Part {number}: " + "one two three four " * (words // 4), at=0.0)
        reply = {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}
        usage = {"input_tokens": 9, "output_tokens": 9}
        session.reply(reply | {"usage": usage, "stop_reason": "end_turn"}, at=0.0)
    return session


def test_a_turn_a_stream_and_a_count(api: anthropic.Anthropic, tmp_path: Path):
    session = Session.create(tmp_path, settings=SMALL, session_id="s")
    *_, turn = run(api, tmp_path, "Say hello.", session)  # it may want a tool first
    assert turn.usages[-1]["output_tokens"] > 0
    assert load(session.path).history == session.history
    terms: Any = {"model": "smollm2", "max_tokens": 8, "messages": HI}
    with api.messages.stream(**terms, extra_body={"temperature": 0}) as stream:
        text = "".join(stream.text_stream)
    assert text == stream.get_final_text()
    count = api.messages.count_tokens(model="smollm2", messages=HI).input_tokens
    assert count == stream.get_final_message().usage.input_tokens + (
        stream.get_final_message().usage.cache_read_input_tokens or 0
    )
    assert served_window(None) == WINDOW


def program(*argv: str) -> subprocess.Popen[str]:
    """The agent's terminal program in a process of its own, with the lines of a pipe as
    prompts."""
    command = [sys.executable, "-m", "agentlib", "--live", *argv]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


def said(running: subprocess.Popen[str], lines: str = "") -> str:
    with running:
        return running.communicate(lines, timeout=300)[0]


def test_a_session_over_the_servers_limit_goes_on(
    api: anthropic.Anthropic, tmp_path: Path
):
    # The reserve stays small, or the model talks on until the window is full.
    session = talk(tmp_path, replace(SMALL, context_window=200_000), 700)
    where = ("--resume", str(session.path), "--workspace", str(tmp_path))
    told = said(program("Go on.", *where, "--window", "200000"))
    assert f"--window {WINDOW}" in told
    after = load(session.path)
    assert {c.trigger for c in after.compactions} == {"reactive"}
    assert [m["role"] for m in after.history[-2:]] == ["user", "assistant"]
    assert after.history[: len(session.history)] == session.history


@pytest.mark.parametrize("way", ["the server is killed", "Ctrl-C"])
@pytest.mark.parametrize("line", ["Go on.", "/compact"])
def test_what_is_stopped_in_the_middle_loses_nothing(
    api: anthropic.Anthropic, server: Served, tmp_path: Path, line: str, way: str
):
    session = talk(tmp_path, SMALL, 280)
    where = ("--resume", str(session.path), "--workspace", str(tmp_path))
    running = program(*where)
    assert running.stdin
    running.stdin.write(f"{line}\n")
    running.stdin.flush()
    server.await_work()
    if way == "Ctrl-C":
        running.send_signal(signal.SIGINT)
    else:
        server.kill()
    told = said(running)
    if way == "Ctrl-C":
        assert (running.returncode, "[stopped" in told) == (130, True)
    else:
        server.start()  # the next test needs it too
        assert (running.returncode, "broke off" in told) == (1, True)
    kept = load(session.path).history
    assert kept[: len(session.history)] == session.history
    again = program("Say hello.", *where)
    said(again)
    assert load(session.path).history[-1]["role"] == "assistant"
    assert load(session.path).history[: len(kept)] == kept


def test_a_real_summary_that_is_cut_off_is_refused(api: anthropic.Anthropic):
    summarize = summarizer(
        api, model="smollm2", system="", tools=[], summary_tokens=40, max_tokens=1
    )
    with pytest.raises(SummaryFailed, match=r"stopped with max_tokens|empty"):
        summarize(HI, "")


def test_a_real_summary_that_is_empty_is_refused(
    api: anthropic.Anthropic, monkeypatch: pytest.MonkeyPatch
):
    # The model's first sign ends the reply, whichever that is.
    empty = partial(api.messages.create, stop_sequences=list(string.printable))
    monkeypatch.setattr(api.messages, "create", empty)
    summarize = summarizer(api, model="smollm2", system="", tools=[], summary_tokens=40)
    with pytest.raises(SummaryFailed, match="is empty"):
        summarize(HI, "")
