"""One process at a time works on a session file. Anybody may still read it."""

import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock

PATIENCE = 0.3
"""Seconds to wait for a lock. A killed agent's lives on for a moment in a command that
it was just starting."""


class SessionInUse(RuntimeError):
    """Another process is at work on the session file."""


def hold(path: Path, session: object) -> Callable[[], object]:
    """Keep other processes of this agent from working on a session file, and return the
    function that ends this.

    The lock is a file beside the session, `<session id>.lock`. It is removed at the
    end, and one that a killed process left locks nobody out. All sessions of a process
    share the lock until the last of them ends it, so within a process nothing is kept
    apart. If nobody calls the function, the lock ends with `session` or the process.

    Raises SessionInUse if another process has the session, and OSError if the lock's
    file can't be opened, such as for a symlink in its place, which isn't followed.
    """
    from filelock import FileLock, Timeout  # only who works on a file pays for it

    name = path.resolve().with_suffix(".lock")
    lock = FileLock(name, mode=0o600, thread_local=False, is_singleton=True)
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        raise SessionInUse(
            f"{path} is in use by another process: end that one, or begin another "
            "session"
        ) from None
    return weakref.finalize(session, _release, lock)


def _release(lock: "FileLock") -> None:
    if lock.lock_counter == 1:
        # Before the lock ends, so that the file of a process that waits is never
        # removed. Windows removes no open file, and there the lock does so itself.
        with suppress(PermissionError):
            Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
