"""Recovery: ask with less, rest after three failures, go on without a summary (lesson
07).

A failed compaction loses no message and never stops a session that could go on. Each
cure is a function around `Summarize`, or one from settings to settings, so they combine
freely and any engine can have them. The breaker keeps no state of its own: it reads
what the session has noted.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from textwrap import shorten

from agentlib import messages as msg
from agentlib.auto_compact import Summarize, SummaryFailed, SummaryTooLong
from agentlib.estimation import TokenMeter, leading_lines, message_tokens
from agentlib.head_and_tail import fitted
from agentlib.messages import Message
from agentlib.micro_compact import replacements, trim_results
from agentlib.own_notes import spoken_lines, tokens_of
from agentlib.session_file import Compaction, Request
from agentlib.settings import Settings
from agentlib.step import Step, in_place_of

_LEFT_OUT = msg.LEFT_OUT + "the oldest exchanges, {} in number.]"
_CUT = "[No summary: {}. What was said stands here instead, cut to size.]"
_GAP = "[… {:,} lines left out …]"
_REASON = 160
"""Characters of the reason in `_CUT`: an API's explanation can be longer than all the
rest."""
AGAIN = 3
"""A compaction that is needed again within so many exchanges didn't help, if it left
the window `NEARLY_FULL`."""
NEARLY_FULL = 2 / 3
"""Share of the threshold. If less than that stays, new results have filled the window,
and to rest would only bring larger prompts."""
_LESS = 5
"""A request refused for its size is made again without the oldest 1/5 of its
exchanges."""


class CompactionRests(SummaryFailed):
    """The breaker is open: no model was asked."""


# -- ask again with less ---------------------------------------------------------------


def with_less(
    summarize: Summarize,
    times: int = 3,
    fits: Callable[[Sequence[Message]], bool] = lambda messages: True,
) -> Summarize:
    """Ask again with less if the API refuses the request for its size.

    It is asked again at most `times` times (s24: 3), each time without the oldest fifth
    of the exchanges. If even the estimate says that the messages don't fit, their long
    results lose their middle first, then exchanges go until the rest fits. Other
    failures pass through.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        for _ in range(times):
            try:
                return summarize(messages, focus)
            except SummaryTooLong:
                shorter = (
                    without_oldest(messages) if fits(messages) else _trimmed(messages)
                )
                while (
                    not fits(shorter) and (fewer := without_oldest(shorter)) != shorter
                ):
                    shorter = fewer
                if shorter == messages:
                    raise
                messages = shorter
        return summarize(messages, focus)

    return ask


def _trimmed(messages: Sequence[Message]) -> list[Message]:
    return in_place_of(messages, trim_results(messages, keep_unseen=False))


def without_oldest(messages: Sequence[Message]) -> list[Message]:
    """Replace the oldest fifth of the exchanges, at least one of two, by a note.

    Messages before the first exchange stay, such as the task or an earlier summary. So
    does a summary that follows a head, and so do the person's words that still wait.
    The last of them come after the note, so that nobody takes the note for them.

    >>> ask, yes = {"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Yes."}
    >>> [m["content"] for m in without_oldest([ask, yes, ask, yes, ask])]
    ['[Left out, to fit: the oldest exchanges, 1 in number.]', 'Go on.', 'Yes.', 'Go on.']
    """
    starts = [start for start, _ in msg.exchanges(messages)]
    if len(starts) < 2:
        return list(messages)
    fewer = max(1, len(starts) // _LESS)
    start = starts[0]
    stop = starts[fewer]
    # After a head, the summary is in the head's last exchange.
    summaries = [
        m for m in messages[start:stop] if any(map(msg.is_summary, msg.blocks(m)))
    ]
    words = [
        text
        for i, text in msg.waiting(messages)
        if start <= i < stop and messages[i] not in summaries
    ]
    spoken = [{"role": "user", "content": text} for text in words]
    kept = [*messages[:start], *summaries, *spoken]
    at = max(
        (i for i, m in enumerate(kept) if msg.active_request([m])), default=len(kept)
    )
    note: Message = {"role": "user", "content": _LEFT_OUT.format(fewer)}
    return in_place_of(messages, [*kept[:at], note, *kept[at:], *messages[stop:]])


# -- the breaker -----------------------------------------------------------------------


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
        holders = {index for index, _ in msg.waiting(messages, persons)}
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
    compactions: Sequence[Compaction], requests: Sequence[Request], settings: Settings
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


# -- go on without a model -------------------------------------------------------------


def emergency(settings: Settings) -> Settings:
    """Return the settings of an emergency: clear all that can be, keep half the tail
    (Hermes).

    >>> urgent = emergency(Settings(clear_at_least=5_000, clear_when="cold", keep_exchanges=3))
    >>> urgent.clear_at_least, urgent.clear_when, urgent.keep_exchanges
    (0, 'always', 1)
    """
    tail = settings.tail_tokens
    keep = settings.keep_exchanges // 2
    half = None if tail is None else tail // 2
    urgent = replace(settings, clear_at_least=0, clear_when="always")
    return replace(urgent, keep_exchanges=keep, tail_tokens=half)


def cut_unseen(
    messages: Sequence[Message], meter: TokenMeter, most: int, *, recall: bool = False
) -> list[Message]:
    """Trim unseen results, so that a prompt that `meter` takes for larger has `most`
    tokens.

    This is for a prompt that the API refused for its size, if nothing else can cure
    that. The history keeps the results, and the tool `recall` returns them in pages.
    With `recall` the cut results say so. A person's words and pictures are never cut,
    so a prompt can still be too large.
    """
    newest = msg.last_assistant(messages) + 1
    over = meter.estimate(messages) - most
    unseen = messages[newest:]
    weight = sum(meter.weights(messages)[newest:])
    if over <= 0 or not weight:
        return list(messages)
    # The refusal has shown how far off the guesses are for just these results.
    room = sum(map(message_tokens, unseen)) * (1 - over / weight)
    cut = replacements(unseen, fitted(unseen, room))
    if recall:
        mark = "characters trimmed; recall {} returns them ...]"
        cut = {
            n: t.replace("characters trimmed ...]", mark.format(n))
            for n, t in cut.items()
        }
    return msg.with_results(messages, cut)


def truncating(failure: str, tokens: int) -> Summarize:
    """Make a `summarize` that asks no model: it notes why, and cuts the middle out
    (Hermes).

    The result has at most `tokens`, and a quarter of the messages' tokens. Tool results
    are left out.
    """

    def cut(messages: Sequence[Message], focus: str) -> str:
        room = min(tokens, sum(map(message_tokens, msg.summary_source(messages))) / 4)
        reason = shorten(failure, _REASON, placeholder="…")
        return "\n".join(
            [_CUT.format(reason), *_middle_cut(spoken_lines(messages), room)]
        )

    return cut


def _middle_cut(lines: Sequence[str], tokens: float) -> list[str]:
    """Give a quarter of the room to the oldest lines, the rest to the newest."""
    if tokens_of(lines) <= tokens:
        return list(lines)
    head = leading_lines(lines, tokens / 4)
    tail = leading_lines(lines[::-1], tokens - tokens_of(head))[::-1]
    return [*head, _GAP.format(len(lines) - len(head) - len(tail)), *tail]
