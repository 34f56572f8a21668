"""What a round of the loop is made of: prepare the context, ask the model, act on its calls.

Each leaves what it did in the session before it returns. Not here: in which order, and when to
stop (loop).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentlib.auto_compact import Summarize, is_too_long, summarizer
from agentlib.estimation import TokenMeter, message_tokens, meter
from agentlib.hooks import NO_HOOKS, Hooks, hooked, recent_files
from agentlib.manual_compact import COMPACT_TOOL, DONE, NAME
from agentlib.messages import Block, Message, sendable
from agentlib.recovery import Breaker, breaker, memory_first, with_less
from agentlib.requests import request, send
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Reason, Step
from agentlib.tools import ToolError, Workspace, result
from agentlib.transcripts import INTERRUPTED, Session

if TYPE_CHECKING:
    import anthropic

_LONGEST_ANSWER = 21_000
"""The SDK wants streaming for more than 21,333 tokens; a turn of an agent needs far fewer."""


class RequestTooLarge(ValueError):
    """The person's words alone do not fit the budget; nothing was sent or noted."""


def system_prompt(settings: Settings) -> str:
    """The default system prompt. It states the window: a model can't see how full it is."""
    prompt = "You are a coding agent at /workspace. Use tools to solve tasks."
    if not settings.enabled or not settings.auto:
        return f"{prompt} The context window is {settings.context_window:,} tokens."
    return (
        f"{prompt} The context window is {settings.context_window:,} tokens; "
        f"the conversation is compacted at {settings.threshold_tokens:,} tokens."
    )


@dataclass(kw_only=True)
class Agent:
    """What one run needs at hand, and the steps of one round."""

    client: "anthropic.Anthropic"
    workspace: Workspace
    settings: Settings
    engine: ContextEngine
    session: Session
    model: str
    clock: Callable[[], float]
    meter: TokenMeter
    hooks: Hooks = NO_HOOKS

    @classmethod
    def at_work(
        cls,
        client: "anthropic.Anthropic",
        workspace: Workspace,
        settings: Settings,
        engine: ContextEngine,
        session: Session | None,
        model: str,
        system: str | None,
        clock: Callable[[], float],
        hooks: Hooks = NO_HOOKS,
    ) -> "Agent":
        """An agent ready to go on with `session`, its meter having seen every bill of it."""
        archives = workspace.root / ".transcripts"
        session = session or Session(session_id=f"{now(clock):.0f}", archives=archives)
        if settings.recall and workspace.recall is None:
            workspace = replace(workspace, recall=session.recall)
        manual = settings.manual and settings.enabled
        tools = [*workspace.definitions, *([COMPACT_TOOL] if manual else [])]
        system = system_prompt(settings) if system is None else system
        same = (session.settings, session.system, session.tools) == (settings, system, tools)
        if session.resumed or not same:
            session.begin(settings, system, tools, at=now(clock))
        return cls(
            client=client,
            workspace=workspace,
            settings=settings,
            engine=engine,
            session=session,
            model=model,
            clock=clock,
            meter=metered(session, settings),
            hooks=hooks,
        )

    def hear(self, prompt: str | None) -> None:
        """Answer what a crash or Ctrl-C left open, then take the person's words."""
        if prompt is not None:
            if not prompt.strip():
                raise ValueError("the prompt is empty; say what to do, or resume with None")
            self._check_size(prompt)
        self.interrupt()
        if prompt is not None:
            self.session.say(prompt, at=now(self.clock))

    def interrupt(self) -> None:
        """Calls without a result get one that says so: they are never silently run again."""
        for name in self.session.pending:
            self.session.answer(_failure(name, INTERRUPTED), at=now(self.clock))

    def has_work(self) -> bool:
        """Whether there is anything to send: words or results, or a turn that the API paused."""
        requests, history = self.session.requests, self.session.history
        paused = bool(requests) and requests[-1].stop_reason == "pause_turn"
        return bool(history) and (history[-1]["role"] == "user" or paused)

    def prepare(self, reason: Reason, focus: str, at: float) -> Step:
        """Let the layers make the next context, and note what they did."""
        session, bills = self.session, list[Mapping[str, Any]]()
        state = breaker(session.compactions, session.requests, self.settings)
        by_hand = reason == "manual"
        step = self.engine(
            session.context,
            self.settings if by_hand else state.in_force(self.settings),
            meter=self.meter,
            summarize=self._summarize(bills.append, None if by_hand else state),
            archive=session.archive,
            reason=reason,
            focus=focus,
            settled=session.settled,
            idle=at - session.requests[-1].at if session.requests else 0.0,
        )
        step = replace(step, usage=tuple(bills))
        session.take(step, at=at)
        if step.compaction:
            self.hooks.after(step)
        return step

    def _summarize(self, on_usage: Callable[[Any], None], state: Breaker | None) -> Summarize:
        """Ask the model, with all that recovery and restore put around it."""
        settings, session = self.settings, self.session
        most = min(settings.summary_max_tokens, _LONGEST_ANSWER)
        summarize = summarizer(
            self.client,
            model=settings.model_for_summaries(self.model),
            system=session.system,
            tools=session.tools,
            summary_tokens=settings.summary_tokens,
            max_tokens=most,
            on_usage=on_usage,
            fits=lambda told: self.meter.estimate(told) + most <= settings.context_window,
        )
        summarize = with_less(summarize, settings.summary_retries)
        summarize = state.guard(summarize) if state else summarize
        if settings.session_memory:
            summarize = memory_first(summarize, settings.summary_tokens)
        files = recent_files(self._read, settings.restore_files)
        hooks = replace(self.hooks, restore=(*self.hooks.restore, files))
        # Put back only what leaves the context under the compaction point.
        stays = settings.head_tokens + (settings.tail_tokens or 0) + settings.summary_tokens
        room = settings.threshold_tokens - self.meter.base - stays
        return hooked(summarize, hooks, settings.restore_tokens, room)

    def _read(self, path: str) -> str | None:
        try:
            return self.workspace.read_file(path)
        except (ToolError, OSError):
            return None

    def ask(self, context: list[Message], at: float, settled: int) -> dict[str, Any]:
        """Send the context; the reply, with its usage, is in the session when this returns."""
        session, room = self.session, self.settings.output_reserve or self.settings.buffer
        sent = request(
            self.model,
            session.system,
            session.tools,
            context,
            max(1, min(room, _LONGEST_ANSWER)),
            settled,
        )
        reply: dict[str, Any] = send(self.client, sent).to_dict()
        reply["content"] = sendable(reply["content"])
        session.reply(reply, at=at, settled=settled)
        self.meter.observe(context, reply["usage"])
        return reply

    def ask_again(self, refused: Exception, at: float) -> tuple[Step, dict[str, Any]]:
        """The prompt was too long though the estimate said no: compact, and ask once more.

        Raises `refused` where that is not what it was, or where nothing could be made smaller.
        """
        allowed = self.settings.enabled and self.settings.auto and self.settings.reactive
        if not (allowed and is_too_long(refused)):
            raise refused
        step = self.prepare("reactive", "", at)
        if step.compaction != "reactive":
            raise refused
        return step, self.ask(list(self.session.context), at, step.settled)

    def act(self, calls: Sequence[Block]) -> None:
        """Run the calls in order, each result in the session as soon as it is there."""
        for call in calls:
            noted = call["name"] == NAME and COMPACT_TOOL in self.session.tools
            done = _success(call["id"], DONE) if noted else result(call, self.workspace)
            self.session.answer(done, at=now(self.clock))

    def _check_size(self, prompt: str) -> None:
        budget = self.settings.context_window - self.settings.output_reserve
        size = self.meter.estimate([]) + int(message_tokens({"role": "user", "content": prompt}))
        if size > budget:
            raise RequestTooLarge(
                f"the request alone is about {size:,} tokens with the system prompt and the tools; "
                f"the budget is {budget:,} (window - output_reserve). Shorten it, or name a file"
            )


def metered(session: Session, settings: Settings) -> TokenMeter:
    """A meter that has seen every bill of the session: its state is a fold over them."""
    found = meter(settings.estimator, len(session.system) + len(str(session.tools)))
    for sent in session.requests:
        found.observe(sent.context, sent.usage)
    return found


def _success(name: str, text: str) -> Block:
    return {"type": "tool_result", "tool_use_id": name, "content": text}


def _failure(name: str, text: str) -> Block:
    return {**_success(name, text), "is_error": True}


def now(clock: Callable[[], float]) -> float:
    # To the millisecond, as the session file has it: so that a replay sees the same times.
    return round(clock(), 3)
