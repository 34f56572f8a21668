"""Replay: a recorded session under other settings, by the very layers that ran live.

The recorded messages are given; only the view changes. With the settings it was recorded with, a
replay gives the same contexts, message for message. Under others, a prompt is weighed by what the
arrival of each of its messages was billed, and a compaction that was not recorded has a stand-in
summary of the usual length. Not here: behaviour. Whether the agent would have read a file again,
only running it again can tell.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from agentlib.auto_compact import SummaryFailed, summary_text
from agentlib.estimation import (
    message_tokens,
    meter,
    prompt_tokens,
    text_tokens,
)
from agentlib.lab.replay.weights import Scale, Stack, recording, shared
from agentlib.manual_compact import COMPACT_TOOL, requested_focus
from agentlib.messages import Message, drop_newest_thinking
from agentlib.pipeline import compact
from agentlib.recovery import breaker
from agentlib.session_file import Compaction, Request, carried_out
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Step
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import pandas

_FILLER = "A stand-in for a summary: so long, and nothing in it. "


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One request of a replay."""

    turn: int
    at: float
    context: list[Message]
    step: Step
    prompt_tokens: int
    """What the prompt was billed, or weighs."""
    output_tokens: int
    billed_from: Literal["recorded", "weighed"]
    summary_from: Literal["recorded", "stand-in"] | None
    """Whose summary stands in the context."""
    compaction: str | None
    """auto, manual, reactive or failed, where one was carried out before this request."""
    kinds: Mapping[str, float]
    """The prompt by kind of block; sums to `prompt_tokens`."""
    window: int
    threshold: int
    """The compaction point; 0 where nothing compacts by itself."""
    warn_at: tuple[float, ...] = ()
    """Shares of the window at which the loop reports a tier."""


def replay(
    session: Session,
    settings: Settings,
    *,
    summary_tokens: int | None = None,
    engine: ContextEngine = compact,
) -> list[Frame]:
    """The session's requests as they would have been sent under `settings`, one frame each.

    `summary_tokens`: the length of stand-in summaries; by default the median of the recorded
    ones, else a fifth of what would be summarised, at most the settings' own limit. `engine` is
    the one that the session was recorded with, if it was another.
    """
    return list(_Replay(session, settings, summary_tokens, engine).frames())


@dataclass
class _Replay:
    session: Session
    settings: Settings
    summary_tokens: int | None
    engine: ContextEngine
    view: list[Message] = field(default_factory=list[Message])
    seen: int = 0
    settled: int = 0
    changed: bool = False
    last_at: float | None = None
    tried: list[Compaction] = field(default_factory=list[Compaction])
    summary_from: Literal["recorded", "stand-in"] | None = None
    alike: tuple[list[Message], list[Message], int] = field(default_factory=lambda: ([], [], 0))

    def __post_init__(self) -> None:
        self.asked = COMPACT_TOOL in self.session.tools
        self.compacts = self.settings.enabled and self.settings.auto
        self.recorded = recording(self.session, len(self.session.requests))
        base_chars = len(self.session.system) + len(str(self.session.tools))
        self.meter = meter(self.settings.estimator, base_chars, self.recorded.guess)
        self.scale = Scale(self.recorded)
        self.stack = Stack(self.session, self.recorded)

    def frames(self) -> Iterator[Frame]:
        hand, turn = None, 0
        for event in _in_order(self.session.requests, self.recorded.by_hand):
            self.view += self.session.history[self.seen : event.seen]
            self.seen = event.seen
            if isinstance(event, Compaction):
                hand = self._step("manual", event.focus, event.at, event, turn).compaction
                continue
            focus = requested_focus(self.view) if self.asked else None
            reason = "auto" if focus is None else "manual"
            recorded = self.recorded.at_request.get(event.seen)
            step = self._step(reason, focus or "", event.at, recorded, turn)
            refused = self.recorded.refused.get(event.seen)
            if refused and self.meter.estimate(self.view) >= refused.tokens_before:
                step = self._step("reactive", "", event.at, refused, turn)  # as large: refused too
            turn += 1
            yield self._frame(turn, event, step, step.compaction or hand)
            hand = None

    def _step(
        self, reason: Any, focus: str, at: float, recorded: Compaction | None, turn: int
    ) -> Step:
        state = breaker(self.tried, self.session.requests[:turn], self.settings)
        step = self.engine(
            self.view,
            self.settings if reason == "manual" else state.in_force(self.settings),
            meter=self.meter,
            summarize=partial(self._summary, recorded=recorded),
            archive=lambda: recorded.archive if recorded else "stand-in",
            reason=reason,
            focus=focus,
            settled=self.settled,
            idle=0.0 if self.last_at is None else at - self.last_at,
        )
        if step.replaced or step.compaction not in (None, "failed"):
            self.changed = True
        self.tried += carried_out(step, at, self.seen)
        self.view, self.settled = list(step.messages), step.settled
        return step

    def _summary(
        self, messages: Sequence[Message], focus: str, *, recorded: Compaction | None
    ) -> str:
        """The recorded summary where the compaction falls as recorded, else one as long."""
        if recorded and recorded.failure:
            raise SummaryFailed(recorded.failure)
        self.summary_from = "recorded" if recorded else "stand-in"
        if recorded and recorded.message:
            return summary_text(recorded.message)
        return stand_in(self.summary_tokens or self._usual_length(messages))

    def _usual_length(self, messages: Sequence[Message]) -> int:
        lengths = [message_tokens(c.message) for c in self.session.compactions if c.message]
        shown = sum(map(self.recorded.weigh, messages)) / 5
        return int(median(lengths) if lengths else min(self.settings.summary_tokens, shown))

    def _is_as_recorded(self, context: list[Message], sent: list[Message]) -> bool:
        """Whether the two are equal; what was found alike last time is not compared again."""
        before, sent_before, alike = self.alike
        alike = min(alike, shared(before, context), shared(sent_before, sent))
        while alike < min(len(context), len(sent)) and context[alike] == sent[alike]:
            alike += 1
        self.alike = context, sent, alike
        return alike == len(context) == len(sent)

    def _frame(self, turn: int, sent: Request, step: Step, compaction: str | None) -> Frame:
        context = list(self.view)
        as_recorded = self._is_as_recorded(context, sent.context)
        weighed = self.scale.tokens(context)
        usage = sent.usage if as_recorded else {"input_tokens": weighed}
        self.meter.observe(context, usage)
        if self.changed:
            self.view, self.changed = drop_newest_thinking(context), False
        self.last_at = sent.at
        total = prompt_tokens(usage) or weighed
        return Frame(
            turn=turn,
            at=sent.at,
            context=context,
            step=step,
            prompt_tokens=total,
            output_tokens=sent.usage.get("output_tokens") or 0,
            billed_from="recorded" if as_recorded else "weighed",
            summary_from=self.summary_from,
            compaction=compaction,
            kinds=self.stack.kinds(context, total),
            window=self.settings.context_window,
            threshold=self.settings.threshold_tokens if self.compacts else 0,
            warn_at=self.settings.warn_at,
        )


def _in_order(
    requests: Sequence[Request], by_hand: Sequence[Compaction]
) -> Iterable[Request | Compaction]:
    """Requests and compactions by hand as they came, the compaction first where both could be."""
    events: list[Request | Compaction] = [*by_hand, *requests]
    return sorted(events, key=lambda event: event.seen)


def stand_in(tokens: int) -> str:
    """A text that weighs about so many tokens as a summary.

    >>> round(text_tokens(stand_in(500), "summary"))
    500
    """
    size = round(tokens / text_tokens("x", "summary"))
    return (_FILLER * (size // len(_FILLER) + 1))[:size]


def table(frames: Sequence[Frame]) -> "pandas.DataFrame":
    """A row a turn: tokens in all and by kind, the limits, what was compacted and cleared.

    `attrs["warn_at"]` has the tiers, as shares of the window.
    """
    import pandas

    rows = [
        {
            "turn": frame.turn,
            "tokens": frame.prompt_tokens,
            **frame.kinds,
            "threshold": frame.threshold,
            "window": frame.window,
            "compaction": frame.compaction,
            "cleared": len(frame.step.cleared),
            "billed_from": frame.billed_from,
            "summary_from": frame.summary_from,
        }
        for frame in frames
    ]
    found = pandas.DataFrame(rows)
    found.attrs["warn_at"] = frames[-1].warn_at if frames else ()
    return found


def sweep(session: Session, settings: Iterable[Settings]) -> "pandas.DataFrame":
    """A row a setting: requests, tokens sent, largest prompt, compactions, results cleared."""
    import pandas

    rows: list[dict[str, Any]] = []
    for each in settings:
        frames = replay(session, each)
        rows.append(
            {
                "threshold": each.threshold_tokens,
                "keep_recent": each.keep_recent,
                "requests": len(frames),
                "tokens_sent": sum(f.prompt_tokens for f in frames),
                "largest": max((f.prompt_tokens for f in frames), default=0),
                "compactions": sum(f.compaction not in (None, "failed") for f in frames),
                "cleared": sum(len(f.step.cleared) for f in frames),
            }
        )
    return pandas.DataFrame(rows)
