"""What the tests of loop and transcripts share: small settings, a workspace with a
file, a run."""

import shutil
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentlib import loop
from agentlib.loop import Turn
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from tests.fakes import Body, Brain, Clock, client
from windtunnel.tasks.scenarios import TRACE, Scenario, fill, report_checks

SMALL = Settings(
    context_window=4_000, output_reserve=400, buffer=400, summary_tokens=100
)
"""Compacts at 3,200 tokens: after three or four readings of a.txt."""
TEXT = "".join(f"line {n} of the text\n" for n in range(150))
READ = TEXT.removesuffix("\n")
"""a.txt, and what read_file makes of it."""
ERRAND = replace(
    TRACE,
    name="errand",
    prompts=(
        "Read every Python file in the packaging/ directory one by one.",
        *TRACE.prompts,
    ),
    make_workspace=partial(
        fill, packages=["packaging"], project="fetch", largest=12_000
    ),
    pauses=(0.0, 400.0),
)
"""Read the smaller files of `packaging`, about 20,000 tokens, then `TRACE`, about
3,000."""


def a_workspace(folder: Path, **options: Any) -> Workspace:
    """`folder`/work with a.txt in it."""
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "a.txt").write_text(TEXT, newline="\n")
    return Workspace(folder / "work", **options)


def a_session(folder: Path, settings: Settings = SMALL) -> Session:
    """A session of which every byte is known: its id and its clock are fixed."""
    return Session.create(folder, settings=settings, session_id="s", clock=Clock())


def go(
    brain: Brain,
    workspace: Workspace,
    session: Session | None,
    words: str | None = "Read a.txt.",
    seen: list[Body] | None = None,
    retries: int = 0,
    **options: Any,
) -> list[Turn]:
    """Run to the end; the turns."""
    model = client(brain, seen, retries)
    options = {"settings": SMALL, "session": session, "clock": Clock()} | options
    return list(loop.run(model, words, workspace, **options))


@contextmanager
def ctrl_c(handler: Any = signal.default_int_handler) -> Generator[None]:
    """Ctrl-C does this, also where the tests run in the background and it was turned
    off."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def state(session: Session) -> dict[str, Any]:
    """All that a session is, but for its place."""
    return {
        k: v
        for k, v in vars(session).items()
        if k not in ("archives", "resumed", "size", "_end_hold")
    }


def folder(path: Path) -> Scenario:
    """Make a task of any folder: read it and report."""
    return Scenario(
        name=path.name,
        prompts=(
            "Read every Python file in this directory one by one and write a report",
        ),
        make_workspace=lambda target: shutil.copytree(path, target),
        checks=report_checks,
    )
