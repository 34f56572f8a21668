"""What the offline model can answer: words, tool calls, and an open word when it gets no further.

Ids of the calls are left out: the server gives them (`lab.api`). Not here: which call comes
next (tasks, tracing, renaming).
"""

import shlex
from typing import Any

from agentlib.lab.model.calls import Call
from agentlib.lab.model.notes import last
from agentlib.lab.model.reading import View
from agentlib.messages import Block

Reply = dict[str, Any]
"""{"content": [blocks], "stop_reason": "tool_use" | "end_turn" | "refusal"}"""

PATIENCE = 12
"""Calls in a row without a finding after which it gives up."""
_PROGRESS = {"note", "skipped", "editing", "gave_up", "traced", "command", "tests", "written"}


def say(text: str, *calls: Block) -> Reply:
    """An answer: its words first, then its calls; without a call it is the end of the turn.

    >>> say("Done.")
    {'content': [{'type': 'text', 'text': 'Done.'}], 'stop_reason': 'end_turn'}
    """
    words: list[Block] = [{"type": "text", "text": text.strip()}] if text.strip() else []
    return {"content": [*words, *calls], "stop_reason": "tool_use" if calls else "end_turn"}


def use(tool: str, **inputs: Any) -> Block:
    """A tool call without an id."""
    return {"type": "tool_use", "name": tool, "input": inputs}


def bash(command: str) -> Block:
    return use("bash", command=command)


def quoted(word: str) -> str:
    """A word as bash takes it."""
    return shlex.quote(word)


def again(view: View, call: Call) -> Block:
    """A call whose result was cleared, once more: by `recall` where that is offered."""
    if call.offer and "recall" in view.tools:
        return use("recall", tool_use_id=call.offer)
    return use(call.name, **call.input)


def gives_up(view: View, patience: int = PATIENCE) -> str | None:
    """The sentence with which it stops when it gets no further; None while it does.

    `patience`: calls in a row that may bring nothing new.
    """
    count = last(view.own, "count")
    if count and int(count[2]) >= 3:
        stand = f"{count[0]}: {count[1]}"
        return f"I stop here: three compactions in a row brought me no further ({stand})."
    three = view.calls[-3:]
    if len(three) == 3 and all(_is_lost(call) and call.input == three[0].input for call in three):
        return "I stop here: the results of my calls are cleared before I can see them."
    if len(view.calls) >= patience and not any(
        event.kind in _PROGRESS for call in view.calls[-patience:] for event in call.said
    ):
        return f"I stop here: {patience} calls in a row brought nothing new."
    return None


def _is_lost(call: Call) -> bool:
    return not call.visible and not call.error
