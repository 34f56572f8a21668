"""One bash command: where bash is, what it may see, how it is stopped, what is kept of its output.

Not a sandbox by itself, and it knows nothing of tools or messages: `tools` decides whether a
command may run and what the model is told. What a command leaves running is killed with its process
group; outside bubblewrap, a process that leaves the group (`setsid`) lives on.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from agentlib.interrupts import undisturbed
from agentlib.tool_text import CAP

LINE = 65_536
"""Characters of output looked at in one go: a line without an end must not fill the memory."""

SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|^SSH_AUTH|^ANTHROPIC_", re.IGNORECASE)
"""Variables no command may see, by name; a password inside a URL has no such name and stays."""

MOODS = re.compile(r"COLOR|^PYTEST_", re.IGNORECASE)
"""Variables by which a notebook kernel or a test run would change a program's output."""

FIXED = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "COLUMNS": "80",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "BASH_ENV": "",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
}


@dataclass(frozen=True)
class Ran:
    """What became of a command."""

    output: str
    """Standard output and error in the order of their arrival, at most `CAP` characters."""
    cut: int
    """Characters that came after those."""
    exit_code: int | None
    """As a shell counts (killed by signal 9: 137); None where the time limit passed."""


@dataclass
class Head:
    """The first `CAP` characters of a stream; the rest is counted and dropped."""

    text: str = ""
    cut: int = 0

    def add(self, more: str) -> None:
        room = CAP - len(self.text)
        self.text += more[:room]
        self.cut += max(0, len(more) - room)


def environment() -> dict[str, str]:
    """What a command sees: this process's variables without keys, and with the same output
    on every machine; `python` is the interpreter that runs this code.
    """
    kept = {k: v for k, v in os.environ.items() if not SECRET.search(k) and not MOODS.search(k)}
    path = [str(Path(sys.executable).parent), kept.get("PATH", os.defpath)]
    return kept | FIXED | {"PATH": os.pathsep.join(path)}


def find_bash() -> str | None:
    """The bash on the PATH; on Windows the one that came with Git."""
    if sys.platform == "win32":
        return git_bash(shutil.which("git"))
    return shutil.which("bash")


def git_bash(git: str | None) -> str | None:
    r"""Git's bash beside `git`: `Git\cmd\git.exe` has `Git\bin\bash.exe`.

    The `bash.exe` that Windows itself puts on the PATH is WSL's, which sees other paths.
    """
    folders = Path(git).parents if git else ()
    found = (folder / "bin" / "bash.exe" for folder in folders)
    return next((str(bash) for bash in found if bash.is_file()), None)


def boxed(bubblewrap: str, folder: Path) -> list[str]:
    """The call to put before a command: it may write to `folder` and only read the system, has no
    network, and sees neither the home folder nor `/run`, where keys and others' sockets lie.
    """
    home = Path.home()
    hidden = ["/tmp", "/run"] + ([str(home)] if home.parent != home else [])
    call = [bubblewrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"]
    call += ["--dev", "/dev", "--proc", "/proc"]
    call += [word for place in hidden for word in ("--tmpfs", place)]
    for place in (sys.base_prefix, sys.prefix):
        call += ["--ro-bind", place, place]
    return [*call, "--bind", str(folder), str(folder)]


def run(
    call: list[str], folder: Path, *, time_limit: float, show: Callable[[str], str] = str
) -> Ran:
    """Run `call` in `folder`; every line of its output passes through `show` before it counts.

    The process group is killed in every case: at the end, at the time limit, at Ctrl-C.

    >>> run(["bash", "-c", "echo one; echo two >&2; exit 3"], Path("."), time_limit=9)
    Ran(output='one\\ntwo\\n', cut=0, exit_code=3)

    Raises OSError where the call can't be started (an argument too long, the folder gone).
    Source: seed 002's `run_bash`, which keeps the shell's children after a time-out.
    """
    head, process = Head(), None
    try:
        # Before it has a name nobody could kill it; before it has a reader nobody closes its pipe.
        with undisturbed():
            process = _start(call, folder)
            reader = threading.Thread(target=_drain, args=(process.stdout, head, show), daemon=True)
            reader.start()
        code = _wait(process, time_limit)
    finally:
        if process:
            _kill_group(process)
    # A process that left the group may hold the pipe open for ever.
    reader.join(timeout=2.0)
    return Ran(head.text, head.cut, 128 - code if code is not None and code < 0 else code)


def _start(call: list[str], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        call,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def _drain(stream: TextIO, head: Head, show: Callable[[str], str]) -> None:
    with stream:
        while line := stream.readline(LINE):
            head.add(show(line))


def _wait(process: subprocess.Popen[str], time_limit: float) -> int | None:
    deadline = time.monotonic() + time_limit
    while (left := deadline - time.monotonic()) > 0:
        try:
            # In slices: on Windows a wait doesn't hear Ctrl-C before it ends.
            return process.wait(min(left, 0.5))
        except subprocess.TimeoutExpired:
            continue
    return None


def _kill_group(process: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(tree, capture_output=True, check=False)
    else:
        # Nothing may be left of the group, or (macOS says "permission") only what is dead already.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
