"""One task three ways: without a NOTES.md, with one written in time, with one too late (lesson 05).

The person asks for the notes, as part of a piece of work; the agent writes them as it writes any
report, from what it knows at that moment. Not here: running it (play).
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from agentlib.lab.tasks.scenarios import RULE, Checks, Scenario
from agentlib.lab.tasks.task_files import copy_package, plant, write_files
from agentlib.messages import Message

FACTS = (
    "DECISION: the reader of ELF files never writes one.",
    "FACT: the oldest glibc that our users have is 2.17.",
    "FACT: the probe for musl may take 7 seconds.",
    "DECISION: an error names the position, never a guess.",
)
README = "# packaging\n\nReusable core utilities for Python packaging.\n"
_RULE = f"A rule for all that follows: the first line of every report must be '{RULE}'."
_FIRST = "Read every Python file in the packaging/licenses/ directory"
_THEN = "Read every Python file in the packaging/ directory one by one"
_NOTES = " and write a report, NOTES.md"
_LAST = "Read every Markdown file and write a report."


def _workspace(folder: Path) -> None:
    copy_package("packaging", folder, largest=45_000)
    plant(folder, {"packaging/licenses/__init__.py": "\n# ".join(FACTS)})
    write_files(folder, {"README.md": README})


def _checks(folder: Path, history: Sequence[Message]) -> Checks:
    report, notes = _text(folder / "REPORT.md"), _text(folder / "NOTES.md")
    return {
        "done": bool(report),
        "in the notes": sum(fact in notes for fact in FACTS),
        "in the report": sum(fact in report for fact in FACTS),
        "rule kept": report.startswith(f"{RULE}\n"),
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@cache
def taking_notes(when: Literal["never", "in time", "too late"]) -> Scenario:
    """Read two files, then a package of 19, then all Markdown there is, and report.

    Four facts stand in the first file. "in time": NOTES.md is written after the first piece of
    work; "too late": after the second, past several compactions.
    """
    first, then = (_NOTES if when == "in time" else ""), (_NOTES if when == "too late" else "")
    return Scenario(
        name=f"notes-{when.replace(' ', '-')}",
        prompts=(f"{_RULE} {_FIRST}{first}.", f"{_THEN}{then}.", _LAST),
        make_workspace=_workspace,
        checks=_checks,
        facts=FACTS,
        constraint=RULE,
    )
