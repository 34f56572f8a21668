"""Tasks to run an agent on: files, prompts, planted facts, and checks of success.

A scenario knows no settings. Its workspace is copied afresh for each run, and has the
same bytes on every machine. Checks look at the folder and the history afterwards, never
at how the agent works.
"""

import re
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentlib.messages import Message, of_type, result_text
from windtunnel.tasks.fact_check import MOST, check_report

DATA = Path(__file__).parent / "data"
"""Small projects of our own, a folder each."""

Checks = dict[str, Any]
"""`done` (bool) first, then the measures of this scenario by name."""
Check = Callable[[Path, Sequence[Message]], Checks]
"""(folder, history) -> measures of success, `done` among them."""

TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("scenarios.toml").read_text(encoding="utf-8")
)
"""The tasks in words."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One task.

    >>> TRACE.prompts
    ('Find where RETRY_LIMIT is set and follow it through the files to its value.',)
    """

    name: str
    prompts: tuple[str, ...]
    """What the person says, one after the other, in one conversation."""
    make_workspace: Callable[[Path], object]
    """Fill a folder that is empty or not there yet."""
    checks: Check
    facts: tuple[str, ...] = ()
    """Lines planted in files; a good run still knows them at the end."""
    rule: str = ""
    """What the person demands early on, and must find kept at the end."""
    pauses: tuple[float, ...] = ()
    """Seconds before each prompt, for `Clock.pause`; none: no pauses."""


@dataclass
class Clock:
    """Seconds since the epoch, a fixed step later at each look: the same times in every
    run.

    >>> clock = Clock(start=100.0)
    >>> clock(), clock.pause(400), clock()
    (100.0, None, 501.0)
    """

    start: float = 1_760_000_000.0
    step: float = 1.0

    def __call__(self) -> float:
        now = self.start
        self.start = self.start + self.step
        return now

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        self.start += seconds


# -- filling a folder ------------------------------------------------------------------


def fill(
    folder: Path,
    packages: Sequence[str] = (),
    project: str = "",
    largest: int = 10**9,
    planted: Mapping[str, str] | None = None,
) -> None:
    """Copy installed packages and a project of `DATA` into a folder.

    Files of packages with more than `largest` bytes stay behind. `planted`: comments
    that go to the top of files, path -> text.
    """
    if project:
        pycache = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            DATA / project, folder, False, pycache, shutil.copyfile, dirs_exist_ok=True
        )
    for name in packages:
        source = _installed(name)
        for file in source.rglob("*.py"):
            if file.stat().st_size <= largest:
                target = folder / name / file.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    for path, line in (planted or {}).items():
        text = f"# {line}\n\n{text_of(folder / path)}"
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def _installed(package: str) -> Path:
    """Return an installed package's folder. Importing the package could take
    seconds."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"the task reads {package!r}: pip install {package}")
    return Path(spec.submodule_search_locations[0])


# -- checks ----------------------------------------------------------------------------


def report_checks(
    folder: Path,
    history: Sequence[Message] = (),
    *,
    below: str = ".",
    facts: Sequence[str] = (),
    first: str = "",
) -> Checks:
    """Check that REPORT.md is true and names every file `below`, begins with a line,
    has the facts.

    `done` needs neither the line nor the facts.
    """
    report = text_of(folder / "REPORT.md")
    paths = [
        file.relative_to(folder).as_posix() for file in (folder / below).rglob("*.py")
    ]
    checked = check_report(report, folder)
    named = sum(f"## {path}\n" in report for path in paths)
    return {
        "done": bool(report) and named == len(paths) and not checked.false,
        "files": len(paths),
        "named": named,
        "described": checked.described,
        "lost": checked.lost,
        "false": len(checked.false),
        "rule kept": bool(report) and (not first or report.startswith(f"{first}\n")),
        "facts": sum(fact in report for fact in facts),
    }


def text_of(file: Path) -> str:
    """Return the text of a file, "" if there is none, and no more than `MOST` of it."""
    if not file.is_file():
        return ""
    with file.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(MOST)


def last_words(history: Sequence[Message]) -> str:
    """Return the agent's last text, "" if there is none."""
    replies = [m for m in history if m["role"] == "assistant"]
    return next(
        (b["text"] for m in reversed(replies) for b in of_type(m, "text")[-1:]), ""
    )


def tests_passed(history: Sequence[Message]) -> bool:
    """Tell whether the newest result that counts failed tests or checks counts none.

    >>> result = {"type": "tool_result", "tool_use_id": "t", "content": "7 tests, 0 failed"}
    >>> tests_passed([{"role": "user", "content": [result]}]), tests_passed([])
    (True, False)
    """
    texts = "\n".join(
        result_text(r) for m in history for r in of_type(m, "tool_result")
    )
    failed = re.findall(r"^\d+ (?:tests|checks), (\d+) failed", texts, re.MULTILINE)
    return failed[-1:] == ["0"]


def lines_with(name: str, texts: Iterable[str]) -> int:
    """Count the lines that hold a name."""
    return sum(name in line for text in texts for line in text.splitlines())


# -- the tasks -------------------------------------------------------------------------


def _scenario(name: str, checks: Check | None = None, below: str = ".") -> Scenario:
    """Make a task of its table. Without `checks` of its own it is done by a report on
    `below`."""
    row = TABLE[name]
    rule = row.get("rule", "")
    planted = row.get("planted", {})
    facts = tuple(row.get("facts") or planted.values())
    filled = {
        n: row[n] for n in ("packages", "project", "largest", "planted") if n in row
    }
    return Scenario(
        name=row["name"],
        prompts=tuple(row["prompts"]),
        make_workspace=partial(fill, **filled),
        checks=checks or partial(report_checks, below=below, facts=facts, first=rule),
        facts=facts,
        rule=rule,
        pauses=tuple(row.get("pauses", ())),
    )


def _trace_checks(folder: Path, history: Sequence[Message]) -> Checks:
    answer = last_words(history)
    chain = ["fetcher/config.py", "fetcher/network.py", "fetcher/defaults.py"]
    named = sum(path in answer for path in chain)
    value = re.search(r"`RETRY_LIMIT` is 12(?![.\d]*\d)", answer) is not None
    return {"done": value and named == len(chain), "value": value, "files": named}


_PLACES = 29
"""Lines of `parcels` with MAX_WEIGHT."""


def _rename_checks(folder: Path, history: Sequence[Message]) -> Checks:
    texts = [text_of(file) for file in folder.rglob("*.py")]
    left = lines_with("MAX_WEIGHT", texts)
    renamed = lines_with("WEIGHT_LIMIT", texts)
    passed = tests_passed(history)
    done = renamed >= _PLACES and not left and passed
    return {"done": done, "left": left, "renamed": renamed, "tests": passed}


REVIEW = _scenario("review")
"""Review every file of `packaging` (its files over 45,000 bytes left out) and report.
The rule is in the first request, the facts in the files read first."""
TRACE = _scenario("trace", _trace_checks)
"""Follow a value through three files to the number it is, 12. An old value stands in
the change log, another one in the tests."""
RENAME = _scenario("rename", _rename_checks)
"""Rename a constant in 29 lines of seven files, five of which have tables that make
them 6,500 tokens long, and run the tests, which print no times."""
LONG = _scenario("long", below="traitlets")
"""Four packages in one conversation, over 400,000 tokens when nothing is forgotten. The
rule is in the first request and must show in the last answer's report."""
SURVEY = _scenario("survey", below="gauge")
"""Two folders of generated files, about 25,000 tokens, and a report on the second. The
name says from which seed of `varied.py` it was made; no setting was tuned on it."""

ALL = {scenario.name: scenario for scenario in (REVIEW, TRACE, RENAME, LONG)}
"""The tasks that presets are compared on, by name."""
