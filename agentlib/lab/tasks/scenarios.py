"""Tasks to run an agent on: files, prompts, what was planted, and how to tell success.

A scenario knows no settings: how a run goes under which is for the run to show. Workspaces are
copied or written anew each time. Checks look at the folder and the history afterwards, never at
how the agent works. Not here: running it (loop), scoring engines against each other (scoreboard).
"""

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentlib.lab.tasks.fact_check import check_report
from agentlib.lab.tasks.fetcher import fetcher
from agentlib.lab.tasks.parcels import parcels
from agentlib.lab.tasks.task_files import copy_package, plant, write_files
from agentlib.messages import Message, of_type, result_text

Checks = dict[str, Any]
"""`done` (bool) first, then the measures of this scenario by name."""

RULE = "# Reviewed for Ada"
READ_AND_REPORT = "Read every Python file in this directory one by one and write a report"
_RULE_SAID = f"A rule for all that follows: the first line of every report must be '{RULE}'."


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One task.

    >>> TRACE.prompts
    ('Find where RETRY_LIMIT is set and follow it through the files to its value.',)
    """

    name: str
    prompts: tuple[str, ...]
    """What the person says, one after the other, in one conversation."""
    make_workspace: Callable[[Path], None]
    """Fills an empty or missing folder."""
    checks: Callable[[Path, Sequence[Message]], Checks]
    """(folder, history) -> measures of success, `done` among them."""
    facts: tuple[str, ...] = ()
    """Lines planted in files; a good run still knows them at the end."""
    constraint: str = ""
    """What the person demands early on, and must find kept at the end."""
    pauses: tuple[float, ...] = ()
    """Seconds before each prompt, for `Clock.pause`; none: no pauses."""
    window: int = 200_000
    """Tokens of a window in which the whole task fits when nothing is forgotten."""


@dataclass
class Clock:
    """Seconds since the epoch, by a fixed step at each look: the same times in every run.

    >>> clock = Clock(start=100.0)
    >>> clock(), clock.pause(400), clock()
    (100.0, None, 501.0)
    """

    start: float = 1_760_000_000.0
    step: float = 1.0

    def __call__(self) -> float:
        now, self.start = self.start, self.start + self.step
        return now

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        self.start += seconds


def report_checks(
    folder: Path,
    name: str = "REPORT.md",
    *,
    below: str = ".",
    facts: Sequence[str] = (),
    first: str = "",
) -> Checks:
    """Whether a report stands, is true, names every file, keeps the rule and the facts."""
    path = folder / name
    report = path.read_text(encoding="utf-8") if path.is_file() else ""
    files = {file.relative_to(folder).as_posix() for file in (folder / below).rglob("*.py")}
    checked = check_report(report, folder)
    named = sum(f"## {file}\n" in report for file in files)
    kept = sum(fact in report for fact in facts)
    rule = not first or report.startswith(f"{first}\n")
    return {
        "done": bool(report) and named == len(files) and not checked.false,
        "files": len(files),
        "named": named,
        "described": checked.described,
        "lost": checked.lost,
        "false": len(checked.false),
        "constraint": rule and bool(report),
        "facts": kept,
    }


def last_words(history: Sequence[Message]) -> str:
    """The agent's last text."""
    texts = [
        block["text"] for m in history if m["role"] == "assistant" for block in of_type(m, "text")
    ]
    return texts[-1] if texts else ""


def tests_passed(history: Sequence[Message]) -> bool:
    """Whether the newest result that counts failed tests or checks counts none.

    >>> result = {"type": "tool_result", "tool_use_id": "t", "content": "7 tests, 0 failed"}
    >>> tests_passed([{"role": "user", "content": [result]}]), tests_passed([])
    (True, False)
    """
    texts = [
        result_text(r) for m in history if m["role"] == "user" for r in of_type(m, "tool_result")
    ]
    failed = re.findall(r"^\d+ (?:tests|checks), (\d+) failed", "\n".join(texts), re.MULTILINE)
    return failed[-1:] == ["0"]


_REVIEW_FACTS = {
    "packaging/_elffile.py": "DECISION: the reader of ELF files never writes one.",
    "packaging/_manylinux.py": "FACT: the oldest glibc that our users have is 2.17.",
    "packaging/_musllinux.py": "FACT: the probe for musl may take 7 seconds.",
    "packaging/_parser.py": "DECISION: an error names the position, never a guess.",
}


def _review_workspace(folder: Path) -> None:
    copy_package("packaging", folder, largest=45_000)
    plant(folder, _REVIEW_FACTS)


def _review_checks(folder: Path, history: Sequence[Message]) -> Checks:
    return report_checks(folder, facts=tuple(_REVIEW_FACTS.values()), first=RULE)


REVIEW = Scenario(
    name="review",
    prompts=(
        f"{_RULE_SAID} For now, read every Python file in the packaging/licenses/ directory.",
        "Read every Python file in the packaging/ directory one by one and write a report.",
    ),
    make_workspace=_review_workspace,
    checks=_review_checks,
    facts=tuple(_REVIEW_FACTS.values()),
    constraint=RULE,
)
"""Review every file of `packaging` (its files over 45,000 bytes left out) and report. The rule is
in the first request, the facts in the files read first."""


def _trace_checks(folder: Path, history: Sequence[Message]) -> Checks:
    said = last_words(history)
    chain = ["fetcher/config.py", "fetcher/network.py", "fetcher/defaults.py"]
    named = sum(path in said for path in chain)
    value = re.search(r"`RETRY_LIMIT` is 12(?![.\d]*\d)", said) is not None
    return {"done": value and named == len(chain), "value": value, "files": named}


TRACE = Scenario(
    name="trace",
    prompts=("Find where RETRY_LIMIT is set and follow it through the files to its value.",),
    make_workspace=lambda folder: write_files(folder, fetcher()),
    checks=_trace_checks,
)
"""Follow a value through three files to the number it is."""


def _rename_checks(folder: Path, history: Sequence[Message]) -> Checks:
    there = [file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py"))]
    left, renamed = lines_with("MAX_WEIGHT", there), lines_with("WEIGHT_LIMIT", there)
    whole = renamed >= lines_with("MAX_WEIGHT", parcels().values())
    passed = tests_passed(history)
    done = whole and not left and passed
    return {"done": done, "left": left, "renamed": renamed, "tests": passed}


def lines_with(name: str, texts: Iterable[str]) -> int:
    """How many lines hold a name."""
    return sum(name in line for text in texts for line in text.splitlines())


RENAME = Scenario(
    name="rename",
    prompts=("Rename MAX_WEIGHT to WEIGHT_LIMIT everywhere and run the tests.",),
    make_workspace=lambda folder: write_files(folder, parcels()),
    checks=_rename_checks,
)
"""Rename a constant in 29 lines of seven files and run the tests."""


_LONG_PACKAGES = ("packaging", "jinja2", "jsonschema", "traitlets")
_LONG_FACTS = {
    "packaging/_elffile.py": "DECISION: the reader of ELF files never writes one.",
    "packaging/_manylinux.py": "FACT: the oldest glibc that our users have is 2.17.",
    "jinja2/async_utils.py": "DECISION: templates are rendered without threads.",
    "jsonschema/_format.py": "FACT: the form of dates is checked by the caller.",
}


def _long_workspace(folder: Path) -> None:
    for name in _LONG_PACKAGES:
        copy_package(name, folder)
    plant(folder, _LONG_FACTS)


def _long_checks(folder: Path, history: Sequence[Message]) -> Checks:
    return report_checks(folder, below="traitlets", facts=tuple(_LONG_FACTS.values()), first=RULE)


LONG = Scenario(
    name="long",
    prompts=(
        f"{_RULE_SAID} Read every Python file in the packaging/ directory one by one.",
        "Now read every Python file in the jinja2/ directory one by one.",
        "Now read every Python file in the jsonschema/ directory one by one.",
        "Last, read every Python file in the traitlets/ directory one by one and write a report.",
    ),
    make_workspace=_long_workspace,
    checks=_long_checks,
    facts=tuple(_LONG_FACTS.values()),
    constraint=RULE,
    pauses=(0.0, 400.0, 900.0, 4_000.0),
    window=1_000_000,
)
"""Four packages in one conversation, over 400,000 tokens when nothing is forgotten. The rule is
in the first request and must show in the last answer's report."""

ALL = {scenario.name: scenario for scenario in (REVIEW, TRACE, RENAME, LONG)}
"""Every scenario by name."""


def folder(path: Path, prompts: Sequence[str] = (READ_AND_REPORT,)) -> Scenario:
    """Any folder of the learner's, copied; hidden folders, installed packages, links to folders
    and what is no file stay behind.

    Raises NotADirectoryError.
    """
    source = Path(path)
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is not a folder; name one that is")

    def make_workspace(target: Path) -> None:
        shutil.copytree(source, target, ignore=_left_behind, dirs_exist_ok=True)

    return Scenario(
        name=source.resolve().name,
        prompts=tuple(prompts),
        make_workspace=make_workspace,
        checks=lambda target, history: report_checks(target),
    )


def _left_behind(place: str, names: list[str]) -> set[str]:
    return {name for name in names if name.startswith(".") or not _is_copied(Path(place, name))}


def _is_copied(path: Path) -> bool:
    if path.name in ("__pycache__", "node_modules", "venv") or (path / "pyvenv.cfg").exists():
        return False
    return path.is_file() or (path.is_dir() and not path.is_symlink())
