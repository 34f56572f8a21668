"""What the layers did before one request, said once: which texts, which messages, which
summary."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from agentlib.messages import (
    ANSWERED,
    THINKING,
    Block,
    Message,
    blocks,
    changes,
    last_assistant,
    of_type,
    waiting,
    with_results,
    words,
)

Reason = Literal["auto", "manual", "reactive"]
"""Why the layers may compact: the threshold, a wish, or the API's refusal of the
prompt."""


class Outcome(StrEnum):
    """How a compaction ended: carried out, for one of the three reasons, or failed."""

    AUTO = "auto"
    MANUAL = "manual"
    REACTIVE = "reactive"
    FAILED = "failed"

    __repr__ = str.__repr__  # a list of outcomes prints as the words


@dataclass(frozen=True)
class Event:
    """Something to tell the person."""

    kind: str
    """tier, or logged for the lowest one, which is for a log and not for a screen; full
    if compaction rests because it doesn't help; limit if the API refused a prompt and
    named a window smaller than the settings'; cut if max_tokens cut the reply off and
    the model goes on; compaction_done, compaction_failed, or compaction_truncated and
    compaction_done if the messages were cut to size without a model; stopped."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """What changes in the context before one request, and all that the session file
    notes about it.

    `applied` makes the new context. An empty `Step()` changes nothing. Amounts are
    estimated tokens.
    """

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """tool_use id -> the new text of that result."""
    inputs: Mapping[str, Block] = field(default_factory=dict[str, Block])
    """tool_use id -> the new input of that call."""
    kept: tuple[int, ...] = ()
    """After a compaction: the indexes of the messages that stay."""
    summary: Message | None = None
    """After a compaction: the message in place of all that went. None: there was no
    compaction, or it failed."""
    reason: Reason = "auto"
    """Why there was a compaction, or would have been if it had not failed."""
    failure: str | None = None
    """Why the compaction failed, or why no model wrote its summary."""
    rested: bool = False
    """Whether the failure is only that the breaker was open: no model was asked."""
    settled: int = 0
    """Number of leading messages that no layer will touch again; a cache marker follows
    them."""
    tokens_before: int = 0
    tokens_cleared: int = 0
    """How much smaller clearing made the context."""
    tokens_after: int = 0
    focus: str = ""
    archive: str | None = None
    """The name under which the history was saved before the compaction."""
    usage: tuple[Mapping[str, Any], ...] = ()
    """The bills of the summary's calls."""

    @property
    def compaction(self) -> Outcome | None:
        """How the compaction ended. None: there was none.

        >>> Step(failure="the summary is empty").compaction
        'failed'
        """
        if self.summary is not None:
            return Outcome(self.reason)
        return None if self.failure is None else Outcome.FAILED

    @property
    def cleared(self) -> tuple[str, ...]:
        """Ids of the results that were cleared, truncated or trimmed, and of the calls
        with another input."""
        return (*self.texts, *self.inputs)

    def is_like(self, other: "Step") -> bool:
        """Return whether another step, made from this one, has the same content."""
        return (
            self.texts is other.texts
            and self.inputs is other.inputs
            and self.summary is other.summary
        )

    def applied(self, messages: Sequence[Message]) -> list[Message]:
        """Return the context that this step makes of the messages it was made for.

        The loop, a loaded session, a replay and the adapters all make it here. Messages
        that don't change are the same objects. For thinking see `in_place_of`.

        >>> said = [{"role": "user", "content": text} for text in "abcd"]
        >>> summary = {"role": "user", "content": "b and c"}
        >>> step = Step(kept=(0, 3), summary=summary)
        >>> [message["content"] for message in step.applied(said)]
        ['a', 'b and c', 'd']
        """
        if not self.cleared and self.summary is None:
            return list(messages)
        view = with_results(messages, self.texts, self.inputs)
        if self.summary is not None:
            place = summary_place(self.kept)
            view = [view[index] for index in self.kept]
            view.insert(place, self.summary)
        return in_place_of(messages, view)


def in_place_of(
    before: Sequence[Message] | None, after: Sequence[Message]
) -> list[Message]:
    """Return the messages that are sent in place of others, without the thinking that
    the API would refuse there.

    The API binds thinking to all that stands before it. So it goes behind the first
    difference between the two. `before` None: nothing is as it was, because the system
    prompt is another one, say. The newest reply keeps its thinking until `answered`,
    because the API wants a turn back unmodified while its calls are being answered.
    """
    start = 0 if before is None else next(changes(before, after), len(after))
    return drop_thinking(after, start)


def answered(context: Sequence[Message]) -> list[Message]:
    """Return a context that has changed, now that the model has replied to it: without
    the thinking that `in_place_of` left in its newest reply."""
    return drop_newest_thinking(context)


def summary_place(kept: Sequence[int]) -> int:
    """Find the index of the summary: the first place that a kept message didn't have
    before.

    >>> summary_place([0, 1, 7, 8])
    2
    """
    return next((n for n, i in enumerate(kept) if n != i), len(kept))


def stand_for(
    messages: Sequence[Message],
    kept: Sequence[int],
    summary: Message,
    persons: Collection[str] | None = None,
) -> Message:
    """Return a summary's message as it can stand for all messages but the kept ones.

    The person's words that still wait for an answer and are not kept get a block each
    behind the summary. If the answer to words that are kept goes, the message says that
    they were answered. `kept`: indexes, in order. `persons`: as in `messages.waiting`.

    >>> said = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Wait."},
    ...         {"role": "user", "content": "And?"}]
    >>> summary = {"role": "user", "content": "[Conversation compressed. Transcript: t]"}
    >>> [block["text"] for block in stand_for(said, [], summary)["content"]]
    ['[Conversation compressed. Transcript: t]', 'And?']
    """
    open_words = waiting(messages, persons)
    stay = [messages[i] for i in kept]
    told = {text for message in stay for text in words(message, persons)}
    gone = [text for i, text in open_words if i not in kept]
    joined = "\n\n".join(text for text in gone if text not in told)
    first, *others = blocks(summary)
    if len(gone) > 1:  # an engine may have put them there by itself, all in one
        others = [block for block in others if block.get("text") != joined]
    there = [block.get("text") for block in [first, *others]]
    others += [{"type": "text", "text": text} for text in gone if text not in there]
    view = [*stay]
    view.insert(summary_place(kept), {**summary, "content": [first, *others]})
    if len(waiting(view, persons)) > len(open_words):
        others.insert(0, {"type": "text", "text": ANSWERED})
    content = [first, *others]
    return summary if content == blocks(summary) else {**summary, "content": content}


def drop_thinking(messages: Sequence[Message], start: int) -> list[Message]:
    """Drop the thinking blocks from message `start` on. The API rejects them there.

    Thinking is bound to everything before it, so a changed message makes what follows
    invalid. The newest assistant message keeps its thinking while its calls are being
    answered: the API wants that turn back unmodified.
    """
    newest = last_assistant(messages)
    view = list(messages)
    in_flight = newest if newest >= 0 and of_type(messages[newest], "tool_use") else -1
    for i in range(start, len(view)):
        if i != in_flight:
            view[i] = _without_thinking(view[i])
    return view


def drop_newest_thinking(messages: Sequence[Message]) -> list[Message]:
    """Drop the thinking of the newest assistant message.

    `drop_thinking` has to leave it there, and the next reply makes it droppable.
    """
    newest = last_assistant(messages)
    return [_without_thinking(m) if i == newest else m for i, m in enumerate(messages)]


def _without_thinking(message: Message) -> Message:
    content = blocks(message)
    kept = [block for block in content if block["type"] not in THINKING]
    if len(kept) == len(content):
        return message
    # A message that was all thinking keeps its place, because roles must alternate.
    return {**message, "content": kept or [{"type": "text", "text": "(thinking only)"}]}
