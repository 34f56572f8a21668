"""What every test shares: no key, no network beyond this machine, the same examples on each run."""

import gc
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from runs import a_session, a_workspace

from agentlib.tools import Workspace
from agentlib.transcripts import Session

OURS = ("ANTHROPIC_", "CLAUDE_", "DISABLE_COMPACT", "DISABLE_AUTO_COMPACT", "MODEL_ID")
HERE = ("127.0.0.1", "::1", "localhost")

for name in list(os.environ):
    if name.startswith(OURS):
        del os.environ[name]

gc.set_threshold(10_000, 20, 100)  # as `play` does: a third of a run's seconds go there

settings.register_profile("course", max_examples=50, derandomize=True, deadline=None, database=None)
settings.load_profile("course")


def stay_here(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook: a test that would reach another machine stops with its address."""
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in HERE:
        raise RuntimeError(f"a test tried to reach {args[1][0]}; tests run offline")


sys.addaudithook(stay_here)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return a_workspace(tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return a_session(tmp_path)
