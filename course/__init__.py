"""Check exercises, take hints, predict results and compare them, use the learner's
function.

Predictions are kept as long as the kernel runs. The exercises themselves are in
`checks`.
"""

import gc
import sys
import textwrap
import traceback
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from agentlib.pipeline import ContextEngine
from course import file_at_work, yours
from course.asked import ASKED, is_label, settled
from course.checking import Answer, Wrong
from course.checks import find
from offline_api.limits import TimeOver, limited, working
from windtunnel.parts import PartFailed

# A run makes many small objects and few cycles. With Python's own limits a third of its
# time would go into looking for them.
gc.set_threshold(10_000, 20, 100)

WIDTH = 72
SECONDS = file_at_work.SECONDS


class Note(str):
    """Text that a notebook shows without quotes, with or without `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Verdict:
    """The result of `check`. It is true if the answer passed.

    >>> Verdict("02.1", False, "result toolu_6 should be left whole.")
    02.1 not yet: result toolu_6 should be left whole.
    """

    exercise: str
    passed: bool
    says: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        _unseen.pop(id(self), None)
        return _wrapped(
            f"{self.exercise} {'passed' if self.passed else 'not yet'}: {self.says}"
        )


_unseen = dict[int, Verdict]()
"""Verdicts of the cell that runs, which nobody has seen yet."""


def _show_unseen(*_: Any) -> None:
    """Print the verdicts of checks that aren't the last line of their cell."""
    for verdict in [*_unseen.values()]:
        print(verdict)


def _to_be_seen(verdict: Verdict) -> Verdict:
    """Let a notebook print a verdict at the end of its cell, if nothing shows it."""
    ipython = sys.modules.get("IPython")  # a web page has none
    if ipython and (shell := ipython.get_ipython()):
        _unseen[id(verdict)] = verdict
        with suppress(ValueError):  # it isn't there yet
            shell.events.unregister("post_run_cell", _show_unseen)
        shell.events.register("post_run_cell", _show_unseen)
    return verdict


def check(exercise: str, answer: Any) -> Verdict:
    """Check an answer, which is a value or a function, and say why it is right or
    wrong.

    An answer that raises is wrong, and the verdict names its line. One that doesn't end
    is wrong, too. In a workbook a right answer that is a part of an agent goes into
    `my_agent.py`. Raises `ValueError` if there is no such exercise.
    """
    verdict = _verdict(exercise, answer)
    if not verdict:
        return _to_be_seen(verdict)
    _solved[exercise] = answer
    kept = yours.keep(exercise, answer)
    return _to_be_seen(Verdict(exercise, True, f"{verdict.says} {kept}".strip()))


def _verdict(exercise: str, answer: Any) -> Verdict:
    """Run an exercise's check."""
    asked = find(exercise)
    try:
        with limited(SECONDS, working()):
            says = asked.check(Answer(answer)) or asked.passed
    except (Wrong, PartFailed) as wrong:
        return Verdict(exercise, False, str(wrong))
    except TimeOver:
        says = f"it was stopped after {SECONDS:g} seconds. Does every loop in it end?"
        return Verdict(exercise, False, says)
    except (Exception, SystemExit) as error:
        return Verdict(exercise, False, _blame(error, answer))
    return Verdict(exercise, True, says)


_solved: dict[str, Any] = {}
"""The last right answer to each exercise. `use` takes it, and checks the same function
only once."""


def _blame(error: BaseException, answer: Any) -> str:
    """Say what raised: the answer in one of its lines, or the check that read what it
    gave."""
    code = getattr(answer, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    if own:
        given = "".join(f" with {note}" for note in _notes(error) if note)
        return f"it raised {error!r}{given}, in line {own[-1].lineno}: {own[-1].line}"
    # An error of the call itself names the function that is called.
    if code and f"{code.co_name}()" not in str(error):
        return f"what it gave can't be read: {error!r:.120}"
    return f"it raised {error!r}"


def _notes(error: BaseException) -> list[str]:
    """Return the notes of an error: what a checker gave to the function."""
    return getattr(error, "__notes__", [])


def use(exercise: str, function: Any = None) -> Any:
    """Return the learner's function if it passes the exercise, else the finished one of
    its lesson.

    The learner's is the given function, or else the last that passed its check, or the
    one in `workbook/my_agent.py`, so it is found on another day and in another lesson.
    Print in one line which of them it is. A function that raises in the check, the
    unchanged stub and None don't pass. So a lesson runs to its end before its exercises
    are solved, and nobody takes the finished function for their own. Nothing is
    written.

    >>> use("00.2", None)(600, 400, 3)
    00.2 is not solved yet, so the finished added_up runs.
    3000
    """
    chosen = find(exercise).finished
    reason = "is not solved yet, so the finished"
    is_own = function is not None and function is not chosen
    if is_own and not _refusal(exercise, function):
        chosen = function
        reason = "is solved: your"
    elif exercise in _solved:
        chosen = _solved[exercise]
        reason = "is solved: your"
    elif own := _in_the_file(exercise):
        chosen = own
        reason = f"is solved in {yours.FILE}: your"
    print(f"{exercise} {reason} {getattr(chosen, '__name__', 'answer')} runs.")
    return chosen


def _in_the_file(exercise: str) -> Any:
    """Return the learner's function for an exercise from their file, or None.

    For lesson 11's engine that is the file's `compact`, if it passes.
    """
    loaded = agent()
    if exercise == file_at_work.ENGINE and loaded.engine and loaded.functions:
        return None if _refusal(exercise, loaded.engine) else loaded.engine
    return loaded.functions.get(exercise)


def agent() -> file_at_work.Loaded:
    """Take what can be taken from the learner's file, and say once what can't be.

    The file is run each time, so no run meets what an earlier one left in it. Its parts
    are checked once, and again only when the file has changed.
    """
    folder = yours.workbook()
    text = ""
    with suppress(yours.Unreadable):
        text = yours.text_of(folder)

    def refusal(exercise: str, function: Any) -> str:
        if (text, exercise) not in _checked:
            _checked[text, exercise] = _refusal(exercise, function)
        return _checked[text, exercise]

    loaded = file_at_work.load(folder, refusal)
    for problem in loaded.problems:
        if problem not in _said:
            print(_wrapped(problem))
            _said.add(problem)
    return loaded


def so_far(lesson: str) -> ContextEngine:
    """Return the engine that the learner has built before this lesson.

    Print in one line whose each part is. Without a part of theirs it is the course's.
    """
    engine, whose = file_at_work.engine_before(lesson, agent().functions)
    print(_wrapped(whose))
    return engine


_checked: dict[tuple[str, str], str] = {}
"""Why a part of the learner's file doesn't pass, by the file's text and the exercise."""
_said: set[str] = set()
"""Problems of the learner's file that were said in this kernel."""


def _refusal(exercise: str, function: Any) -> str:
    """Run an exercise's check, and return why the function doesn't pass, "" if it does.
    Nothing is written."""
    if _solved.get(exercise) is function:
        return ""
    verdict = _verdict(exercise, function)
    return "" if verdict.passed else verdict.says


def hint(exercise: str, step: int = 1) -> Note:
    """Return the hint number `step`, counted from 1, or say that there is none."""
    hints = find(exercise).hints
    if not 1 <= step <= len(hints):
        return _wrapped(
            f"{exercise} has no hint {step}. Its last is hint {len(hints)}."
        )
    more = f' Next: hint("{exercise}", {step + 1}).' if step < len(hints) else ""
    return _wrapped(f"Hint {step} of {len(hints)}: {hints[step - 1]}{more}")


_predictions: dict[str, dict[str, Any]] = {}


def predict(name: str, *unnamed: Any, **values: Any) -> Note:
    """Write a prediction down, to be compared after the run.

    A value None is no prediction yet. A value without a name is not written down, and
    neither is one that the prediction doesn't ask for.

    >>> predict("02.turns", turns=12)
    You say: turns 12.
    """
    if unnamed:
        key = next(iter(ASKED.get(name, ["turns"])))
        return Note(
            f"Name your prediction, as in predict({name!r}, {key}={unnamed[0]!r})."
        )
    values, wrong = settled(name, values)
    _predictions[name] = values
    if wrong:
        return _wrapped(". ".join(wrong) + ".")
    if not values or any(value is None for value in values.values()):
        return Note("no prediction yet: put your guess in place of None")
    listed = ", ".join(
        f"{_words(key)} {_shown(value)}" for key, value in values.items()
    )
    return _wrapped(f"You say: {listed}.")


def compare(name: str, **actual: Any) -> Note:
    """Set the prediction beside the result, a line for each value.

    >>> _ = predict("02.turns", turns=12)
    >>> compare("02.turns", turns=17)
    turns: you said 12, it is 17, 5 more
    """
    values = _predictions.get(name, {})
    lines = [
        f"{_words(key)}: {_compared(values.get(key), actual[key], is_label(name, key))}"
        for key in actual
    ]
    lines += [
        f"{key}: not asked, only {', '.join(actual)}" for key in values.keys() - actual
    ]
    return Note("\n".join(lines))


def _compared(prediction: Any, value: Any, label: bool = False) -> str:
    if prediction is None:
        return f"you said nothing, it is {_shown(value)}"
    if label and prediction != value:
        return f"you said {_shown(prediction)}, it is {_shown(value)}"
    if isinstance(prediction, str) and not isinstance(value, str):
        form = "True or False" if isinstance(value, bool) else "a number"
        return f"you said the text {prediction!r}. Give {form}. It is {_shown(value)}"
    if prediction == value or _shown(prediction) == _shown(value):
        return f"you said {_shown(prediction)}, and so it is"
    return f"you said {_shown(prediction)}, it is {_shown(value)}{_distance(prediction, value)}"


def _distance(prediction: Any, value: Any) -> str:
    """How near a number came: ", 5 less" or, for a large one, ", 12% more"."""
    pair = (prediction, value)
    if any(isinstance(each, bool) or not isinstance(each, Real) for each in pair):
        return ""
    off = abs(value - prediction)
    side = "more" if value > prediction else "less"
    large = isinstance(value, Integral) and abs(int(value)) >= 1_000
    return (
        f", {100 * off / abs(value):.2g}% {side}"
        if large
        else f", {_shown(off)} {side}"
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{value:,}"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


def _words(key: str) -> str:
    return key.replace("_", " ")


def _wrapped(text: str) -> Note:
    lines = (
        textwrap.fill(line, WIDTH, break_long_words=False) for line in text.splitlines()
    )
    return Note("\n".join(lines))
