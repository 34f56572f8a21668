"""Bill each request of a replay: tokens read from the cache, written to it, uncached,
answered.

The recorded bills are left aside, so that the sums of several replays can be compared.
Each replay is billed by the rules of offline_api.cache from its first request on, with
the markers that the loop sets. A summary is a request of its own on the live prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentlib.api.spending import Usage
from agentlib.auto_compact import summary_text
from agentlib.estimation import estimate_text
from agentlib.messages import (
    PUT_BACK,
    SUMMARY_WANTED,
    Message,
    blocks,
    is_summary,
    last_assistant,
    with_results,
)
from agentlib.micro_compact import trim_results
from agentlib.settings import Settings
from agentlib.step import Outcome, Step, summary_place
from agentlib.transcripts import Session
from offline_api.cache import LONG, SHORT, Bill, Part, PromptCache
from session_report.frames import Frame, repeated_at
from session_report.weights import Weights

KINDS = ("read", "written", "uncached", "answers")
"""How tokens are billed, from the cheapest kind of prompt to the answers."""
_SUMMARY_PROMPT = Part(SUMMARY_WANTED, 150)


@dataclass(frozen=True)
class Billed:
    """One turn: the usage of its request, of the summaries before it, and of its
    repeats."""

    usage: Usage
    summaries: tuple[Usage, ...] = ()
    repeats: tuple[Usage, ...] = ()

    @property
    def usages(self) -> tuple[Usage, ...]:
        """All of them."""
        return self.usage, *self.summaries, *self.repeats


def bills(
    session: Session, frames: Sequence[Frame], *, ttl: float | None = None
) -> list[Billed]:
    """Return a bill for each frame of a replay of `session`.

    `ttl`: seconds that a cache entry lives, 300 or 3,600. By default it is an hour if
    the session's own bills have writes for an hour, else five minutes.
    """
    ends = [*(frame.request.at for frame in frames[1:]), 0.0]
    biller = _Biller(Weights(session), PromptCache(ttl=ttl or lifetime(session)))
    billed = list[Billed]()
    for frame, end in zip(frames, ends, strict=False):
        compacted = frame.compaction not in (None, Outcome.FAILED)
        summaries = (biller.summary(frame),) if compacted else ()
        output = frame.request.usage.get("output_tokens") or 0
        usage = biller.prompt(frame, frame.request.at).usage(output)
        times = repeated_at(session, frame.settings, frame.request, end)
        repeats = tuple(biller.prompt(frame, at).usage(0) for at in times)
        billed.append(Billed(usage, summaries, repeats))
    return billed


def lasting(settings: Settings, ttl: float) -> Settings:
    """Let settings take the cache for cold only when it is, or later if that is their
    own number.

    >>> [lasting(Settings(), ttl).cache_ttl for ttl in (300.0, 3_600.0)]
    [300.0, 3600.0]
    """
    return replace(settings, cache_ttl=max(ttl, settings.cache_ttl))


def lifetime(session: Session) -> float:
    """Return the seconds that the session's cache entries lived, by its own bills."""
    splits: list[Usage] = [
        r.usage.get("cache_creation") or {} for r in session.requests
    ]
    return (
        LONG
        if any(split.get("ephemeral_1h_input_tokens") for split in splits)
        else SHORT
    )


@dataclass(frozen=True)
class _Biller:
    """Bills prompts by the rules of the cache."""

    weights: Weights
    cache: PromptCache

    def prompt(self, frame: Frame, at: float) -> Bill:
        """Bill a prompt; the weights are scaled to its tokens."""
        bill = self._bill(frame.context, at, frame.step.settled)
        scale = frame.prompt_tokens / (bill.read + bill.written + bill.uncached or 1)
        read = round(bill.read * scale)
        written = round(bill.written * scale)
        rest = frame.prompt_tokens - read - written
        written += min(rest, 0)
        hour = written if bill.written_1h else 0
        return Bill(read, written, max(rest, 0), hour)

    def summary(self, frame: Frame) -> Usage:
        """Bill the request for the summary that stands in the frame."""
        # Results that only the tail split were whole when the summary was asked for.
        step = frame.step if frame.step.tokens_cleared else Step()
        before = with_results(frame.before, step.texts, step.inputs)
        messages = _shown(before, frame)
        bill = self._bill(messages, frame.request.at, last=(_SUMMARY_PROMPT,))
        texts = (
            summary_text(m) for m in frame.context if any(map(is_summary, blocks(m)))
        )
        written = next(texts, "").partition(PUT_BACK)[
            0
        ]  # what is put back isn't the model's
        return bill.usage(round(estimate_text(written, "summary")))

    def _bill(
        self,
        messages: Sequence[Message],
        at: float,
        settled: int = 0,
        last: Sequence[Part] = (),
    ) -> Bill:
        base = Part("system and tools", round(self.weights.base))
        parts = [base, *(self.weights.of(message).part for message in messages), *last]
        end = len(parts) - 1
        return self.cache.bill(parts, {0, min(settled, end), end}, at)


def _shown(messages: list[Message], frame: Frame) -> list[Message]:
    """Return what a summary is written from: what was sent last, or a head and a
    trimmed middle."""
    settings = frame.settings
    kept = frame.step.kept
    if not settings.head_tokens and settings.tail_tokens is None:
        return messages
    over = settings.trim_over
    keep = settings.trim_keep
    head = summary_place(kept)
    middle = messages[head : len(messages) - len(kept) + head]
    trimmed = trim_results(middle, trim_over=over, trim_keep=keep, keep_unseen=False)
    shown = [*messages[:head], *trimmed]
    as_sent = messages[: last_assistant(messages)]
    fits = (
        frame.replaced_tokens + settings.summary_max_tokens <= settings.context_window
    )
    return (
        as_sent if fits and trimmed == middle and len(as_sent) > len(shown) else shown
    )
