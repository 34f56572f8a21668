"""Keep runs of the offline agent between processes, so that all pages share them.

A run depends on the arguments of `play` and on agentlib's source. Both are in its key, so changing
one line of agentlib forgets every run. nbval and the tests never look here, because a comparison
needs a run of its own.
"""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build/runs"
_PLAIN = (type(None), bool, int, float, str)


def install() -> None:
    """Let `play` look for a run before it makes one, in this process."""
    from joblib import Memory

    from agentlib.lab import play as module

    folder = KEPT / source()
    for old in KEPT.glob("*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    kept = Memory(folder, verbose=0).cache(_made, ignore=["make"])
    play = module._played.__wrapped__

    def played(task: Any, settings: Any, live: bool, *more: Any) -> Any:
        make = partial(play, task, settings, live, *more)
        try:
            key = "" if live else words((task, settings, *more))
        except TypeError:
            key = ""
        return kept(key, make) if key else make()

    module._played = lru_cache(maxsize=module.KEPT)(played)


def _made(key: str, make: Callable[[], Any]) -> Any:
    return make()


def words(value: Any) -> str:
    """Describe an argument of a run. Equal words mean equal values in every process.

    Raises TypeError for what words can't describe, such as a function from a notebook.

    >>> words([1, partial(words, value="a")])
    "[1, tools.runs.words [] {'value': 'a'}]"
    """
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(words, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{words(key)}: {words(value[key])}" for key in value)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, partial):
        return f"{words(value.func)} {words(value.args)} {words(value.keywords)}"
    if isinstance(value, FunctionType) and _ours(value):
        return f"{value.__module__}.{value.__qualname__}{_bound(value)}"
    if is_dataclass(value) and _ours(type(value)):
        named = {each.name: getattr(value, each.name) for each in fields(value)}
        return f"{type(value).__qualname__}({words(named)})"
    raise TypeError(f"no words for {value!r}")


def _ours(definition: Any) -> bool:
    return definition.__module__.startswith(("agentlib.", "tools."))


def _bound(function: FunctionType) -> str:
    """Describe the values of the function that don't stand in its source."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return f" {words(cells)}" if cells else ""


@cache
def source(*more: Path) -> str:
    """Hash agentlib, the lock file (the agent reads the source of packages), and more files."""
    hashed = hashlib.sha256((ROOT / "requirements.lock").read_bytes())
    for file in (*more, *sorted((ROOT / "agentlib").rglob("*"))):
        if file.is_file() and "__pycache__" not in file.parts:
            hashed.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return hashed.hexdigest()[:16]
