"""bash: what it gives back, what it may see, and that nothing it starts outlives it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentlib.tools import ToolError, Workspace, shell
from agentlib.tools.shell import CAP

posix = pytest.mark.skipif(
    sys.platform == "win32", reason="process groups and signals of POSIX"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def failure(workspace: Workspace, command: str) -> str:
    with pytest.raises(ToolError) as caught:
        workspace.run("bash", {"command": command})
    return str(caught.value)


def is_alive(pid: int) -> bool:
    """A killed process may wait for a moment to be reaped; a zombie doesn't count."""
    for _ in range(100):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(pid, 0)
            stat = Path(f"/proc/{pid}/stat")
            if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return False
            time.sleep(0.02)
            continue
        return False
    return True


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo one; echo two >&2; echo three", "one\ntwo\nthree"),
        ("printf '    indented\\n\\n'", "    indented"),
        ("true", "(no output)"),
        ("grep -rn nowhere .", "(no output)\n(exit code 1)"),
        ("python -c 'import sys; print(sys.prefix)'", sys.prefix),
    ],
)
def test_output_and_errors_come_in_order(workspace, command, text):
    assert workspace.bash(command) == text


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo so far; exit 3", "so far\n(exit code 3)"),
        ("exit 2", "(no output)\n(exit code 2)"),
        ("echo wrong; exit 1", "wrong\n(exit code 1)"),
        pytest.param("kill -9 $$", "(no output)\n(exit code 137)", marks=posix),
        pytest.param(
            ": " + "x" * 4_000_000, "bash: Argument list too long", marks=posix
        ),
    ],
    ids=range(5),
)
def test_an_exit_code_is_an_error_that_keeps_the_output(workspace, command, text):
    assert failure(workspace, command) == text


def test_input_is_closed(tmp_path):
    kept = os.dup(0)
    (read, write) = os.pipe()
    os.dup2(read, 0)
    try:
        assert Workspace(tmp_path, time_limit=5).bash("cat; echo end") == "end"
    finally:
        os.dup2(kept, 0)
        for end in (kept, read, write):
            os.close(end)


def test_a_command_gets_only_what_it_needs(workspace, monkeypatch):
    names = "MY_API_KEY GITHUB_PAT MYSQL_PWD DATABASE_URL JWT HTTP_PROXY BASH_FUNC_ls%% BASH_ENV"
    for name in names.split():
        monkeypatch.setenv(name, "() { echo hush-hush; }")
    monkeypatch.setenv("JAVA_HOME", "/java")
    seen = workspace.bash("env; ls")
    assert "JAVA_HOME=/java" in seen
    assert "hush-hush" not in seen


def test_output_is_the_same_in_a_notebook_as_in_a_terminal(workspace, monkeypatch):
    code = "python -c \"import os; print({k: os.environ.get(k) for k in ('FORCE_COLOR', 'TZ')})\""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert workspace.bash(code) == "{'FORCE_COLOR': None, 'TZ': 'UTC'}"
    assert (
        workspace.bash("echo $LC_ALL $PYTHONHASHSEED $PYTHONDONTWRITEBYTECODE")
        == "C 0 1"
    )


def test_long_output_keeps_its_head_and_counts_the_rest(workspace):
    text = failure(workspace, "python -c \"print('ab' * 30_000)\"; exit 7")
    head, cut, code = text.rsplit("\n", 2)
    assert len(text) <= CAP
    assert set(head) == {"a", "b"}
    assert (cut, code) == (
        f"... ({60_001 - len(head)} characters cut)",
        "(exit code 7)",
    )


@posix
def test_endless_output_takes_no_endless_memory(tmp_path):
    ran = shell.run(["bash", "-c", "tr '\\0' x < /dev/zero"], tmp_path, time_limit=0.3)
    assert ran.exit_code is None
    assert len(ran.output) == CAP
    assert ran.cut > CAP


@posix
def test_a_timeout_keeps_what_was_said_and_ends_the_children_too(tmp_path):
    started = time.monotonic()
    command = "echo so far; sleep 60 & echo $! > pid; wait"
    text = failure(Workspace(tmp_path, time_limit=0.5), command)
    assert text == "so far\n(stopped: it ran longer than 0.5 seconds)"
    assert time.monotonic() - started < 10
    assert not is_alive(int((tmp_path / "pid").read_text()))


@posix
def test_what_is_left_in_the_background_ends_with_the_command(workspace, tmp_path):
    assert workspace.bash("sleep 60 & echo $! > pid; echo done") == "done"
    assert not is_alive(int((tmp_path / "pid").read_text()))


@posix
def test_ctrl_c_ends_the_children_and_goes_on_up(workspace, tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            workspace.bash("sleep 60 & echo $! > pid; kill -INT $PPID; wait")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not is_alive(int((tmp_path / "pid").read_text()))


STARTER = """
import sys
from pathlib import Path
from agentlib.tools import Workspace
Workspace(Path(sys.argv[1])).bash("sleep 60 & sleep 60 & echo $! $$ > new; mv new pids; wait")
"""


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_command_ends_with_the_agent(tmp_path, name):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    starting = [sys.executable, "-c", STARTER, str(tmp_path)]
    with subprocess.Popen(starting, env=environment) as agent:
        while not (tmp_path / "pids").exists():
            assert agent.poll() is None
            time.sleep(0.01)
        agent.send_signal(getattr(signal, name))
    assert [is_alive(int(pid)) for pid in (tmp_path / "pids").read_text().split()] == [
        False
    ] * 2


@posix
def test_a_command_may_wait_for_all_its_children(workspace):
    code = "import os; os.fork() or os._exit(0); os.wait(); os.wait()"
    assert "ChildProcessError" in failure(workspace, f'exec python -c "{code}"')


@posix
def test_a_file_and_the_memory_of_a_command_are_limited(tmp_path, monkeypatch):
    assert "(exit code " in failure(Workspace(tmp_path), "truncate -s 2000000000 big")
    if sys.platform == "linux":
        code = "python -c 'bytearray(5_000_000_000)'"
        assert "MemoryError" in failure(Workspace(tmp_path), code)


@posix
def test_a_process_that_left_the_group_does_not_hold_the_agent(workspace, tmp_path):
    leave = "import os, time; os.setsid(); open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    text = workspace.bash(
        f'echo said; python -c "{leave}" & until [ -s pid ]; do sleep 0.02; done'
    )
    assert text == "said"
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_no_bash_says_what_to_install(workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install it" in failure(workspace, "true")


def test_each_command_is_asked_for_and_can_be_refused(tmp_path):
    asked = []
    workspace = Workspace(
        tmp_path, confirm=lambda command: asked.append(command) or "rm" not in command
    )
    assert workspace.bash("echo yes") == "yes"
    assert "refused" in failure(workspace, "touch made; rm made")
    assert asked == ["echo yes", "touch made; rm made"]
    assert not (tmp_path / "made").exists()


@posix
def test_without_bubblewrap_nothing_runs_unasked(tmp_path, monkeypatch):
    bash = tmp_path / "bin" / "bash"
    bash.parent.mkdir()
    bash.write_text("")
    bash.chmod(0o755)
    monkeypatch.setenv("PATH", str(bash.parent))
    assert "install bubblewrap" in failure(Workspace(tmp_path, sandbox=True), "true")


@pytest.mark.parametrize(
    "path", [".git./config", "a/.git ", ".git::$INDEX_ALLOCATION/config"]
)
def test_other_spellings_of_a_protected_name_on_windows_count_too(path):
    assert shell.is_protected(path)


def test_bubblewrap_binds_the_protected_read_only_and_last(tmp_path):
    (tmp_path / ".vscode").symlink_to(tmp_path, target_is_directory=True)
    call = shell.sandbox_prefix("bwrap", tmp_path)
    after = call[call.index("--bind") :]
    bound = [after[n + 2] for n, word in enumerate(after) if word == "--ro-bind-try"]
    assert {"/workspace/.git", "/workspace/.envrc", "/workspace/.github"} <= {*bound}
    assert "/workspace/.vscode" not in bound
    assert "/opt" in call
    assert "/opt" not in shell.sandbox_prefix("bwrap", Path("/opt/beside/work"))
    assert call[call.index("--cap-drop") + 1] == "ALL"
