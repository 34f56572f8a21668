"""The agent as a program: offline, at a real terminal, and live with a server of this machine."""

import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from loopback import served

from agentlib.cli.main import main
from agentlib.lab.api.server import Server
from agentlib.transcripts import load

ROOT = Path(__file__).parent.parent
REPORT = "Read every Python file in this directory one by one and write a report"
posix = pytest.mark.skipif(sys.platform == "win32", reason="pty and links are POSIX's")
AT_A_TERMINAL = """
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, "-m", "agentlib", *sys.argv[1:]])))
"""

Body = dict[str, Any]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test stands in an empty folder, beside a project of three files, and types nothing."""
    project = tmp_path / "project"
    project.mkdir()
    for name in ("a", "b", "c"):
        text = f'"""Module {name}."""\n\n\ndef {name}1():\n    """Return {name}."""\n'
        (project / f"{name}.py").write_text(text, encoding="utf-8", newline="\n")
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path


def agent(*argv: str | Path) -> int:
    return main(["--workspace", "../project", "--transcripts", "../t", *map(str, argv)])


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_prompt_is_worked_on_in_a_copy(here, capsys):
    assert agent(REPORT) == 0
    said = capsys.readouterr().out
    copy = only(here / "t", "*.workspace")
    assert f"[working on a copy of {here / 'project'} (3 files, 144 bytes): {copy}]" in said
    assert '> read_file a.py  """Module a.' in said
    assert re.search(r"\[turns: \d+; tokens sent: [\d,]+, .* would have cost \$0\.\d{4} at ", said)
    assert f"[session: {only(here / 't', '*.jsonl')} (go on with --resume)]" in said
    assert "\x1b" not in said
    assert files(here / "project") == ["a.py", "b.py", "c.py"]
    assert files(copy) == ["REPORT.md", "a.py", "b.py", "c.py"]


def test_in_place_the_folder_itself_is_worked_in(here, capsys):
    assert agent(REPORT, "--in-place") == 0
    assert f"[working in {here / 'project'} itself]" in capsys.readouterr().out
    assert "REPORT.md" in files(here / "project")
    assert not list((here / "t").glob("*.workspace"))


def test_sessions_lie_in_the_current_folder_and_never_in_the_workspace(here, monkeypatch):
    main(["hello", "--workspace", "../project"])
    assert len(list((here / "cwd/.transcripts").glob("*.jsonl"))) == 1
    monkeypatch.chdir(here / "project")
    main(["hello"])
    assert files(here / "project") == ["a.py", "b.py", "c.py"]
    assert len(list((here / ".transcripts").glob("*.jsonl"))) == 1


def test_the_wall_ends_the_run_and_the_session_goes_on_past_it(here, capsys, monkeypatch):
    for n in range(30):
        (here / f"project/m{n}.py").write_text(f'"""Module m{n}."""\n' + "x = 1  # one\n" * 40)
    monkeypatch.setenv("DISABLE_COMPACT", "1")
    assert agent(REPORT, "--window", "8000") == 1
    said = capsys.readouterr()
    assert said.err.startswith("[error: invalid_request_error: prompt is too long: ")
    assert "[the context is at " in said.out
    monkeypatch.delenv("DISABLE_COMPACT")
    session = only(here / "t", "*.jsonl")
    assert main(["--resume", str(session), "--preset", "default", "--window", "8000"]) == 0
    said = capsys.readouterr()
    assert said.out.count("[auto_compact triggered]") == len(load(session).compactions) > 0
    assert f"\n[transcript saved: {session.name}#" in said.out


def test_a_session_in_which_nothing_was_said_leaves_nothing(here, capsys):
    assert agent() == 0
    assert "working on a copy" in capsys.readouterr().out
    assert agent("word " * 40_000, "--window", "32000") == 1
    said = capsys.readouterr()
    assert "the budget is 29,440" in said.err
    assert "[session: " not in said.out
    assert files(here / "t") == []


def test_piped_lines_are_prompts_and_commands(here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{REPORT}\n/context\n/nothing\n\nnever\n"))
    assert agent() == 1
    said = capsys.readouterr()
    assert "threshold 130,000" in said.out
    assert "there is no command /nothing" in said.err
    assert "agent> " not in said.out
    session = load(only(here / "t", "*.jsonl"))
    assert [m for m in session.history if m["content"] == "never"] == []


def test_new_goes_on_with_the_files_as_they_are(here, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{REPORT}\n/new\nhello\n"))
    assert agent() == 0
    first, second = sorted((here / "t").glob("*.workspace"))
    assert files(first) == files(second)
    assert "REPORT.md" in files(second)


def test_a_session_is_resumed_with_its_settings_and_its_copy(here, capsys):
    agent(REPORT, "--window", "40000", "--keep-recent", "2")
    file, copy = only(here / "t", "*.jsonl"), only(here / "t", "*.workspace")
    assert main(["hello", "--resume", str(file), "--threshold", "9000"]) == 0
    assert f"[working on the session's copy, {copy}]" in capsys.readouterr().out
    settings = load(file).settings
    assert (settings.context_window, settings.keep_recent) == (40_000, 2)
    assert settings.threshold_tokens == 9_000


def test_a_session_without_a_copy_needs_its_folder_named(here, capsys):
    agent("hello", "--in-place")
    file = only(here / "t", "*.jsonl")
    assert main(["--resume", str(file)]) == 2
    assert "name its folder: --workspace DIR" in capsys.readouterr().err
    assert agent("hello", "--in-place", "--resume", file) == 0


def test_a_session_that_was_killed_goes_on_at_once(here, capsys):
    agent(REPORT)
    file = only(here / "t", "*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    calls = [n for n, line in enumerate(lines) if b'"read_file"' in line and b'"assistant"' in line]
    file.write_bytes(b"".join(lines[: calls[0] + 1]) + lines[calls[0] + 1][:40])
    only(here / "t", "*.workspace").joinpath("REPORT.md").unlink()
    capsys.readouterr()
    assert main(["--resume", str(file)]) == 0
    said = capsys.readouterr()
    assert "broken lines skipped: 1" in said.err
    assert "I wrote REPORT.md" in said.out
    assert "interrupted; check before repeating" in file.read_text(encoding="utf-8")


def program(*argv: str, **more: Any) -> subprocess.Popen[str]:
    """The agent in a process of its own."""
    command = [sys.executable, "-m", "agentlib", "--workspace", "../project", *argv]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, stdout=pipe, stderr=pipe, encoding="utf-8", **more
    )


def test_as_a_program_it_speaks_utf_8_and_returns_the_code(here):
    for name in ("anthropic", "json", "random", "click"):  # the learner's: not to be imported
        (here / "cwd" / f"{name}.py").write_text("raise SystemExit(__name__)", encoding="utf-8")
    prompt = "逐个读取所有 Python 文件，然后写一份报告"
    with program(prompt, "--transcripts", "../t") as ran:
        said, errors = ran.communicate()
    assert (ran.returncode, errors) == (0, "")
    assert "> read_file c.py" in said
    assert load(only(here / "t", "*.jsonl")).history[0]["content"] == prompt


def test_the_terminal_imports_nothing_of_the_notebooks():
    code = "import sys, agentlib.cli.main; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", code], encoding="utf-8").split()
    assert not {"anthropic", "pandas", "matplotlib", "ipywidgets", "jupyterlab"} & set(modules)


def test_a_reader_that_goes_away_is_no_traceback():
    with program(REPORT) as ran:
        assert ran.stdout
        assert ran.stderr
        ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == ""
    assert ran.returncode == 1


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
def no_bubblewrap(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with bash alone: each command has to be confirmed."""
    (here / "bin").mkdir()
    if bash := sys.platform != "win32" and which("bash"):
        (here / "bin/bash").symlink_to(bash)
        monkeypatch.setenv("PATH", str(here / "bin"))


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
    assert said.err.startswith("error: There is no API key: set ANTHROPIC_API_KEY")
    assert said.err.count("\n") == 1
    assert "$0.10 in, $0.50 out" in said.out
    assert not (here / "t").exists()


@posix
@pytest.mark.usefixtures("no_bubblewrap")
def test_the_price_comes_first_and_no_command_runs_where_nobody_can_be_asked(here, capsys, key):
    with served(Server(toucher)) as wire:
        key(wire.url)
        assert live("hello") == 0
    first, place, refused, command, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("[live: claude-haiku-5-5: $0.10 in, $0.50 out")
    assert first.endswith("The run stops once $0.50 are spent.]")
    assert place == f"[working in {here / 'project'} itself]"
    assert refused == "[refused, nobody is there to confirm it]"
    assert command == "    echo hi > made"
    assert not (here / "project/made").exists()


def test_the_cap_stops_the_run_after_the_request_that_reached_it(here, capsys, key):
    asked: list[Body] = []

    def reader(body: Body) -> Body:
        asked.append(body)
        call = {"type": "tool_use", "name": "read_file", "input": {"path": f"{len(asked)}.py"}}
        return {"content": [call], "stop_reason": "tool_use"}

    with served(Server(reader)) as wire:
        key(wire.url)
        assert live("hello", "--max-usd", "0.000001") == 1
    assert len(asked) == 1
    said = capsys.readouterr()
    assert said.err.startswith("[error: the cap of $0.0000 is reached")
    assert "[turns: 1; " in said.out


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
        self.clock = threading.Timer(60, self.process.kill)
        self.clock.start()

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
            code = self.process.wait()
        self.clock.cancel()
        return code


@posix
@pytest.mark.usefixtures("no_bubblewrap")
def test_a_command_runs_once_the_person_has_said_yes(here, key):
    with served(Server(toucher)) as wire:
        key(wire.url)
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

    with served(Server(slow)) as wire:
        key(wire.url)
        person = Person("--live")
        person.reads("agent> ")
        person.types("slow\n")
        assert asked.wait(20)
        person.types("\x03")
        assert "[stopped by Ctrl-C; the session is kept]" in person.reads("agent> ")
        free.set()
        person.types("quick\n")
        assert "Here I am." in person.reads("agent> ")
        time.sleep(0.5)  # readline overlooks a signal that comes right after its prompt
        person.types("\x03")
        assert "or Ctrl-C twice ends the conversation." in person.reads("agent> ")
        time.sleep(0.5)
        person.types("\x03")
        assert person.leaves() == 130
    (session,) = (here / "cwd/.transcripts").glob("*.jsonl")
    assert [m["role"] for m in load(session).history] == ["user", "user", "assistant"]
