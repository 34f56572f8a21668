"""Run a program on a task, in a HOME and a folder of its own, against a server of its
own.

No shell is in between. With bubblewrap the program reaches nothing but the server and
writes nowhere but in its folder, its HOME and a `/tmp` of its own. Without it there is
a proxy that refuses, and `Run.unconfined` says what the program could still do. Its
output is kept, it is stopped at the time limit, and its processes are ended with it.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from agentlib.api.spending import price_list
from agentlib.settings import MODEL
from agentlib.tools.shell import confines
from offline_api.__main__ import listen
from offline_api.errors import Refusal
from offline_api.model import Habits, reply
from offline_api.record import Record, recorded
from offline_api.server import Answer, Headers, Reply, Server, refused
from windtunnel.programs import relay
from windtunnel.programs.program import Program, filled, furnish
from windtunnel.programs.task import Result, Task, make, result

TIME_LIMIT = 600.0
"""Seconds for each command."""
MOST_REQUESTS = 3_000
"""A program that asks more often than that is stopped."""
MOST_OUTPUT = 20_000_000
"""So is one that prints more characters than that."""
KEPT = 20_000
"""Characters of its output that are kept, at its beginning and at its end."""
_LOOK = 0.05
_SHORT = 200
"""Characters of a text that isn't worth sharing between bodies."""


@dataclass(frozen=True)
class Step:
    """One command of a run."""

    prompt: str
    exit_code: int | None
    """As a shell counts. None if the command was stopped."""
    seconds: float
    output: str
    """What it printed, its errors too. The middle of a long output is missing."""
    stopped: str
    """Why it was stopped, "" if it ended by itself."""
    left: int
    """Processes that were still there when it had ended. They were ended too."""
    first: int
    """Number of its first request, which the record counts from 1."""
    last: int
    result: Result


@dataclass(frozen=True)
class Run:
    """What a program did on one task."""

    program: Program
    task: Task
    window: int
    steps: tuple[Step, ...]
    records: tuple[Record, ...]
    """Every request with its bodies, in their order."""
    refused_hosts: tuple[str, ...]
    """Hosts that it asked the proxy for, without bubblewrap."""
    unconfined: str
    """What it could do beside its work, "" under bubblewrap."""


@dataclass
class _Output:
    """What a command prints: the beginning and the end of it."""

    head: str = ""
    tail: str = ""
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, text: str) -> None:
        with self.lock:
            self.size += len(text)
            room = KEPT - len(self.head)
            self.head += text[:room]
            self.tail = (self.tail + text[room:])[-KEPT:]

    def text(self) -> str:
        with self.lock:
            missing = self.size - len(self.head) - len(self.tail)
            gap = f"\n[... {missing:,} characters ...]\n" if missing else ""
            return f"{self.head}{gap}{self.tail}"


def run(
    program: Program,
    task: Task,
    window: int,
    *,
    time_limit: float = TIME_LIMIT,
    confined: bool | None = None,
) -> Run:
    """Let a program work on a task and return what it did.

    `window`: tokens of the model's window. `confined`: whether bubblewrap is used; None
    if it is there. Raises FileNotFoundError if there is no such program.
    """
    if not shutil.which(program.run[0], path=program.path()):
        cure = (
            f"`make programs NAME={program.name}` installs {program.package}"
            if program.package
            else "install it, or give its path"
        )
        raise FileNotFoundError(f"there is no program {program.run[0]!r}; {cure}")
    if window < program.least_window:
        raise ValueError(
            f"--window {window:,}: {program.name} takes none below "
            f"{program.least_window:,} tokens"
        )
    confined = confines() if confined is None else confined
    records: list[Record] = []
    hosts: list[str] = []
    shared: dict[str, str] = {}

    def note(record: Record) -> None:
        bodies = _shared([record.request, record.answer], shared)
        records.append(replace(record, request=bodies[0], answer=bodies[1]))

    windows = dict.fromkeys(price_list()["models"], window)
    model = partial(reply, habits=Habits(prompts=task.prompts))
    server = Server(model, window=window, windows=windows)
    with ExitStack() as stack:
        answer = recorded(server.answer, note, bodies=True)
        port = stack.enter_context(_served(answer))
        place = Path(stack.enter_context(_folder()))
        home = place / "home"
        folder = place / "work"
        home.mkdir()
        make(task, folder)
        values = {
            "{url}": f"http://127.0.0.1:{port}",
            "{model}": MODEL,
            "{window}": str(window),
            "{home}": str(home),
            "{folder}": str(folder),
        }
        furnish(program, home, values)
        environment = {
            "PATH": program.path(),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "ANTHROPIC_API_KEY": "any",
        }
        if confined:
            wall: Any = stack.enter_context(_wall(port, place))
        else:
            wall = _no_wall
            environment |= stack.enter_context(_proxy(hosts))
        steps: list[Step] = []
        for number, prompt in enumerate(task.prompts):
            if number and not program.again:
                break
            words, variables = filled(program, values, prompt, bool(number))
            first = len(records) + 1
            ended = _command(
                wall, words, folder, home, environment | variables, records, time_limit
            )
            steps.append(
                Step(
                    prompt=prompt,
                    first=first,
                    last=len(records),
                    result=result(task, number, folder),
                    **ended,
                )
            )
            if ended["stopped"] or not any(each.is_message for each in records):
                break
    return Run(
        program=program,
        task=task,
        window=window,
        steps=tuple(steps),
        records=tuple(records),
        refused_hosts=tuple(dict.fromkeys(hosts)),
        unconfined=""
        if confined
        else "without bubblewrap it could reach the network and write outside its folder",
    )


def _shared(value: Any, known: dict[str, str]) -> Any:
    """Return a body whose long texts are one object with the same texts of others.

    Each request repeats the conversation, and a hundred of them would fill the memory.
    """
    if isinstance(value, str):
        return known.setdefault(value, value) if len(value) > _SHORT else value
    if isinstance(value, list):
        return [_shared(each, known) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value).items()
        return {name: _shared(each, known) for name, each in pairs}
    return value


@contextmanager
def _folder() -> Generator[str]:
    """Make a folder for a run, and remove it afterwards, whatever stands in it."""
    place = tempfile.mkdtemp(prefix="windtunnel-")
    try:
        yield str(Path(place).resolve())
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _served(answer: Answer) -> Generator[int]:
    """Answer on a free port of this machine as long as the block runs."""
    http = listen(answer)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield http.server_port
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


# -- walls -----------------------------------------------------------------------------


@contextmanager
def _wall(port: int, place: Path) -> Generator[Any]:
    """Offer the server to the inside of bubblewrap, and return what makes a command run
    there."""
    path = place / "server"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(128)

    def reach() -> socket.socket:
        return socket.create_connection(("127.0.0.1", port))

    threading.Thread(target=relay.carry, args=(listener, reach), daemon=True).start()

    def wall(words: Sequence[str], folder: Path, told: int, search: str) -> list[str]:
        call = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent"]
        call += ["--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev"]
        call += ["--proc", "/proc", "--tmpfs", "/tmp"]
        for needed in _needed(words, search):
            call += ["--ro-bind", needed, needed]
        call += ["--bind", str(place), str(place), "--chdir", str(folder)]
        script = [sys.executable, "-I", relay.__file__]
        return [*call, *script, str(port), str(path), str(told), *words]

    try:
        yield wall
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _needed(words: Sequence[str], search: str) -> list[str]:
    """List what lies below /tmp, which is hidden, and is needed all the same."""
    program = shutil.which(words[0], path=search) or words[0]
    named = [word for word in words[1:] if word.startswith("/tmp/")]
    places = [
        sys.prefix,
        str(Path(relay.__file__).parent),
        str(Path(program).parent),
        str(Path(program).resolve().parent),
        *[str(each) for each in _environments(Path(program))],
        *search.split(os.pathsep),
        *named,
    ]
    real = {str(Path(each).absolute()) for each in places if Path(each).exists()}
    return sorted(each for each in real if each.startswith("/tmp/"))


def _environments(program: Path) -> list[Path]:
    """Return the virtual environment that a program stands in, if it is in one, and the
    folders of what is installed there without being copied."""
    place = program.absolute().parent.parent
    if not (place / "pyvenv.cfg").is_file():
        return []
    lists = place.glob("lib/python*/site-packages/*.pth")
    lines = [
        line
        for file in lists
        for line in file.read_text("utf-8", "replace").splitlines()
    ]
    return [place, *(Path(line) for line in lines if line.startswith("/tmp/"))]


def _no_wall(words: Sequence[str], folder: Path, told: int, search: str) -> list[str]:
    return list(words)


@contextmanager
def _proxy(hosts: list[str]) -> Generator[dict[str, str]]:
    """Refuse every host but this machine, and note which were asked for."""

    def refuse(method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        hosts.append(path if method == "CONNECT" else headers.get("host", path))
        return refused(Refusal(403, "permission_error", "There is no network here"))

    with _served(refuse) as port:
        address = f"http://127.0.0.1:{port}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        direct = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        yield dict.fromkeys(names, address) | direct


# -- a command -------------------------------------------------------------------------


def _command(
    wall: Any,
    words: list[str],
    folder: Path,
    home: Path,
    environment: Mapping[str, str],
    records: Sequence[Record],
    time_limit: float,
) -> dict[str, Any]:
    """Run a command to its end or to its limits, and end everything that it started."""
    reading, writing = os.pipe()
    output = _Output()
    search = environment["PATH"]
    words = [shutil.which(words[0], path=search) or words[0], *words[1:]]
    began = time.monotonic()
    stopped = ""
    process = subprocess.Popen(
        wall(words, folder, writing, search),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        pass_fds=(writing,) if wall is not _no_wall else (),
    )
    reader = threading.Thread(target=_drain, args=(process.stdout, output), daemon=True)
    try:
        reader.start()
        while process.poll() is None and not stopped:
            seconds = time.monotonic() - began
            stopped = _limit(seconds, time_limit, len(records), output.size)
            time.sleep(_LOOK)
    finally:
        left = _end(process, home)
        os.close(writing)
        told = os.read(reading, 20)
        os.close(reading)
    seconds = time.monotonic() - began
    reader.join(timeout=2.0)
    code = process.returncode
    return {
        "exit_code": None if stopped else 128 - code if code < 0 else code,
        "seconds": round(seconds, 1),
        "output": output.text(),
        "stopped": stopped,
        "left": int(told or 0) if wall is not _no_wall else 0 if stopped else left,
    }


def _limit(seconds: float, time_limit: float, requests: int, printed: int) -> str:
    """Return the limit that a command has passed, "" if it has passed none."""
    if seconds > time_limit:
        return f"it wasn't done after {time_limit:,.0f} seconds"
    if requests > MOST_REQUESTS:
        return f"it asked more than {MOST_REQUESTS:,} times"
    if printed > MOST_OUTPUT:
        return f"it printed more than {MOST_OUTPUT:,} characters"
    return ""


def _drain(stream: IO[str], output: _Output) -> None:
    with stream, suppress(ValueError):
        while text := stream.read(4_096):
            output.add(text)


def _end(process: subprocess.Popen[str], home: Path) -> int:
    """Kill what a command has left: its group, and whatever has its HOME. Return how
    many processes those were, beside the command itself."""
    left = {n for n in _with_home(home) if n != process.pid}
    with suppress(ProcessLookupError, PermissionError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    for number in left:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)
    process.wait()
    return len(left)


def _with_home(home: Path) -> Iterator[int]:
    """Yield the processes of this machine that run with a HOME. Only Linux tells."""
    mark = f"HOME={home}\0".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and mark in (place / "environ").read_bytes():
                yield int(place.name)
