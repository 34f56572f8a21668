"""The agent loop: ask, act, and again; before each request the layers have their turn (lesson 00).

`run` yields a frozen `Turn` after each request and never prints. What happened is in the session
by then, so that Ctrl-C, an error or a crash at any point leaves it whole: the same session given
again goes on. Not here: what the layers do (pipeline) and the terminal (`python -m agentlib`).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentlib.agent import Agent, RequestTooLarge, now, system_prompt
from agentlib.hooks import NO_HOOKS, Hooks
from agentlib.manual_compact import COMPACT_TOOL, requested_focus
from agentlib.messages import Message, of_type
from agentlib.pipeline import compact
from agentlib.presets import DEFAULT
from agentlib.settings import MODEL, Settings
from agentlib.step import ContextEngine, Step
from agentlib.tools import Workspace
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import anthropic

__all__ = [
    "STOP_REASONS",
    "Event",
    "RequestTooLarge",
    "Turn",
    "compact_now",
    "run",
    "system_prompt",
]

MAX_TURNS = 1_000

STOP_REASONS: Mapping[str, Literal["act", "again", "stop"]] = {
    "tool_use": "act",
    "pause_turn": "again",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "stop",
    "refusal": "stop",
    "model_context_window_exceeded": "stop",
}
"""What the loop does after each stop reason of the SDK. Calls that were cut off by `max_tokens`
are answered as interrupted when the session goes on."""


def after(stop_reason: str) -> Literal["act", "again", "stop"]:
    """The loop's step after a reply; a reason unknown here (another provider's) stops it."""
    return STOP_REASONS.get(stop_reason, "stop")


EventKind = Literal[
    "logged",  # the lowest tier: for the record, said to nobody
    "tier",
    "compaction_begun",
    "compaction_done",
    "compaction_truncated",  # done without a model: what was said, cut to size
    "compaction_failed",
    "stopped",
]


@dataclass(frozen=True)
class Event:
    """Something worth telling the person: a tier reached, a compaction, an early stop."""

    kind: EventKind
    text: str


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One request and what came of it."""

    context: list[Message]
    """What was sent."""
    messages: list[Message]
    """What was added: the reply, then the results of its calls."""
    usages: tuple[Mapping[str, Any], ...]
    """What was billed: the summary's calls first, then the request."""
    step: Step
    """What the layers did before the request."""
    events: tuple[Event, ...]
    stop_reason: str


def run(
    client: "anthropic.Anthropic",
    prompt: str | None,
    workspace: Workspace,
    *,
    settings: Settings = DEFAULT,
    engine: ContextEngine = compact,
    session: Session | None = None,
    model: str = MODEL,
    system: str | None = None,
    max_turns: int = MAX_TURNS,
    clock: Callable[[], float] = time.time,
    hooks: Hooks = NO_HOOKS,
) -> Iterator[Turn]:
    """Work on `prompt` until the model is done, `max_turns` are over or the consumer stops.

    The same `session` again: the conversation goes on; `prompt` None: it is resumed where it
    stopped, calls in flight answered as interrupted. Without a session the history is in memory
    and archived in `<workspace>/.transcripts`. A prompt that the API finds too long is compacted
    and sent once more; every other API error passes through, everything kept. Raises
    RequestTooLarge where the prompt alone is over window - output_reserve.
    """
    agent = Agent.at_work(client, workspace, settings, engine, session, model, system, clock, hooks)
    agent.hear(prompt)
    tiers = _Tiers(settings)
    for number in range(1, max_turns + 1):
        if not agent.has_work():
            return
        turn = _turn(agent, tiers, last=number == max_turns)
        yield turn
        if after(turn.stop_reason) == "stop":
            return


def compact_now(
    client: "anthropic.Anthropic",
    session: Session,
    workspace: Workspace,
    focus: str = "",
    *,
    settings: Settings = DEFAULT,
    engine: ContextEngine = compact,
    model: str = MODEL,
    system: str | None = None,
    clock: Callable[[], float] = time.time,
    hooks: Hooks = NO_HOOKS,
) -> Step:
    """Compact by hand, as `/compact` does, between two runs of the same session."""
    agent = Agent.at_work(client, workspace, settings, engine, session, model, system, clock, hooks)
    agent.interrupt()
    return agent.prepare("manual", focus, now(clock))


def _turn(agent: Agent, tiers: "_Tiers", *, last: bool) -> Turn:
    """One round: the layers, the request, the calls."""
    session, at = agent.session, now(agent.clock)
    known, asked = len(session.history), COMPACT_TOOL in session.tools
    focus = requested_focus(session.history) if asked else None
    step = agent.prepare("auto" if focus is None else "manual", focus or "", at)
    steps = [step]
    try:
        reply = agent.ask(list(session.context), at, step.settled)
    except Exception as error:
        step, reply = agent.ask_again(error, at)
        steps.append(step)
    stop_reason = reply["stop_reason"]
    if after(stop_reason) == "act":
        agent.act(of_type(reply, "tool_use"))
    return Turn(
        context=session.requests[-1].context,
        messages=session.history[known:],
        usages=(*(usage for each in steps for usage in each.usage), reply["usage"]),
        step=step,
        events=(*_happened(steps, tiers), *_stop(stop_reason, last)),
        stop_reason=stop_reason,
    )


@dataclass
class _Tiers:
    """Tells each tier once, until the context has fallen below it again."""

    settings: Settings
    tier: float = 0.0

    def reached(self, step: Step) -> Iterator[Event]:
        window = self.settings.context_window
        share = step.tokens_after / window
        before, self.tier = (
            self.tier,
            max((t for t in self.settings.warn_at if share >= t), default=0),
        )
        if self.tier > before:
            lowest = self.tier == min(self.settings.warn_at)
            text = f"the context is at {share:.0%} of {window:,} tokens"
            yield Event("logged" if lowest else "tier", text)


def _happened(steps: Sequence[Step], tiers: _Tiers) -> Iterator[Event]:
    for step in steps:
        yield from tiers.reached(step)
        yield from _compaction(step)


def _compaction(step: Step) -> Iterator[Event]:
    if step.compaction:
        yield Event("compaction_begun", f"{step.reason} at {step.tokens_before:,} tokens")
    if step.failure and step.compaction != "failed":
        yield Event("compaction_truncated", step.failure)
    if step.compaction == "failed":
        yield Event("compaction_failed", step.failure or "")
    elif step.compaction:
        sizes = f"{step.tokens_before:,} -> {step.tokens_after:,} tokens"
        yield Event("compaction_done", f"{sizes}; {step.archive}")


def _stop(stop_reason: str, last: bool) -> Iterator[Event]:
    if stop_reason not in ("tool_use", "pause_turn", "end_turn"):
        yield Event("stopped", f"the answer stopped with {stop_reason}")
    elif last and after(stop_reason) != "stop":
        yield Event("stopped", "max_turns reached; resume to go on")
