"""Keep runs of the offline agent between processes, so that all pages share them.

A run depends on the arguments of `play` and on agentlib's source. Both are in its key,
so changing one line of agentlib forgets every run. nbval and the tests never look here,
because a comparison needs a run of its own.
"""

import hashlib
import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import joblib

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build/runs"


def install() -> None:
    """Let `play` look for a run before it makes one, in this process."""
    from windtunnel import runner as module

    folder = KEPT / source()
    for old in KEPT.glob("*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    kept = joblib.Memory(folder, verbose=0).cache(_made, ignore=["make"])
    play = module._played.__wrapped__

    def played(task: Any, settings: Any, live: bool, *more: Any) -> Any:
        make = partial(play, task, settings, live, *more)
        name = "" if live else key((task, settings, *more))
        return kept(name, make) if name else make()

    module._played = lru_cache(maxsize=module.KEPT)(played)


def _made(name: str, make: Callable[[], Any]) -> Any:
    return make()


def key(arguments: Any) -> str:
    """Return a hash of a run's arguments, the same in every process.

    It is "" for those that can't have one, such as a function from a notebook.

    >>> key([1, partial(key, arguments="a")]) == key([1, partial(key, arguments="a")]) != key([1])
    True
    """
    with suppress(pickle.PicklingError, AttributeError, TypeError):
        if b"__main__" not in pickle.dumps(arguments):
            return joblib.hash(arguments)
    return ""


@cache
def source(*more: Path) -> str:
    """Hash agentlib, the lock file (the agent reads the source of packages), and more
    files."""
    hashed = hashlib.sha256((ROOT / "requirements.lock").read_bytes())
    for file in (*more, *sorted((ROOT / "agentlib").rglob("*"))):
        if file.is_file() and "__pycache__" not in file.parts:
            hashed.update(
                file.relative_to(ROOT).as_posix().encode() + file.read_bytes()
            )
    return hashed.hexdigest()[:16]
