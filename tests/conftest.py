"""What every test shares: no key, no network beyond this machine, the same examples on
each run."""

import gc
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from agentlib.tools import Workspace
    from agentlib.transcripts import Session

OURS = ("ANTHROPIC_", "CLAUDE_", "DISABLE_COMPACT", "DISABLE_AUTO_COMPACT", "MODEL_ID")
HERE = ("127.0.0.1", "::1", "localhost")
WAITING = {
    "test_returned.py": 3,  # 20 seconds, for an answer that never ends
    "test_programs.py": 15,
    "test_spending.py": 45,
    "test_readme.py": 60,
    "test_limits.py": 75,
}
"""Files whose tests mostly wait, and how many files are handed out before each."""

pytest.register_assert_rewrite("tests.course.rooms.solved")

for name in list(os.environ):
    if name.startswith(OURS):
        del os.environ[name]

# The report's days are those of the machine.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# A shell turns Ctrl-C off for what it runs in the background, and a process that a test
# starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until what is imported is frozen
gc.set_threshold(10_000, 20, 100)  # a tenth of a run's seconds would go there

settings.register_profile(
    "course", max_examples=40, derandomize=True, deadline=None, database=None
)
settings.register_profile(
    "mutants",  # that a test fails is enough: no smallest example is looked for
    settings.get_profile("course"),
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
)
settings.load_profile("course")


def stay_here(
    connect: Callable[[socket.socket, Any], Any],
) -> Callable[[socket.socket, Any], Any]:
    """Let a test that would reach another machine stop with its address.

    An audit hook would be simpler. Python calls it at each `id()`, which made replays
    slow.
    """

    def guarded(own: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple) and address[0] not in HERE:
            raise RuntimeError(f"a test tried to reach {address[0]}; tests run offline")
        return connect(own, address)

    return guarded


for method in ("connect", "connect_ex"):
    setattr(socket.socket, method, stay_here(getattr(socket.socket, method)))


@pytest.fixture
def workspace(tmp_path: Path) -> "Workspace":
    from tests.runs import a_workspace

    return a_workspace(tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> "Iterator[Session]":
    from tests.runs import a_session

    with a_session(tmp_path) as session:
        yield session


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Let the files that wait begin early, and if possible one at a time. Each takes
    nothing from two that compute. A single process keeps the order it was given."""
    if not hasattr(config, "workerinput"):
        return
    paths = dict.fromkeys(each.path for each in items)
    others = [path for path in paths if path.name not in WAITING]
    places = {path: float(n) for n, path in enumerate(others)} | {
        path: n - 0.5 for path in paths if (n := WAITING.get(path.name))
    }
    items.sort(key=lambda each: places[each.path])


def pytest_collection_finish() -> None:
    """Prepare the process that runs the tests. One that only hands them out imports
    little."""
    from tools import warm_kernel

    warm_kernel.install()
    gc.freeze()  # what was imported is never looked at again
    gc.enable()
