"""What a real model did in the runs of the lessons, as `make real` stored it.

Each file here is a MODEL-DATE.json: for each run the simulated model's row and the real
one's, with counts and marks, and nothing of what anybody said. Both rows are read by
the same checks, which take a report in any form.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentlib.estimation import prompt_tokens
from agentlib.messages import KINDS, Message
from windtunnel.runner import Run, asked_at, outcomes, words_of
from windtunnel.tasks.scenarios import Checks, Scenario, last_words

if TYPE_CHECKING:
    import anthropic

FOLDER = Path(__file__).parent
HOUR = "hour"
TASKS = "tasks"
"""The two sets of runs: those of An hour, and generated tasks under three settings."""
_REPORTS = (".md", ".rst", ".txt")
"""Endings of a report's file. The tasks' own files are all Python."""
_BELOW = re.compile(r"every Python file in the (\S+)/ directory")


def stored() -> list[dict[str, Any]]:
    """Read the files that have a run in them, in the order of their names."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.json")))
    return [record for record in map(json.loads, texts) if record["runs"]]


@cache
def in_any_form(task: Scenario) -> Scenario:
    """Return the task with checks of a report that nobody has told the form of.

    The lessons' own checks want the headings of the offline model's report.
    """
    return replace(task, checks=partial(_checks, task))


def _checks(task: Scenario, folder: Path, history: Sequence[Message]) -> Checks:
    """Check that the report names each file that the last prompt asks for.

    The report is each text file that there is, or else the words with which the model
    ended. The rule is kept if each begins with it.
    """
    is_over = history[-1]["role"] == "assistant"
    texts = [
        file.read_text(encoding="utf-8", errors="replace")
        for file in sorted(folder.rglob("*"))
        if file.suffix in _REPORTS and file.is_file()
    ] or [last_words(history) if is_over else ""]
    asked = _BELOW.search(task.prompts[-1])
    below = folder / asked[1] if asked else folder
    paths = [file.relative_to(below).as_posix() for file in below.rglob("*.py")]
    report = "\n".join(texts)
    named = sum(names(report, path, below.name) for path in paths)
    first_lines = [text.strip().partition("\n")[0].strip() for text in texts]
    return {
        "done": named == len(paths),
        "files": len(paths),
        "named": named,
        "rule kept": set(first_lines) == {task.rule},
        "facts": sum(has_fact(report, fact) for fact in task.facts),
        "of": len(task.facts),
    }


def names(report: str, path: str, folder: str) -> bool:
    """Tell whether a report names a file, by its path from the folder or with it.

    >>> names("- `pump.py`: pumps", "pump.py", "sensor"), names("old_pump.py", "pump.py", "sensor")
    (True, False)
    """
    whole = rf"(?<![\w/.-])(?:/workspace/|\./)?(?:{re.escape(folder)}/)?{re.escape(path)}(?!\w)"
    return re.search(whole, report) is not None


def has_fact(report: str, fact: str) -> bool:
    """Tell whether a line of a report has each number and two thirds of the words of a
    fact.

    >>> has_fact("The pier: 29 crates at most.", "FACT: the pier holds at most 29 crates.")
    True
    """
    words = set(re.findall(r"\w+", fact.partition(":")[2].lower()))
    numbers = {word for word in words if word.isdigit()}
    for line in report.lower().splitlines():
        there = words & set(re.findall(r"\w+", line))
        if numbers <= there and 3 * len(there) >= 2 * len(words):
            return True
    return False


def row(run: Run, dollars: float, ended_by: str) -> dict[str, Any]:
    """Return what is stored of a run. `ended_by`: who refused a prompt over the
    window."""
    checks = run.checks
    requests = run.rows()
    sizes = {kind: [round(each.get(kind, 0)) for each in requests] for kind in KINDS}
    return {
        "turns": run.turns,
        "sent": run.sent,
        "prompts": {kind: tokens for kind, tokens in sizes.items() if any(tokens)},
        "compactions": dict(outcomes(run.session)),
        "asked_at": asked_at(run.session),
        "calls_again": run.repeated,
        **{name: checks[name] for name in ("files", "named", "facts", "of")},
        "report": checks["done"],
        "rule": checks["rule kept"],
        "dollars": round(dollars, 6),
        "over_window": run.refused_tokens,
        "ended": _ended(run, ended_by),
    }


def _ended(run: Run, ended_by: str) -> str:
    """Say what ended a run before its time, "" if the model was done."""
    if size := run.refused_tokens:
        window = run.settings.context_window
        return f"{ended_by} ended it: {size:,} tokens > the lesson's {window:,}"
    stop = run.rounds[-1].stop_reason if run.rounds else ""
    return run.ended or ("" if stop == "end_turn" else stop)


class Stopped(BaseException):
    """The client raised an error, which says nothing about the model.

    A failed call for a summary is caught by the agent. This isn't, so such a run ends.
    """


def held_to(client: "anthropic.Anthropic", window: int) -> "anthropic.Anthropic":
    """Return the client with a window of the lessons, in which every error is Stopped.

    A reply is dropped if its bill says that the prompt was larger, and the API's own
    refusal is raised in its place. So the agent meets a wall, as it does offline, for
    the price of that one request.
    """
    import anthropic
    import httpx2

    held = client.copy()
    send = cast("Callable[..., anthropic.types.Message]", held.messages.create)

    def create(**body: Any) -> "anthropic.types.Message":
        try:
            reply = send(**body)
        except Exception as error:
            status = getattr(error, "status_code", "")
            raise Stopped(f"{status} {words_of(error)}".strip()) from error
        size = prompt_tokens(reply.usage.to_dict())
        if size <= window:
            return reply
        words = f"prompt is too long: {size} tokens > {window} maximum"
        answer = {"error": {"type": "invalid_request_error", "message": words}}
        response = httpx2.Response(400, request=httpx2.Request("POST", client.base_url))
        raise anthropic.BadRequestError(words, response=response, body=answer)

    cast(Any, held.messages).create = create
    return held


# -- where the simulated and the real model agree --------------------------------------

MARKS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], object]]] = {
    "report": ("whether the report names every file", lambda row: row["report"]),
    "rule": ("whether the rule is kept", lambda row: row["rule"]),
    "facts": ("whether all facts are kept", lambda row: row["facts"] == row["of"]),
}
"""What both may agree on, by name: its words, and the answer of a row."""


def name_of(record: Mapping[str, Any]) -> str:
    """Name the model and the day."""
    return f"{record['model']}, {record['date']}"


def agreement(record: Mapping[str, Any], which: str, marks: Sequence[str]) -> str:
    """Say in a sentence where the simulated and the real model agree in a set of runs.

    Returns "" if the record has none of them.
    """
    runs = [run for run in record["runs"] if run["set"] == which]
    parts = [_agreed(runs, *MARKS[mark]) for mark in marks]
    is_another = record["endpoint"] == "another"
    endpoint = ", at an endpoint that isn't Anthropic's" * is_another
    both = "the simulated model and the real one agree"
    told = f"{name_of(record)}{endpoint}: {both} {', and '.join(parts)}."
    return told if runs else ""


def _agreed(
    runs: Sequence[Mapping[str, Any]],
    words: str,
    answer: Callable[[Mapping[str, Any]], object],
) -> str:
    unlike = [
        run["policy"] for run in runs if answer(run["simulated"]) != answer(run["real"])
    ]
    if not unlike:
        return f"on {words} in all {len(runs)} runs"
    count = len(runs) - len(unlike)
    where = ", ".join(_counted(runs, unlike))
    return f"on {words} in {count} of {len(runs)} runs (not {where})"


def _counted(runs: Sequence[Mapping[str, Any]], unlike: Sequence[str]) -> Iterator[str]:
    """Name each policy once, with how many of its runs differ if it has several."""
    policies = [run["policy"] for run in runs]
    for policy in dict.fromkeys(unlike):
        several = policies.count(policy) > 1
        yield f"in {unlike.count(policy)} " * several + f"with {policy}"
