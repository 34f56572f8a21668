"""Tasks from a seed: files, facts, rules and words that no setting was ever tuned on.

Of five seeds in a row three are surveys (read folder after folder, report on the last
or on all), one follows a value and one renames. What varies: how many files and how
long, how many facts and where in a file they stand, where and how the person states the
rule, how they ask, in English or in Chinese, and how long they are away. The tasks of real
code are in `scenarios`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from agentlib.messages import Message
from windtunnel.tasks.scenarios import (
    Checks,
    Scenario,
    last_words,
    lines_with,
    report_checks,
    tests_passed,
    text_of,
)
from windtunnel.tasks.source_texts import VERBS, fact, module, renaming_project, words

_READ = (
    "Read every Python file in the {0}/ directory one by one.",
    "Please go through each Python file in the {0}/ directory, one after another.",
    "Next, look at all Python files in the {0}/ folder, file by file.",
    "逐个读取 {0}/ 目录里的每个 Python 文件。",
)
_REPORT = (
    "Read every Python file in the {0}/ directory one by one and write a report.",
    "Review each Python file in the {0}/ directory and write a report on them.",
    "Last, go through all Python files in the {0}/ folder and write a report.",
    "审查 {0}/ 目录里的每个 Python 文件，然后写一份报告。",
)
_REPORT_ALL = (
    "Now read every Python file in this directory one by one and write a report.",
    "Please review each Python file of this workspace and write a report.",
)
_RULES = (
    ("A rule for all that follows: the first line of every report must be '{0}'.", 0),
    ("From now on, every report begins with the line '{0}'.", 0),
    ("Remember to end each report: its last line must be '{0}'.", -1),
    ("规则：每份报告的第一行必须是 '{0}'。", 0),
)
_FOLLOW = (
    "Find where {0} is set and follow it through the files to its value.",
    "Where does {0} come from? Trace its value through the files.",
    "找出 {0} 在哪里设置，并追踪它的值。",
)
_RENAME = (
    "Rename {0} to {1} everywhere and run the tests.",
    "Please replace the name {0} by {1} in all files, then run the tests.",
    "把 {0} 重命名为 {1}，所有文件都要改，然后运行测试。",
)
_NEVER = ("Never edit files below vendor/.", "不要修改 vendor/ 里的文件。")
_PAUSES = (0.0, 20.0, 150.0, 400.0, 900.0, 4_000.0)
_AT_ONCE = 0.0


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write texts below a folder, the same bytes on every machine."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


@cache
def scenario(seed: int) -> Scenario:
    """Make the task of a seed. It is the same on every machine.

    >>> scenario(7).name, len(scenario(7).prompts) == len(scenario(7).pauses)
    ('survey 7', True)
    """
    makers: Sequence[Callable[[Random, str], Scenario]] = (
        survey,
        trace,
        survey,
        rename,
        survey,
    )
    make = makers[seed % len(makers)]
    return make(Random(f"task {seed}"), f"{make.__name__} {seed}")


def scenarios(first: int, count: int) -> tuple[Scenario, ...]:
    """Make the tasks of `count` seeds, from the first one on."""
    return tuple(scenario(seed) for seed in range(first, first + count))


@cache
def large(seed: int) -> Scenario:
    """Make a survey with six times as many files, for a window of 200,000 tokens."""
    return survey(Random(f"large {seed}"), f"large {seed}", times=6)


def survey(rng: Random, name: str, times: int = 1) -> Scenario:
    """Make a task in which folders are read one after the other, and a report is
    written on the last one or on all."""
    folders = words(rng, rng.randint(1, 4))
    files = {
        p: text for folder in folders for p, text in _files(rng, folder, times).items()
    }
    place = folders[0] if rng.random() < 0.5 else ""
    facts = _planted(rng, files, place, rng.randint(2, 8))
    prompts = [rng.choice(_READ).format(folder) for folder in folders[:-1]]
    on_all = len(folders) > 1 and rng.random() < 0.25
    prompts.append(rng.choice(_REPORT_ALL if on_all else _REPORT).format(folders[-1]))
    form, at = rng.choice(_RULES)
    line = f"# For {rng.choice(('Ada', 'Grace', 'Edsger', 'Barbara'))}, number {rng.randint(2, 99)}"
    ruled = rng.random() < 0.8
    below = "." if on_all else folders[-1]

    def checks(folder: Path, history: Sequence[Message]) -> Checks:
        found = report_checks(folder, below=below, facts=facts)
        return {
            **found,
            "rule kept": not ruled or _has_line(folder / "REPORT.md", line, at),
        }

    prompts = _with_rule(rng, prompts, form.format(line)) if ruled else prompts
    return _scenario(rng, name, prompts, files, checks, facts=facts, rule=line * ruled)


def _files(rng: Random, folder: str, times: int = 1) -> dict[str, str]:
    """Write three to nine files of 600 to 16,000 characters, and return them by path.

    There are `times` as many.
    """
    nouns = words(rng, times * rng.randint(3, 9))
    sizes = [int(rng.triangular(600, 16_000, 3_000)) for _ in nouns]
    return {
        f"{folder}/{noun}.py": module(rng, noun, size)
        for noun, size in zip(nouns, sizes, strict=True)
    }


def _planted(
    rng: Random, files: dict[str, str], folder: str, count: int
) -> tuple[str, ...]:
    """Put facts into files of the folder, at any place of a file, and return them.

    If `folder` is "", the files may be anywhere.
    """
    facts = [fact(rng, noun) for noun in words(rng, count)]
    paths = sorted(
        path for path in files if not folder or path.startswith(f"{folder}/")
    )
    for line in facts:
        path = rng.choice(paths)
        pieces = files[path].split("\n\n\n")
        pieces.insert(rng.randint(0, len(pieces)), f"# {line}")
        files[path] = "\n\n\n".join(pieces)
    return tuple(facts)


def _has_line(report: Path, line: str, at: int) -> bool:
    text = text_of(report).strip()
    return bool(text) and text.split("\n")[at] == line


def _with_rule(rng: Random, prompts: list[str], rule: str) -> list[str]:
    """Put the rule before or after the first request, before the second, or first and
    by itself."""
    how = rng.choice(("before", "after", "second", "alone"))
    if how == "alone":
        return [rule, *prompts]
    at = 1 if how == "second" and len(prompts) > 1 else 0
    said = f"{prompts[at]} {rule}" if how == "after" else f"{rule} {prompts[at]}"
    return [*prompts[:at], said, *prompts[at + 1 :]]


def chapters(seed: int, count: int = 5) -> Scenario:
    """Make a task in which `count` folders are read, with two facts in each.

    After each folder one can see how many of the facts are left.
    """
    rng = Random(f"chapters {seed}")
    files = dict[str, str]()
    facts = tuple[str, ...]()
    folders = words(rng, count)
    for folder in folders:
        files |= _files(rng, folder)
        facts += _planted(rng, files, folder, 2)
    prompts = [rng.choice(_READ).format(folder) for folder in folders]

    def checks(folder: Path, history: Sequence[Message]) -> Checks:
        return {"done": last_words(history).startswith("I read")}

    return _scenario(rng, f"chapters {seed}", prompts, files, checks, facts=facts)


def trace(rng: Random, name: str) -> Scenario:
    """Make a task about a value that is set through three to six long files.

    For some seeds the person first asks to have a folder read.
    """
    package, *nouns = words(rng, rng.randint(4, 7))
    names = [f"{noun.upper()}_{rng.choice(VERBS).upper()}" for noun in nouns]
    values = [rng.randint(2, 9)]
    files = {
        "CHANGES.md": f"# Changes\n\n{names[0]} = {rng.randint(300, 900)} until version 2.\n",
        "tests/test_all.py": f"{names[0]} = 1\n",
    }
    for n in reversed(range(len(nouns))):
        times = rng.randint(2, 5)
        expression = str(values[0])
        head = ""
        if n + 1 < len(nouns):
            expression = f"{times} * {names[n + 1]}"
            head = f"from {package}.{nouns[n + 1]} import {names[n + 1]}\n\n"
            values.insert(0, times * values[0])
        text = module(rng, nouns[n], rng.randint(800, 20_000))
        said = f"{head}{names[n]} = {expression}\n"
        files[f"{package}/{nouns[n]}.py"] = text.replace("\n\n\n", f"\n\n{said}\n\n", 1)
    prompts = [rng.choice(_FOLLOW).format(names[0])]
    if rng.random() < 0.5:
        files |= _files(rng, "extras")
        prompts.insert(0, rng.choice(_READ).format("extras"))
    told = [f"`{names[0]}` is {values[0]}", *(f"{package}/{noun}.py" for noun in nouns)]

    def checks(folder: Path, history: Sequence[Message]) -> Checks:
        return {"done": all(word in last_words(history) for word in told)}

    return _scenario(rng, name, prompts, files, checks)


def rename(rng: Random, name: str) -> Scenario:
    """Make a task that renames a constant in four to eight files.

    For some seeds the person forbids to touch one folder.
    """
    package, *nouns = words(rng, rng.randint(4, 8))
    old = f"{nouns[0].upper()}_LIMIT"
    new = f"{nouns[0].upper()}_CEILING"
    files = renaming_project(rng, package, nouns, old)
    prompts = [rng.choice(_RENAME).format(old, new)]
    rule = rng.choice(_NEVER) if rng.random() < 0.6 else ""
    if rule:
        files["vendor/other.py"] = f'"""Not ours."""\n\n{old} = 3\nROOM = 2 * {old}\n'
        prompts = _with_rule(rng, prompts, rule)
    kept = {path: text for path, text in files.items() if path.startswith("vendor/")}

    def checks(folder: Path, history: Sequence[Message]) -> Checks:
        there = {path: text_of(folder / path) for path in files}
        ours = [path for path in files if path not in kept]
        left = sum(old in there[path] for path in ours)
        places = lines_with(old, (files[path] for path in ours))
        whole = lines_with(new, (there[path] for path in ours)) >= places
        same = all(there[path] == text for path, text in kept.items())
        done = whole and not left and tests_passed(history)
        return {"done": done, "left": left, "rule kept": same}

    return _scenario(rng, name, prompts, files, checks, rule=rule)


def _scenario(
    rng: Random,
    name: str,
    prompts: Sequence[str],
    files: dict[str, str],
    checks: Callable[[Path, Sequence[Message]], Checks],
    **known: Any,
) -> Scenario:
    return Scenario(
        name=name,
        prompts=tuple(prompts),
        make_workspace=lambda folder: write_files(folder, files),
        checks=checks,
        pauses=(_AT_ONCE, *(rng.choice(_PAUSES) for _ in prompts[1:])),
        **known,
    )
