"""The agent as a program: offline, live with a server of this machine, and in
conversation."""

import errno
import io
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agentlib.api.live import price_notice
from agentlib.cli.main import DONE, FAILED, STOPPED, main, sentence
from agentlib.estimation import prompt_tokens
from agentlib.loop import Agent
from agentlib.messages import INTERRUPTED
from agentlib.settings import MODEL
from agentlib.transcripts import load
from offline_api.server import Headers, Reply, Server
from tests.builders import call, say
from tests.desk import Body, Desk, interrupted, parrot
from tests.loopback import Script, message, response, served
from tests.packages import PYTHONPATH
from tests.runs import ctrl_c

REPORT = "Read every Python file in this directory one by one and write a report"
WHOLE_WINDOW = "[window: {:,} tokens, all that the model has]"
posix = pytest.mark.skipif(sys.platform == "win32", reason="pty and links are POSIX's")


def goes_on(printed: str) -> Path:
    """Return the session that the command in the last line resumes."""
    words = shlex.split(printed.splitlines()[-1])
    return Path(words[words.index("--resume") + 1])


AT_A_TERMINAL = """
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, "-m", "agentlib", *sys.argv[1:]])))
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test stands in an empty folder, beside a project of three files, and types
    nothing."""
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
    assert (
        f"[working on a copy of {here / 'project'} (3 files, 144 bytes): {copy}]"
        in said
    )
    assert '> read_file a.py  """Module a.' in said
    assert re.search(
        r"\[turns: \d+; tokens sent: [\d,]+, .* would have cost \$0\.\d{4} at ", said
    )
    assert goes_on(said) == only(here / "t", "*.jsonl")
    assert "\x1b" not in said
    assert files(here / "project") == ["a.py", "b.py", "c.py"]
    assert files(copy) == ["REPORT.md", "a.py", "b.py", "c.py"]


def test_in_place_the_folder_itself_is_worked_in(here, capsys):
    assert agent(REPORT, "--in-place") == 0
    assert f"[working in {here / 'project'} itself; " in capsys.readouterr().out
    assert "REPORT.md" in files(here / "project")
    assert not list((here / "t").glob("*.workspace"))


def test_a_prompt_that_is_refused_exits_with_1_and_changes_nothing(here, capsys):
    before = files(here / "project")
    assert agent("Read every Python file except b.py", "--in-place") == 1
    assert '"except", "b.py"' in capsys.readouterr().out
    assert files(here / "project") == before


FIRST_PROMPTS = [
    "Read every Python file in the agents/ directory one by one",
    "Read every TypeScript file in the agents-ts directory one by one",
    "Keep reading files until compression triggers automatically",
    "Use the compact tool to manually compress the conversation",
    "逐个分析项目中的所有 Java 文件, 为每个文件写详细的代码审查报告",
    "逐个读取 agents/ 目录下的每个 Python 文件",
    "持续读取文件直到自动触发压缩",
    "使用 compact 工具手动压缩对话",
]
"""What the documents say to try, and the same in the other language."""


@pytest.mark.parametrize("prompt", FIRST_PROMPTS)
def test_what_the_documents_say_to_try_ends_well_as_a_first_prompt(
    here, capsys, prompt
):
    for name in ("agents/a.py", "agents-ts/a.ts", "A.java"):
        path = here / "project" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("int a;\n", "utf-8")
    assert agent(prompt) == DONE
    shown = capsys.readouterr()
    assert "stopped" not in shown.out
    assert shown.err == ""


def test_a_task_that_is_not_done_exits_with_1(here, capsys):
    assert agent("Rename NOWHERE to ELSEWHERE everywhere and run the tests") == 1
    assert "`NOWHERE`" in capsys.readouterr().out


def test_sessions_lie_in_the_current_folder_and_never_in_the_workspace(
    here, monkeypatch
):
    main(["hello", "--workspace", "../project"])
    assert len(list((here / "cwd/.transcripts").glob("*.jsonl"))) == 1
    monkeypatch.chdir(here / "project")
    main(["hello"])
    assert files(here / "project") == ["a.py", "b.py", "c.py"]
    assert len(list((here / ".transcripts").glob("*.jsonl"))) == 1


def test_the_wall_ends_the_run_and_the_session_goes_on_past_it(
    here, capsys, monkeypatch
):
    for n in range(30):
        (here / f"project/m{n}.py").write_text(
            f'"""Module m{n}."""\n' + "x = 1  # one\n" * 40
        )
    monkeypatch.setenv("DISABLE_COMPACT", "1")
    assert agent(REPORT, "--window", "8000") == 1
    said = capsys.readouterr()
    assert said.err.startswith("[error: invalid_request_error: prompt is too long: ")
    assert "[the context is at " in said.out
    monkeypatch.delenv("DISABLE_COMPACT")
    session = only(here / "t", "*.jsonl")
    assert (
        main(["--resume", str(session), "--preset", "default", "--window", "8000"]) == 0
    )
    said = capsys.readouterr()
    assert (
        said.out.count("[auto_compact triggered]") == len(load(session).compactions) > 0
    )
    assert f"\n[transcript saved: {session.name}#" in said.out


def test_a_session_in_which_nothing_was_said_leaves_nothing(here, capsys):
    assert agent() == 0
    assert ".workspace]" in capsys.readouterr().out
    assert agent("word " * 40_000, "--window", "32000") == 1
    said = capsys.readouterr()
    assert "the budget is 29,440" in said.err
    assert "[session: " not in said.out
    assert files(here / "t") == [".gitignore"]


def test_piped_lines_are_prompts_and_commands(here, capsys, monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.StringIO(f"{REPORT}\n/context\n/nothing\n\nnever\n")
    )
    assert agent() == 1
    said = capsys.readouterr()
    assert "threshold 150,000" in said.out
    assert "/nothing" in said.err
    assert "agent> " not in said.out
    session = load(only(here / "t", "*.jsonl"))
    assert [m for m in session.history if m["content"] == "never"] == []


def test_new_goes_on_with_the_files_as_they_are(here, monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.StringIO(f"{REPORT}\n/new\nWhich rules hold?\n")
    )
    assert agent() == 0
    first, second = sorted((here / "t").glob("*.workspace"))
    assert files(first) == files(second)
    assert "REPORT.md" in files(second)


def test_a_session_is_resumed_with_its_settings_and_its_copy(here, capsys):
    agent(REPORT, "--window", "40000", "--keep-recent", "2")
    file = only(here / "t", "*.jsonl")
    copy = only(here / "t", "*.workspace")
    assert (
        main(["Which rules hold?", "--resume", str(file), "--threshold", "9000"]) == 0
    )
    assert f"[working on the session's copy, {copy}]" in capsys.readouterr().out
    settings = load(file).settings
    assert (settings.context_window, settings.keep_recent) == (40_000, 2)
    assert settings.threshold_tokens == 9_000


def test_a_session_without_a_copy_needs_its_folder_named(here, capsys):
    agent("hello", "--in-place")
    file = only(here / "t", "*.jsonl")
    assert main(["--resume", str(file)]) == 2
    assert "name its folder: --workspace DIR" in capsys.readouterr().err
    assert agent("Which rules hold?", "--in-place", "--resume", file) == 0


def test_a_session_that_was_killed_goes_on_at_once(here, capsys):
    agent(REPORT)
    file = only(here / "t", "*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    calls = [
        n
        for n, line in enumerate(lines)
        if b'"read_file"' in line and b'"assistant"' in line
    ]
    file.write_bytes(b"".join(lines[: calls[0] + 1]) + lines[calls[0] + 1][:40])
    only(here / "t", "*.workspace").joinpath("REPORT.md").unlink()
    capsys.readouterr()
    assert main(["--resume", str(file)]) == 0
    said = capsys.readouterr()
    assert "is damaged; line 7 is left out" in said.err
    assert "I wrote REPORT.md" in said.out
    assert INTERRUPTED in file.read_text(encoding="utf-8")


def test_a_session_is_resumed_by_one_process_at_a_time(here, capsys):
    agent("hello")
    file = only(here / "t", "*.jsonl")
    before = file.read_bytes()
    with program("--resume", str(file), stdin=subprocess.PIPE) as first:
        assert first.stdout
        first.stdout.readline()
        capsys.readouterr()
        assert agent("Which rules hold?", "--resume", file) == 1
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert f"{file} is in use" in said.err
        assert file.read_bytes() == before
        first.kill()
    assert (here / "t" / f"{file.stem}.lock").exists()
    assert agent("Which rules hold?", "--resume", file) == 0
    assert capsys.readouterr().err == ""
    assert files(here / "t") == [".gitignore", file.name, f"{file.stem}.workspace"]
    assert load(file).skipped == []


def program(*argv: str, **more: Any) -> subprocess.Popen[str]:
    """The agent in a process of its own."""
    command = [sys.executable, "-m", "agentlib", "--workspace", "../project", *argv]
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTHONUTF8": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, stdout=pipe, stderr=pipe, encoding="utf-8", **more
    )


def test_as_a_program_it_speaks_utf_8_and_returns_the_code(here):
    for name in (
        "anthropic",
        "json",
        "random",
        "click",
    ):  # the learner's: not to be imported
        (here / "cwd" / f"{name}.py").write_text(
            "raise SystemExit(__name__)", encoding="utf-8"
        )
    prompt = "逐个读取所有 Python 文件，然后写一份报告"
    with program(prompt, "--transcripts", "../t") as ran:
        said, errors = ran.communicate()
    assert (ran.returncode, errors) == (0, "")
    assert "> read_file c.py" in said
    assert load(only(here / "t", "*.jsonl")).history[0]["content"] == prompt


def test_without_any_stream_there_is_no_traceback(here, monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    code = agent()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()
    assert code == DONE


class Leaves(io.StringIO):
    """A reader that goes away after the first line."""

    def write(self, text: str) -> int:
        if self.getvalue():
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        return super().write(text)


def test_a_reader_that_goes_away_in_a_run_ends_it(here, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Leaves())
    with pytest.raises(SystemExit, match="1"):
        agent(REPORT)
    assert not list((here / "t").glob("*.lock"))


def test_a_reader_that_is_gone_is_no_traceback():
    with program(REPORT) as ran:
        assert ran.stdout
        assert ran.stderr
        ran.stdout.close()
        assert ran.stderr.read() == ""
    assert ran.returncode == 1


class Ends(io.StringIO):
    """A keyboard at which a signal comes in place of a line."""

    def readline(self, size: int = -1) -> str:
        signal.raise_signal(signal.SIGTERM)
        return ""


def ends(*given: Any, **more: Any) -> Iterator[Any]:
    """A run during which a signal comes."""
    signal.raise_signal(signal.SIGTERM)
    yield


@posix
@pytest.mark.parametrize("works", [False, True])
def test_a_signal_that_ends_it_unwinds_like_ctrl_c(here, capsys, monkeypatch, works):
    agent("hello")
    file = only(here / "t", "*.jsonl")
    before = [
        (each, signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGHUP)
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n") if works else Ends())
    if works:
        monkeypatch.setattr(Agent, "run", ends)
    monkeypatch.setattr(sys, "argv", ["agentlib", "--resume", str(file)])
    monkeypatch.setattr(sys, "path", [*sys.path])  # it puts the first last
    with ctrl_c(), pytest.raises(SystemExit) as end:
        runpy.run_module("agentlib", run_name="__main__")
    for each in before:
        signal.signal(*each)
    assert end.value.code == 128 + signal.SIGTERM
    said = capsys.readouterr()
    assert goes_on(said.out) == file
    assert said.err == ""
    assert not (here / "t" / f"{file.stem}.lock").exists()


def test_an_engine_that_ends_the_program_is_an_error(here, capsys):
    code = agent(REPORT, "--engine", "tests.bad_engines:leaves")
    assert code == FAILED
    assert "[error: SystemExit: 0]" in capsys.readouterr().err
    assert load(only(here / "t", "*.jsonl")).history


@posix
def test_ctrl_c_while_it_starts_is_no_traceback():
    code = (
        "import os, runpy, signal, sys; sys.argv = ['agentlib', '--version'];"
        "sys.addaudithook(lambda event, args: event == 'import' and args[0] == 'click'"
        " and os.kill(os.getpid(), signal.SIGINT));"
        "runpy.run_module('agentlib', run_name='__main__')"
    )
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    start = [sys.executable, "-c", code]
    ran = subprocess.run(start, env=environment, capture_output=True, encoding="utf-8")
    assert (ran.returncode, ran.stdout, ran.stderr) == (STOPPED, "", "")


def toucher(body: Body) -> Body:
    """Makes a file by a command, then says what came of it."""
    last = body["messages"][-1]["content"]
    if isinstance(last, str):
        return say(call("", command="echo hi > made"))
    return say(f"It said: {last[0]['content']}")


@pytest.fixture
def no_bubblewrap(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with bash alone: each command has to be confirmed."""
    (here / "bin").mkdir()
    if bash := sys.platform != "win32" and shutil.which("bash"):
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
    assert re.match(r"error: .* ANTHROPIC_API_KEY", said.err)
    assert said.err.count("\n") == 1
    assert "$0.10 in, $0.50 out" in said.out
    assert not (here / "t").exists()


def test_a_named_file_decides_whom_to_ask(here, capsys, key):
    key("http://127.0.0.1:1")
    file = here / "my.env"
    with served(Server(lambda body: say("Here I am."))) as wire:
        file.write_text(f"ANTHROPIC_BASE_URL={wire.url}\n", encoding="utf-8")
        assert live("hello", "--env", str(file)) == 1
        refused = capsys.readouterr()
        assert str(file) in refused.err
        assert (refused.out, refused.err.count("\n")) == ("", 1)
        file.write_text(
            f"ANTHROPIC_BASE_URL={wire.url}\nANTHROPIC_API_KEY=a\n", encoding="utf-8"
        )
        assert live("hello", "--env", str(file)) == 0
    notice = capsys.readouterr().out.splitlines()[0]
    assert notice.startswith("[live: ")
    assert wire.url in notice
    assert [headers["x-api-key"] for headers in wire.headers] == [
        "a",
        "a",
    ]  # the list of models, the prompt


@posix
@pytest.mark.usefixtures("no_bubblewrap")
def test_the_price_comes_first_and_no_command_runs_where_nobody_can_be_asked(
    here, capsys, key
):
    with served(Server(toucher)) as wire:
        key(wire.url)
        assert live("hello") == 0
    first, place, refused, command, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("[live: ")
    assert wire.url in first
    assert first.endswith(f" {price_notice(MODEL, 0.5)}]")
    assert place.startswith(f"[working in {here / 'project'} itself; ")
    assert refused == "[refused, nobody is there to confirm it]"
    assert command == "    echo hi > made"
    assert not (here / "project/made").exists()


class Listing(Server):
    """An endpoint on this machine that has a list of models."""

    def __init__(self, models: Any) -> None:
        super().__init__(lambda body: say("Here I am."))
        self.models = models

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        if path != "/v1/models":
            return super().answer(method, path, headers, raw)
        return response(self.models)


@pytest.mark.parametrize(
    ("models", "argv", "window"),
    [
        ({"data": [{"id": "tiny", "meta": {"n_ctx": 8_192}}]}, [], 8_192),  # llama.cpp
        ({"data": [{"id": "tiny", "max_model_len": 9_000}]}, [], 9_000),  # vLLM
        (
            {"data": [{"id": "tiny", "max_model_len": 9_000}]},
            ["--window=32000"],
            32_000,
        ),
        ({"data": [{"id": "tiny", "max_model_len": 10**6}]}, [], 200_000),
        ({"data": [{"id": "tiny", "meta": None}, 5]}, [], 200_000),
        ({"data": [{"id": "tiny", "meta": {"n_ctx": 12}}]}, [], 200_000),
        ([], [], 200_000),
    ],
)
def test_the_window_that_a_server_lists_is_taken(
    here, key, capsys, models, argv, window
):
    with served(Listing(models)) as wire:
        key(wire.url)
        assert live("hello", "--price", "0,0", *argv) == 0
    assert load(only(here / "t", "*.jsonl")).settings.context_window == window
    said = capsys.readouterr().out
    assert (WHOLE_WINDOW.format(window) in said) == (window < 10_000)


@pytest.mark.parametrize(
    ("model", "argv", "window"),
    [
        ("claude-haiku-4-5", [], 200_000),
        ("claude-haiku-4-5", ["--window=500000"], 500_000),
        ("claude-sonnet-5-5", [], 600_000),
        ("tiny", [], 600_000),
    ],
)
def test_the_window_is_no_larger_than_the_price_list_says(
    here, key, capsys, monkeypatch, model, argv, window
):
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "600000")
    with served(Listing([])) as wire:
        key(wire.url)
        live("hello", "--model", model, "--price", "0,0", *argv)
    said = capsys.readouterr().out
    assert (WHOLE_WINDOW.format(window) in said) == (window == 200_000)
    assert load(only(here / "t", "*.jsonl")).settings.context_window == window


def test_a_price_of_ones_own_holds_the_cap_of_any_model(here, capsys, key, monkeypatch):
    with served(Script(response(message(model="tiny")))) as wire:
        key(wire.url)
        assert live("hello", "--model", "tiny", "--price", "0,0") == 0
        assert "cost $0.0000 at tiny prices]" in capsys.readouterr().out
        monkeypatch.setenv("MODEL_PRICE", "10,1000")
        monkeypatch.setattr("sys.stdin", io.StringIO("hello\nagain\n"))
        assert live("--model", "tiny", "--max-usd", "0.000001") == 1
    assert "tiny: $10.00 in, $1000.00 out" in capsys.readouterr().out


def test_the_cap_stops_the_run_after_the_request_that_reached_it(here, capsys, key):
    asked: list[Body] = []

    def reader(body: Body) -> Body:
        asked.append(body)
        return say(call("", "read_file", path=f"{len(asked)}.py"))

    with served(Server(reader)) as wire:
        key(wire.url)
        assert live("hello", "--max-usd", "0.000001") == 1
    assert len(asked) == 1
    said = capsys.readouterr()
    assert re.match(r"\[error: .* \$0\.0000 ", said.err)
    assert "[turns: 1; " in said.out


class Person:
    """Somebody at a terminal that runs the agent."""

    def __init__(self, *argv: str):
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_A_TERMINAL, "--workspace", "../project", *argv],
            env={
                **os.environ,
                "PYTHONPATH": PYTHONPATH,
                "PYTHONUTF8": "1",
                "TERM": "dumb",
            },
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


def writer(body: Body) -> Body:
    """Changes a file, makes another, and says so."""
    if isinstance(body["messages"][-1]["content"], str):
        files = {"a.py": "new", "new/b.py": "new"}
        items = files.items()
        return say(*(call("", "write_file", path=p, content=text) for p, text in items))
    return say("Written.")


def test_what_the_agent_wrote_in_the_folder_itself_is_put_back(
    here, capsys, key, monkeypatch
):
    before = (here / "project/a.py").read_text()
    monkeypatch.setattr(sys, "stdin", io.StringIO("/undo-files\n/undo-files\n"))
    with served(Server(writer)) as wire:
        key(wire.url)
        assert live("hello") == 0
        assert (here / "project/a.py").read_text() == "new"
        [file] = (here / "t").glob("*.jsonl")
        assert live("--resume", str(file)) == 0
    said = capsys.readouterr().out
    assert "; /undo-files puts back what it edits]" in said
    assert "[put back: a.py, new/b.py]" in said
    assert said.count("[put back: ") == 2
    assert (here / "project/a.py").read_text() == before
    assert not (here / "project/new/b.py").exists()


def test_undo_files_says_that_a_copy_leaves_the_folder_alone(here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{REPORT}\n/undo-files\n"))
    assert main(["--workspace", str(here / "project")]) == 0
    copy = only(here / "cwd/.transcripts", "*.workspace")
    assert f"copy, {copy}]" in capsys.readouterr().out
    assert (copy / "REPORT.md").exists()


@pytest.mark.parametrize(
    "more", [[], ["--in-place"], ["--engine", "agentlib.pipeline:compact"]]
)
def test_the_last_line_is_a_command_that_goes_on_with_the_session(
    here, capsys, monkeypatch, more
):
    monkeypatch.setattr(sys, "argv", ["agentlib/__main__.py"])
    assert main([REPORT, "--workspace", "../project", *more]) == DONE
    shown = capsys.readouterr().out
    file = here / "cwd" / goes_on(shown)
    turns = len(load(file).requests)
    python, _, _, *argv = shlex.split(shown.splitlines()[-1])
    assert Path(python).samefile(sys.executable)
    assert main([*argv, REPORT]) == DONE
    assert len(load(file).requests) > turns
    again = capsys.readouterr().out
    assert again.splitlines()[-1] == shown.splitlines()[-1]
    assert all(word in again for word in more)


def test_what_was_changed_in_one_folder_is_not_put_back_in_another(
    here, capsys, monkeypatch
):
    agent(REPORT, "--in-place")
    file = only(here / "t", "*.jsonl")
    other = here / "other"
    other.mkdir()
    (other / "REPORT.md").write_text("mine")
    monkeypatch.setattr(sys, "stdin", io.StringIO("/undo-files\n"))
    resumed = ("--resume", str(file), "--workspace", str(other), "--in-place")
    assert main([*resumed, "--transcripts", str(here / "t")]) == 0
    assert (other / "REPORT.md").read_text() == "mine"
    assert "[put back: nothing" in capsys.readouterr().out


@posix
@pytest.mark.parametrize("suffix", [".lock", ".workspace", ".before"])
def test_nothing_beside_a_session_is_followed_through_a_link(
    here, suffix, capsys, monkeypatch
):
    agent(REPORT, "--in-place")
    file = only(here / "t", "*.jsonl")
    home = here / "home"
    home.mkdir()
    (home / "code.py").write_text("MAX_SIZE = 1\n")
    planted = file.with_suffix(suffix)
    if planted.exists():
        shutil.rmtree(planted)
    target = home / "code.py" if suffix == ".lock" else home
    planted.symlink_to(target)
    for words in ("/undo-files\n", "Rename MAX_SIZE to SIZE_LIMIT everywhere\n"):
        for more in ([], ["--in-place"]):
            monkeypatch.setattr(sys, "stdin", io.StringIO(words))
            agent("--resume", file, *more)
    assert (home / "code.py").read_text() == "MAX_SIZE = 1\n"
    assert files(home) == ["code.py"]


@posix
def test_a_copy_that_is_a_link_is_named_and_refused(here, capsys):
    agent("hello")
    file = only(here / "t", "*.jsonl")
    (here / "home").mkdir()
    shutil.rmtree(file.with_suffix(".workspace"))
    file.with_suffix(".workspace").symlink_to(here / "home")
    assert main(["--resume", str(file)]) == 2
    assert "is a symlink" in capsys.readouterr().err


def test_undo_files_puts_back_nothing_that_a_folder_brought_along(
    here, capsys, monkeypatch
):
    agent(REPORT, "--in-place")
    file = only(here / "t", "*.jsonl")
    root = (here / "project").resolve()
    folder = file.with_suffix(".before") / sha256(bytes(root)).hexdigest()[:16]
    for name in ("old/.git/hooks/pre-commit", "old/.env", "new/thesis.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("EVIL")
    (here / "project/thesis.txt").write_text("mine")
    monkeypatch.setattr(sys, "stdin", io.StringIO("/undo-files\n"))
    agent("--resume", file, "--in-place")
    assert "[put back: REPORT.md, " in capsys.readouterr().out
    assert files(here / "project") == ["a.py", "b.py", "c.py", "thesis.txt"]
    assert (here / "project/thesis.txt").read_text() == "mine"


@posix
def test_no_name_of_a_folder_writes_on_the_screen(here, capsys, monkeypatch):
    folder = here / "a\x1b[2Jb"
    (here / "project").rename(folder)
    argv = ["--workspace", str(folder), "--transcripts", str(here / "t\x1b[2J")]
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n/new\n/undo-files\n/x\n"))
    for more in ([], ["--in-place"]):
        main([*argv, *more])
    file = next((here / "t\x1b[2J").glob("*.jsonl"))
    with file.open("a") as lines:
        lines.write("torn\n")
    main(["--resume", str(file)])
    main(["--resume", str(here / "no\x1b[2J")])
    main(["--workspace", str(here / "no\x1b[2J")])
    said = capsys.readouterr()
    assert "\\x1b[2J" in said.out
    assert "\\x1b[2J" in said.err
    assert "\x1b[2J" not in said.out + said.err


@pytest.mark.parametrize("cut", [True, False])
def test_a_damaged_session_and_its_copy_stay_where_they_are(here, cut, monkeypatch):
    agent(REPORT)
    file = only(here / "t", "*.jsonl")
    copy = only(here / "t", "*.workspace")
    (copy / "precious.txt").write_text("work")
    first, rest = file.read_text().split("\n", 1)
    file.write_text(
        f"{first}\n{rest[:200]}" if cut else f"{first}\n{rest.replace('type', 'tpye')}"
    )
    damaged = file.read_text()
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    main(["--resume", str(file)])
    assert file.read_text().startswith(damaged)
    assert (copy / "precious.txt").read_text() == "work"


@posix
@pytest.mark.usefixtures("no_bubblewrap")
def test_without_bubblewrap_offline_says_that_commands_are_not_confined(capsys):
    assert agent("Which rules hold?") == 0
    assert "[no bubblewrap: " in capsys.readouterr().out


@posix
@pytest.mark.usefixtures("no_bubblewrap")
def test_a_person_confirms_commands_and_stops_what_takes_too_long(here, key):
    """A command waits for a yes that was not pasted before, and Ctrl-C ends only the
    run."""
    asked = threading.Event()
    free = threading.Event()

    def model(body: Body) -> Body:
        if body["messages"][-1]["content"] == "slow":
            asked.set()
            free.wait(20)
        return say("Here I am.") if free.is_set() else toucher(body)

    with served(Server(model)) as wire:
        key(wire.url)
        person = Person("--live")
        person.reads("agent> ")
        person.types("hello\ny\n")
        assert "    echo hi > made\r\n" in person.reads("Run it? [y/N] ")
        person.types("n\n")
        assert "the person refused this command" in person.reads("agent> ")
        assert not (here / "project/made").exists()
        person.types("hello\n")
        person.reads("Run it? [y/N] ")
        person.types("y\n")
        assert "It said: (no output)" in person.reads("agent> ")
        assert (here / "project/made").read_text() == "hi\n"
        person.types("slow\n")
        assert asked.wait(20)
        person.types("\x03")
        assert "[stopped" in person.reads("agent> ")
        free.set()
        person.types("quick\n")
        assert "Here I am." in person.reads("agent> ")
        time.sleep(0.5)  # readline overlooks a signal that comes right after its prompt
        person.types("\x03")
        assert "Ctrl-C again quits" in person.reads("agent> ")
        time.sleep(0.5)
        person.types("\x03")
        assert person.leaves() == 130
    (session,) = (here / "cwd/.transcripts").glob("*.jsonl")
    roles = [m["role"] for m in load(session).history]
    assert roles[-3:] == ["user", "user", "assistant"]
    assert len(roles) == 11


# -- the conversation at a terminal ----------------------------------------------------
@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "Callable[..., Desk]":
    return lambda model=parrot, **more: Desk(tmp_path, capsys, model, **more)


@pytest.mark.parametrize("word", ["q", " EXIT ", "   "])
def test_these_words_quit(desk, monkeypatch, word):
    here = desk()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"first\n{word}\nnever said\n"))
    assert here.terminal.talk() == DONE
    assert [line for line in here.printed() if line.startswith("You")] == [
        "You said 'first'."
    ]


def test_compacting_by_hand_keeps_the_focus(desk):
    here = desk()
    here.obey(*(f"{n} " + "word " * 1_000 for n in range(4)))
    assert here.obey("/compact the words") == DONE
    (compaction,) = load(here.terminal.file).compactions
    assert (compaction.trigger, compaction.focus) == ("manual", "the words")


def test_a_prompt_that_is_no_utf_8_loses_only_that(desk):
    here = desk()
    here.terminal.arguments = replace(here.terminal.arguments, prompt="r\udcffead")
    assert here.terminal.talk() == DONE
    assert here.printed()[0] == "You said 'r?ead'."


@pytest.mark.parametrize("more", [0, 5])
def test_context_adds_up_to_the_estimate(desk, more):
    here = desk()
    here.obey("read", *["more"] * more)
    here.printed()
    before = here.terminal.file.read_bytes()
    here.obey("/context")
    assert here.terminal.file.read_bytes() == before
    title, *lines = here.printed()
    total = int(title.split()[1].replace(",", ""))
    rows = {line.split()[0]: int(line.split()[1].replace(",", "")) for line in lines}
    assert {
        "system",
        "tools",
        "user",
        "assistant",
        "tool_use",
        "tool_result",
        "free",
    } == set(rows)
    assert rows.pop("free") == 32_000 - total
    assert abs(sum(rows.values()) - total) <= len(rows) / 2
    assert abs(total - prompt_tokens(here.terminal.session.requests[-1].usage)) < 30


def test_only_the_session_that_the_terminal_is_at_is_locked(desk):
    here = desk(interrupted(parrot, 2))
    first = here.terminal.file.with_suffix(".lock")
    assert here.obey("one", "two") == STOPPED
    assert first.exists()
    here.obey("/new")
    second = here.terminal.file.with_suffix(".lock")
    assert (first.exists(), second.exists()) == (False, True)
    here.terminal.close()
    assert not second.exists()


def test_another_model_is_asked_from_here_on(desk):
    here = desk()
    assert here.obey("/model other") == FAILED
    (refused,) = here.printed()
    assert refused.startswith("[error: ")
    assert all(name in refused for name in (MODEL, "'other'", "--live"))
    here.terminal.arguments = replace(
        here.terminal.arguments, live=True, max_usd=float("inf")
    )
    assert here.obey("/model other", "/model") == DONE
    notice, *lines = here.printed()
    assert notice.endswith("; there is no cap]")
    assert lines == ["[model: other]"] * 2
    assert here.obey("one") == FAILED
    assert here.printed() == ["[error: not_found_error: model: other]"]


def test_new_begins_a_session_and_keeps_the_old_one(desk):
    here = desk()
    here.obey("one")
    old = here.terminal.file
    here.obey("/new", "two")
    assert here.terminal.file != old
    assert len(load(old).history) == len(load(here.terminal.file).history) == 2
    here.obey("/new", "/new")
    here.terminal.close()
    assert len(list(old.parent.glob("*.jsonl"))) == 2  # nothing was said in the last


def test_ctrl_c_ends_piped_prompts(desk, monkeypatch):
    here = desk(interrupted(parrot, at=1))
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert here.terminal.talk() == STOPPED
    assert len(here.terminal.session.history) == 1


def test_an_error_of_several_lines_is_shown_whole_in_one():
    said = sentence(ValueError("real reason here\n\n  \x1b[2Jlast line"))
    assert "real reason here" in said
    assert "last line" in said
    assert not {"\n", "\x1b"} & set(said)


@pytest.mark.parametrize("words", ["", " ", "\n\n"])
def test_an_error_without_words_is_named_by_its_kind(words):
    assert "ValueError" in sentence(ValueError(words))

    refusal: Any = Exception()
    refusal.body = {"error": {"type": "overloaded_error", "message": words}}
    assert sentence(refusal) == "overloaded_error"


def test_a_long_error_is_cut():
    assert len(sentence(ValueError("x" * 1_000_000))) == 1_000


def test_an_error_of_the_disk_names_the_file(desk, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    here = desk()
    monkeypatch.setattr("agentlib.session.file.append", full)
    assert here.obey("one") == FAILED
    text = f"[error: {here.terminal.file}: [Errno 28] No space left on device]"
    assert here.printed() == [text]
