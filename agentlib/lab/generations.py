"""What each compaction of a session left: head, summary and tail in tokens, and what stands there.

A generation is a compaction, counted from the first. `lab.figures.bars` draws them.
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
    """The context as one compaction left it: tokens by part, and what of the task it holds."""

    head: int
    summary: int
    tail: int
    facts: int = 0
    """Planted facts that stand in head and summary; the tail is on its way out."""
    rule: bool = False
    """Whether the person's rule stands there."""


def left(context: Sequence[Message], scenario: Scenario | None = None) -> Generation | None:
    """The parts of a context, or None where no compaction has been.

    >>> said = {"role": "user", "content": "[Conversation compressed. Transcript: t]\\n\\nDone."}
    >>> asks, answer = ({"role": r, "content": "Go on."} for r in ("user", "assistant"))
    >>> found = left([asks, said, answer])
    >>> (found.head, found.tail) == tuple(round(message_tokens(m)) for m in (asks, answer))
    True
    >>> left([asks, answer]) is None
    True
    """
    at = summary_index(context)
    if at is None:
        return None
    sizes = [round(message_tokens(message)) for message in context]
    known = json.dumps(context[: at + 1], ensure_ascii=False)
    facts, rule = (scenario.facts, scenario.constraint) if scenario else ((), "")
    return Generation(
        head=sum(sizes[:at]),
        summary=sizes[at],
        tail=sum(sizes[at + 1 :]),
        facts=sum(fact in known for fact in facts),
        rule=bool(rule) and rule in known,
    )


def generations(session: Session, scenario: Scenario | None = None) -> list[Generation]:
    """One for each compaction that was followed by a request; those that failed left out."""
    found: list[Generation | None] = []
    for done in session.compactions:
        sent = next((r for r in session.requests if r.seen >= done.seen), None)
        if done.message and sent:
            found.append(left(sent.context, scenario))
    return [each for each in found if each]
