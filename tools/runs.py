"""Keep runs of the offline agent between processes, so that all pages share them.

A run depends on the arguments of `play` and on the house's source. Both are in its key,
so changing one line of a package forgets every run. nbval and the tests never look here,
because a comparison needs a run of its own.
"""

import hashlib
import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import joblib

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build/runs"
PACKAGES = (
    "agentlib",
    "lab/offline_api",
    "lab/session_report",
    "lab/windtunnel",
    "course",
)


def install() -> None:
    """Let `play` look for a run before it makes one, in this process."""
    from windtunnel.runner import keep_runs

    folder = KEPT / source()
    for old in KEPT.glob("*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    kept = joblib.Memory(folder, verbose=0).cache(_made, ignore=["make"])

    def look_up(arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        name = key(arguments)
        return kept(name, make) if name else make()

    keep_runs(look_up)


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
    """Hash the packages, the lock file (the agent reads the source of libraries), and
    more files."""
    hashed = hashlib.sha256((ROOT / "requirements.lock").read_bytes())
    ours = [file for package in PACKAGES for file in (ROOT / package).rglob("*")]
    for file in (*more, *sorted(ours)):
        if file.is_file() and "__pycache__" not in file.parts:
            hashed.update(
                file.relative_to(ROOT).as_posix().encode() + file.read_bytes()
            )
    return hashed.hexdigest()[:16]
