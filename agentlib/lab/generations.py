"""Measure what each compaction of a session left: head, summary and tail, facts and the rule.

A generation is a compaction, counted from the first. `lab.figures.bars` draws the parts of each
(lesson 06), and `lab.figures.survival` the place of what has to survive (lessons 03 and 06).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentlib.estimation import message_tokens
from agentlib.head_and_tail import summary_index
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.messages import Message, blocks
from agentlib.session_file import Compaction
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
    text = _text(context[: at + 1])
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
    return [g for _, context in _compacted(session) if (g := left(context, scenario))]


def planted(scenario: Scenario) -> dict[str, str]:
    """Return the texts that a task's report needs, by the names that `places` and a figure use."""
    facts = {f"fact {n}": fact for n, fact in enumerate(scenario.facts, 1)}
    return {"the rule": scenario.constraint, **facts}


def places(session: Session, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return where each compaction left each of these texts, by the text's name.

    The place is "head", "request" (the person's last words beside the summary), "tail" or
    "summary". If a text stands in several, the first of these counts, because it lasts longest.
    It is "lost" if the text is in none, and "" if it has not come up yet.
    """
    found: dict[str, list[str]] = {name: [] for name in texts}
    for compaction, context in _compacted(session):
        at = next(n for n, message in enumerate(context) if message == compaction.message)
        summary, *request = blocks(context[at])
        parts = {"head": context[:at], "request": request, "tail": context[at + 1 :]}
        written = {place: _text(part) for place, part in parts.items()}
        written |= {"summary": _text(summary), "lost": _text(session.history[: compaction.seen])}
        for name, text in texts.items():
            found[name].append(next((place for place in written if text in written[place]), ""))
    return found


def _compacted(session: Session) -> Iterator[tuple[Compaction, Sequence[Message]]]:
    """Yield each compaction that succeeded, and the context of the request that followed."""
    for compaction in session.compactions:
        sent = next((r for r in session.requests if r.seen >= compaction.seen), None)
        if compaction.message and sent:
            yield compaction, sent.context


def _text(part: object) -> str:
    return json.dumps(part, ensure_ascii=False)
