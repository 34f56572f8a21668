"""Questions without an answer: which of them the offline model sees, and which it obeys.

It does what stands in a user's message. A summary is one, so a question in its list of pending
ones is a request like any other, and an older one than the person's last; unless the summary says
of itself that it is no instruction. Not here: where a summary puts its questions (summarising).
"""

import re
from dataclasses import replace

from agentlib.lab.model.notes import events, listed
from agentlib.lab.model.prompts import Task, understand
from agentlib.lab.model.reading import View, one_line
from agentlib.lab.model.tracing import is_traced

LENGTH = 120
"""Characters of a request that is told in a summary."""
HEADING = re.compile(r"^## .*(?:pending|question)", re.IGNORECASE)
_SECTION = re.compile(rf"{HEADING.pattern}.*\n((?:(?!## ).*\n?)*)", re.IGNORECASE | re.MULTILINE)
_NO_INSTRUCTION = re.compile(r"reference only|not instructions|no instruction", re.IGNORECASE)


def pending(view: View) -> list[str]:
    """The unanswered questions and requests that can be seen, the oldest first."""
    asked = [*_in_summary(view.summary), *(one_line(text, LENGTH) for text in view.unanswered)]
    now = one_line(view.request, LENGTH)
    return [text for text in dict.fromkeys(asked) if text != now and not _is_answered(view, text)]


def obeyed(view: View) -> tuple[View, Task] | None:
    """The question that a summary puts to its reader, as the request that is worked on."""
    if _NO_INSTRUCTION.search(view.summary):
        return None
    told = _in_summary(view.summary)
    for text in pending(view):
        if text in told and (task := understand(text)).kind == "trace":
            return replace(view, request=text, own=view.known), task
    return None


def _in_summary(summary: str) -> list[str]:
    """The requests under a summary's heading for pending questions."""
    section = _SECTION.search(summary)
    return [parts[0] for parts in listed(events(section[1]), "request")] if section else []


def _is_answered(view: View, text: str) -> bool:
    task = understand(text)
    return task.kind == "trace" and is_traced(replace(view, own=view.known), task.names[0])
