"""An agent in a process of its own, which is killed while a command waits to be run (lesson 05).

The agent asks before each command, as a person's agent does; that is where it is killed, so that a
call is always in flight and every run is the same. Not here: what is left of it (transcripts).
"""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentlib import loop
from agentlib.lab.api.server import Server
from agentlib.lab.model import reply
from agentlib.lab.tasks.scenarios import RENAME, Clock
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session

SETTINGS = Settings(auto=False, manual=False).scaled(32_000)
NAME = "killed"
_RUN = "import sys; from agentlib.lab.crash import work; work(sys.argv[1])"


def work(place: str) -> None:
    """What the process does: the renaming, in `place`/work, with its session in `place`."""
    folder, clock = Path(place, "work"), Clock()
    RENAME.make_workspace(folder)
    workspace = Workspace(folder, confirm=ask)
    session = Session.create(place, settings=SETTINGS, session_id=NAME, clock=clock)
    llm = _without_sdk(Server(reply, window=SETTINGS.context_window, clock=clock))
    known: dict[str, Any] = {"settings": SETTINGS, "session": session, "clock": clock}
    for _ in loop.run(llm, RENAME.prompts[0], workspace, **known):
        pass


def _without_sdk(server: Server) -> Any:
    """`messages.create` straight from the server: to import the SDK takes longer than the work."""

    def create(**asked: Any) -> SimpleNamespace:
        body = json.dumps(asked).encode()
        reply = server.answer("POST", "/v1/messages", {"x-api-key": "offline"}, body)
        if reply.status != 200:
            raise RuntimeError(reply.body.decode())
        return SimpleNamespace(to_dict=lambda: json.loads(reply.body))

    return SimpleNamespace(messages=SimpleNamespace(create=create))


def ask(command: str) -> bool:
    """Whether a command may run: says that it waits, and reads the answer."""
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    return sys.stdin.readline() == "yes\n"


def kill_while_it_waits(place: Path, commands: int) -> int:
    """Start the agent, allow all commands before this one (from 1), kill it then: its exit code.

    SIGKILL, which no process can catch: -9; on Windows, where it is terminated, 1. Raises
    ValueError where it was done before.
    """
    pipe = subprocess.PIPE
    start = [sys.executable, "-c", _RUN, str(place)]
    with subprocess.Popen(start, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as process:
        assert process.stdin
        assert process.stdout
        for number in range(1, commands + 1):
            if not process.stdout.readline():
                raise ValueError(f"the agent ended before its command {number}; take fewer")
            if number < commands:
                process.stdin.write("yes\n")
                process.stdin.flush()
        process.kill()
        return process.wait()
