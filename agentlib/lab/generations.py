"""Measure what each compaction of a session left: head, summary and tail, facts and the rule.

A generation is a compaction, counted from the first. `lab.figures.bars` draws them (lesson 06).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agentlib.estimation import message_tokens
from agentlib.head_and_tail import summary_index
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.messages import Message
from agentlib.transcripts import Session


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The context as one compaction left it, in tokens, and what it holds of the task."""

    head: int
    summary: int
    tail: int
    facts: int = 0
    """Planted facts in head and summary. The next compactions will take the tail."""
    rule: bool = False
    """Whether the person's rule is there."""


def left(context: Sequence[Message], scenario: Scenario | None = None) -> Generation | None:
    """Measure the parts of a context. Returns None if it has no summary.

    >>> summary = {"role": "user", "content": "[Conversation compressed. Transcript: t]\\n\\nDone."}
    >>> ask, answer = ({"role": r, "content": "Go on."} for r in ("user", "assistant"))
    >>> generation = left([ask, summary, answer])
    >>> (generation.head, generation.tail) == tuple(round(message_tokens(m)) for m in (ask, answer))
    True
    """
    at = summary_index(context)
    if at is None:
        return None
    sizes = [round(message_tokens(message)) for message in context]
    text = json.dumps(context[: at + 1], ensure_ascii=False)
    facts, rule = (scenario.facts, scenario.constraint) if scenario else ((), "")
    return Generation(
        head=sum(sizes[:at]),
        summary=sizes[at],
        tail=sum(sizes[at + 1 :]),
        facts=sum(fact in text for fact in facts),
        rule=bool(rule) and rule in text,
    )


def generations(session: Session, scenario: Scenario | None = None) -> list[Generation]:
    """Return a generation for each compaction that succeeded and was followed by a request."""
    contexts = [
        next((r.context for r in session.requests if r.seen >= compaction.seen), list[Message]())
        for compaction in session.compactions
        if compaction.message
    ]
    return [g for context in contexts if (g := left(context, scenario))]
