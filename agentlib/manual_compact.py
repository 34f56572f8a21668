"""Manual compact: the model itself asks for compaction (lesson 04).

The call is noted in the turn that makes it and carried out at the top of the next, after its own
and its siblings' results: one place where compaction happens, and nothing unseen is lost (D11).
Not here: `/compact`, which is by hand (`python -m agentlib`).
"""

from collections.abc import Sequence

from agentlib.messages import Block, Message, last_assistant, of_type

NAME = "compact"
DONE = "Compacted."
"""The call's result, written before the fact: when the model reads it, it is true."""

COMPACT_TOOL: Block = {
    "name": NAME,
    "description": (
        "Compact the conversation: a summary takes the place of all but the newest exchange. "
        "Call it when a piece of work is finished and its details are in the way of the next; "
        "never just before you need those details, for a report say."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "focus": {
                "type": "string",
                "description": "What to preserve in the summary, concretely: files, decisions.",
            }
        },
    },
}


def requested_focus(messages: Sequence[Message]) -> str | None:
    """The focus of a `compact` call in the newest assistant message; None where there is no call.

    A call without a focus has the focus "". Two calls in one turn are one compaction with both.

    >>> call = {"type": "tool_use", "id": "t1", "name": "compact", "input": {"focus": "auth.py"}}
    >>> requested_focus([{"role": "assistant", "content": [call]}])
    'auth.py'
    """
    newest = last_assistant(messages)
    calls = (
        [c for c in of_type(messages[newest], "tool_use") if c["name"] == NAME]
        if newest >= 0
        else []
    )
    if not calls:
        return None
    return "; ".join(
        focus for call in calls if isinstance(focus := call["input"].get("focus"), str) and focus
    )
