"""The offline model's behaviour: one answer to one request, from what the request holds.

`reply` is a pure function of the body. It knows no setting, no history and no file but what it
can see there: text it was given, its own notes, results that still stand, and the two numbers of
the system prompt. So what a layer takes away is gone for it, and it reads again, or gets things
wrong. It is no language model, and its behaviour is no evidence about one.

    prompts                                  what is asked of it
    reading, calls, notes, places            what it can see
    tasks, acting, renaming, tracing, report what it does next
    files, sources, exports                  what it finds in a file
    summarising, pending                     what it says when asked for a summary
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentlib.lab.model import tasks
from agentlib.lab.model.acting import Reply, say, use
from agentlib.lab.model.pending import obeyed
from agentlib.lab.model.prompts import Kind, Task, understand
from agentlib.lab.model.reading import View, summary_prompt, view
from agentlib.lab.model.renaming import rename
from agentlib.lab.model.summarising import summarise
from agentlib.lab.model.tracing import trace

FULL = 0.7
"""Share of the compaction point from which a finished phase is worth compacting."""

STEPS: Mapping[Kind, Callable[[View, Task], Reply]] = {
    "report": tasks.read,
    "read": tasks.read,
    "until": tasks.until,
    "compact": tasks.compact,
    "trace": trace,
    "rename": rename,
    "rules": tasks.rules,
    "unknown": tasks.unknown,
}
"""What each kind of task does next."""


def reply(body: Mapping[str, Any]) -> Reply:
    """The answer to a request: `{"content": [blocks], "stop_reason": str}`.

    `body` is the JSON of `POST /v1/messages`. The tool_use blocks of the answer have no `id`:
    the server gives them theirs. Raises KeyError if the body breaks a rule of the API, which the
    server checks first.

    >>> reply({"messages": [{"role": "user", "content": "Compact our chat by hand."}],
    ...        "tools": [{"name": "compact"}]})["content"][1]["name"]
    'compact'
    """
    seen = view(body)
    if (prompt := summary_prompt(body["messages"])) is not None:
        return say(summarise(seen, prompt))
    task = understand(seen.request)
    if stale := obeyed(seen):
        seen, task = stale
    if _phase_ended(seen, task):
        text = "The last piece of work is finished and the window fills, so I compact first."
        return say(text, use("compact", focus=tasks.FOCUS))
    if missing := _missing(seen, task):
        return say(f"I can't do that: I have no tool {missing}.")
    return STEPS[task.kind](seen, task)


def _phase_ended(seen: View, task: Task) -> bool:
    """Whether to compact before a new request is begun; at most once for each."""
    worth_it = seen.compacted_at and seen.size > FULL * seen.compacted_at
    ready = seen.first and seen.follows_work and not seen.summarised and "compact" in seen.tools
    return bool(worth_it and ready) and task.kind in ("report", "read", "trace", "rename")


def _missing(seen: View, task: Task) -> str | None:
    """A tool that the task needs and the request does not offer."""
    needed = {
        "read": ("bash", "read_file"),
        "until": ("bash", "read_file"),
        "trace": ("bash", "read_file"),
        "report": ("bash", "read_file", "write_file"),
        "rename": ("bash", "read_file", "edit_file"),
    }
    return next((tool for tool in needed.get(task.kind, ()) if tool not in seen.tools), None)
