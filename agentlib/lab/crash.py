"""Kill an agent in a process of its own while one of its commands waits to be run (lesson 05).

The agent asks before each command, as in the terminal. It is killed while it waits for the answer,
so a call is always in flight and every run is the same.
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
    """Do the renaming in `place`/work, with the session in `place`. The new process calls this."""
    folder, clock = Path(place, "work"), Clock()
    RENAME.make_workspace(folder)
    workspace = Workspace(folder, confirm=ask)
    session = Session.create(place, settings=SETTINGS, session_id=NAME, clock=clock)
    llm = _without_sdk(Server(reply, window=SETTINGS.context_window, clock=clock))
    known: dict[str, Any] = {"settings": SETTINGS, "session": session, "clock": clock}
    for _ in loop.run(llm, RENAME.prompts[0], workspace, **known):
        pass


def _without_sdk(server: Server) -> Any:
    """A client in front of the server. To import the SDK would take longer than the work."""

    def create(**asked: Any) -> SimpleNamespace:
        body = json.dumps(asked).encode()
        reply = server.answer("POST", "/v1/messages", {"x-api-key": "offline"}, body)
        if reply.status != 200:
            raise RuntimeError(reply.body.decode())
        return SimpleNamespace(to_dict=lambda: json.loads(reply.body))

    return SimpleNamespace(messages=SimpleNamespace(create=create))


def ask(command: str) -> bool:
    """Say that a command waits, and read whether it may run."""
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    return sys.stdin.readline() == "yes\n"


def kill_while_it_waits(place: Path, commands: int) -> int:
    """Start the agent, kill it before its command number `commands`, and return its exit code.

    No process can catch SIGKILL; the code is -9, and 1 on Windows. Raises ValueError if the agent
    was done before that command.
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
