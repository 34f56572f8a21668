"""Engines with the faults that people make, for the judge to catch."""

import sys
from dataclasses import replace

from agentlib.auto_compact import summary_message
from agentlib.step import Step


def last_ten(now):
    """Keep a summary and the last nine messages, wherever that cuts."""
    messages = now.messages
    if len(messages) <= 10:
        return now.unchanged()
    text = now.summarize(messages, "")
    kept = (*range(len(messages) - 9, len(messages)),)
    summary = summary_message(text, "t.jsonl")
    return Step(summary=summary, kept=kept, settled=1, archive="t.jsonl")


def leaves(now):
    """End the program as if all were well."""
    sys.exit(0)


def prints(now):
    """Write to where a verdict goes."""
    print("Here I am.")
    return now.compact()


def clears_in_place(now):
    """Clear old results by editing the blocks."""
    for message in now.messages[:-6]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                block["content"] = "[cleared]"
    return now.compact()


def clears_everything(now):
    """Clear all results, the unseen ones too, and say so."""
    lists = [m["content"] for m in now.messages if isinstance(m["content"], list)]
    results = [b for content in lists for b in content if b["type"] == "tool_result"]
    return Step(texts={b["tool_use_id"]: "[cleared]" for b in results})


def keeps_too_much(now):
    """Compact, and keep a message that isn't there."""
    step = now.compact()
    return replace(step, kept=(*step.kept, 999)) if step.compaction else step


def of_the_old_protocol(messages, settings, **given):
    """Take the arguments that engines took once."""
    return messages


def loops(now):
    """Drop messages until it fits, which it never does."""
    view = list(now.messages)
    while now.meter.estimate(view) > 2_000:
        view = view[:1] + view[1:]
    return now.unchanged()


def divides(now):
    """Divide by the number of results, even if there is none."""
    results = [
        m
        for m in now.messages
        if m["role"] == "user" and isinstance(m["content"], list)
    ]
    return now.compact() if len(now.messages) / len(results) else None


def a_list(now):
    """Return messages, not a step."""
    return list(now.messages)


def compacts_never(now):
    """Keep everything."""
    return now.unchanged()
