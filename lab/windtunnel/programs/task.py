"""The task that a program gets: a rule, two folders to read and report on, three
windows of text.

The text doesn't fit, so every program has to compact, and more than once. The first
prompt takes two windows of it, so that a program which looks at its size only between
prompts meets the wall. The second prompt, in the same session, takes one.
"""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from windtunnel.tasks.scenarios import text_of
from windtunnel.tasks.source_texts import VERBS, fact, module, words
from windtunnel.tasks.varied import write_files

CHARS_PER_TOKEN = 2.4
"""Of these files, as the offline server counts tokens."""
FIRST = 2.0
SECOND = 1.0
"""Windows of text that each prompt asks for."""
LARGEST = 16_000
LARGEST_SHARE = 1 / 6
"""Characters of a file, and at most what share of the window they take. The tools of
most programs show that much at once."""
_RULE = "A rule for all that follows: the first line of every report must be '{}'."
_READ = "Read every Python file in the {}/ directory one by one and write a report."


@dataclass(frozen=True)
class Task:
    """What one seed asks for."""

    seed: int
    prompts: tuple[str, str]
    folders: tuple[str, str]
    """The folder that each prompt is about."""
    rule: str
    """The sentence with the rule, as it stands in the first prompt."""
    line: str
    """The first line that a report must have."""
    facts: tuple[tuple[str, ...], tuple[str, ...]]
    """Lines that are planted in the files of each folder."""
    files: dict[str, str]
    """path -> text."""


@dataclass(frozen=True)
class Result:
    """What the folder holds after a prompt."""

    report: bool
    """Whether there is a report."""
    files: int
    described: int
    facts: int
    planted: int
    rule_kept: bool
    edited: tuple[str, ...]
    """Files of the task that were changed or removed, which nobody asked for."""


def task(seed: int, window: int) -> Task:
    """Make the task of a seed for a window of so many tokens, the same on every
    machine.

    >>> task(1, 8_000).prompts[1].split()[:3]
    ['Read', 'every', 'Python']
    """
    rng = Random(f"program {seed}")
    first, second = words(rng, 2)
    largest = min(LARGEST, LARGEST_SHARE * window * CHARS_PER_TOKEN)
    files = {
        **_folder(rng, first, FIRST * window, largest),
        **_folder(rng, second, SECOND * window, largest),
    }
    line = f"# For {rng.choice(('Ada', 'Grace', 'Edsger', 'Barbara'))}, number {rng.randint(2, 99)}"
    rule = _RULE.format(line)
    return Task(
        seed=seed,
        prompts=(f"{rule} {_READ.format(first)}", _READ.format(second)),
        folders=(first, second),
        rule=rule,
        line=line,
        facts=(_planted(rng, files, first), _planted(rng, files, second)),
        files=files,
    )


def make(task: Task, folder: Path) -> None:
    """Write the files of a task."""
    write_files(folder, task.files)


def result(task: Task, prompt: int, folder: Path) -> Result:
    """Look at the folder after a prompt, which is 0 or 1."""
    report = text_of(folder / "REPORT.md")
    below = f"{task.folders[prompt]}/"
    return Result(
        report=bool(report.strip()),
        files=sum(path.startswith(below) for path in task.files),
        described=sum(
            f"## {path}\nPurpose: " in report
            for path in task.files
            if path.startswith(below)
        ),
        facts=sum(fact in report for fact in task.facts[prompt]),
        planted=len(task.facts[prompt]),
        rule_kept=report.startswith(f"{task.line}\n"),
        edited=tuple(
            path for path, text in task.files.items() if text_of(folder / path) != text
        ),
    )


def _folder(rng: Random, name: str, tokens: float, largest: float) -> dict[str, str]:
    """Make files of about so many tokens in all."""
    files: dict[str, str] = {}
    room = tokens * CHARS_PER_TOKEN
    while room > 0:
        noun = f"{rng.choice(VERBS)}_{words(rng, 1)[0]}"
        size = int(rng.triangular(largest / 8, largest, largest / 2))
        text = module(rng, noun, size)
        files[f"{name}/{noun}.py"] = text
        room -= len(text)
    return files


def _planted(rng: Random, files: dict[str, str], folder: str) -> tuple[str, ...]:
    """Put four facts at the top of files of a folder."""
    paths = [path for path in files if path.startswith(f"{folder}/")]
    facts = tuple(fact(rng, noun) for noun in words(rng, 4))
    for line, path in zip(facts, rng.choices(paths, k=len(facts)), strict=True):
        files[path] = f"# {line}\n\n{files[path]}"
    return facts
