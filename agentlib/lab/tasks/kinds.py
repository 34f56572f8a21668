"""Tasks that follow six kinds of thing through one to eight compactions (lesson 10).

The person tells a rule, a decision and a preference. A file has a number, a script is run that must
not run twice, and a question is broken off. Package after package is read, with a compaction before
each. Then the person asks for work that needs all six. No judge reads prose: a text stands in the
request or not, the answer names it or not, and a file on disk has changed or not.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from agentlib import pipeline
from agentlib.lab.play import Run
from agentlib.lab.tasks.generated import module, write_files
from agentlib.lab.tasks.scenarios import TABLE, Checks, Scenario, text_of
from agentlib.messages import Message, blocks, of_type
from agentlib.settings import Settings
from agentlib.step import Step

KINDS = ("constraint", "preference", "decision", "number", "open question", "finished step")
GENERATIONS = 8
SETTINGS = Settings(micro="off", auto=False, manual=False, context_window=32_000)
"""Summaries are the only layer, and they come when `between_packages` says so."""
_WORDS, _MADE_OF = TABLE["kinds"], TABLE["generated"]
_LONGEST, _FILES = 3_500, 3
"""Characters of a file, and files in a package."""


def between_packages(messages: Sequence[Message], settings: Settings, **given: Any) -> Step:
    """Compact before each package but the first, and before the last work. It is an engine."""
    newest = blocks(messages[-1])[-1]
    begins = newest.get("text", "").startswith(tuple(_WORDS["begins"]))
    if begins and messages[-1]["role"] == "user":
        given |= {"reason": "manual"}
    return pipeline.compact(messages, settings, **given)


@cache
def told(seed: int) -> dict[str, str]:
    """Return what the person of a seed's task tells, by kind, and the names that it is about."""
    rng = Random(f"kinds told {seed}")
    noun, other = (word.upper() for word in rng.sample(_nouns(), 2))
    unit = rng.choice(_MADE_OF["units"].split())
    line = f"# For {rng.choice(('Ada', 'Grace', 'Edsger'))}, number {rng.randint(2, 99)}"
    query = f"RETRIES_{other}"
    return {
        "constraint": _WORDS["constraint"],
        "preference": _WORDS["preference"].format(line=line),
        "decision": _WORDS["decision"],
        "number": f"FACT: the {noun.lower()} holds at most {rng.randint(100, 480)} {unit}.",
        "open question": f"Where is {query} set?",
        "finished step": _WORDS["finished"],
        "old": f"MAX_{noun}",
        "new": f"{noun}_LIMIT",
        "line": line,
        "query": query,
    }


@cache
def task_of_kinds(seed: int, generations: int) -> Scenario:
    """Make the task of a seed with so many compactions, the same on every machine."""
    rng, texts = Random(f"kinds {seed}"), told(seed)
    nouns = rng.sample(_nouns(), GENERATIONS + 1)
    files = {path: text for noun in nouns for path, text in _package(rng, noun).items()}
    first = next(iter(files))
    files[first] = f"# {texts['number']}\n\n{files[first]}"
    files |= {path: form.lstrip().format(**texts) for path, form in _WORDS["files"].items()}
    said = rng.sample([texts[kind] for kind in KINDS[:3]], 3)
    first, *others = (f"{_MADE_OF['read'].format(noun)}." for noun in nouns[:generations])
    errands = (form.format(last=nouns[-1], **texts) for form in _WORDS["errands"])
    begun = (" ".join([*said, first]), _WORDS["run"], texts["open question"])
    return Scenario(
        name=f"kinds {seed}, {generations}",
        prompts=(*begun, *others, *errands),
        make_workspace=partial(write_files, files=files),
        checks=partial(_acted_on, texts=texts, files=files),
        facts=(texts["number"],),
        rule=texts["constraint"],
    )


def turns(generations: int) -> tuple[int, ...]:
    """Return the most turns of each prompt: the question is broken off after one."""
    return (60, 60, 1, *[60] * (generations - 1 + len(_WORDS["errands"])))


def marks(run: Run, seed: int) -> dict[str, dict[str, bool]]:
    """Say of each kind whether it is kept, told and acted on.

    Kept: it stands in the request that follows the last compaction. Told: it is in the answer to
    that. Acted on: the calls and the files show it.
    """
    texts = told(seed)
    sent = next(r for r in run.session.requests if _asks(r.context, _WORDS["errands"][0]))
    request, answer = json.dumps(sent.context, ensure_ascii=False), run.session.history[sent.seen]
    spoken = json.dumps(answer, ensure_ascii=False)
    return {
        kind: {
            "kept": texts[kind] in request,
            "told": texts[kind] in spoken,
            "acted on": bool(run.checks[kind]),
        }
        for kind in KINDS
    }


def _asks(context: Sequence[Message], prompt: str) -> bool:
    return any(block.get("text") == prompt for block in blocks(context[-1]))


def _nouns() -> list[str]:
    return _MADE_OF["nouns"].split()


def _package(rng: Random, folder: str) -> dict[str, str]:
    """Make a package, path -> text. Each second file has a fact of its own."""
    files = {
        f"{folder}/{noun}.py": module(rng, noun, _LONGEST)
        for noun in sorted(rng.sample(_nouns(), _FILES))
    }
    for path in rng.sample(list(files), rng.randint(0, 2)):
        noun, unit = rng.choice(_nouns()), rng.choice(_MADE_OF["units"].split())
        form = rng.choice(_MADE_OF["facts"])
        verb = rng.choice(_MADE_OF["verbs"].split())
        fact = form.format(noun=noun, number=rng.randint(3, 99), verb=verb, unit=unit)
        files[path] = f"# {fact}\n\n{files[path]}"
    return files


def _acted_on(
    folder: Path, history: Sequence[Message], texts: Mapping[str, str], files: Mapping[str, str]
) -> Checks:
    """Check by calls and files what the agent did about each kind."""
    report, said = text_of(folder / "REPORT.md"), json.dumps(history, ensure_ascii=False)
    vendored = [path for path in files if path.startswith("vendor/")]
    commands = [
        call["input"].get("command", "") for m in history for call in of_type(m, "tool_use")
    ]
    acted = {
        "constraint": all(text_of(folder / path) == files[path] for path in vendored),
        "preference": report.startswith(f"{texts['line']}\n"),
        "decision": any(_WORDS["command"] in command for command in commands),
        "number": texts["number"] in report,
        "open question": f"`{texts['query']}` is " in said,
        "finished step": text_of(folder / "prices.txt") == "700\n1200\n",
    }
    renamed = texts["new"] in text_of(folder / "limits.py")
    return {"done": renamed and bool(report), **acted}
