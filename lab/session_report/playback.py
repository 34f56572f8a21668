"""Replay a recorded session under other settings, by the layers that ran live.

The recorded messages are given, only the view of them changes. With the settings it was
recorded with, a replay gives the same contexts, message for message. Under others, a
prompt is weighed by the bills for its messages, and a compaction that was not recorded
gets a stand-in summary of the usual length. A replay can't tell what the agent would
have done differently.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from agentlib.auto_compact import SummaryFailed, summary_text
from agentlib.compaction.around import Hooks, hooked
from agentlib.compaction.breaker import breaker
from agentlib.compaction.hooks import (
    READS,
    file_of,
    pinned,
    recent_files,
    room_to_restore,
)
from agentlib.estimation import estimate_text, new_meter, prompt_tokens
from agentlib.manual_compact import COMPACT_TOOL, requested_focus
from agentlib.messages import (
    PINNED,
    PUT_BACK,
    Message,
    blocks,
    result_text,
)
from agentlib.pipeline import ContextEngine, compact, moment, run_engine
from agentlib.session.file import (
    CompactionRecord,
    Request,
    compaction,
    compaction_lines,
    timestamp,
)
from agentlib.settings import Settings
from agentlib.step import Outcome, Reason, Step, answered, in_place_of
from agentlib.transcripts import Session
from session_report.frames import Frame, repeated_at
from session_report.need import Need, needs
from session_report.speakers import is_programs
from session_report.weights import Weights

if TYPE_CHECKING:
    import pandas

_SHRUNK = 0.8
"""A prompt that was billed less than this share of its messages' weight was sent
without some."""
_FILLER = "A stand-in for a summary: so long, and nothing in it. "


def replay(
    session: Session,
    settings: Settings,
    *,
    summary_tokens: int | None = None,
    engine: ContextEngine = compact,
) -> list[Frame]:
    """Return the session's requests as `settings` would have sent them, one frame each.

    `summary_tokens`: the length of stand-in summaries. By default it is the median of
    the recorded ones; without any, a fifth of the messages it replaces, at most the
    settings' own limit. `engine`: the one that the session was recorded with.
    """
    return list(_Replay(session, settings, summary_tokens, engine).frames())


@dataclass
class _Replay:
    """One replay: the view of the messages so far, and the compactions that were
    tried."""

    session: Session
    settings: Settings
    summary_tokens: int | None
    engine: ContextEngine

    def __post_init__(self) -> None:
        self.weights = Weights(self.session)
        base_chars = len(self.session.system) + len(str(self.session.tools))
        self.meter = new_meter(
            self.settings.estimator, base_chars, lambda m: self.weights.of(m).guess
        )
        self.view: list[Message] = []
        self.before: list[Message] = []
        self.whole: tuple[list[Message], int] = (
            [],
            0,
        )  # before the last compaction: view, seen
        self.seen = 0
        self.settled = 0
        self.last: Request | None = None
        self.changed = False
        self.as_recorded = True
        self.summary_request = 0
        self.tried: list[CompactionRecord] = []

    def frames(self) -> Iterator[Frame]:
        compactions = self.session.compactions
        by_hand = [c for c in compactions if _is_by_hand(c, self.session)]
        recorded = {
            c.seen: c
            for c in compactions
            if c not in by_hand and c.trigger != "reactive"
        }
        refused = [c for c in compactions if c.trigger == "reactive"]
        turn = 0
        by_hand_step = None
        for event in sorted([*by_hand, *self.session.requests], key=lambda e: e.seen):
            for place in self.session.extras.emptied:
                if self.seen <= place < event.seen:
                    self.view = []
                    self.before = []
                    self.seen = place
                    self.settled = 0
            for place in self.session.extras.undone:
                if self.seen <= place < event.seen:
                    view, seen = self.whole
                    later = self.session.history[seen : self.seen]
                    self.view = in_place_of(None, [*view, *later])
                    self.settled = 0
                    self.changed = True
            arrived = self.session.history[self.seen : event.seen]
            self.view = self.view + arrived
            self.before = self.before + arrived
            self.seen = event.seen
            if isinstance(event, CompactionRecord):
                by_hand_step = self._compact("manual", event.focus, event, event, turn)
                continue
            focus = (
                requested_focus(self.view)
                if COMPACT_TOOL in self.session.tools
                else None
            )
            reason = "auto" if focus is None else "manual"
            step = self._compact(
                reason, focus or "", event, recorded.get(self.seen), turn
            )
            for refusal in (c for c in refused if c.seen == self.seen):
                if self._is_refused(refusal.tokens_before):
                    self.meter.believe(self.view, refusal.tokens_before)
                    step = self._compact("reactive", "", event, refusal, turn)
            turn += 1
            yield self._frame(
                turn, event, step, step if step.compaction else by_hand_step or step
            )
            by_hand_step = None

    def _is_refused(self, tokens: int) -> bool:
        """Whether the API would refuse the view, where it refused one of so many
        tokens."""
        is_same_prompt = self.as_recorded and tokens > self.settings.context_window
        return is_same_prompt or self.meter.estimate(self.view) >= tokens

    def _compact(
        self,
        reason: Reason,
        focus: str,
        event: Request | CompactionRecord,
        recorded: CompactionRecord | None,
        turn: int,
    ) -> Step:
        """Run the layers on the view. `recorded`: the compaction of the recording at
        this place."""
        state = breaker(self.tried, self.session.requests[:turn], self.settings)
        now = moment(
            self.session,
            self.settings if reason == "manual" else state.in_force(self.settings),
            meter=self.meter,
            summarize=partial(self._summary, recorded),
            reason=reason,
            focus=focus,
            idle=self._idle(event.at),
        )
        now = replace(
            now,
            messages=self.view,
            settled=self.settled,
            said=self._said(event.seen),
            archive=lambda: recorded.archive if recorded else "stand-in",
        )
        step = run_engine(self.engine, now)
        if recorded and recorded.message:
            lines = _pinned_lines(recorded.message, self.session.persons or ())
            step = pinned(step, lines, self.view, self.meter)
        if reason == "auto":
            step, _ = state.told(
                step, self.view, self.meter, self.settings, self.session.persons
            )
        compacted = step.compaction not in (None, Outcome.FAILED)
        self.whole = (self.view, event.seen) if compacted else self.whole
        self.changed |= bool(step.cleared) or compacted
        if step.compaction:
            usages = recorded.usage if recorded else ()
            self.summary_request = max(map(prompt_tokens, usages), default=0)
        self.tried += compactions_of(step, event.at, event.seen)
        self.view = step.applied(self.view)
        self.settled = step.settled
        return step

    def _said(self, seen: int) -> list[str]:
        """Return what the person had said by then, without what other programs put in
        its place."""
        spoken = self.session.said(seen)
        if self.session.persons is not None:
            return spoken
        return [text for text in spoken if not is_programs(text)]

    def _idle(self, at: float) -> float:
        """Return the seconds since the prompt cache was last used."""
        if self.last is None:
            return 0.0
        return at - max(
            [self.last.at, *repeated_at(self.session, self.settings, self.last, at)]
        )

    def _summary(
        self, recorded: CompactionRecord | None, messages: Sequence[Message], focus: str
    ) -> str:
        if recorded and recorded.failure:
            raise SummaryFailed(recorded.failure)
        if recorded and recorded.message:
            return summary_text(recorded.message)
        settings = self.settings
        text = stand_in(self.summary_tokens or self._usual_length(messages))
        hooks = Hooks(restore=(recent_files(self._file, settings.restore_files),))
        room = room_to_restore(settings, self.meter.base)
        ask = hooked(lambda messages, focus: text, hooks, settings.restore_tokens, room)
        return ask(messages, focus)

    def _file(self, path: str) -> str | None:
        """Return a file's text as it was last read or written whole, None if it never
        was."""
        text: str | None = None
        reads = set[str]()
        for block in (b for m in self.session.history[: self.seen] for b in blocks(m)):
            if block["type"] == "tool_use" and file_of(block) == path:
                text = block["input"].get("content", text)
                reads |= {block["id"]} if block["name"] in READS else set[str]()
            elif block["type"] == "tool_result" and block["tool_use_id"] in reads:
                text = result_text(block)
        return text

    def _usual_length(self, messages: Sequence[Message]) -> int:
        texts = (summary_text(c.message) for c in self.session.compactions if c.message)
        lengths = [
            estimate_text(text.partition(PUT_BACK)[0], "summary") for text in texts
        ]
        fifth = sum(self.weights.of(message).tokens for message in messages) / 5
        return int(
            median(lengths) if lengths else min(self.settings.summary_tokens, fifth)
        )

    def _frame(self, turn: int, request: Request, step: Step, compacted: Step) -> Frame:
        """Make the frame of a request. `compacted`: the step with its compaction, if
        any."""
        context = self.view
        is_same = context == request.context
        # Only the recording's own messages weigh what was billed for them.
        weight = self.weights.prompt(request.context if is_same else context)
        as_recorded = is_same and not _is_shrunk(request, weight)
        self.as_recorded &= as_recorded
        usage = request.usage if as_recorded else {"input_tokens": weight}
        self.meter.observe(context, usage)
        tokens = prompt_tokens(usage) or weight
        cleared = 0 if compacted.reason == "reactive" else compacted.tokens_cleared
        replaced = (
            compacted.tokens_before - cleared
        )  # the prompt as it was refused, or cleared
        frame = Frame(
            session=self.session,
            turn=turn,
            request=request,
            settings=self.settings,
            before=self.before,
            context=context,
            step=step,
            prompt_tokens=tokens,
            billed_from="recorded" if as_recorded else "weighed",
            compaction=compacted.compaction,
            replaced_tokens=replaced if compacted.compaction else 0,
            summary_request=self.summary_request,
            summary_failed=bool(compacted.failure) and not compacted.rested,
            kinds=self.weights.kinds(tokens),
        )
        self.view = answered(context) if self.changed else context
        self.before = context
        self.changed = False
        self.last = request
        self.summary_request = 0
        return frame


def compactions_of(step: Step, at: float, seen: int) -> list[CompactionRecord]:
    """List the record of a step's compaction, as reading its lines would give it."""
    if not step.compaction:
        return []
    first, *rest = compaction_lines(step, [], None)
    message = rest[0]["message"] if rest else None
    return [compaction({**first, "timestamp": timestamp(at)}, message, seen)]


def _is_shrunk(request: Request, weight: int) -> bool:
    """Tell whether less was sent than the file shows, as after a clearing that it
    doesn't note."""
    return 0 < prompt_tokens(request.usage) < _SHRUNK * weight


def _is_by_hand(compaction: CompactionRecord, session: Session) -> bool:
    """Tell whether the person asked for it, and not the model by its tool."""
    history = session.history[: compaction.seen]
    return compaction.trigger == "manual" and requested_focus(history) is None


def _pinned_lines(message: Message, persons: Collection[str]) -> list[str]:
    texts = (block["text"] for block in blocks(message) if block["type"] == "text")
    return [
        line
        for text in texts
        if text.startswith(PINNED) and text not in persons
        for line in text.splitlines()[1:]
    ]


def stand_in(tokens: int) -> str:
    """Return a text of about so many tokens, as a summary.

    >>> round(estimate_text(stand_in(500), "summary"))
    500
    """
    size = round(tokens / estimate_text("x", "summary"))
    return (_FILLER * (size // len(_FILLER) + 1))[:size]


def table(frames: Sequence[Frame]) -> "pandas.DataFrame":
    """Return the `rows` of a replay as a table."""
    import pandas

    return pandas.DataFrame(rows(frames))


def rows(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    """Return a row a turn: tokens in all and by kind, the limits, and what the layers
    did.

    `refused` says that the prompt is over the window. `need` counts the reply's texts
    and calls that quote what the context no longer has, and `reread` is the tokens to
    read that again. `replaced_tokens` is the prompt that was compacted,
    `summary_request` that of its summary, and `summary_failed` says that it brought
    none.
    """
    pairs = zip(frames, needs(frames), strict=True)
    return [_row(frame, need) for frame, need in pairs]


def _row(frame: Frame, need: Need) -> dict[str, Any]:
    settings = frame.settings
    return {
        "turn": frame.turn,
        "tokens": frame.prompt_tokens,
        **frame.kinds,
        "threshold": settings.threshold_tokens
        if settings.enabled and settings.auto
        else 0,
        "window": settings.context_window,
        "compaction": frame.compaction,
        "replaced_tokens": frame.replaced_tokens,
        "summary_request": frame.summary_request,
        "summary_failed": frame.summary_failed,
        "cleared": len(frame.step.cleared),
        "refused": frame.refused,
        "need": need.outputs,
        "reread": need.tokens,
        "billed_from": frame.billed_from,
    }
