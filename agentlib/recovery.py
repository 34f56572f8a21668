"""When compaction fails: ask with less, rest after three failures, go on without (lesson 07).

A failed compaction loses no message and never stops a session that could go on. Each cure is a
function around `Summarize`, or one from settings to settings, so that they combine freely and any
engine can have them. The breaker has no memory of its own: its state is a fold over what the
session file notes. Not here: what is put back afterwards (restore) and when the API's refusal is
answered by a compaction (agent).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from textwrap import shorten

from agentlib.auto_compact import Summarize, SummaryFailed, SummaryTooLong, summary_text
from agentlib.estimation import message_tokens, text_tokens
from agentlib.messages import (
    PUT_BACK,
    Message,
    active_request,
    asks_for_summary,
    blocks,
    drop_thinking,
    exchanges,
    is_summary,
    of_type,
)
from agentlib.session_file import Compaction, Request
from agentlib.settings import Settings

_LEFT_OUT = "[Left out, to fit: the oldest exchanges, {} in number.]"
_CUT = "[No summary: {}. What was said stands here instead, cut to size.]"
_GAP = "[… {:,} lines left out …]"
_WHY = 160
"""Characters of the reason in that note: an API's explanation can be longer than the rest."""
_LESS = 5
"""A request refused for its size is made again without the oldest 1/5 of its exchanges."""


# -- ask again with less --------------------------------------------------------------------------


def with_less(
    summarize: Summarize,
    times: int = 3,
    fits: Callable[[Sequence[Message]], bool] = lambda messages: True,
) -> Summarize:
    """Ask again without the oldest exchanges if the API refuses the request for its size.

    It is asked again at most `times` times (Claude Code: 3), each time with a fifth less, or with
    as much less as `fits` wants. Any other failure passes through.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        for _ in range(times):
            try:
                return summarize(messages, focus)
            except SummaryTooLong:
                shorter = without_oldest(messages)
                if shorter == messages:
                    raise
                while not fits(shorter) and (fewer := without_oldest(shorter)) != shorter:
                    shorter = fewer
                messages = shorter
        return summarize(messages, focus)

    return ask


def without_oldest(messages: Sequence[Message]) -> list[Message]:
    """Leave out the oldest fifth of the exchanges, at least one of two, with a note in its place.

    What stands before the first exchange, the task or an earlier summary, stays; so does a
    summary that follows a head. The person's last words come after the note, or it would stand
    for them.

    >>> ask, said = {"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Yes."}
    >>> [m["content"] for m in without_oldest([ask, said, ask, said, ask])]
    ['[Left out, to fit: the oldest exchanges, 1 in number.]', 'Go on.', 'Yes.', 'Go on.']
    """
    found = exchanges(messages)
    if len(found) < 2:
        return list(messages)
    fewer = max(1, len(found) // _LESS)
    start, stop = found[0][0], found[fewer][0]
    # After a head, the summary stands in the head's last exchange.
    so_far = [m for m in messages[start:stop] if any(map(is_summary, blocks(m)))]
    kept, words = [*messages[:start], *so_far], active_request(messages[:stop])
    if words and active_request(kept) != words:
        kept.append({"role": "user", "content": words})
    at = max((i for i, m in enumerate(kept) if active_request([m])), default=len(kept))
    note: Message = {"role": "user", "content": _LEFT_OUT.format(fewer)}
    return drop_thinking([*kept[:at], note, *kept[at:], *messages[stop:]], at)


# -- the breaker ----------------------------------------------------------------------------------


class CompactionRests(SummaryFailed):
    """The breaker is open: no model was asked."""


@dataclass(frozen=True)
class Breaker:
    """Whether compaction rests.

    >>> Breaker(failures=3, turns=4, limit=3, rest=10).is_open
    True
    >>> Breaker(failures=3, turns=10, limit=3, rest=10).is_open   # time for a probe
    False
    """

    failures: int
    """In a row, up to now."""
    turns: int
    """Requests since the newest of them."""
    limit: int
    rest: int

    @property
    def is_open(self) -> bool:
        """Open: nothing is asked. After `rest` turns it lets one through, whose failure counts."""
        return 0 < self.limit <= self.failures and self.turns < self.rest

    def in_force(self, settings: Settings) -> Settings:
        """The settings of this turn: while compaction rests, only an emergency is a reason."""
        return replace(settings, threshold=settings.emergency_tokens) if self.is_open else settings

    def guard(self, summarize: Summarize) -> Summarize:
        """Don't ask while the breaker is open."""

        def ask(messages: Sequence[Message], focus: str) -> str:
            if self.is_open:
                left = self.rest - self.turns
                raise CompactionRests(
                    f"compaction rests after {self.failures} failures, {left} turns more"
                )
            return summarize(messages, focus)

        return ask


def breaker(
    tried: Sequence[Compaction], requests: Sequence[Request], settings: Settings
) -> Breaker:
    """The breaker's state, from what a session has noted: success resets it.

    A compaction that left the context over the threshold did not help and counts as a failure:
    where the system prompt alone is over it, compacting would go on for ever. One that was cut to
    size while the breaker was open says nothing about the model and counts neither way.
    """
    asked = (c for c in reversed(tried) if not c.rested)
    failed = list(takewhile(lambda c: not _helped(c, settings), asked))
    seen = failed[0].seen if failed else 0
    newest = islice(reversed(requests), settings.breaker_turns)
    turns = sum(1 for _ in takewhile(lambda request: request.seen >= seen, newest))
    return Breaker(len(failed), turns, settings.breaker_failures, settings.breaker_turns)


def _helped(tried: Compaction, settings: Settings) -> bool:
    return tried.failure is None and tried.tokens_after <= settings.threshold_tokens


# -- the emergency --------------------------------------------------------------------------------


def is_emergency(tokens: int, settings: Settings, reason: str) -> bool:
    """Whether all must be done to go on: past `emergency_at`, or refused by the API already."""
    past = settings.emergency_at is not None and tokens > settings.emergency_tokens
    return reason == "reactive" or (reason == "auto" and settings.auto and past)


def emergency(settings: Settings) -> Settings:
    """The settings of an emergency: clear whatever can be, keep half the tail (003).

    >>> hurry = emergency(Settings(clear_at_least=5_000, clear_when="cold", keep_exchanges=3))
    >>> hurry.clear_at_least, hurry.clear_when, hurry.keep_exchanges
    (0, 'always', 1)
    """
    tail = settings.tail_tokens
    return replace(
        settings,
        clear_at_least=0,
        clear_when="always",
        keep_exchanges=settings.keep_exchanges // 2,
        tail_tokens=None if tail is None else tail // 2,
    )


# -- without a model ------------------------------------------------------------------------------


def truncating(failure: str, tokens: int) -> Summarize:
    """A `summarize` that asks nobody: what was said, its middle cut out, and a note of why (003).

    At most `tokens`, and a quarter of what it is shown; tool results are left out.
    """

    def cut(messages: Sequence[Message], focus: str) -> str:
        room = min(tokens, sum(map(message_tokens, messages)) / 4)
        why = shorten(failure, _WHY, placeholder="…")
        return "\n".join([_CUT.format(why), *_middle_cut(_said(messages), room)])

    return cut


def memory_first(summarize: Summarize, tokens: int) -> Summarize:
    """Let what the agent noted as it went stand in for the summary, where that suffices.

    It does where nothing was focused on, where after each exchange but the first the agent said
    something of its own, and where all that fits in `tokens`. No model is asked then.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        said = _said(messages)
        if not focus and _is_noted(messages) and _size(said) <= tokens:
            return "\n".join(said)
        return summarize(messages, focus)

    return ask


def _is_noted(messages: Sequence[Message]) -> bool:
    starts = [messages[start] for start, _ in exchanges(messages)]
    return len(starts) > 1 and all(any(_words(message)) for message in starts[1:])


def _said(messages: Sequence[Message]) -> list[str]:
    """Line by line: earlier summaries, the person's words, the agent's own."""
    texts: list[str] = []
    for message in messages[:-1] if asks_for_summary(messages) else messages:
        if any(is_summary(block) for block in blocks(message)):
            texts.append(summary_text(message).partition(PUT_BACK)[0].strip())
        words = _words(message)
        if message["role"] == "user" and words:
            words = [f"- Earlier request: {' '.join(' '.join(words).split())}"]
        texts += words
    return [line for text in dict.fromkeys(texts) for line in text.splitlines() if line.strip()]


def _words(message: Message) -> list[str]:
    texts = (block["text"] for block in of_type(message, "text") if not is_summary(block))
    return [text for text in texts if text.strip()]


def _middle_cut(lines: Sequence[str], tokens: float) -> list[str]:
    """A quarter of the room for the oldest lines, the rest for the newest; whole lines only."""
    if _size(lines) <= tokens:
        return list(lines)
    head = _fitting(lines, tokens / 4)
    tail = _fitting(lines[::-1], tokens - _size(head))[::-1]
    return [*head, _GAP.format(len(lines) - len(head) - len(tail)), *tail]


def _fitting(lines: Sequence[str], tokens: float) -> list[str]:
    kept: list[str] = []
    for line in lines:
        tokens -= _size([line])
        if tokens < 0:
            break
        kept.append(line)
    return kept


def _size(lines: Sequence[str]) -> float:
    return text_tokens("\n".join([*lines, ""]), "summary")
