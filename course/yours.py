"""`workbook/my_agent.py`: the file that a learner writes by passing exercises.

When an exercise that is a part of an engine passes, its function goes into the file,
under a heading with the lesson it is from and whose it is. At the end stands the
`compact` that puts the parts together, written by the course until the learner changes
it. The file is written in a workbook and nowhere else: not in `notebooks/`, not in CI,
not by a web page.
"""

import ast
import hashlib
import json
import linecache
import os
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from agentlib import pipeline
from agentlib.pipeline import ContextEngine
from course.part_source import CannotStand, names_used, source_of
from course.parts_list import (
    COMPACT_IMPORTS,
    FILLED,
    NUMBERS,
    PARTS,
    compact_of,
    numbers_of,
)
from course.rooms import find

FILE = "my_agent.py"
LOCK = f".{FILE}.lock"
WRITTEN = f".{FILE}.json"
"""How each section was written: its checksum."""
MARK = ".copied.json"
"""A folder with this file is a workbook."""
COMPACT = "compact"
ENGINE = "11.1"
"""The exercise that the file's `compact` may answer."""
_UNITS = (
    "# threshold and summary_tokens are shares of the window, min_chars is characters\n"
)
_HEADING = re.compile(r"^# -- (\d\d\.\d|NUMBERS|compact)\b.*$", re.MULTILINE)
_TITLE = (
    '"""My agent, as far as I have come.\n\n'
    "Run it from the folder above this one:\n"
    '.venv/bin/python -m agentlib --engine workbook/my_agent.py:compact "…"\n"""'
)


@dataclass
class AgentFile:
    """`my_agent.py` in its sections. `text` is the file again."""

    sections: dict[str, str] = field(default_factory=dict[str, str])
    """The code below each heading, by the heading's first word, such as "02.2"."""
    imports: dict[str, str] = field(default_factory=dict[str, str])
    """The import statement of each name."""
    own_lines: str = ""
    """What the learner wrote above the first heading, imports apart."""

    @property
    def parts(self) -> list[str]:
        """The exercises that are in the file, in its order."""
        return [name for name in PARTS if name in self.sections]

    @property
    def has_own_compact(self) -> bool:
        """Whether the learner changed the `compact` that the course wrote."""
        written = compact_of(self.parts, NUMBERS in self.sections)
        return self.sections.get(COMPACT, written).strip() != written.strip()

    def text(self) -> str:
        """Return the file: imports that are needed, numbers, parts, and `compact`."""
        order = [NUMBERS, *PARTS, COMPACT]
        code = [(name, self.sections[name]) for name in order if name in self.sections]
        used = {each for _, text in code for each in names_used(text)}
        used |= {*names_used(self.own_lines)} if self.own_lines else set()
        lines = {self.imports[name] for name in used if name in self.imports}
        top = [_TITLE, _grouped(lines), self.own_lines.strip()]
        blocks = [f"{_heading(name)}\n{text.strip()}" for name, text in code]
        return "\n\n\n".join(["\n\n".join(filter(None, top)), *blocks]) + "\n"


def parsed(text: str) -> AgentFile:
    """Read the text of a file into its sections. A slip in one leaves the others whole."""
    marks = [*_HEADING.finditer(text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    above = text[: marks[0].start()] if marks else text
    file = AgentFile()
    for mark, end in zip(marks, ends, strict=True):
        file.sections[mark[1]] = text[mark.end() : end].strip() + "\n"
    file.imports = imports_in(above)
    file.own_lines = _without_imports(above)
    return file


def imports_in(text: str) -> dict[str, str]:
    """Return a statement for each name that the import lines of a text bring in.

    >>> imports_in("from a.b import c, d as e")
    {'c': 'from a.b import c', 'e': 'from a.b import d as e'}
    """
    found: dict[str, str] = {}
    for node in _statements(text):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                place = (
                    f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                )
                found[alias.asname or alias.name] = f"{place}import {one}"
    return found


def _statements(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []


def _without_imports(text: str) -> str:
    """Return what stands above the first heading, without docstring and imports."""
    lines = text.splitlines()
    for node in _statements(text):
        is_docstring = isinstance(node, ast.Expr) and node.lineno == 1
        if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(line for line in lines if line.strip())


def _grouped(statements: Iterable[str]) -> str:
    """Write import statements: sorted, with as many names in a line as fit into 88.

    >>> print(_grouped(["from a import c", "from a import b", "import re"]))
    import re
    from a import b, c
    """
    plain = sorted(each for each in statements if each.startswith("import "))
    names: dict[str, list[str]] = {}
    for each in statements:
        if each.startswith("from "):
            module, _, name = each.removeprefix("from ").partition(" import ")
            names.setdefault(module, []).append(name)
    theirs = [*plain]
    ours: list[str] = []
    for module in sorted(names):
        listed = sorted(names[module], key=lambda name: (not name.isupper(), name))
        lines = ours if module.startswith("agentlib") else theirs
        start = f"from {module} import "
        wrapped = textwrap.wrap(", ".join(listed), 88 - len(start))
        lines += [start + line.rstrip(",") for line in wrapped]
    return "\n\n".join(filter(None, ["\n".join(theirs), "\n".join(ours)]))


def _heading(name: str) -> str:
    """Return the line above a section."""
    if name == NUMBERS:
        return "# -- NUMBERS My agent's own numbers (yours)"
    if name == COMPACT:
        return "# -- compact What the next request sends (the course's, until you change it)"
    return f"# -- {name} {PARTS[name].title} (yours)"


# -- the file on disk ------------------------------------------------------------------


def workbook() -> Path | None:
    """Return the workbook that this notebook stands in, None anywhere else."""
    folder = Path.cwd()
    return folder if (folder / MARK).is_file() and "CI" not in os.environ else None


def text_of(folder: Path | None) -> str:
    """Return the text of a workbook's file, "" if there is none."""
    path = folder / FILE if folder else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""


def read(folder: Path | None) -> AgentFile:
    """Read a workbook's file. Without one there are no sections."""
    return parsed(text) if (text := text_of(folder)) else AgentFile()


def keep(exercise: str, answer: Any) -> str:
    """Put a right answer into the workbook's file, and return a line about it.

    The line is "" where nothing is kept: outside a workbook, for an exercise that is no
    part of an agent, for the course's own function, and for one that is there already.
    """
    folder = workbook()
    if folder is None or not (exercise in PARTS or numbers_of(exercise, answer)):
        return ""
    if exercise in PARTS and _is_the_courses(answer):
        return ""
    with FileLock(folder / LOCK, timeout=10):
        file = read(folder)
        before = file.text() if file.sections else ""
        try:
            if _is_edited(folder, file, exercise):
                raise CannotStand(
                    "somebody edited it there; delete it to take this one"
                )
            put(file, exercise, answer)
        except CannotStand as reason:
            kept = " The one from before stays." if exercise in file.sections else ""
            return f"It is not in {FILE}, because {reason}.{kept}"
        text = file.text()
        if text == before:
            return ""
        _write(folder / FILE, text)
        _note(folder, file, exercise)
    renamed = ""
    if exercise in PARTS and answer.__name__ != PARTS[exercise].name:
        renamed = f", as `{PARTS[exercise].name}`"
    return f"It stands in workbook/{FILE}{renamed}{_about_compact(file, exercise)}."


def remove(folder: Path, exercises: Iterable[str]) -> None:
    """Take parts out of a workbook's file, with their lines in `compact`."""
    with FileLock(folder / LOCK, timeout=10):
        file = read(folder)
        is_theirs = file.has_own_compact
        for exercise in exercises:
            file.sections.pop(exercise, None)
        if not is_theirs:
            _rewrite_compact(file)
        _write(folder / FILE, file.text())
        _note(folder, file)


def _note(folder: Path, file: AgentFile, written: str = "") -> None:
    """Note how a section was written, to tell later whether somebody edited it."""
    known = {
        name: text for name, text in _noted(folder).items() if name in file.sections
    }
    if written in file.sections:
        known[written] = _sum(file.sections[written])
    _write(folder / WRITTEN, json.dumps(known, indent=1) + "\n")


def _noted(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / WRITTEN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _is_edited(folder: Path, file: AgentFile, exercise: str) -> bool:
    """Tell whether a part isn't as it was written. Without a note nobody knows."""
    known = _noted(folder).get(exercise)
    text = file.sections.get(exercise)
    return None not in (known, text) and _sum(str(text)) != known


def _sum(text: str) -> str:
    return hashlib.sha256(text.strip().encode()).hexdigest()


def _rewrite_compact(file: AgentFile) -> None:
    """Write the `compact` that fits the parts. Without a part there is none."""
    file.sections.pop(COMPACT, None)
    if any(PARTS[name].is_of_engine for name in file.parts):
        file.sections[COMPACT] = compact_of(file.parts, NUMBERS in file.sections)
        file.imports |= imports_in(COMPACT_IMPORTS)


def put(file: AgentFile, exercise: str, answer: Any) -> None:
    """Put an answer into its section. Raises CannotStand if it can't stand in a file."""
    if exercise in PARTS:
        _check_alone(file, exercise)
    is_theirs = file.has_own_compact
    if numbers := numbers_of(exercise, answer):
        known = _numbers_in(file) | numbers
        lines = "".join(f"    {name!r}: {value!r},\n" for name, value in known.items())
        file.sections[NUMBERS] = f"{_UNITS}NUMBERS = {{\n{lines}}}\n".replace("'", '"')
    else:
        others = frozenset(PARTS[name].name for name in PARTS)
        source = source_of(answer, PARTS[exercise].name, others)
        used = names_used(source.text)
        absent = [name for name, part in PARTS.items() if part.name in used]
        absent = [name for name in absent if name not in (exercise, *file.sections)]
        if absent:
            raise CannotStand(
                f"it uses `{PARTS[absent[0]].name}`, and {absent[0]} isn't in the file "
                f"yet; solve that, and then check {exercise} again"
            )
        file.sections[exercise] = source.text
        file.imports |= source.imports
    if not is_theirs:
        _rewrite_compact(file)


def _check_alone(file: AgentFile, exercise: str) -> None:
    """Raise CannotStand if another section defines the part's name, such as one whose
    heading was deleted."""
    name = PARTS[exercise].name
    for section, text in file.sections.items():
        defined = [
            node.name for node in _statements(text) if isinstance(node, ast.FunctionDef)
        ]
        if section != exercise and name in defined:
            raise CannotStand(
                f"`{name}` stands below the heading of {section} there; delete it, or "
                f"put `{_heading(exercise)}` above it"
            )


def _numbers_in(file: AgentFile) -> dict[str, Any]:
    for node in _statements(file.sections.get(NUMBERS, "")):
        if isinstance(node, ast.Assign):
            return ast.literal_eval(node.value)
    return {}


def _about_compact(file: AgentFile, exercise: str) -> str:
    if file.has_own_compact and exercise in PARTS and PARTS[exercise].is_of_engine:
        return f"; `compact` there is yours, so call `{PARTS[exercise].name}` in it yourself"
    return ""


def _is_the_courses(answer: Any) -> bool:
    return str(getattr(answer, "__module__", "")).partition(".")[0] in (
        "course",
        "agentlib",
    )


def _write(path: Path, text: str) -> None:
    """Write under another name and rename, so that a reader sees the old or the new."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(path)


# -- the file at work ------------------------------------------------------------------


@dataclass
class Loaded:
    """What could be taken from a learner's file."""

    functions: dict[str, Callable[..., Any]] = field(
        default_factory=dict[str, Callable[..., Any]]
    )
    """The learner's functions by exercise, those that pass its check."""
    problems: list[str] = field(default_factory=list[str])
    """A line for each section that could not be taken, with its place in the file."""
    engine: Callable[..., Any] | None = None
    """The file's `compact`, with the course's function where a part can't be taken."""

    @property
    def count(self) -> tuple[int, int]:
        """Parts of the engine that are the learner's, and all of them."""
        engine = [name for name, part in PARTS.items() if part.is_of_engine]
        return len([name for name in engine if name in self.functions]), len(engine)


def contents(folder: Path | None) -> str:
    """Return the table of contents of a workbook's file: a line for each part."""
    file = read(folder)
    if not file.parts:
        return f"Your agent has no part yet. What passes goes into workbook/{FILE}."
    lines = file.text().count("\n")
    rows = [f"Your agent so far, workbook/{FILE}, {lines} lines:"]
    if NUMBERS in file.sections:
        rows.append(f"  -     {NUMBERS:12} Its own numbers")
    for name in file.parts:
        beside = "" if PARTS[name].is_of_engine else " (for a loop of your own)"
        rows.append(f"  {name}  {PARTS[name].name:12} {PARTS[name].title}{beside}")
    if COMPACT in file.sections:
        whose = "yours" if file.has_own_compact else "written by the course"
        rows.append(f"  -     {COMPACT:12} What the next request sends ({whose})")
    of_engine = [name for name in PARTS if PARTS[name].is_of_engine]
    solved = len([name for name in of_engine if name in file.sections])
    rows.append(f"{solved} of the {len(of_engine)} parts that an engine can have.")
    return "\n".join(rows)


def engine_before(
    lesson: str, functions: Mapping[str, Callable[..., Any]]
) -> tuple[ContextEngine, str]:
    """Put the learner's parts of earlier lessons together, and say whose each part is.

    `functions` are the learner's by exercise. Where clearing or what stays isn't
    solved, the finished function is in its place. Other parts are then absent, because
    the template does without them. With no part of the learner's it is the course's
    own engine.
    """
    earlier = [name for name in PARTS if PARTS[name].is_of_engine and name < lesson]
    mine = [name for name in earlier if name in functions]
    others = [name for name in earlier if name not in functions]
    if not mine:
        return pipeline.compact, f"This agent is the course's: {_named(others)}."
    filled = [name for name in others if name in FILLED]
    absent = [name for name in others if name not in FILLED]
    chosen = {name: functions.get(name, find(name).finished) for name in earlier}
    names = {PARTS[name].name: chosen[name] for name in (*mine, *filled)}
    module: dict[str, Any] = {"__name__": "my_agent"}
    exec(COMPACT_IMPORTS, module)
    module |= names
    exec(compile(compact_of([*mine, *filled], False), FILE, "exec"), module)
    groups = {"yours": mine, "the course's": filled, "not in it yet": absent}
    says = [f"{whose}: {_named(each)}" for whose, each in groups.items() if each]
    return module[COMPACT], f"The parts of this agent. {'; '.join(says).capitalize()}."


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {PARTS[name].name}" for name in names)


def load(folder: Path | None, passes: Callable[[str, Any], bool]) -> Loaded:
    """Take what can be taken from a workbook's file; `passes` runs an exercise's check.

    A section with a slip, a bad import or an answer that no longer passes is named with
    its line, and the course's function stands in for it. The others still run.
    """
    loaded = Loaded()
    path = folder / FILE if folder else None
    if path is None or not path.is_file():
        return loaded
    text = path.read_text(encoding="utf-8")
    module = types.ModuleType("my_agent")
    module.__file__ = str(path)
    linecache.checkcache(str(path))
    marks = [*_HEADING.finditer(text)]
    _run(text[: marks[0].start()] if marks else text, 0, module, loaded)
    for mark, end in _spans(marks, len(text)):
        name = mark[1]
        line = text.count("\n", 0, mark.end())
        has_run = _run(text[mark.end() : end], line, module, loaded)
        if name in PARTS:
            _take(name, has_run, line, module, loaded, passes)
        elif name == COMPACT and has_run:
            loaded.engine = getattr(module, COMPACT, None)
    return loaded


def _spans(marks: list[re.Match[str]], end: int) -> Iterable[tuple[re.Match[str], int]]:
    return zip(marks, [mark.start() for mark in marks[1:]] + [end], strict=True)


def _run(code: str, line: int, module: types.ModuleType, loaded: Loaded) -> bool:
    """Run a section in the file's module, and note what fails. `line` lines of the file
    stand above it."""
    path = str(module.__file__)
    try:
        tree = ast.parse(code, path)
    except SyntaxError as error:
        place = line + (error.lineno or 1)
        loaded.problems.append(f"{FILE}, line {place}: {error.msg}")
        return False
    ast.increment_lineno(tree, line)
    has_run = True
    for statement in tree.body:
        try:
            exec(compile(ast.Module([statement], []), path, "exec"), module.__dict__)
        except Exception as error:  # an import, or whatever the learner put there
            place = _line_of(error, path, statement.lineno)
            loaded.problems.append(f"{FILE}, line {place}: {error}")
            has_run = False
    return has_run


def _line_of(error: Exception, path: str, line: int) -> int:
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _take(
    exercise: str,
    has_run: bool,
    line: int,
    module: types.ModuleType,
    loaded: Loaded,
    passes: Callable[[str, Any], bool],
) -> None:
    """Take one part if it passes, or else put the course's function in its place."""
    part = PARTS[exercise]
    function = getattr(module, part.name, None) if has_run else None
    if function is not None and passes(exercise, function):
        loaded.functions[exercise] = function
        return
    if has_run:
        place = function.__code__.co_firstlineno if function else line + 1
        loaded.problems.append(
            f"{FILE}, line {place}: `{part.name}` doesn't pass {exercise}"
        )
    setattr(module, part.name, find(exercise).finished)
