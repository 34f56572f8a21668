"""Tasks that follow six kinds of thing through one to eight compactions (lesson 10).

The person tells a rule, a decision and a preference. A file has a number, a script is
run that must not run twice, and a question is broken off. Package after package is
read, with a compaction before each but the first. After one more the person asks for
work that needs all six. No judge reads prose: a text stands in the request or not, the
answer names it or not, and a file on disk has changed or not.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from agentlib.compaction.around import NO_HOOKS, Hooks
from agentlib.messages import Block, Message, blocks, is_summary, of_type, result_text
from agentlib.pipeline import Now
from agentlib.settings import Settings
from agentlib.step import Step
from offline_api.faults import Fault
from offline_api.model import Habits
from windtunnel.parts import named
from windtunnel.runner import Run, play
from windtunnel.tasks.generated import NOUNS, UNITS, VERBS, module, write_files
from windtunnel.tasks.scenarios import TABLE, Checks, Scenario, text_of

Pin = Callable[[list[Message]], list[str]]
Gate = Callable[[str, list[Message]], str | None]
KINDS = (
    "constraint",
    "preference",
    "decision",
    "number",
    "open question",
    "finished step",
)
GENERATIONS = 8
SEEDS = 20
SETTINGS = Settings(auto=False, manual=False, context_window=32_000)
"""Where the summaries come is said by `by_package`."""
LENGTHS = (300, 600)
KEEPS = (2, 20)
LAYERS = ("none", "pin", "both")
"""Tokens of a summary, KEEP_RECENT, and which of pin and gate are on, in the stored
runs. With the larger KEEP_RECENT nothing is ever cleared."""
MODELS: dict[str, dict[str, Any]] = {
    "heeds": {},
    "person": {"habits": Habits(obeys_retold=False)},
    "invents": {"faults": (Fault("invented consent", at=1, only="summary"),)},
}
"""Models of the stored runs: one that obeys what a summary retells, one that obeys only
the person's own words, and one whose first summary has a consent that nobody gave."""
WITNESS = {
    **dict.fromkeys(("rule", "request", "task"), "person"),
    **dict.fromkeys(("fact", "file"), "file"),
    "ran": "run",
}
"""Who must have said what a summary's line with this mark tells. Other lines are
counts."""
LINE = re.compile(r"^- \[([a-z ]+)\] (.+)$", re.MULTILINE)
_RAN = "[ran]"
_AND = re.compile(r"&&|\|\||[;|\n]")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SETS_OR_WAITS = re.compile(r"(?:\w+=\S*|time|nohup|env|exec|command|sudo)\s+")
"""What may stand before a command and runs nothing by itself."""
_INTERPRETER = re.compile(r"(?:\S*/)?(?:python|pypy|bash|sh|zsh|node|ruby|perl)[\d.]*")
_WORDS = TABLE["kinds"]
_MADE_OF = TABLE["generated"]
_LONGEST = 3_500
_FILES = (1, 3)
_FACTS = (0, 1)
"""Characters of a file, and how many files and facts a package has."""


def by_package(now: Now) -> Step:
    """Compact before each package but the first, and before the last work."""
    newest = now.messages[-1]
    text = blocks(newest)[-1].get("text", "")
    begins = newest["role"] == "user" and text.startswith(tuple(_WORDS["begins"]))
    return replace(now, reason="manual" if begins else now.reason).compact()


def hooks_of(pin: Pin | None, gate: Gate | None) -> Hooks:
    """Hand a learner's pin and gate to the agent."""
    hooks = replace(NO_HOOKS, pin=named(pin, list)) if pin else NO_HOOKS
    return replace(hooks, gate=named(gate)) if gate else hooks


@cache
def told(seed: int) -> dict[str, str]:
    """Return what the person of a seed's task tells, by kind, and the names that it is
    about."""
    rng = Random(f"kinds told {seed}")
    noun, other = (word.upper() for word in rng.sample(NOUNS, 2))
    unit = rng.choice(UNITS)
    line = (
        f"# For {rng.choice(('Ada', 'Grace', 'Edsger'))}, number {rng.randint(2, 99)}"
    )
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
def task_of_kinds(seed: int, generations: int, errands: int = 5) -> Scenario:
    """Make the task of a seed with so many compactions and the first of its last
    requests.

    Raise ValueError for a number of compactions that isn't 1 to 8.
    """
    if generations not in range(1, GENERATIONS + 1):
        raise ValueError(
            f"generations={generations} compactions; choose 1 to {GENERATIONS}"
        )
    rng = Random(f"kinds {seed}")
    texts = told(seed)
    nouns = rng.sample(NOUNS, GENERATIONS + 1)
    files = {path: text for noun in nouns for path, text in _package(rng, noun).items()}
    first = next(iter(files))
    files[first] = f"# {texts['number']}\n\n{files[first]}"
    files |= {
        path: form.lstrip().format(**texts) for path, form in _WORDS["files"].items()
    }
    said = rng.sample([texts[kind] for kind in KINDS[:3]], 3)
    first, *others = (
        f"{_MADE_OF['read'].format(noun)}." for noun in nouns[:generations]
    )
    last = (
        form.format(last=nouns[-1], **texts) for form in _WORDS["errands"][:errands]
    )
    begun = (" ".join([*said, first]), _WORDS["run"], texts["open question"])
    return Scenario(
        name=f"kinds {seed}, {generations}",
        prompts=(*begun, *others, *last),
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

    Kept: it stands in the request that follows the last compaction. Told: it is in the
    answer to that. Acted on: the calls and the files show it.
    """
    texts = told(seed)
    asked = {"type": "text", "text": _WORDS["errands"][0]}
    sent = next(r for r in run.session.requests if asked in blocks(r.context[-1]))
    request = json.dumps(sent.context, ensure_ascii=False)
    answer = run.session.history[sent.seen]
    spoken = json.dumps(answer, ensure_ascii=False)
    return {
        kind: {
            "kept": texts[kind] in request,
            "told": texts[kind] in spoken,
            "acted on": bool(run.checks[kind]),
        }
        for kind in KINDS
    }


def play_kinds(
    seed: int,
    generations: int,
    tokens: int = 600,
    model: str = "heeds",
    *,
    keep_recent: int = max(KEEPS),
    pin: Pin | None = None,
    gate: Gate | None = None,
    words: int = 0,
    errands: int = 5,
) -> Run:
    """Play the task of a seed with summaries of so many tokens, with a pin and a gate,
    and with `words` tokens for what the person has said.

    Raise ValueError for another model than those of `MODELS`.
    """
    if model not in MODELS:
        raise ValueError(f"model={model!r}; choose one of {', '.join(MODELS)}")
    sizes = {"summary_tokens": tokens, "words_tokens": words}
    settings = replace(SETTINGS, keep_recent=keep_recent, **sizes)
    hooks = hooks_of(pin, gate)
    task = task_of_kinds(seed, generations, errands)
    most = turns(generations)
    return play(
        task, settings, engine=by_package, hooks=hooks, max_turns=most, **MODELS[model]
    )


def _package(rng: Random, folder: str) -> dict[str, str]:
    """Make a package, path -> text. One in two has a fact of its own."""
    files = {
        f"{folder}/{noun}.py": module(rng, noun, _LONGEST)
        for noun in sorted(rng.sample(NOUNS, rng.randint(*_FILES)))
    }
    for path in rng.sample(list(files), rng.randint(*_FACTS)):
        noun = rng.choice(NOUNS)
        unit = rng.choice(UNITS)
        form = rng.choice(_MADE_OF["facts"])
        verb = rng.choice(VERBS)
        fact = form.format(noun=noun, number=rng.randint(3, 99), verb=verb, unit=unit)
        files[path] = f"# {fact}\n\n{files[path]}"
    return files


def _acted_on(
    folder: Path,
    history: Sequence[Message],
    texts: Mapping[str, str],
    files: Mapping[str, str],
) -> Checks:
    """Check by calls and files what the agent did about each kind."""
    report = text_of(folder / "REPORT.md")
    said = json.dumps(history, ensure_ascii=False)
    vendored = [path for path in files if path.startswith("vendor/")]
    commands = [
        call["input"].get("command", "")
        for m in history
        for call in of_type(m, "tool_use")
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


def spoken(message: Message) -> list[tuple[str, str]]:
    """Return the texts of a message, each with its speaker.

    "person" and "model" have spoken themselves, a "call" is the name of a tool and a
    line for each input, a "file" is whatever a tool returned, and a "summary" was
    written by the harness. What a shell command runs follows its call as a "run".

    >>> spoken({"role": "user", "content": "Go on."})
    [('person', 'Go on.')]
    """
    return [pair for b in blocks(message) for pair in _spoken(b, message["role"])]


def _spoken(block: Block, role: str) -> list[tuple[str, str]]:
    if block["type"] == "tool_result":
        return [("file", result_text(block))]
    if role != "assistant":
        return [("summary" if is_summary(block) else "person", block.get("text", ""))]
    if block["type"] != "tool_use":
        return [("model", block.get("text", ""))]
    inputs = block.get("input", {})
    call = "\n".join([block.get("name", ""), *map(str, inputs.values())])
    ran = "\n".join(f"{_RAN} {each}" for each in deeds(str(inputs.get("command", ""))))
    return [("call", call), ("run", ran)] if ran else [("call", call)]


def deeds(command: str) -> Iterator[str]:
    """Yield what a shell command runs: each command in it, and the script of an
    interpreter.

    A script that is only named, read or removed isn't among them, and neither is a
    sentence in quotes.

    >>> list(deeds("cd lib && python -u migrate.py --all")), list(deeds("cat migrate.py"))
    (['cd lib', 'python -u migrate.py --all', 'migrate.py --all'], ['cat migrate.py'])
    """
    for part in _AND.split(_QUOTED.sub(_unquoted, command)):
        words = _SETS_OR_WAITS.sub("", f"{part.strip()} ").split()
        if words:
            yield " ".join(words).removeprefix("./")
        if len(words) > 1 and _INTERPRETER.fullmatch(words[0]):
            script = next((n for n, w in enumerate(words[1:], 1) if w[0] != "-"), 0)
            if script and not {"-c", "-e"} & {*words[1:script]}:
                yield " ".join(words[script:]).removeprefix("./")


def _unquoted(quoted: re.Match[str]) -> str:
    """Return a quoted name without its quotes, and no words for anything longer."""
    inner = quoted[1] or quoted[2] or ""
    return inner if re.fullmatch(r"[\w./-]+", inner) else "''"


def claim(line: str) -> tuple[str, str]:
    """Return the witness that a summary's line needs, and its words: empty if it claims
    nothing.

    The words of a file's note are its path. Those of a finished step begin with their
    mark, as a "run" does. White space around the line doesn't count.

    >>> claim("- [fact] The limit is 7."), claim("## Key decisions")
    (('file', 'The limit is 7.'), ('', ''))
    >>> claim("- [ran] migrate.py")
    ('run', '[ran] migrate.py')
    """
    match = LINE.fullmatch(line.strip())
    witness = WITNESS.get(match[1], "") if match else ""
    if not match or not witness:
        return "", ""
    words = match[2].split(" | ")[0]
    return witness, f"{_RAN} {words}" if witness == "run" else words


def says(text: str, words: str) -> bool:
    """Return whether a sentence or a line of a text begins with these words.

    Otherwise "never edit vendor/" would say "edit vendor/". The sentence may go on,
    because a summary cuts what is long. A word alone, such as a path, may stand
    anywhere, but whole, and a finished step has to be named whole, too.

    >>> says("Read all. You may edit lib/.", "You may edit lib/."), says("is a.py empty?", "a.py")
    (True, True)
    >>> says("Never edit vendor/.", "edit vendor/."), says("data.py", "a.py")
    (False, False)
    """
    begins = r"(?:^(?:- )?|[.!?#\]])\s*"
    ends = ""
    if " " not in words or words.startswith(_RAN):
        begins = r"^(?:- )?" if " " in words else r"(?<![\w./-])(?:\./)?"
        ends = r"(?![\w/-]|\.\w)"
    sought = f"{begins}{re.escape(words)}{ends}"
    return re.search(sought, text, re.MULTILINE) is not None
