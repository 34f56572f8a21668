"""The breaker: after three failures compaction rests for some turns (lesson 07).

It keeps no state of its own. It reads what the session has noted.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from agentlib.auto_compact import CompactionRests, Summarize
from agentlib.estimation import TokenMeter
from agentlib.messages import Message, waiting
from agentlib.session.file import CompactionRecord, Request
from agentlib.settings import Settings
from agentlib.step import Step

AGAIN = 3
"""A compaction that is needed again within so many exchanges didn't help, if it left
the window `NEARLY_FULL`."""
NEARLY_FULL = 2 / 3
"""Share of the threshold. If less than that stays, new results have filled the window,
and to rest would only bring larger prompts."""


@dataclass(frozen=True)
class Breaker:
    """Whether compaction rests.

    >>> Breaker(failures=3, turns=4, limit=3, rest=10).is_open
    True
    >>> Breaker(failures=3, turns=10, limit=3, rest=10).is_open   # time for a probe
    False
    """

    failures: int
    """How many compactions in a row failed or didn't help, up to now."""
    turns: int
    """Requests since the newest of them."""
    limit: int
    rest: int
    stays: int | None = None
    """The tokens that the newest one left, if it was carried out and didn't help."""
    is_over: bool = False
    """Whether that is more than the threshold."""
    is_told: bool = False
    """Whether the session has a note of this rest."""

    @property
    def is_open(self) -> bool:
        """Open: compaction rests. After `rest` turns one try passes, and its failure
        counts."""
        return 0 < self.limit <= self.failures and self.turns < self.rest

    def in_force(self, settings: Settings) -> Settings:
        """Return the settings of this turn. While compaction rests, only an emergency
        compacts."""
        return (
            replace(settings, threshold=settings.emergency_tokens)
            if self.is_open
            else settings
        )

    def guard(self, summarize: Summarize) -> Summarize:
        """Raise CompactionRests instead of asking while the breaker is open.

        If the last compactions were carried out, and only needed again too soon, the
        model answers, and an emergency may ask it.
        """
        is_sound = self.stays is not None and not self.is_over

        def ask(messages: Sequence[Message], focus: str) -> str:
            if self.is_open and not is_sound:
                after = f"after {self.failures} failures"
                more = self.rest - self.turns
                raise CompactionRests(f"compaction rests {after}, {more} turns more")
            return summarize(messages, focus)

        return ask

    def told(
        self,
        step: Step,
        messages: Sequence[Message],
        meter: TokenMeter,
        settings: Settings,
        persons: Collection[str] | None = None,
    ) -> tuple[Step, str]:
        """Say what fills the window, if a compaction is needed and rests because the
        last ones didn't help.

        The text is "" if there is nothing to say. Where the need itself shows that the
        last compaction didn't help, the step notes it, once a rest. `messages`: those
        that the step was made for. `settings`: the agent's own, and not those in force.
        """
        point = settings.threshold_tokens
        stays = self.stays
        is_needed = step.compaction is None and step.tokens_after > point
        rests = settings.auto and self.is_open and not self.is_told
        if stays is None or not (is_needed and rests):
            return step, ""
        weights = meter.weights(messages)
        holders = {index for index, _ in waiting(messages, persons)}
        base = int(meter.base)
        words = int(sum(weights[i] for i in holders))
        parts = {
            "system prompt and tools": base,
            "words that wait for an answer": words,
            "a summary and the newest messages": max(0, stays - base - words),
        }
        named = ", ".join(f"{name} {size:,}" for name, size in parts.items() if size)
        why = (
            "the window is nearly full of what can't be compacted: "
            f"{named}, in all {stays:,} of {point:,} tokens"
        )
        more = self.rest - self.turns
        text = f"{why}. Compaction rests, {more} turns more"
        return (
            step if self.is_over else replace(step, failure=text, rested=True)
        ), text


def breaker(
    compactions: Sequence[CompactionRecord],
    requests: Sequence[Request],
    settings: Settings,
) -> Breaker:
    """Return the breaker's state after what a session has noted. A compaction that
    helps resets it.

    One that left the context over the threshold didn't help, and neither did one that
    left it nearly full and was needed again within three exchanges. Both count like
    failures, because compacting would go on for ever if what stays fills the window. A
    compaction that was made while the breaker was open says nothing about the model and
    counts neither way.
    """
    point = settings.threshold_tokens
    limit = settings.breaker_failures
    tried = [i for i, each in enumerate(compactions) if not each.rested][::-1]

    def exchanges(start: int, stop: float = math.inf) -> int:
        seen = [bisect_left(requests, n, key=_seen) for n in (start, stop)]
        return seen[1] - seen[0]

    def failed(i: int) -> bool:
        return compactions[i].failure is not None or compactions[i].tokens_after > point

    def is_needed_again(i: int) -> bool:
        """Whether it was carried out, left much, and was needed again soon."""
        if failed(i) or compactions[i].tokens_after < NEARLY_FULL * point:
            return False
        after = [c for c in compactions[i + 1 : i + 2] if c.trigger != "manual"]
        return any(
            (later.failure is None or later.rested)
            and exchanges(compactions[i].seen, later.seen) <= AGAIN
            for later in after
        )

    chain = list[int]()
    if tried and failed(tried[0]):
        chain = list(takewhile(lambda i: failed(i) or is_needed_again(i), tried))
    elif tried and is_needed_again(tried[0]):
        chain = list(takewhile(is_needed_again, tried))
    elif (
        tried
        and compactions[tried[0]].tokens_after >= NEARLY_FULL * point
        and exchanges(compactions[tried[0]].seen) <= AGAIN
    ):
        # Whether the newest one helped isn't known yet. If it is needed now, it didn't.
        chain = list(takewhile(is_needed_again, tried[1:]))
    newest = compactions[tried[0]] if tried else None
    turns = exchanges(newest.seen) if newest and chain else 0
    stays = newest.tokens_after if newest and newest.failure is None else None
    return Breaker(
        len(chain),
        turns,
        limit,
        settings.breaker_turns,
        stays,
        is_over=stays is not None and stays > point,
        is_told=bool(tried) and any(c.rested for c in compactions[tried[0] :]),
    )


def _seen(request: Request) -> int:
    return request.seen
