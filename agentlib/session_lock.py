"""One process at a time works on a session file. Anybody may still read it."""

import weakref
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


class Hold:
    """What `hold` returns. It ends with `release`, its last reference or the
    process."""

    def __init__(self, lock: "FileLock") -> None:
        self.release = weakref.finalize(self, _release, lock)


_holds = weakref.WeakValueDictionary[Path, Hold]()


def hold(path: Path) -> Hold:
    """Keep other processes of this agent from working on a session file while the
    result lives.

    The lock is a file beside the session, `<session id>.lock`. It goes with the hold,
    and one that a killed process left locks nobody out. All sessions of one process
    share a hold, so within a process nothing is kept apart.

    Raises SessionInUse if another process has the session, and OSError if the lock's
    file can't be opened, such as for a symlink in its place, which isn't followed.
    """
    from filelock import FileLock, Timeout  # only who works on a file pays for it

    name = path.resolve()
    held = _holds.get(name)
    if held is None or not held.release.alive:
        lock = FileLock(name.with_suffix(".lock"), mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=PATIENCE)
        except Timeout:
            raise SessionInUse(
                f"{path} is in use by another process: end that one, or begin another "
                "session"
            ) from None
        held = _holds[name] = Hold(lock)
    return held


def _release(lock: "FileLock") -> None:
    # Before the lock ends, so that the file of a process that waits is never removed.
    # Windows removes no open file, and there the lock does so itself.
    with suppress(PermissionError):
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release(force=True)
