"""What a person should know about a turn: a tier of the window reached, a compaction, an
early stop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentlib.refusals import refused_sizes
from agentlib.settings import Settings
from agentlib.step import Outcome, Step

SMALLEST = 1_000
"""Tokens. A refusal that names a smaller limit means another number."""


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


@dataclass(eq=False)
class Teller:
    """Tells each thing once, turn after turn."""

    settings: Settings
    full: str = ""
    """What fills the window while compaction rests. Empty: it doesn't rest."""
    _limit: int = 0
    _tier: float = 0.0
    _told_at: int = -1
    """Number of compactions when `full` was told last."""

    def refused(self, refusal: Exception) -> None:
        """See a refusal of a prompt for its size."""
        self._limit = refused_sizes(refusal)[0]

    def about(self, steps: Sequence[Step], compactions: int) -> Iterator[Event]:
        """Yield what a turn's steps brought. `compactions`: the session's, up to now."""
        if SMALLEST <= self._limit < self.settings.context_window:
            text = f"the API takes {self._limit:,} tokens at most; make the window so large"
            yield Event("limit", f"{text}: --window {self._limit}")
        self._limit = 0
        for step in steps:
            yield from self._tiers(step)
            yield from _compaction(step)
        if self.full and self._told_at != compactions:
            self._told_at = compactions
            if self.full != steps[-1].failure:
                yield Event("full", self.full)

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
        yield Event("compaction_done", f"{step.reason}: {sizes}; {step.archive}")
