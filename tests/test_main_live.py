"""The agent as a program at a real terminal, and live: a server on this machine is the provider."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from agentlib.cli.main import main
from agentlib.lab.api.server import Server
from agentlib.transcripts import load

ROOT = Path(__file__).parent.parent
posix = pytest.mark.skipif(sys.platform == "win32", reason="pty and links are POSIX's")
AT_A_TERMINAL = """
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, "-m", "agentlib", *sys.argv[1:]])))
"""

Body = dict[str, Any]


@contextlib.contextmanager
def provider(brain: Callable[[Body], Body], **more: Any) -> Iterator[str]:
    """The address of a server that answers as the offline API does, over real HTTP."""
    api = Server(brain, **more)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            reply = api.answer("POST", self.path, dict(self.headers.items()), raw)
            with contextlib.suppress(ConnectionError):  # Ctrl-C: nobody waits for it
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def say(text: str) -> Body:
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def toucher(body: Body) -> Body:
    """Makes a file by a command, then says what came of it."""
    last = body["messages"][-1]["content"]
    if isinstance(last, str):
        call = {"type": "tool_use", "name": "bash", "input": {"command": "echo hi > made"}}
        return {"content": [call], "stop_reason": "tool_use"}
    return say(f"It said: {last[0]['content']}")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, and a PATH with bash alone: without bubblewrap, commands are asked for."""
    for name in ("project", "cwd", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    if bash := sys.platform != "win32" and which("bash"):
        (tmp_path / "bin/bash").symlink_to(bash)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def point_to(address: str) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")

    return point_to


def live(*argv: str) -> int:
    return main(["--live", "--workspace", "../project", "--transcripts", "../t", *argv])


def test_without_a_key_it_is_one_sentence(here, capsys):
    assert live("hello") == 1
    said = capsys.readouterr()
    assert said.err.startswith("There is no API key: set ANTHROPIC_API_KEY")
    assert said.err.count("\n") == 1
    assert "$0.10 in, $0.50 out" in said.out
    assert not (here / "t").exists()


def test_with_a_wrong_key_it_is_one_sentence_and_the_prompt_is_kept(here, capsys, key):
    with provider(toucher, key="the right one") as address:
        key(address)
        assert live("hello") == 1
    said = capsys.readouterr()
    assert said.err.startswith("[error: The key was refused by ")
    assert said.err.count("\n") == 1
    (session,) = (here / "t").glob("*.jsonl")
    assert f"[session: {session} (go on with --resume); " in said.out
    assert load(session).history == [{"role": "user", "content": "hello"}]


@posix
def test_the_price_comes_first_and_no_command_runs_where_nobody_can_be_asked(here, capsys, key):
    with provider(toucher) as address:
        key(address)
        assert live("hello") == 0
    first, place, shell, refused, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("[live: claude-haiku-5-5: $0.10 in, $0.50 out")
    assert first.endswith("The run stops once $0.50 are spent.]")
    assert place == f"[working in {here / 'project'} itself]"
    assert shell == "[shell commands are asked first]"
    assert refused == "[refused, nobody is there to confirm it]"
    assert list((here / "project").iterdir()) == []


def test_the_cap_stops_the_run_after_the_request_that_reached_it(here, capsys, key):
    asked: list[Body] = []

    def reader(body: Body) -> Body:
        asked.append(body)
        call = {"type": "tool_use", "name": "read_file", "input": {"path": f"{len(asked)}.py"}}
        return {"content": [call], "stop_reason": "tool_use"}

    with provider(reader) as address:
        key(address)
        assert live("hello", "--max-usd", "0.000001") == 1
    assert len(asked) == 1
    said = capsys.readouterr()
    assert said.err.startswith("[error: the cap of $0.0000 is reached")
    assert "[1 turn; " in said.out


class Person:
    """Somebody at a terminal that runs the agent."""

    def __init__(self, *argv: str):
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_A_TERMINAL, "--workspace", "../project", *argv],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "TERM": "dumb"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    def types(self, keys: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(keys.encode())

    def reads(self, until: str) -> str:
        """What is new on the screen, up to and with these words."""
        assert self.process.stdout
        while until not in self.seen:
            more = self.process.stdout.read(4_096)
            assert more, f"it ended before {until!r}: {self.seen}"
            self.seen += more.decode(errors="replace")
        read, _, self.seen = self.seen.partition(until)
        return read + until

    def leaves(self) -> int:
        with self.process:
            return self.process.wait(timeout=30)


@posix
def test_a_command_runs_once_the_person_has_said_yes(here, key):
    with provider(toucher) as address:
        key(address)
        person = Person("--live")
        person.reads("agent> ")
        person.types("hello\n")
        assert "    echo hi > made\r\n" in person.reads("Run it? [y/N] ")
        person.types("n\n")
        assert "the person refused this command" in person.reads("agent> ")
        assert not (here / "project/made").exists()
        person.types("hello\n")
        person.reads("Run it? [y/N] ")
        person.types("y\n")
        assert "It said: (no output)" in person.reads("agent> ")
        assert (here / "project/made").read_text() == "hi\n"
        person.types("q\n")
        assert person.leaves() == 0


@posix
def test_ctrl_c_stops_the_run_and_the_conversation_goes_on(here, key):
    asked, free = threading.Event(), threading.Event()

    def slow(body: Body) -> Body:
        if body["messages"][-1]["content"] == "slow":
            asked.set()
            free.wait(20)
        return say("Here I am.")

    with provider(slow) as address:
        key(address)
        person = Person("--live")
        person.reads("agent> ")
        person.types("slow\n")
        assert asked.wait(20)
        person.types("\x03")
        assert "[stopped by Ctrl-C; the session is kept]" in person.reads("agent> ")
        free.set()
        person.types("quick\n")
        assert "Here I am." in person.reads("agent> ")
        person.types("\x04")
        assert person.leaves() == 0
    (session,) = (here / "cwd/.transcripts").glob("*.jsonl")
    assert [m["role"] for m in load(session).history] == ["user", "user", "assistant"]
