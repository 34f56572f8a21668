"""The call for a summary: its parts in one list, in the order in which they act.

Each part is a function around `Summarize`, from the modules of its lesson. The first
one is asked first, and what comes back passes it last.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from agentlib.auto_compact import Summarize, SummaryFailed, summarizer, summary_prompt
from agentlib.breaker import Breaker
from agentlib.estimation import TokenMeter
from agentlib.hooks import Hooks, gated, hooked, recent_files, room_to_restore
from agentlib.messages import Block, Message, asks_for_summary, blocks
from agentlib.own_notes import memory_first
from agentlib.recovery import with_less
from agentlib.requests import LONGEST_REPLY
from agentlib.settings import Settings

if TYPE_CHECKING:
    import anthropic

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
