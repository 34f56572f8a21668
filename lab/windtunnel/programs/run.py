"""Run a program on a task, in a HOME and a folder of its own, against a server of its
own.

No shell is in between. With bubblewrap the program reaches nothing but the server and
writes nowhere but in its folder, its HOME and a `/tmp` of its own. Without it,
`Run.unconfined` says what the program could do. Its output is kept, it is stopped at
the time limit, and its processes are ended with it.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO, Any, cast

from agentlib.api.spending import price_list
from agentlib.settings import MODEL
from agentlib.tools.shell import confines
from offline_api.__main__ import listen
from offline_api.model import Habits, reply
from offline_api.record import Record, recorded
from offline_api.server import Answer, Server
from windtunnel.programs import relay
from windtunnel.programs.program import Program, filled, furnish
from windtunnel.programs.task import Result, Task, make, result

TIME_LIMIT = 600.0
"""Seconds for each command."""
MOST_REQUESTS = 3_000
"""A program that asks more often than that is stopped."""
MOST_OUTPUT = 20_000_000
"""So is one that prints more bytes than that."""
KEPT = 20_000
"""Bytes of its output that are kept, at its beginning and at its end."""
Env = Mapping[str, str]
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix")
"""What every program may see behind the wall. Of the rest only what it needs."""
_NO_NETWORK = {
    **dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
    ),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
"""Without bubblewrap: a proxy at a port where nobody listens, for who asks for one."""
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
    unconfined: str
    """What it could do beside its work, "" under bubblewrap."""


def run(
    program: Program,
    task: Task,
    window: int,
    *,
    time_limit: float = TIME_LIMIT,
    confined: bool | None = None,
    tell: Callable[[int], object] = lambda count: None,
) -> Run:
    """Let a program work on a task and return what it did.

    `window`: tokens of the model's window. `confined`: whether bubblewrap is used; None
    if it is there. `tell` is told of each request. Raises what `check` raises.
    """
    check(program, window)
    confined = confines() if confined is None else confined
    records: list[Record] = []
    shared: dict[str, str] = {}

    def note(record: Record) -> None:
        bodies = _shared([record.request, record.answer], shared)
        records.append(replace(record, request=bodies[0], answer=bodies[1]))
        tell(len(records))

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
            environment |= _NO_NETWORK
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
        unconfined=""
        if confined
        else "without bubblewrap it could reach the network and write outside its folder",
    )


def check(program: Program, window: int) -> None:
    """Raise FileNotFoundError if there is no such program, ValueError if it takes no such
    window."""
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
    place = mkdtemp(prefix="windtunnel-")
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

    def wall(words: Sequence[str], folder: Path, env: Env) -> list[str]:
        call = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent"]
        call += ["--cap-drop", "ALL", "--dev", "/dev", "--proc", "/proc"]
        call += ["--tmpfs", "/tmp"]
        for needed in _needed(words, env):
            call += ["--ro-bind", needed, needed]
        call += ["--bind", str(place), str(place), "--chdir", str(folder)]
        script = [sys.executable, "-I", relay.__file__]
        return [*call, *script, str(port), str(path), *words]

    try:
        yield wall
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _needed(words: Sequence[str], env: Env) -> list[str]:
    """List what a command needs to see: the system, the programs of PATH and what stands
    around them, the Python of the relay, and what the command and its variables name."""
    search = env["PATH"].split(os.pathsep)
    named = [
        part
        for text in (*words[1:], *(v for name, v in env.items() if name != "PATH"))
        for part in re.split("[=:,]", text)
        if part.startswith("/") and not part.startswith("//")
    ]
    places = [
        *map(Path, _SYSTEM),
        *_around(Path(sys.executable)),
        *_around(Path(words[0])),
        Path(relay.__file__).parent,
        *(place for each in search for place in _around(Path(each, "program"))),
        *(place for each in named for place in _named(Path(each))),
    ]
    real = {place.absolute() for place in places if place.exists()}
    home = Path.home()
    wide = {place for place in real if place.resolve() in (home, *home.parents)}
    shown = real - wide
    return sorted(
        str(place) for place in shown if not shown.intersection(place.parents)
    )


def _named(place: Path) -> Iterator[Path]:
    """Yield a folder that is named, or a file with what is around it."""
    yield from [place] if place.is_dir() else _around(place)


def _around(program: Path) -> Iterator[Path]:
    """Yield a file, its folder, and what it belongs to: a folder of packages, a virtual
    environment with the Python and the sources that it is made of, or the folder around
    a `bin`. Where a link leads counts, too."""
    for file in {program.absolute(), program.resolve()}:
        yield file
        yield file.parent
        packages = [each for each in file.parents if each.name == "node_modules"]
        yield from packages[-1:]
        place = file.parent.parent
        if file.parent.name in ("bin", "shims"):
            yield place
        if (place / "pyvenv.cfg").is_file():
            yield (place / "bin/python").resolve().parent.parent
            for list in place.glob("lib/python*/site-packages/*.pth"):
                lines = list.read_text("utf-8", "replace").splitlines()
                yield from (Path(line) for line in lines if line.startswith("/"))


def _no_wall(words: Sequence[str], folder: Path, env: Env) -> list[str]:
    return list(words)


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
    search = environment["PATH"]
    words = [shutil.which(words[0], path=search) or words[0], *words[1:]]
    began = time.monotonic()
    stopped = ""
    with TemporaryFile() as output:
        process = subprocess.Popen(
            wall(words, folder, environment),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while process.poll() is None and not stopped:
                seconds = time.monotonic() - began
                printed = os.fstat(output.fileno()).st_size
                stopped = _limit(seconds, time_limit, len(records), printed)
                time.sleep(_LOOK)
        finally:
            _end(process, home)
        text = _printed(output)
    code = process.returncode
    return {
        "exit_code": None if stopped else 128 - code if code < 0 else code,
        "seconds": round(time.monotonic() - began, 1),
        "output": text,
        "stopped": stopped,
    }


def _limit(seconds: float, time_limit: float, requests: int, printed: int) -> str:
    """Return the limit that a command has passed, "" if it has passed none."""
    if seconds > time_limit:
        return f"it wasn't done after {time_limit:,.0f} seconds"
    if requests > MOST_REQUESTS:
        return f"it asked more than {MOST_REQUESTS:,} times"
    if printed > MOST_OUTPUT:
        return f"it printed more than {MOST_OUTPUT:,} bytes"
    return ""


def _printed(output: IO[bytes]) -> str:
    """Return the beginning and the end of what a command printed."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    head = output.read(KEPT)
    output.seek(max(len(head), size - KEPT))
    gap = f"\n[... {size - 2 * KEPT:,} bytes ...]\n" if size > 2 * KEPT else ""
    return f"{_text(head)}{gap}{_text(output.read())}"


def _text(printed: bytes) -> str:
    return printed.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes], home: Path) -> None:
    """Kill what a command has left: its group, and whatever has its HOME."""
    left = [*_with_home(home)]
    with suppress(ProcessLookupError, PermissionError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    for number in left:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)
    process.wait()


def _with_home(home: Path) -> Iterator[int]:
    """Yield the processes of this machine that run with a HOME. Only Linux tells."""
    mark = f"HOME={home}\0".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and mark in (place / "environ").read_bytes():
                yield int(place.name)
