"""What a lesson asks and answers: check an exercise, take a hint, predict and compare.

The exercises themselves are in `agentlib.lab.lessons.checking` and beside it.
What was predicted and passed is kept in `.progress/<lesson>.json` in the folder of the notebooks,
which git does not see. `make reset LESSON=03` forgets it.
"""

import contextlib
import json
import os
import textwrap
import traceback
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from agentlib.lab.lessons.checking import Wrong, find, lesson_of

PROGRESS = Path(".progress")
WIDTH = 72


class Said(str):
    """Text that a notebook shows as it is, without quotes, with or without `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Verdict:
    """What `check` found. True where the answer passed.

    >>> Verdict("02.1", False, "it clears the newest result.")
    02.1 not yet: it clears the newest result.
    """

    exercise: str
    passed: bool
    says: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return _wrapped(f"{self.exercise} {'passed' if self.passed else 'not yet'}: {self.says}")


def check(exercise: str, answer: Any) -> Verdict:
    """Whether the answer to this exercise is right, and why; `answer` is a value or a function.

    An answer that raises is a wrong one, never a traceback. Raises `ValueError` where there is no
    such exercise.
    """
    checker = find(exercise).check
    try:
        verdict = Verdict(exercise, True, checker(answer))
    except Wrong as wrong:
        return Verdict(exercise, False, str(wrong))
    except Exception as error:
        return Verdict(exercise, False, f"it raised {error!r}{_where(error, answer)}")
    _keep(lesson_of(exercise), "passed", exercise, True)
    return verdict


def _where(error: Exception, answer: Any) -> str:
    """The line of the answer that raised it: ", in line 2: return x / 0"."""
    file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f", in line {own[-1].lineno}: {own[-1].line}" if own else ""


def hint(exercise: str, step: int = 1) -> Said:
    """The hint number `step`, counted from 1; past the last one it says that there are no more."""
    hints = find(exercise).hints
    if not 1 <= step <= len(hints):
        return _wrapped(f"{exercise} has {len(hints)} hints, and no hint {step}.")
    return _wrapped(f"Hint {step} of {len(hints)}: {hints[step - 1]}")


_said: dict[str, dict[str, Any]] = {}
"""What this process predicted: it goes before the file, so that a notebook with None in place
of every prediction prints the same on every machine."""


def predict(name: str, **values: Any) -> Said:
    """Writes a prediction down, to be compared after the run.

    `name` begins with its lesson, "02.turns". A value None is no prediction yet.

    >>> predict("02.turns", turns=12)   # doctest: +SKIP
    You say: turns 12.
    """
    lesson = lesson_of(name)
    _said[name] = values
    if not values or any(value is None for value in values.values()):
        return Said("no prediction yet: put a number in place of None")
    _keep(lesson, "predicted", name, values)
    listed = ", ".join(f"{_words(key)} {_shown(value)}" for key, value in values.items())
    return _wrapped(f"You say: {listed}.")


def compare(name: str, **actual: Any) -> Said:
    """What was predicted beside what came out, a line for each value.

    >>> compare("02.turns", turns=17)   # doctest: +SKIP
    turns: you said 12, it is 17
    """
    said = _said[name] if name in _said else _kept(lesson_of(name), "predicted").get(name, {})
    return Said("\n".join(_compared(key, said.get(key), value) for key, value in actual.items()))


def _compared(key: str, said: Any, value: Any) -> str:
    if said is None:
        return f"{_words(key)}: you said nothing, it is {_shown(value)}"
    if _shown(said) == _shown(value) or (isinstance(said, Real) and said == value):
        return f"{_words(key)}: you said {_shown(said)}, and so it is"
    if isinstance(said, str) and isinstance(value, Real):
        return f"{_words(key)}: you said {said!r}, a text; it is {_shown(value)}"
    return f"{_words(key)}: you said {_shown(said)}, it is {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{value:,}"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


def _words(key: str) -> str:
    return key.replace("_", " ")


def _wrapped(text: str) -> Said:
    lines = (textwrap.fill(line, WIDTH, break_long_words=False) for line in text.splitlines())
    return Said("\n".join(lines))


def _kept(lesson: str, part: str) -> dict[str, Any]:
    """What the file has of this part; a missing or torn file has nothing."""
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        kept = json.loads((PROGRESS / f"{lesson}.json").read_text(encoding="utf-8"))
        return dict(kept.get(part, {}))
    return {}


def _keep(lesson: str, part: str, name: str, value: Any) -> None:
    parts = {p: _kept(lesson, p) for p in ("predicted", "passed")}
    parts[part][name] = value
    # a lesson goes on where its folder cannot be written
    with contextlib.suppress(OSError):
        PROGRESS.mkdir(exist_ok=True)
        fresh = PROGRESS / f"{lesson}.{os.getpid()}.new"
        text = json.dumps(parts, indent=1, sort_keys=True, default=str)
        fresh.write_text(text + "\n", encoding="utf-8", newline="\n")
        fresh.replace(PROGRESS / f"{lesson}.json")
