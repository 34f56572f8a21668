"""Manual compact: the model itself asks for a compaction (lesson 04).

The call is noted in the turn that makes it. It is carried out at the top of the next
turn, after its own result and its siblings'. So there is one place where compaction
happens, and nothing unseen is lost.
"""

from collections.abc import Sequence

from agentlib.messages import Block, Message, last_assistant, of_type

NAME = "compact"
DONE = "Compacted."
"""The result of the call. It is written before the compaction, and true when the model
reads it."""

_FOCUS = {
    "type": "string",
    "description": "What to preserve in the summary, concretely: files, decisions.",
}
COMPACT_TOOL: Block = {
    "name": NAME,
    "description": (
        "Compact the conversation: a summary takes the place of all but the newest exchange. "
        "Call it when a piece of work is finished and its details are in the way of the next; "
        "never just before you need those details, for a report say."
    ),
    "input_schema": {"type": "object", "properties": {"focus": _FOCUS}},
}


def requested_focus(messages: Sequence[Message]) -> str | None:
    """Return the focus of a `compact` call in the newest assistant message, None
    without a call.

    A call without a focus has the focus "". Two calls in one turn are one compaction
    with both.

    >>> call = {"type": "tool_use", "id": "t1", "name": "compact", "input": {"focus": "auth.py"}}
    >>> requested_focus([{"role": "assistant", "content": [call]}])
    'auth.py'
    """
    newest = last_assistant(messages)
    uses = of_type(messages[newest], "tool_use") if newest >= 0 else []
    calls = [call for call in uses if call["name"] == NAME]
    if not calls:
        return None
    focuses = [call["input"].get("focus") for call in calls]
    return "; ".join(focus for focus in focuses if isinstance(focus, str) and focus)
