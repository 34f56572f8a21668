"""`workbook/my_agent.py`: the file that a learner writes by passing exercises.

When an exercise that is a part of an agent passes, its function goes into the file, under
a heading with the lesson it is from and whose it is. At the end stand the layers that the
parts make, and the list that is the engine. The course writes them until the learner
changes them. The file is written in a workbook and nowhere else: not in `notebooks/`, not
in CI, not by a web page. `file_at_work` runs it.
"""

import ast
import hashlib
import json
import os
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from course.part_source import CannotStand, names_used, source_of
from course.parts_list import (
    IMPORTS,
    LESSONS,
    NUMBERS,
    PARTS,
    is_the_courses,
    layers_of,
    numbers_of,
)

FILE = "my_agent.py"
LOCK = f".{FILE}.lock"
WRITTEN = f".{FILE}.json"
"""How each section was written: its checksum."""
MARK = ".copied.json"
"""A folder with this file is a workbook."""
COMPACT = "compact"
_UNITS = (
    "# threshold and summary_tokens are shares of the window, min_chars is characters\n"
)
_HEADING = re.compile(r"^# -- (\d\d\.\d|NUMBERS|compact)\b.*$", re.MULTILINE)
_TITLE = "My agent, as far as I have come."
_RUN = (
    "\n\nRun it from the folder above this one:\n"
    '.venv/bin/python -m agentlib --engine workbook/my_agent.py "…"\n'
)


class Unreadable(CannotStand):
    """There is a file that can't be read. The text says why, and what to do."""


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
        """Whether the learner wrote or changed what stands below the parts."""
        text = self.sections.get(COMPACT, "")
        changed = text and not is_the_courses(text, names_used(text))
        return bool(changed) or COMPACT in definitions(self.own_lines)

    @property
    def numbers(self) -> dict[str, Any]:
        """The agent's own numbers. Raises CannotStand if they aren't plain values."""
        for node in statements(self.sections.get(NUMBERS, "")):
            if isinstance(node, ast.Assign):
                try:
                    return dict(ast.literal_eval(node.value))
                except (ValueError, TypeError):
                    break
        if NUMBERS in self.sections:
            raise CannotStand(f"{NUMBERS} there isn't a dict of plain values")
        return {}

    def text(self) -> str:
        """Return the file: imports that are needed, numbers, parts, and layers."""
        order = [NUMBERS, *PARTS, COMPACT]
        code = [(name, self.sections[name]) for name in order if name in self.sections]
        texts = [self.own_lines, *(text for _, text in code)]
        needed = ({*names_used(text)} - {*definitions(text)} for text in texts)
        used = {name for names in needed for name in names}
        lines = {self.imports[name] for name in used if name in self.imports}
        runs = COMPACT in self.sections or COMPACT in definitions(self.own_lines)
        title = f'"""{_TITLE}{_RUN if runs else ""}"""'
        top = [title, _grouped(lines), self.own_lines.strip()]
        blocks = [f"{_heading(name)}\n{text.strip()}" for name, text in code]
        return "\n\n\n".join(["\n\n".join(filter(None, top)), *blocks]) + "\n"


# -- its text --------------------------------------------------------------------------


def sections(text: str) -> list[tuple[str, int, str]]:
    """Return for each section of a file its name, the lines above it, and its code.

    The first one is what stands above all headings, and its name is "".
    """
    marks = [*_HEADING.finditer(text)]
    starts = [("", 0), *((mark[1], mark.end()) for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    return [
        (name, text.count("\n", 0, start), text[start:end])
        for (name, start), end in zip(starts, ends, strict=True)
    ]


def parsed(text: str) -> AgentFile:
    """Read the text of a file into its sections. A slip in one leaves the others whole."""
    (_, _, above), *others = sections(text)
    file = AgentFile(imports=imports_in(above), own_lines=_without_imports(above))
    for name, _, code in others:  # a heading may stand there twice
        before = f"{file.sections[name]}\n\n" if name in file.sections else ""
        file.sections[name] = f"{before}{code.strip()}\n"
    return file


def statements(text: str) -> list[ast.stmt]:
    """Return the statements of a text, none if Python can't read it."""
    return [] if slip_in(text) else ast.parse(text).body


def slip_in(text: str) -> tuple[int, str] | None:
    """Return the line in which Python can't read a text, and why. None: it can."""
    try:
        compile(text, FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return 1, str(error) or type(error).__name__
    return None


def definitions(text: str) -> dict[str, int]:
    """Return the lines in which a text defines names, imports apart.

    >>> definitions("import re\\n\\ndef f():\\n    x = 1\\nhold = f")
    {'f': 3, 'hold': 5}
    """
    found = dict[str, int]()
    for node in statements(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (each for target in targets for each in ast.walk(target))
            found |= {n.id: node.lineno for n in names if isinstance(n, ast.Name)}
    return found


def imports_in(text: str) -> dict[str, str]:
    """Return a statement for each name that the import lines of a text bring in.

    >>> imports_in("from a.b import c, d as e")
    {'c': 'from a.b import c', 'e': 'from a.b import d as e'}
    """
    found: dict[str, str] = {}
    for node in filter(_is_plain_import, statements(text)):
        assert isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names:
            one = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
            place = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
            found[alias.asname or alias.name] = f"{place}import {one}"
    return found


def _is_plain_import(node: ast.stmt) -> bool:
    """Tell whether it is an import that may go when nobody needs its names."""
    if isinstance(node, ast.ImportFrom):
        return not node.level and node.names[0].name != "*"
    return isinstance(node, ast.Import)


def _without_imports(text: str) -> str:
    """Return what stands above the first heading, without our title and imports."""
    lines = text.splitlines()
    for node in statements(text):
        value = node.value if isinstance(node, ast.Expr) else None
        words = value.value if isinstance(value, ast.Constant) else None
        is_title = isinstance(words, str) and words.startswith(_TITLE)
        if is_title or _is_plain_import(node):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(line for line in lines if line.strip())


def _grouped(statements: Iterable[str]) -> str:
    """Write import statements: sorted, with as many names in a line as fit into 88.

    >>> print(_grouped(["from a import c", "from a import b", "import re"]))
    import re
    from a import b, c
    """
    theirs = sorted(each for each in statements if each.startswith("import "))
    names: dict[str, list[str]] = {}
    for each in statements:
        if each.startswith("from "):
            module, _, name = each.removeprefix("from ").partition(" import ")
            names.setdefault(module, []).append(name)
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
    """Return the text of a workbook's file, "" if there is none. Raises Unreadable."""
    if folder is None:
        return ""
    try:
        text = (folder / FILE).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Unreadable(f"{FILE} can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise Unreadable(
            f"{FILE}, line {line}: this isn't UTF-8; save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n")


def read(folder: Path | None) -> AgentFile:
    """Read a workbook's file. Without one there are no sections. Raises Unreadable."""
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
    file, old_parts = AgentFile(), list[str]()
    try:
        with FileLock(folder / LOCK, timeout=10):
            before = text_of(folder)
            file = _checked(before)
            old, old_parts = file.text(), [*file.sections]
            if _is_edited(folder, file, exercise):
                raise CannotStand(
                    "somebody edited it there; delete it to take this one"
                )
            put(file, exercise, answer)
            text = file.text()
            if text == old and before:
                return ""
            slip = slip_in(text)
            if slip and not slip_in(before):
                raise CannotStand(f"the file would not compile any more: {slip[1]}")
            _write(folder / FILE, text)
            _note(folder, file, exercise)
    except (CannotStand, OSError, Timeout) as reason:
        kept = " The one from before stays." if exercise in old_parts else ""
        return f"It is not in {FILE}, because {reason}.{kept}"
    renamed = ""
    if exercise in PARTS and answer.__name__ != PARTS[exercise].name:
        renamed = f", as `{PARTS[exercise].name}`"
    return f"It stands in workbook/{FILE}{renamed}{_about_list(file, exercise)}."


def _checked(text: str) -> AgentFile:
    """Read a file that is to be written. Raises CannotStand if its top can't be read."""
    if slip := slip_in(sections(text)[0][2]):
        raise CannotStand(f"there is a slip in line {slip[0]} there: {slip[1]}")
    return parsed(text)


def remove(folder: Path, exercises: Iterable[str]) -> None:
    """Take parts out of a workbook's file, and out of its layers."""
    with FileLock(folder / LOCK, timeout=10):
        file = _checked(text_of(folder))
        is_theirs = file.has_own_compact
        for exercise in exercises:
            file.sections.pop(exercise, None)
        if not is_theirs:
            _rewrite_layers(file)
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


def _rewrite_layers(file: AgentFile) -> None:
    """Write the layers that fit the parts. Without a part of the engine there are none."""
    file.sections.pop(COMPACT, None)
    if any(PARTS[name].is_of_engine for name in file.parts):
        file.sections[COMPACT] = layers_of(file.parts, NUMBERS in file.sections)
        file.imports |= imports_in(IMPORTS)


def put(file: AgentFile, exercise: str, answer: Any) -> None:
    """Put an answer into its section. Raises CannotStand if it can't stand in a file."""
    is_theirs = file.has_own_compact
    numbers = numbers_of(exercise, answer)
    if exercise in PARTS:
        _put_part(file, exercise, answer)
    if "02.2" in file.sections and NUMBERS not in file.sections:
        numbers = LESSONS | numbers
    if numbers:
        numbers = file.numbers | numbers
        lines = "".join(
            f"    {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)},\n"
            for name, value in numbers.items()
        )
        file.sections[NUMBERS] = f"{_UNITS}{NUMBERS} = {{\n{lines}}}\n"
    if not is_theirs:
        _rewrite_layers(file)


def _put_part(file: AgentFile, exercise: str, answer: Any) -> None:
    name = PARTS[exercise].name
    for section, text in [("", file.own_lines), *file.sections.items()]:
        if section != exercise and name in definitions(text):
            place = f"below the heading of {section}" if section else "at the top"
            raise CannotStand(
                f"`{name}` stands {place} there; delete it, or put "
                f"`{_heading(exercise)}` above it"
            )
    source = source_of(answer, name, frozenset(part.name for part in PARTS.values()))
    used = names_used(source.text)
    absent = [each for each, part in PARTS.items() if part.name in used]
    absent = [each for each in absent if each not in (exercise, *file.sections)]
    if absent:
        raise CannotStand(
            f"it uses `{PARTS[absent[0]].name}`, and {absent[0]} isn't in the file "
            f"yet; solve that, and then check {exercise} again"
        )
    file.sections[exercise] = source.text
    file.imports |= source.imports


def _about_list(file: AgentFile, exercise: str) -> str:
    part = PARTS.get(exercise)
    if part and part.is_of_engine and file.has_own_compact:
        return f"; the layers there are yours, so call `{part.name}` in them yourself"
    if part and part.name == "policy":
        return "; to use it, list `clear_cold` there in the place of `clear`"
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
