"""What each request of a replay is billed: read from the cache, written to it, uncached, answered.

As long as the replay is as recorded, the recorded bills. From the first prompt that is another
one, the cache's rules (`cache`) say what it would have read, with the markers that the loop sets.
A summary is a request of its own on the live prefix. Not here: prices (cost), pictures.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentlib.estimation import prompt_tokens
from agentlib.lab.cache import LONG, SHORT, Part, PromptCache
from agentlib.lab.replay import Frame
from agentlib.lab.replay.weights import recording
from agentlib.lab.spending import MILLION, dollars, rates
from agentlib.messages import Message, blocks, is_summary, with_results
from agentlib.session_file import Compaction
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = ("read", "written", "uncached", "answers")
"""How tokens are billed, from the cheapest kind of prompt to the answers."""
_FIELDS = (
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "input_tokens",
    "output_tokens",
)
_RATES = {"read": "cache_read", "uncached": "input", "answers": "output"}
_ASKED = Part("Summarize this conversation for continuity.", 150)


@dataclass(frozen=True)
class Billed:
    """One turn: the usage of its request, and those of the summaries made before it."""

    turn: int
    usage: Mapping[str, Any]
    summaries: tuple[Mapping[str, Any], ...] = ()


def bills(session: Session, frames: Sequence[Frame], *, ttl: float | None = None) -> list[Billed]:
    """A bill for each frame of a replay of `session`.

    `ttl`: seconds that a cache entry lives; by default an hour where the session's own bills say
    that it wrote for so long, else five minutes.
    """
    return list(_Biller(session, PromptCache(ttl=ttl or _lifetime(session))).bill(frames))


def _lifetime(session: Session) -> float:
    written: list[Mapping[str, Any]] = [
        sent.usage.get("cache_creation") or {} for sent in session.requests
    ]
    return LONG if any(each.get("ephemeral_1h_input_tokens") for each in written) else SHORT


@dataclass
class _Biller:
    session: Session
    cache: PromptCache
    as_recorded: bool = True
    parts: dict[int, tuple[Message, Part]] = field(default_factory=dict[int, tuple[Message, Part]])

    def __post_init__(self) -> None:
        self.recorded = recording(self.session, len(self.session.requests))
        self.compactions = {c.seen: c for c in self.session.compactions}
        self.base = Part("system and tools", round(self.recorded.base))

    def bill(self, frames: Sequence[Frame]) -> Iterator[Billed]:
        before, seen = list[Message](), 0
        for frame, sent in zip(frames, self.session.requests, strict=True):
            asked = [*before, *self.session.history[seen : sent.seen]]
            summaries = self._summaries(frame, asked, self.compactions.get(sent.seen))
            self.as_recorded &= frame.billed_from == "recorded"
            total = frame.prompt_tokens
            usage = self._usage(frame.context, frame, total, frame.output_tokens)
            yield Billed(frame.turn, sent.usage if self.as_recorded else usage, summaries)
            before, seen = frame.context, sent.seen

    def _summaries(
        self, frame: Frame, asked: Sequence[Message], known: Compaction | None
    ) -> tuple[Mapping[str, Any], ...]:
        if self.as_recorded and known and known.usage:
            return tuple(known.usage)
        if frame.compaction in (None, "failed"):
            return ()
        view = with_results(asked, frame.step.replaced)
        made = next((m for m in frame.context if any(map(is_summary, blocks(m)))), view[0])
        return (self._usage(view, frame, None, self._part(made).tokens, _ASKED),)

    def _usage(
        self,
        messages: Sequence[Message],
        frame: Frame,
        total: int | None,
        output: int,
        *more: Part,
    ) -> Mapping[str, Any]:
        """What the cache's rules make of a prompt; the parts are scaled to `total` tokens."""
        parts = [self.base, *map(self._part, messages), *more]
        settled = frame.step.settled if total is not None else 0
        marks = {0, min(settled, len(messages)), len(parts) - 1}
        bill = self.cache.bill(parts, sorted(marks), frame.at)
        weight = bill.read + bill.written + bill.uncached
        scale = 1.0 if total is None else total / (weight or 1)
        read, written = round(bill.read * scale), round(bill.written * scale)
        rest = (weight if total is None else total) - read - written
        written, rest = written + min(rest, 0), max(rest, 0)
        usage = dict(zip(_FIELDS, (read, written, rest, output), strict=True))
        hour = written if self.cache.ttl > SHORT else 0
        return {**usage, "cache_creation": {"ephemeral_1h_input_tokens": hour}}

    def _part(self, message: Message) -> Part:
        if id(message) not in self.parts:
            kinds = {block["type"] for block in blocks(message)}
            kind = kinds.pop() if len(kinds) == 1 else ""
            tokens = round(self.recorded.weigh(message))
            part = Part(id(message), tokens, kind, max(1, len(blocks(message)) if not kind else 1))
            # The message is kept beside its part, so that its id is not used again.
            self.parts[id(message)] = message, part
        return self.parts[id(message)][1]


def table(billed: Sequence[Billed], model: str) -> "DataFrame":
    """A row a turn: tokens of the turn by how they were billed, and dollars by the same.

    Dollars stand under "$ read" and so on, at the prices of `model`, which `attrs["model"]` names.
    Raises ValueError for a model without a price.
    """
    import pandas

    rows = [{"turn": each.turn, **_sums(each, model)} for each in billed]
    found = pandas.DataFrame(rows)
    found.attrs["model"] = model
    return found


def _sums(billed: Billed, model: str) -> dict[str, float]:
    found = {name: 0.0 for kind in KINDS for name in (kind, f"$ {kind}")}
    for usage in (billed.usage, *billed.summaries):
        rate, total = rates(model, prompt_tokens(usage)), dollars(usage, model)
        for kind, key in zip(KINDS, _FIELDS, strict=True):
            found[kind] += usage.get(key) or 0
            if kind != "written":
                price = rate[_RATES[kind]] * (usage.get(key) or 0) / MILLION
                found[f"$ {kind}"] += price
                total -= price
        found["$ written"] += total  # what lives an hour is dearer: the rest, whatever it is
    return found


def spent(billed: Sequence[Billed], model: str) -> float:
    """Dollars of all of it at this model's prices."""
    return sum(dollars(usage, model) for b in billed for usage in (b.usage, *b.summaries))


def sent(billed: Sequence[Billed]) -> int:
    """Tokens of all prompts, the summaries' too."""
    return sum(prompt_tokens(usage) for b in billed for usage in (b.usage, *b.summaries))
