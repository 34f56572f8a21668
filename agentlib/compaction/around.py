"""What stands around an agent's engine: hooks, the breaker, other models, the bills.

An `Agent` alone has none of it. `loop.equipped` puts an `Around` in the place of its
engine. Its call for a summary has its parts in one list, in the order in which they
act. Each part is a function around `Summarize`. The first one is asked first, and what
comes back passes it last. See `events` for what is told about a turn.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agentlib.auto_compact import Summarize, SummaryFailed, summarizer, summary_prompt
from agentlib.compaction.breaker import Breaker, breaker
from agentlib.compaction.events import Teller, Told
from agentlib.compaction.hooks import (
    Restore,
    pinned,
    quoted,
    recent_files,
    room_to_restore,
)
from agentlib.compaction.own_notes import memory_first
from agentlib.estimation import TokenMeter, estimate_text, message_tokens
from agentlib.messages import (
    PUT_BACK,
    Block,
    Message,
    asks_for_summary,
    blocks,
    summary_source,
)
from agentlib.pipeline import ContextEngine, Now, moment, run_engine
from agentlib.recovery import with_less
from agentlib.settings import LONGEST_REPLY, Settings
from agentlib.step import Step
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import anthropic


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """Functions of a program of your own, called around each compaction.

    >>> Hooks(before=lambda messages, focus: f"{focus}; keep every number").before([], "auth.py")
    'auth.py; keep every number'
    """

    before: Callable[[Sequence[Message], str], str] = lambda messages, focus: focus
    """(messages, focus) -> the focus to ask for. SummaryFailed stops the compaction."""
    after: Callable[[Step], None] = lambda step: None
    """Gets each compaction, a failed one too, once it is in the session."""
    restore: tuple[Restore, ...] = ()
    """What to put back, before the files that Settings(restore_files=…) asks for."""
    pin: Callable[[Sequence[Message]], Sequence[str]] = lambda messages: ()
    """(messages before the compaction) -> lines of the person that stay word for word
    beside the summary. Nothing shortens them. Lesson 10 says what they cost."""
    gate: Callable[[str, Sequence[Message]], str | None] = lambda summary, messages: (
        summary
    )
    """(summary, the messages that it was written from) -> the summary to keep. None
    refuses it: the model is asked once more, and after a second None the compaction
    fails."""

    def put_beside(
        self, step: Step, messages: Sequence[Message], meter: TokenMeter
    ) -> Step:
        """Return a step with what `pin` keeps beside its summary. `messages`: those
        that the step was made for."""
        if step.summary is None:
            return step
        return pinned(step, self.pin(messages), messages, meter)


NO_HOOKS = Hooks()


# -- the call for a summary, and its parts ----------------------------------------------

Part = Callable[[Summarize], Summarize]


def through(parts: Sequence[Part], ask: Summarize) -> Summarize:
    """Put the parts around `ask`, the first one outermost.

    >>> def loud(ask):
    ...     return lambda messages, focus: ask(messages, focus) + "!"
    >>> through([loud, loud], lambda messages, focus: "Done")([], "")
    'Done!!'
    """
    return reduce(lambda inner, part: part(inner), reversed(parts), ask)


@dataclass(frozen=True, kw_only=True)
class SummaryCall:
    """A `Summarize` that asks the agent's model, with all that the settings put around
    the call. `bills` gets the usage of each request."""

    client: "anthropic.Anthropic"
    model: str
    """The session's. The settings may name another one for summaries."""
    system: str
    tools: Sequence[Block]
    settings: Settings
    meter: TokenMeter
    breaker: Breaker
    hooks: Hooks
    read: Callable[[str], str | None]
    """(path) -> a file's text as it is now, for the files that are put back."""
    persons: Collection[str] | None = None
    """Texts that the person wrote, as `Now.persons`."""
    bills: list[Any] = field(default_factory=list[Any])

    def __call__(self, messages: Sequence[Message], focus: str) -> str:
        last = blocks(messages[-1])[-1].get("text") if messages else None
        if asks_for_summary(messages) and last in (self.persons or ()):
            # The person's words look like a request for a summary, and are none.
            wish = summary_prompt(self.settings.summary_tokens, focus)
            messages = [*messages, {"role": "user", "content": wish}]
        return through(self.parts(), self.asking(self._models()[0]))(messages, focus)

    def parts(self) -> list[Part]:
        """List the parts in the order in which they are asked.

        A failure meets them from the last to the first. What none of them cures is up
        to `pipeline.compact`, and so is a summary that is larger than what it replaces.

        The hook `before` gives the focus, and what the other hooks put back comes behind
        a summary of whatever origin. The gate sees the agent's own notes, too. These
        stand in even while the breaker is open, because they ask no model. A second
        model is asked for each request that the first one doesn't answer, and only if
        both find it too large is it asked again with less.
        """
        settings = self.settings
        files = recent_files(self.read, settings.restore_files)
        hooks = replace(self.hooks, restore=(*self.hooks.restore, files))
        room = room_to_restore(settings, self.meter.base)
        own_notes = partial(memory_first, tokens=settings.summary_tokens)
        others = self._models()[1:]
        return [
            partial(hooked, hooks=hooks, tokens=settings.restore_tokens, most=room),
            partial(gated, gate=self.hooks.gate),
            *([own_notes] if settings.session_memory else []),
            self.breaker.guard,
            partial(with_less, times=settings.summary_retries, fits=self._fits),
            *(partial(or_else, second=self.asking(model)) for model in others),
        ]

    def asking(self, model: str) -> Summarize:
        """Ask a model on the live prefix."""
        return summarizer(
            self.client,
            model=model,
            system=self.system,
            tools=self.tools,
            summary_tokens=self.settings.summary_tokens,
            max_tokens=self._longest,
            on_usage=self.bills.append,
        )

    def _models(self) -> list[str]:
        named = self.settings.model_for_summaries(self.model)
        return [*dict.fromkeys((named, self.model))]

    @property
    def _longest(self) -> int:
        return min(self.settings.summary_max_tokens, LONGEST_REPLY)

    def _fits(self, messages: Sequence[Message]) -> bool:
        tokens = self.meter.estimate(messages) + self._longest
        return tokens <= self.settings.context_window


def or_else(first: Summarize, second: Summarize) -> Summarize:
    """Ask the second model if the first one gives no summary."""

    def ask(messages: Sequence[Message], focus: str) -> str:
        try:
            return first(messages, focus)
        except SummaryFailed:
            return second(messages, focus)

    return ask


def hooked(
    summarize: Summarize, hooks: Hooks, tokens: int, most: float = math.inf
) -> Summarize:
    """Call the hooks around `summarize`, and put back at most `tokens` of each text
    they give. The gate is a part of its own: `gated`.

    All texts together have at most `most` tokens, and at most half of what is
    compacted, because else nothing would be gained.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        summary = summarize(messages, hooks.before(messages, focus))
        messages = summary_source(messages)
        half = sum(map(message_tokens, messages)) / 2 - estimate_text(
            summary, "summary"
        )
        room = min(half, most)
        texts = [summary]
        for name, text in (
            each for restore in hooks.restore for each in restore(messages)
        ):
            texts.append(quoted(f"{PUT_BACK}{name}]", text, tokens))
            room -= estimate_text(texts[-1], "summary")
            if room < 0:
                return "\n\n".join(texts[:-1])
        return "\n\n".join(texts)

    return ask


def gated(
    summarize: Summarize, gate: Callable[[str, Sequence[Message]], str | None]
) -> Summarize:
    """Let `gate` change or refuse each summary. Raises SummaryFailed after two
    refusals."""

    def ask(messages: Sequence[Message], focus: str) -> str:
        source = list(messages[:-1] if asks_for_summary(messages) else messages)
        for _ in range(2):
            if summary := gate(summarize(messages, focus), source):
                return summary
        raise SummaryFailed("the gate refused two summaries")

    return ask


# -- around an engine -------------------------------------------------------------------


Turn = TypeVar("Turn", bound=Told)


class Working(Protocol):
    """What this reads of an `Agent`."""

    client: "anthropic.Anthropic"
    workspace: Any
    session: Session
    settings: Settings
    model: str
    system: str
    tools: list[Block]
    meter: TokenMeter
    engine: ContextEngine


@dataclass(eq=False)
class Around:
    """An engine with all that stands around it."""

    agent: Working
    engine: ContextEngine
    hooks: Hooks
    full: str = ""
    """What fills the window while compaction rests. Empty: it doesn't rest."""

    def __call__(self, now: Now) -> Step:
        """Let the breaker, the hooks and the other models stand around one step of the
        engine, and add up its bills."""
        agent = self.agent
        session = agent.session
        rest = breaker(session.compactions, session.requests, agent.settings)
        if now.reason == "manual":  # the breaker never stops that
            rest = replace(rest, failures=0)
        summarize = SummaryCall(
            client=agent.client,
            model=agent.model,
            system=agent.system,
            tools=agent.tools,
            settings=agent.settings,
            meter=now.meter,
            breaker=rest,
            hooks=self.hooks,
            read=agent.workspace.text_of,
            persons=now.persons,
        )
        settings = rest.in_force(now.settings)
        inner = replace(now, settings=settings, summarize=summarize)
        step = replace(run_engine(self.engine, inner), usage=tuple(summarize.bills))
        step = self.hooks.put_beside(step, now.messages, now.meter)
        if now.reason == "auto":
            step, self.full = rest.told(
                step, now.messages, now.meter, agent.settings, now.persons
            )
        return step

    def told(
        self, turns: Iterator[Turn], longest_reply: int, most_cuts: int
    ) -> Iterator[Turn]:
        """Tell with each turn what a person should know about it."""
        session = self.agent.session
        teller = Teller(self.agent.settings, longest_reply, most_cuts)
        for turn in turns:
            events = teller.about(turn, self.full, len(session.compactions))
            yield turn.telling(tuple(events))

    def after(self, step: Step) -> None:
        """Call the hook once a compaction is in the session."""
        if step.compaction:
            self.hooks.after(step)


def preview(agent: Working) -> Step:
    """Return what `agent.compact_now` would do, with a stand-in for the summary. Asks
    no model, notes nothing."""
    now = moment(
        agent.session,
        agent.settings,
        meter=agent.meter,
        summarize=lambda messages, focus: "…",
        reason="manual",
    )
    engine = agent.engine
    bare = engine.engine if isinstance(engine, Around) else engine
    return run_engine(bare, replace(now, archive=lambda: ""))
