"""The museum's plan, and what its cells send and print. Its exhibits stand in the
notebook."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from agentlib.messages import Message
from agentlib.settings import MODEL
from offline_api import client
from session_report.style import wrapped

PLAN = {
    "Counted wrong or never": {
        "Four characters a token": "stopped",
        "It didn't help, so once more": "expensive",
        "A breaker that never counts": "expensive",
    },
    "Cut wrong": {
        "Only 80,000 characters": "lost",
        "Cut out of the middle": "lost",
        "Chinese written as escapes": "lost",
        "Cleared before it was seen": "expensive",
        "Cleared while it is needed": "wrong",
        "Cleared at every turn": "expensive",
        "Keep zero keeps everything": "stopped",
        "A tail without its call": "stopped",
        "Everything since the last request": "stopped",
    },
    "Summarised wrong": {
        "The assistant has the last word": "stopped",
        "The summary is left out": "lost",
        "The focus goes nowhere": "lost",
        "The first block isn't the text": "stopped",
        "A system prompt of its own": "expensive",
        "The summary gives orders": "unsafe",
        "A summary of a summary": "lost",
        "A summariser that reads nothing": "lost",
        "Answered, and said again": "unsafe",
        "Known by its looks": "lost",
    },
    "Kept wrong on disk": {
        "Saved after it was cleared": "lost",
        "Objects saved as their repr": "stopped",
        "Named by the clock": "lost",
        "Emptied before it is written": "lost",
    },
    "Done wrong by tools": {
        "Compact called beside a read": "stopped",
        "The first of two places": "wrong",
        "A list of forbidden words": "unsafe",
        "Cut without a word": "lost",
    },
}
"""Each room's exhibits, by the headings of the notebook, and what the mistake costs."""


def findings() -> str:
    """Say how many exhibits lose something, and how many stop the agent."""
    costs = Counter(cost for room in PLAN.values() for cost in room.values())
    lost = costs["lost"]
    stopped = costs["stopped"]
    return f"{lost} of {costs.total()} mistakes lose something, and only {stopped} stop the agent"


@cache
def _model() -> Any:
    return client(window=200_000)


def send(messages: Sequence[Message], *, llm: Any = None, **more: Any) -> Any:
    """Send messages to the simulated API, and return the reply, an
    `anthropic.types.Message`.

    `llm`: a client with a prompt cache of its own. By default all exhibits share one.
    """
    api = (llm or _model()).messages
    return api.create(model=MODEL, max_tokens=8_000, messages=messages, **more)


def said(messages: Sequence[Message], **more: Any) -> str:
    """Send messages to the simulated API, and return the text of the reply or the
    refusal."""
    import anthropic

    try:
        reply = send(messages, **more)
    except anthropic.APIStatusError as error:
        body: Any = error.body
        return f"{error.status_code} {body['error']['message']}"
    return "".join(block.text for block in reply.content if block.type == "text")


def exhibit(mistake: object, cure: object) -> None:
    """Print what the mistake gives, and what its cure gives."""
    for name, given in (("mistake", mistake), ("cure", cure)):
        for n, line in enumerate(str(given).splitlines()):
            print(wrapped(f"{'' if n else name:9}{line}", " " * 9))
