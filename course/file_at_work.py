"""A learner's `my_agent.py` at work: what runs of it, and what the course's stands in for.

Whatever stands in the file, it is run part by part, and what can't run is named with its
line.
"""

import ast
import linecache
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentlib import pipeline
from agentlib.pipeline import ContextEngine
from course.checks import find
from course.part_source import names_used
from course.parts_list import FILLED, IMPORTS, LESSONS, NUMBERS, PARTS, layers_of
from course.yours import (
    COMPACT,
    FILE,
    Unreadable,
    definitions,
    read,
    sections,
    slip_in,
    text_of,
)
from offline_api.limits import TimeOver, limited, working

ENGINE = "11.1"
"""The exercise that the file's `compact` may answer."""
SECONDS = 10
"""After which code that doesn't end is stopped."""
Refusal = Callable[[str, Any], str]
"""(exercise, answer) -> why it doesn't pass, "" if it does."""


@dataclass
class Loaded:
    """What could be taken from a learner's file."""

    functions: dict[str, Callable[..., Any]] = field(
        default_factory=dict[str, Callable[..., Any]]
    )
    """The learner's functions by exercise, those that pass its check."""
    problems: list[str] = field(default_factory=list[str])
    """A line for each thing that could not be taken, with its place in the file."""
    stand_ins: list[str] = field(default_factory=list[str])
    """Names of the parts in whose place the course's function runs."""
    engine: Callable[..., Any] | None = None
    """The file's `compact`, with the course's function where a part can't be taken."""

    @property
    def count(self) -> tuple[int, int]:
        """Parts of the engine that are the learner's, and all of them."""
        of_engine = [name for name, part in PARTS.items() if part.is_of_engine]
        return sum(name in self.functions for name in of_engine), len(of_engine)

    @property
    def name(self) -> str:
        """What a run of the engine is called in a table."""
        whose = f" ({', '.join(self.stand_ins)}: the course's)" * bool(self.stand_ins)
        return "yours, {} of {} parts".format(*self.count) + whose


def contents(folder: Path | None, loaded: Loaded | None = None) -> str:
    """Return the table of contents of a workbook's file: a line for each part.

    `loaded`: what runs of it. None: nobody has looked, so each part counts.
    """
    try:
        file = read(folder)
    except Unreadable as error:
        return f"{error}."
    if not file.parts:
        return f"Your agent has no part yet. What passes goes into workbook/{FILE}."
    lines = file.text().count("\n")
    rows = [f"Your agent so far, workbook/{FILE}, {lines} lines:"]
    if NUMBERS in file.sections:
        rows.append(f"  -     {NUMBERS:12} Its own numbers")
    runs = file.parts if loaded is None else loaded.functions
    for name in file.parts:
        part = PARTS[name]
        beside = f" ({part.beside})" if part.beside else ""
        beside = beside if name in runs else " (the course's runs)"
        rows.append(f"  {name}  {part.name:12} {part.title}{beside}")
    if COMPACT in file.sections:
        whose = "yours" if file.has_own_compact else "written by the course"
        rows.append(f"  -     {COMPACT:12} What the next request sends ({whose})")
    of_engine = [name for name, part in PARTS.items() if part.is_of_engine]
    solved = sum(name in runs for name in of_engine)
    rows.append(f"{solved} of the {len(of_engine)} parts that an engine can have.")
    return "\n".join(rows)


def engine_before(
    lesson: str, functions: Mapping[str, Callable[..., Any]]
) -> tuple[ContextEngine, str]:
    """Put the learner's parts of earlier lessons together, and say whose each part is.

    `functions` are the learner's by exercise. Where clearing or what stays isn't
    solved, the finished function is in its place. Other parts are then absent, because
    the layers do without them. With no part of the learner's it is the course's own
    engine.
    """
    earlier = [name for name in PARTS if PARTS[name].is_of_engine and name < lesson]
    mine = [name for name in earlier if name in functions]
    others = [name for name in earlier if name not in functions]
    if not mine:
        return pipeline.compact, f"This agent is the course's: {_named(others)}."
    filled = [name for name in others if name in FILLED]
    absent = [name for name in others if name not in FILLED]
    chosen = {name: functions.get(name, find(name).finished) for name in earlier}
    module: dict[str, Any] = {"__name__": "my_agent"}
    exec(IMPORTS, module)
    module |= {PARTS[name].name: chosen[name] for name in (*mine, *filled)}
    exec(compile(layers_of([*mine, *filled], False), FILE, "exec"), module)
    groups = {"yours": mine, "the course's": filled, "not in it yet": absent}
    says = [f"{whose}: {_named(each)}" for whose, each in groups.items() if each]
    return module[COMPACT], f"The parts of this agent. {'; '.join(says).capitalize()}."


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {PARTS[name].name}" for name in names)


def load(folder: Path | None, refusal: Refusal) -> Loaded:
    """Take what can be taken from a workbook's file; `refusal` runs an exercise's check.

    What has a slip, raises, never ends, or no longer passes is named with its line, and
    the course's function stands in for it. The others still run.
    """
    try:
        text = text_of(folder)
    except Unreadable as error:
        return Loaded(problems=[f"{error}."])
    return (
        _Loading(Path(folder or "") / FILE, text, refusal).done() if text else Loaded()
    )


class _Loading:
    """One file on its way into a module."""

    def __init__(self, path: Path, text: str, refusal: Refusal) -> None:
        self.path = str(path)
        self.refusal = refusal
        self.sections = sections(text)
        self.loaded = Loaded()
        self.module = types.ModuleType("my_agent")
        self.module.__file__ = self.path
        linecache.checkcache(self.path)

    def done(self) -> Loaded:
        self._fill_in()
        for section, above, code in self.sections:
            has_run = self._run(code, above)
            names = {name: above + line for name, line in definitions(code).items()}
            if section == NUMBERS or NUMBERS in names:
                self._take_numbers(code, above)
            inside = [name for name in PARTS if PARTS[name].name in names]
            for exercise in dict.fromkeys([*inside, *[section] * (section in PARTS)]):
                line = names.get(PARTS[exercise].name, above + 1)
                self._take(exercise, has_run, line)
        engine = getattr(self.module, COMPACT, None)
        self.loaded.engine = engine if callable(engine) else None
        return self.loaded

    def _problem(self, line: int, what: str) -> None:
        words = what.rstrip(".?")
        self.loaded.problems.append(f"{FILE}, line {line}: {words}.")

    def _fill_in(self) -> None:
        """Put the course's functions where the file uses one that isn't in it any more."""
        texts = [code for _, _, code in self.sections]
        defined = {name for text in texts for name in definitions(text)}
        used = {name for text in texts for name in names_used(text)}
        there = {section for section, _, _ in self.sections}
        if NUMBERS in used - defined and NUMBERS not in there:
            setattr(self.module, NUMBERS, dict(LESSONS))
            self.loaded.problems.append(
                f"{FILE}: {NUMBERS} isn't there any more, so lesson 02's numbers count."
            )
        for exercise, part in PARTS.items():
            if part.name in used - defined and exercise not in there:
                self._stand_in(exercise)
                self.loaded.problems.append(
                    f"{FILE}: `{part.name}` ({exercise}) isn't there any more, so the "
                    "course's runs."
                )

    def _stand_in(self, exercise: str) -> None:
        part = PARTS[exercise]
        setattr(self.module, part.name, find(exercise).finished)
        if part.is_of_engine:
            self.loaded.stand_ins.append(part.name)

    def _run(self, code: str, above: int) -> bool:
        """Run a section in the file's module, and note what fails. `above` lines of the
        file stand above it."""
        if slip := slip_in(code):
            self._problem(above + slip[0], slip[1])
            return False
        tree = ast.increment_lineno(ast.parse(code, self.path), above)
        has_run = True
        for statement in tree.body:
            block = compile(ast.Module([statement], []), self.path, "exec")
            try:
                with limited(SECONDS, working()):
                    exec(block, self.module.__dict__)
            except TimeOver:
                what = f"this doesn't end, so it was stopped after {SECONDS} seconds"
                self._problem(statement.lineno, what)
                has_run = False
            except (Exception, SystemExit) as error:  # whatever the learner put there
                what = str(error) or repr(error)
                self._problem(self._line_of(error, statement.lineno), what)
                has_run = False
        return has_run

    def _line_of(self, error: BaseException, line: int) -> int:
        trace = error.__traceback__
        while trace:
            if trace.tb_frame.f_code.co_filename == self.path:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def _take(self, exercise: str, has_run: bool, line: int) -> None:
        """Take one part if it passes, or else put the course's function in its place."""
        name = PARTS[exercise].name
        function = getattr(self.module, name, None)
        if not has_run:
            why = ""
        elif function is None:
            why = f"`{name}` ({exercise}) isn't there any more"
        elif refused := self.refusal(exercise, function):
            why = f"`{name}` doesn't pass {exercise}: {refused.rstrip('.')}"
            if refused.startswith("it raised"):
                why = f"`{name}` {refused.removeprefix('it ').rstrip('.')}"
        else:
            self.loaded.functions[exercise] = function
            return
        if why:
            self._problem(line, f"{why}; the course's runs")
        self._stand_in(exercise)

    def _take_numbers(self, code: str, above: int) -> None:
        """Take the numbers if they are settings, or else lesson 02's."""
        numbers: Any = getattr(self.module, NUMBERS, None)
        line = above + definitions(code).get(NUMBERS, 1)
        if isinstance(numbers, dict):
            wrong = _wrong_setting(numbers)
            if wrong is None:
                return
            lines = enumerate(code.splitlines(), above + 1)
            line = next((n for n, text in lines if str(wrong[0]) in text), line)
            self._problem(line, f"{wrong[1]}. Until then lesson 02's numbers count")
        elif numbers is not None:
            self._problem(line, f"{NUMBERS} should be a dict; lesson 02's count")
        setattr(self.module, NUMBERS, dict(LESSONS))


def _wrong_setting(numbers: Any) -> tuple[Any, str] | None:
    """Return the first name that no setting has, or whose value doesn't fit, and why."""
    for name, value in numbers.items():
        try:
            pipeline.stacked(numbers={name: value})
        except (TypeError, ValueError) as error:
            return name, str(error)
    return None
