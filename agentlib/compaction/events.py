"""What a person should know about a turn: a tier of the window reached, a compaction, an
early stop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from agentlib.messages import Message, blocks, not_said, said_in
from agentlib.settings import Settings
from agentlib.step import Event, Outcome, Step

SMALLEST = 1_000
"""Tokens. A refusal that names a smaller limit means another number."""


class Told(Protocol):
    """What the teller reads of a `loop.Turn`."""

    @property
    def steps(self) -> Sequence[Step]: ...
    @property
    def cuts(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def stop_reason(self) -> str: ...
    def telling(self, events: tuple[Event, ...]) -> Self: ...


@dataclass(eq=False)
class Teller:
    """Tells each thing once, turn after turn."""

    settings: Settings
    longest_reply: int
    """`max_tokens` of each request."""
    most_cuts: int
    """How many replies in a row may be cut off before the agent stops."""
    _tier: float = 0.0
    _told_at: int = -1
    """Number of compactions when `full` was told last."""

    def about(self, turn: Told, full: str, compactions: int) -> Iterator[Event]:
        """Yield what a turn brought. `full`: what fills the window while compaction
        rests. `compactions`: the session's, up to now."""
        if SMALLEST <= turn.limit < self.settings.context_window:
            text = (
                f"the API takes {turn.limit:,} tokens at most; make the window so large"
            )
            yield Event("limit", f"{text}: --window {turn.limit}")
        for step in turn.steps:
            yield from self._tiers(step)
            yield from _compaction(step)
        if full and self._told_at != compactions:
            self._told_at = compactions
            if full != turn.steps[-1].failure:
                yield Event("full", full)
        yield from self._end(turn)

    def _end(self, turn: Told) -> Iterator[Event]:
        """Tell of a reply that was cut off, and of an end that is no answer."""
        if 0 < turn.cuts <= self.most_cuts:
            size = f"the reply was cut off at {self.longest_reply:,} tokens"
            yield Event(
                "cut", f"{size}; the model goes on, {turn.cuts} of {self.most_cuts}"
            )
        elif turn.stop_reason not in ("tool_use", "end_turn"):
            yield Event("stopped", f"the answer stopped with {turn.stop_reason}")

    def _tiers(self, step: Step) -> Iterator[Event]:
        """Tell each tier once, until the context has fallen below it again."""
        window = self.settings.context_window
        tiers = self.settings.warn_at
        share = step.tokens_after / window
        before = self._tier
        self._tier = max((tier for tier in tiers if share >= tier), default=0)
        if self._tier > before:
            kind = "logged" if self._tier == min(tiers) else "tier"
            yield Event(kind, f"the context is at {share:.0%} of {window:,} tokens")


def _compaction(step: Step) -> Iterator[Event]:
    if step.failure:
        failed = step.compaction == Outcome.FAILED
        kind = "compaction_failed" if failed else "compaction_truncated"
        yield Event(kind, step.failure)
    if step.summary is not None:
        sizes = f"{step.tokens_before:,} -> {step.tokens_after:,} tokens"
        text = f"{step.reason}: {sizes}; {step.archive}{left_out(step.summary)}"
        yield Event("compaction_done", text)


def left_out(summary: Message) -> str:
    """Say how many texts of the person's had no room beside a summary, "" if none."""
    texts = (text for block in blocks(summary) for text in said_in(block))
    number = sum(map(not_said, texts))
    return f"; texts of yours without room: {number:,} (words_tokens)" if number else ""
