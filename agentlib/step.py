"""What the layers did before one request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from agentlib.messages import Message

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


@dataclass(frozen=True, kw_only=True)
class Step:
    """The context for one request, and all that the session file notes about its
    making.

    Amounts are estimated tokens.
    """

    messages: list[Message]
    """The context to send."""
    cleared: tuple[str, ...] = ()
    """Ids of the results that were cleared, truncated or trimmed."""
    replaced: Mapping[str, str] = field(default_factory=dict[str, str])
    """tool_use id -> the new content of that result. With `messages.INPUT`: a call's
    new input."""
    compaction: Outcome | None = None
    """None: there was no compaction."""
    reason: Reason = "auto"
    """Why there was a compaction, or would have been if it had not failed."""
    failure: str | None = None
    """Why the compaction failed, or why no model wrote its summary."""
    rested: bool = False
    """Whether the failure is only that the breaker was open: no model was asked."""
    kept: tuple[int, ...] = ()
    """After a compaction: the indexes of the messages that stay."""
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
    def summary(self) -> int | None:
        """The index of the summary in `messages`, None if this step wrote none.

        >>> Step(messages=[], compaction=Outcome.AUTO, kept=(0, 1, 7, 8)).summary
        2
        """
        return (
            None
            if self.compaction in (None, Outcome.FAILED)
            else summary_place(self.kept)
        )


def summary_place(kept: Sequence[int]) -> int:
    """Find the index of the summary: the first place that a kept message didn't have
    before.

    >>> summary_place([0, 1, 7, 8])
    2
    """
    return next((n for n, i in enumerate(kept) if n != i), len(kept))


ContextEngine = Callable[..., Step]
"""The type of `pipeline.compact`; `loop.run(engine=…)` takes any function of that
signature."""
