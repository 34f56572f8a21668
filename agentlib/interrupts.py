"""Ctrl-C, held back where it would leave something half done."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Generator[None]:
    """Let Ctrl-C wait until the body is done: what is on disk and what is in memory stay one."""
    if threading.current_thread() is not threading.main_thread():  # Ctrl-C does not come here
        yield
        return
    late: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: late.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if handler is None else handler)
    if late:
        signal.raise_signal(signal.SIGINT)
