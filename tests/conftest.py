"""What every test shares: no key, no network beyond this machine, the same examples on each run."""

import os
import sys
from typing import Any

from hypothesis import settings

OURS = ("ANTHROPIC_", "CLAUDE_", "DISABLE_COMPACT", "DISABLE_AUTO_COMPACT", "MODEL_ID")
HERE = ("127.0.0.1", "::1", "localhost")

for name in list(os.environ):
    if name.startswith(OURS):
        del os.environ[name]

settings.register_profile("course", derandomize=True, deadline=None, database=None)
settings.load_profile("course")


def stay_here(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook: a test that would reach another machine stops with its address."""
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in HERE:
        raise RuntimeError(f"a test tried to reach {args[1][0]}; tests run offline")


sys.addaudithook(stay_here)
