"""Stop a function that doesn't end: an engine before the judge, an answer to an
exercise."""

import contextlib
import ctypes
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

Clock = Callable[[], float]
AGAIN = 0.2
"""Seconds after which a `TimeOver` that had no effect is raised once more."""


class TimeOver(BaseException):
    """The time is over. A function's own `except Exception` doesn't catch this."""


class _TimeOverAgain(TimeOver):
    """Raised in a function that caught the first one, as a bare `except` does.

    A loop around such a `try` would catch each one that is raised inside of it. So this
    one lets the next line raise as well, which is a line of the handler.
    """

    def __init__(self) -> None:
        super().__init__()
        frame = _caller()
        own = _LIMITS.get(threading.get_ident())
        while own and frame and frame is not own.frame:
            frame.f_trace = _raise
            frame = frame.f_back
        if own:
            sys.settrace(_raise)


def _raise(frame: FrameType, event: str, arg: Any) -> Any:
    """Raise at the next line that isn't this module's own. Python then stops
    tracing."""
    own = frame.f_code.co_filename in (__file__, contextlib.__file__)
    if event in ("line", "call") and not own:
        raise TimeOver
    return _raise


@dataclass
class _Limit:
    clock: Clock
    end: float
    frame: FrameType
    """The one whose block is limited."""
    sent: float | None = None
    """When `TimeOver` was raised last, as `time.monotonic` counts."""


def working() -> Clock:
    """Make a clock of the seconds that this process works.

    It counts CPU time, so that a busy machine takes nothing from an answer. While the
    process sleeps or waits and uses none, three seconds count as one.
    """
    seen = (time.process_time(), time.monotonic())
    total = 0.0

    def clock() -> float:
        nonlocal seen, total
        before, seen = seen, (time.process_time(), time.monotonic())
        used, passed = (new - old for new, old in zip(seen, before, strict=True))
        total += used if used > passed / 10 else passed / 3
        return total

    return clock


_LIMITS = dict[int, _Limit]()
"""The limit of each thread."""
_LOCK = threading.Lock()
"""Held while somebody looks at the limits."""


@contextmanager
def limited(seconds: float, clock: Clock = time.monotonic) -> Generator[None]:
    """Raise `TimeOver` in this thread after so many seconds, and again until the block
    ends.

    Within another limit only the inner one counts. A call that waits outside of Python,
    such as one long sleep, is stopped in the main thread, but not on Windows; anywhere
    else it is only stopped when it returns. One thread watches over all calls, because a
    timer for each would take longer than most engines do.

    In a web page there are no threads, so nothing is limited: the page ends its Python.
    """
    if sys.platform == "emscripten":
        yield
        return
    here = threading.get_ident()
    if _is_main(here) and signal.getsignal(signal.SIGURG) == signal.SIG_DFL:
        signal.signal(signal.SIGURG, lambda number, frame: None)  # ends a sleep
    tracer = sys.gettrace()
    manager = _caller()  # enters the block for the one who called it
    assert manager
    assert manager.f_back
    block = manager.f_back
    with _LOCK:
        outer = _LIMITS.get(here)
        _LIMITS[here] = _Limit(clock, clock() + seconds, block)
        if not any(each.name == _watch.__name__ for each in threading.enumerate()):
            threading.Thread(target=_watch, name=_watch.__name__, daemon=True).start()
    try:
        yield
    finally:
        while True:
            try:
                with _LOCK:
                    _LIMITS.pop(here, None)
                for _ in range(9):  # one that was sent before raises here
                    pass
                break
            except TimeOver:
                continue
        if outer:
            with _LOCK:
                _LIMITS[here] = outer
        if sys.gettrace() is not tracer:
            sys.settrace(tracer)


def _caller() -> FrameType | None:
    """Return the frame that called the function which calls this one."""
    own = inspect.currentframe()
    caller = own.f_back if own else None
    return caller.f_back if caller else None


def _watch() -> None:
    while True:
        time.sleep(0.02)
        with _LOCK:
            for thread, limit in list(_LIMITS.items()):
                now = time.monotonic()
                is_late = limit.clock() > limit.end
                if not is_late or (limit.sent and now < limit.sent + AGAIN):
                    continue
                newest = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
                if not _is_running(limit.frame, newest):
                    del _LIMITS[thread]  # the block was left without its end
                    continue
                _send(thread, _TimeOverAgain if limit.sent else TimeOver)
                if _is_main(thread):
                    signal.pthread_kill(thread, signal.SIGURG)
                limit.sent = now


def _is_main(thread: int) -> bool:
    """Tell whether signals reach this thread."""
    return os.name != "nt" and thread == threading.main_thread().ident


def _is_running(block: FrameType, newest: FrameType | None) -> bool:
    while newest and newest is not block:
        newest = newest.f_back
    return newest is block


def _send(thread: int, error: type[TimeOver]) -> None:
    """Let a thread raise this next.

    One that is sent can't be taken back. Python 3.11 then goes on looking for it, and never
    ends once somebody traces, as a debugger does.
    """
    what = ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)
