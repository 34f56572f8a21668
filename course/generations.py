"""Find where each compaction of a session left what a task needs (lessons 03 and
06)."""

import json
from collections.abc import Iterator, Mapping, Sequence

from agentlib.messages import Message, blocks
from agentlib.session.file import CompactionRecord
from agentlib.transcripts import Session
from windtunnel.tasks.scenarios import Scenario


def planted(scenario: Scenario) -> dict[str, str]:
    """Return the texts that a task's report needs, by the names that `places` and a
    figure use."""
    facts = {f"fact {n}": fact for n, fact in enumerate(scenario.facts, 1)}
    return {"the rule": scenario.rule, **facts}


def places(session: Session, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return where each compaction left each of these texts, by the text's name.

    The place is "head", "request" (the person's last words beside the summary), "tail"
    or "summary". If a text stands in several, the first of these counts, because it
    lasts longest. It is "lost" if the text is in none, and "" if it has not come up
    yet.
    """
    found: dict[str, list[str]] = {name: [] for name in texts}
    for compaction, context in _compacted(session):
        at = next(
            n for n, message in enumerate(context) if message == compaction.message
        )
        summary, *request = blocks(context[at])
        parts = {"head": context[:at], "request": request, "tail": context[at + 1 :]}
        written = {place: _text(part) for place, part in parts.items()}
        written |= {
            "summary": _text(summary),
            "lost": _text(session.history[: compaction.seen]),
        }
        for name, text in texts.items():
            found[name].append(
                next((place for place in written if text in written[place]), "")
            )
    return found


def _compacted(
    session: Session,
) -> Iterator[tuple[CompactionRecord, Sequence[Message]]]:
    """Yield each compaction that succeeded, and the context of the request that
    followed."""
    for compaction in session.compactions:
        sent = next((r for r in session.requests if r.seen >= compaction.seen), None)
        if compaction.message and sent:
            yield compaction, sent.context


def _text(part: object) -> str:
    return json.dumps(part, ensure_ascii=False)
