"""Engines with the faults that people make, for the judge to catch."""

import sys

from agentlib.auto_compact import summary_message
from agentlib.messages import drop_thinking
from agentlib.pipeline import compact
from agentlib.step import Step


def last_ten(messages, settings, **given):
    """Keep a summary and the last nine messages, wherever that cuts."""
    if len(messages) <= 10:
        return Step(messages=list(messages))
    text = given["summarize"](messages, "")
    kept = (*range(len(messages) - 9, len(messages)),)
    summary = summary_message(text, "t.jsonl")
    view = drop_thinking([summary, *messages[-9:]], 0)
    return Step(
        messages=view, compaction="auto", kept=kept, settled=1, archive="t.jsonl"
    )


def leaves(messages, settings, **given):
    """End the program as if all were well."""
    sys.exit(0)


def prints(messages, settings, **given):
    """Write to where a verdict goes."""
    print("Here I am.")
    return compact(messages, settings, **given)


def clears_in_place(messages, settings, **given):
    """Clear old results by editing the blocks."""
    for message in messages[:-6]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                block["content"] = "[cleared]"
    return compact(messages, settings, **given)


def clears_everything(messages, settings, **given):
    """Clear all results, the unseen ones too, and say so."""
    results = [
        b for m in messages if isinstance(m["content"], list) for b in m["content"]
    ]
    new = {b["tool_use_id"]: "[cleared]" for b in results if b["type"] == "tool_result"}
    view = [
        m
        if isinstance(m["content"], str)
        else {
            **m,
            "content": [
                {**b, "content": "[cleared]"} if b["type"] == "tool_result" else b
                for b in m["content"]
            ],
        }
        for m in messages
    ]
    return Step(messages=view, replaced=new, cleared=tuple(new))


def forgets_to_say(messages, settings, **given):
    """Compact, and return nothing but the messages."""
    return Step(messages=compact(messages, settings, **given).messages)


def loops(messages, settings, **given):
    """Drop messages until it fits, which it never does."""
    view = list(messages)
    while given["meter"].estimate(view) > 2_000:
        view = view[:1] + view[1:]
    return Step(messages=view)


def divides(messages, settings, **given):
    """Divide by the number of results, even if there is none."""
    results = [
        m for m in messages if m["role"] == "user" and isinstance(m["content"], list)
    ]
    return (
        compact(messages, settings, **given) if len(messages) / len(results) else None
    )


def a_list(messages, settings, **given):
    """Return messages, not a step."""
    return list(messages)


def compacts_never(messages, settings, **given):
    """Keep everything."""
    return Step(messages=list(messages))
