"""The agent loop: make the context, ask the model, note its reply, act on its calls
(lesson 00).

`Agent.run` is the loop. Begin reading there. It yields a `Turn` after each request and
never prints. Whatever happens is in the session first. So after Ctrl-C, an error or a
crash, the same session can go on. What isn't a layer stands around the agent: see
`equipped`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentlib.api.requests import ModelFailed, TooLong, reply_to, request
from agentlib.auto_compact import summarizer
from agentlib.compaction.around import NO_HOOKS, Around, Hooks
from agentlib.estimation import TokenMeter, message_tokens, new_meter
from agentlib.manual_compact import COMPACT_TOOL, DONE, NAME, requested_focus
from agentlib.messages import (
    CUT_OFF,
    Message,
    interrupted,
    of_type,
    tool_names,
    tool_result,
    whole,
)
from agentlib.pipeline import ContextEngine, compact, moment, run_engine
from agentlib.presets import DEFAULT
from agentlib.settings import LONGEST_REPLY, MODEL, Settings
from agentlib.step import Event, Outcome, Reason, Step
from agentlib.tools import Workspace, result
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import anthropic

MAX_TURNS = 1_000
CHARS_PER_TOKEN = 10
"""Most characters for each token of max_tokens. A reply that has more wasn't bounded by
it. It is cut, or no later request would fit the window."""

CUTS = 3
"""How often in a row the model may go on after a reply that `max_tokens` cut off
(learn-claude-code, s11)."""
RETRIES = 3
"""How often one prompt that was refused for its size is made smaller and sent again."""

CUT = ("max_tokens", "model_context_window_exceeded")
"""The stop reasons of replies that aren't complete."""

CUT_CALL = (
    "not run: the reply was cut off ({}), and this call with it. Call again "
    "with less, a long file in several parts say"
)
CUT_TEXT = CUT_OFF + " ({}). Go on where it stops, unless the user says otherwise.]"


class RequestTooLarge(ValueError):
    """The person's words alone don't fit the window. Nothing was sent or noted."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One request, what led to it and what came of it."""

    context: list[Message]
    """The messages that were sent."""
    messages: list[Message]
    """The messages that this turn added: the reply, then the results of its calls."""
    usages: tuple[Mapping[str, Any], ...]
    """The bills: the summary's calls first, then the request."""
    steps: tuple[Step, ...]
    """What the layers did before the request. There is more than one if the API refused
    a prompt for its size."""
    stop_reason: str
    cuts: int = 0
    """How many replies in a row `max_tokens` has cut off, with this one."""
    limit: int = 0
    """The most tokens that the API takes, if it named that in a refusal."""
    events: tuple[Event, ...] = ()
    """What a person should know. An agent alone tells nothing."""

    @property
    def step(self) -> Step:
        """What the layers did before the request that was answered."""
        return self.steps[-1]

    def telling(self, events: tuple[Event, ...]) -> "Turn":
        """Return the turn with what a person should know about it."""
        return replace(self, events=events)


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
    """Work on `prompt` until the model is done, `max_turns` are over or the consumer
    stops.

    Give the same `session` again to go on with its conversation. With `prompt` None,
    resume it where it stopped. Calls in flight are answered as interrupted. Without a
    session the history is in memory, and is archived in `<workspace>/.transcripts`. A
    session with a file is kept from other processes until you close it.

    A prompt that the API finds too long is compacted and sent again, at most three
    times. Every other API error passes through, and nothing is lost. Raises
    RequestTooLarge if the prompt alone doesn't fit the window less `output_reserve`.
    """
    archives = workspace.root / ".transcripts"
    agent = equipped(
        client,
        workspace,
        session or Session(session_id=f"{clock():.0f}", archives=archives),
        settings=settings,
        engine=engine,
        model=model,
        system=system or "",
        clock=clock,
        hooks=hooks,
    )
    yield from turns(agent, prompt, max_turns)


def equipped(
    client: "anthropic.Anthropic",
    workspace: Workspace,
    session: Session,
    *,
    settings: Settings = DEFAULT,
    engine: ContextEngine = compact,
    model: str = MODEL,
    system: str = "",
    clock: Callable[[], float] = time.time,
    hooks: Hooks = NO_HOOKS,
) -> "Agent":
    """Make an agent with all that stands around its engine. That writes nothing."""
    agent = Agent(client, workspace, session, settings, engine, model, system, clock)
    around = Around(agent, engine, hooks)
    agent.engine = around
    agent.after = around.after
    return agent


def turns(
    agent: "Agent", prompt: str | None, max_turns: int = MAX_TURNS
) -> Iterator[Turn]:
    """Let an equipped agent work, and tell with each turn what a person should know."""
    around = agent.engine
    told = agent.run(prompt, max_turns)
    if isinstance(around, Around):
        told = around.told(told, agent.longest_reply, CUTS)
    for number, turn in enumerate(told, 1):
        if number == max_turns and _goes_on(turn.stop_reason, turn.cuts):
            stopped = Event("stopped", "max_turns reached; resume to go on")
            turn = turn.telling((*turn.events, stopped))
        yield turn


@dataclass(eq=False, repr=False)
class Agent:
    """A coding agent at work on one session. Making one writes nothing."""

    client: "anthropic.Anthropic"
    workspace: Workspace
    session: Session
    settings: Settings = DEFAULT
    engine: ContextEngine = compact
    model: str = MODEL
    system: str = ""
    """The system prompt. Empty: the default one."""
    clock: Callable[[], float] = time.time
    after: Callable[[Step], None] = lambda step: None
    """Gets each step once it is in the session."""

    def __post_init__(self) -> None:
        settings = self.settings
        recall = self.session.recall if settings.recall else None
        self.workspace = self.workspace.serving(self.client, recall)
        self.system = whole(self.system or system_prompt(settings))
        manual = settings.manual and settings.enabled
        self.tools = [*self.workspace.definitions, *([COMPACT_TOOL] if manual else [])]
        self.meter = meter_of(self.session, settings, self.system + str(self.tools))
        self._calls = set(tool_names(self.session.history))
        self._limit = 0
        self._cuts = 0

    def run(self, prompt: str | None, max_turns: int = MAX_TURNS) -> Iterator[Turn]:
        """Make the context, ask the model, note its reply, act on its calls, and
        again."""
        self.hear(prompt)
        self._cuts = 0
        for _ in range(max_turns):
            if not self.has_work():
                return
            at = self.now()
            start = len(self.session.history)
            steps = [self.context(at)]
            reply = self.ask(at, steps)
            self.note(at, reply, steps[-1])
            goes_on = self.act(reply)
            yield Turn(
                context=self.session.requests[-1].context,
                messages=self.session.history[start:],
                usages=(*(u for step in steps for u in step.usage), reply["usage"]),
                steps=tuple(steps),
                stop_reason=reply["stop_reason"],
                cuts=self._cuts,
                limit=self._limit,
            )
            if not goes_on:
                return

    def context(self, at: float, reason: Reason = "auto", focus: str = "") -> Step:
        """Let the layers make the next context, and note what they did.

        A call of `compact` in the newest reply makes the reason "manual" and gives the
        focus.
        """
        session = self.session
        settings = self.settings
        wish = requested_focus(session.history) if COMPACT_TOOL in self.tools else None
        if reason == "auto" and wish is not None:
            reason = "manual"
            focus = wish
        now = moment(
            session,
            settings,
            meter=self.meter,
            summarize=summarizer(  # `Around` takes its own, with more around it
                self.client,
                model=self.model,
                system=self.system,
                tools=self.tools,
                summary_tokens=settings.summary_tokens,
                max_tokens=min(settings.summary_max_tokens, LONGEST_REPLY),
            ),
            reason=reason,
            focus=focus,
            idle=at - session.used_at if session.requests else 0.0,
        )
        step = run_engine(self.engine, now)
        session.take(step, at=at)
        self.after(step)
        return step

    def ask(self, at: float, steps: list[Step]) -> dict[str, Any]:
        """Send the context that the steps made, and return the reply.

        A prompt that the API finds too long, against the estimate, is compacted and
        sent again, at most three times. The meter learns the size from the refusal. A
        resumed session has forgotten it and may be refused, and cured, once more. The
        steps that this takes are added to the list. Whatever else the client raises
        passes through.
        """
        settings = self.settings
        is_curable = settings.enabled and settings.auto and settings.reactive
        most = self.longest_reply
        self._limit = 0
        while True:
            settled = steps[-1].settled
            context = self.session.context
            body = request(self.model, self.system, self.tools, context, most, settled)
            try:
                return reply_to(self.client, body, self._calls, CHARS_PER_TOKEN * most)
            except ModelFailed as failure:
                refusal = failure.error
                may_help = is_curable and len(steps) <= RETRIES
                if not isinstance(failure, TooLong) or not may_help:
                    raise refusal from refusal.__cause__
                self._limit = failure.limit
                tokens = int(failure.size / failure.limit * settings.context_window)
                self.meter.believe(context, tokens)
                steps.append(self.context(at, "reactive"))
                if not steps[-1].cleared and steps[-1].compaction != Outcome.REACTIVE:
                    raise refusal from refusal.__cause__

    def note(self, at: float, reply: dict[str, Any], step: Step) -> None:
        """Note the reply to the context that a step made, and learn from its bill."""
        context = list(self.session.context)
        self._calls |= tool_names([reply]).keys()
        self.session.reply(reply, at=at, settled=step.settled)
        self.meter.observe(context, reply["usage"])

    def act(self, reply: Message) -> bool:
        """Run the reply's calls in order, or let a reply that was cut off go on. Return
        whether there is more to do.

        Each result is in the session as soon as it is there.
        """
        stop = reply["stop_reason"]
        self._cuts = self._cuts + 1 if stop == "max_tokens" else 0
        goes_on = _goes_on(stop, self._cuts)
        for call in of_type(reply, "tool_use") if stop == "tool_use" else ():
            compacts = call["name"] == NAME and COMPACT_TOOL in self.tools
            outcome = (
                tool_result(call["id"], DONE)
                if compacts
                else result(call, self.workspace)
            )
            self.session.answer(outcome, at=self.now())
        if goes_on and stop == "max_tokens":
            self.go_on()
        return goes_on

    def compact_now(self, focus: str = "") -> Step:
        """Compact between two runs of the same session, as `/compact` does."""
        self.open()
        return self.context(self.now(), "manual", whole(focus))

    def hear(self, prompt: str | None) -> None:
        """Take the person's words. None: go on with what the session has."""
        if prompt is None:
            self.open(resumes=True)
            return
        words: str = whole(prompt)
        if not words.strip():
            raise ValueError("the prompt is empty; say what to do")
        budget = self.settings.context_window - self.settings.output_reserve
        size = self.meter.estimate([]) + int(
            message_tokens({"role": "user", "content": words})
        )
        if size > budget:
            raise RequestTooLarge(
                f"the request alone is about {size:,} tokens with the system prompt and the tools; "
                f"the budget is {budget:,} (window - output_reserve). Shorten it, or name a file"
            )
        self.open()
        self.session.say(words, at=self.now())

    def open(self, *, resumes: bool = False) -> None:
        """Note what the session runs with from here on, and answer the calls left open.

        Such calls may have been carried out, so they are not run again. If the last
        reply was cut off, words of the program say so, and the request still waits.
        `resumes`: nobody says anything new, so a text that was cut off too often stays
        the end. The session's file is kept from other processes until it is closed.
        """
        self.session.hold()
        session = self.session
        terms = (self.settings, self.system, self.tools)
        if (
            session.resumed
            or (session.settings, session.system, session.tools) != terms
        ):
            session.begin(*terms, at=self.now())
        cut = self._cut()
        is_open = cut == "max_tokens" if session.pending else cut and not resumes
        if is_open:
            self.go_on()
        for name in session.pending:
            session.answer(*interrupted(name)["content"], at=self.now())

    def _cut(self) -> str | None:
        """Return the stop reason of the last reply, if it was cut off and nothing has
        followed it."""
        requests = self.session.requests
        history = self.session.history
        is_last = bool(requests) and requests[-1].reply is history[-1]
        reason = requests[-1].stop_reason if is_last else None
        return reason if reason in CUT else None

    def go_on(self) -> None:
        """Let the model go on after a reply that was cut off.

        Its calls may lack a part of their input, so none is run. A text goes on after
        words of the program, which are never the person's request.
        """
        reason = self._cut()
        if reason == "max_tokens":
            reason = f"max_tokens={self.longest_reply:,}"
        for name in self.session.pending:
            text = CUT_CALL.format(reason)
            self.session.answer(tool_result(name, text, wrong=True), at=self.now())
        if not self.has_work():
            self.session.say(CUT_TEXT.format(reason), at=self.now(), is_person=False)

    def has_work(self) -> bool:
        """Return whether there is anything to send: words or results."""
        return bool(self.session.history) and self.session.history[-1]["role"] == "user"

    @property
    def longest_reply(self) -> int:
        """`max_tokens` of each request."""
        room = self.settings.output_reserve or self.settings.buffer
        return max(1, min(room, LONGEST_REPLY))

    def now(self) -> float:
        """Return the time to the millisecond, which is what a replay reads from the
        file."""
        return round(self.clock(), 3)


def _goes_on(stop_reason: str, cuts: int) -> bool:
    """Return whether the model goes on: always after a call, after `max_tokens` a few
    times, and after no other reason.

    The API pauses a turn (`pause_turn`) only for tools that run on its servers, and
    this agent offers none.
    """
    return stop_reason == "tool_use" or 0 < cuts <= CUTS


def system_prompt(settings: Settings) -> str:
    """Return the default system prompt. It states the window: a model can't see how
    full it is."""
    prompt = (
        "You are a coding agent at /workspace. Use tools to solve tasks. "
        f"The context window is {settings.context_window:,} tokens"
    )
    if not settings.enabled or not settings.auto:
        return f"{prompt}."
    return f"{prompt}; the conversation is compacted at {settings.threshold_tokens:,} tokens."


def meter_of(
    session: Session, settings: Settings, base: str | None = None
) -> TokenMeter:
    """Return a meter that has seen every bill of the session.

    `base`: the system prompt and the tools of the next request, if they aren't the
    session's.
    """
    base = session.system + str(session.tools) if base is None else base
    meter = new_meter(settings.estimator, len(base))
    for sent in session.requests:
        meter.observe(sent.context, sent.usage)
    return meter
