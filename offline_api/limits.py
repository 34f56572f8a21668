"""Stop a function that doesn't end: an engine before the judge, an answer to an
exercise."""

import ctypes
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

Clock = Callable[[], float]
_LIMITS, _LOCK = dict[int, tuple[Clock, float]](), threading.Lock()
"""For each thread a clock and when its time is over, and who may look at it."""


class TimeOver(BaseException):
    """The time is over. A function's own `except Exception` doesn't catch this."""


@contextmanager
def limited(seconds: float, clock: Clock = time.monotonic) -> Generator[None]:
    """Raise `TimeOver` in this thread after so many seconds.

    Within another limit only the inner one counts. A call that waits outside of Python,
    such as one long sleep, is only stopped when it returns. One thread watches over all
    calls, because a timer for each would take longer than most engines do.
    """
    here = threading.get_ident()
    with _LOCK:
        outer, _LIMITS[here] = _LIMITS.pop(here, None), (clock, clock() + seconds)
        if not any(each.name == _watch.__name__ for each in threading.enumerate()):
            threading.Thread(target=_watch, name=_watch.__name__, daemon=True).start()
    try:
        yield
    finally:
        with _LOCK:
            _LIMITS.pop(here, None)
            if outer:
                _LIMITS[here] = outer


def _watch() -> None:
    while True:
        time.sleep(0.02)
        with _LOCK:
            for late in [
                thread for thread, (clock, end) in _LIMITS.items() if clock() > end
            ]:
                del _LIMITS[late]
                thread, error = ctypes.c_ulong(late), ctypes.py_object(TimeOver)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)
