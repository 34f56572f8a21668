"""Bill each request of a replay: tokens read from the cache, written to it, uncached, answered.

A replay that is as recorded has the recorded bills. Any other is billed by the rules of lab.cache
from its first request on, with the markers that the loop sets, and so is every replay that is
compared with another. A summary is a request of its own on the live prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentlib.lab.cache import LONG, SHORT, Bill, Part, PromptCache
from agentlib.lab.replay import Frame
from agentlib.lab.replay.weights import Weights
from agentlib.lab.spending import Usage, priced
from agentlib.messages import SUMMARY_WANTED, Message, blocks, is_summary, with_results
from agentlib.step import Outcome
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = ("read", "written", "uncached", "answers")
"""How tokens are billed, from the cheapest kind of prompt to the answers."""
_SUMMARY_PROMPT = Part(SUMMARY_WANTED, 150)


@dataclass(frozen=True)
class Billed:
    """One turn: the usage of its request, and those of the summaries before it."""

    turn: int
    usage: Usage
    summaries: tuple[Usage, ...] = ()


def bills(
    session: Session, frames: Sequence[Frame], *, ttl: float | None = None, simulate: bool = False
) -> list[Billed]:
    """Return a bill for each frame of a replay of `session`.

    `ttl`: seconds that a cache entry lives, 300 or 3,600. By default it is an hour if the session's
    own bills have writes for an hour, else five minutes. With a `ttl`, or with `simulate`, the
    recorded bills are left aside, so that the sums of several replays can be compared.
    """
    biller = _Biller(Weights(session), PromptCache(ttl=ttl or _lifetime(session)))
    recorded = {c.seen: c.usage for c in session.compactions}
    if not simulate and ttl is None and all(f.billed_from == "recorded" for f in frames):
        return [
            Billed(f.turn, f.request.usage, tuple(recorded.get(f.request.seen, ()))) for f in frames
        ]
    billed = list[Billed]()
    for frame in frames:
        compacted = frame.compaction not in (None, Outcome.FAILED)
        summaries = (biller.summary(frame),) if compacted else ()
        billed.append(Billed(frame.turn, biller.prompt(frame), summaries))
    return billed


def _lifetime(session: Session) -> float:
    splits: list[Usage] = [r.usage.get("cache_creation") or {} for r in session.requests]
    return LONG if any(split.get("ephemeral_1h_input_tokens") for split in splits) else SHORT


@dataclass(frozen=True)
class _Biller:
    """Bills prompts by the rules of the cache."""

    weights: Weights
    cache: PromptCache

    def prompt(self, frame: Frame) -> Usage:
        """Bill a frame's prompt; the weights are scaled to its tokens."""
        bill = self._bill(frame.context, frame.request.at, frame.step.settled)
        scale = frame.prompt_tokens / (bill.read + bill.written + bill.uncached or 1)
        read, written = round(bill.read * scale), round(bill.written * scale)
        rest = frame.prompt_tokens - read - written
        written += min(rest, 0)
        hour = written if bill.written_1h else 0
        output = frame.request.usage.get("output_tokens") or 0
        return Bill(read, written, max(rest, 0), hour).usage(output)

    def summary(self, frame: Frame) -> Usage:
        """Bill the request for the summary that stands in the frame."""
        messages = with_results(frame.before, frame.step.replaced)
        bill = self._bill(messages, frame.request.at, last=(_SUMMARY_PROMPT,))
        summaries = (m for m in frame.context if any(map(is_summary, blocks(m))))
        return bill.usage(self.weights.of(next(summaries, messages[0])).part.tokens)

    def _bill(
        self, messages: Sequence[Message], at: float, settled: int = 0, last: Sequence[Part] = ()
    ) -> Bill:
        base = Part("system and tools", round(self.weights.base))
        parts = [base, *(self.weights.of(message).part for message in messages), *last]
        end = len(parts) - 1
        return self.cache.bill(parts, {0, min(settled, end), end}, at)


def table(billed: Sequence[Billed], model: str) -> "DataFrame":
    """Return a row a turn: tokens by how they were billed, and dollars by the same kinds.

    The columns of dollars are "$ read" and so on, at the prices of `model`. `attrs["model"]` names
    it. Raises ValueError for a model without a price.
    """
    import pandas

    bill_table = pandas.DataFrame([{"turn": each.turn, **_sums(each, model)} for each in billed])
    bill_table.attrs["model"] = model
    return bill_table


def _sums(billed: Billed, model: str) -> dict[str, float]:
    sums = {name: 0.0 for kind in KINDS for name in (kind, f"$ {kind}")}
    for usage in (billed.usage, *billed.summaries):
        for kind, (tokens, dollars) in priced(usage, model).items():
            sums[kind] += tokens
            sums[f"$ {kind}"] += dollars
    return sums
