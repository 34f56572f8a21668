"""Kill an agent in a process of its own while one of its commands waits to be run
(lesson 05).

The agent asks before each command, as in the terminal. It is killed while it waits for
the answer, so a call is always in flight and every run is the same.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from agentlib import loop
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from offline_api import client
from windtunnel.tasks.scenarios import REVIEW, Clock

SETTINGS = Settings(manual=False, keep_recent=6).scaled(32_000)
NAME = "killed"
_RUN = (
    "import sys; from windtunnel.crash import work; work(sys.argv[1], int(sys.argv[2]))"
)


def work(place: str, commands: int) -> None:
    """Do the review in `place`/work, with the session in `place`. The new process calls
    this.

    All commands may run, except number `commands`, which waits for an answer.
    """
    waiting = iter(range(commands - 1, -1, -1))

    def confirm(command: str) -> bool:
        return next(waiting) > 0 or input("waiting\n") == "yes"

    folder = Path(place, "work")
    clock = Clock()
    REVIEW.make_workspace(folder)
    llm = client(window=32_000, clock=clock)
    workspace = Workspace(folder, confirm=confirm)
    terms: Any = {"settings": SETTINGS, "clock": clock}
    with Session.create(place, session_id=NAME, **terms) as session:
        for prompt in REVIEW.prompts:
            list(loop.run(llm, prompt, workspace, session=session, **terms))


def kill_while_it_waits(place: Path, commands: int) -> int:
    """Start the agent, kill it before its command number `commands`, and return its
    exit code.

    No process can catch SIGKILL. The code is -9, and 1 on Windows. Raises ValueError if
    there is no such command.
    """
    start = [sys.executable, "-c", _RUN, str(place), str(commands)]
    with subprocess.Popen(
        start, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        if not process.stdout.readline():
            raise ValueError(
                f"the agent ended before its command {commands}; take fewer"
            )
        process.kill()
        return process.wait()
