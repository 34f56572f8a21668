"""Run a task from its first prompt to its last, with any part of the agent replaced by
yours.

Every run of every lesson goes through `play`. The offline agent works in a fresh
folder, so what a setting made it forget shows in what it does next. Such a run
illustrates a mechanism. It is no evidence about language models.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack, cast

from agentlib import loop as agent_loop
from agentlib import pipeline
from agentlib.api.live import model_id
from agentlib.api.requests import send
from agentlib.api.spending import Usage, dollars
from agentlib.auto_compact import SummaryFailed, summary_text
from agentlib.compaction.around import NO_HOOKS
from agentlib.estimation import prompt_tokens
from agentlib.messages import Message, of_type
from agentlib.pipeline import Now, run_engine
from agentlib.session.keep_alive import repeat
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.transcripts import Session
from offline_api import client
from offline_api.faults import Fault
from offline_api.model import HABITS, Habits
from offline_api.model.notes import notes_in
from session_report.frames import Frame, Shown
from session_report.playback import replay, rows, table
from windtunnel.parts import (
    LAYERS,
    LearnersLayer,
    LearnersParts,
    Loop,
    OpenSession,
    Parts,
    ToolBench,
    check_together,
    composed,
    has_own_summary,
    is_own,
    named,
)
from windtunnel.tasks.scenarios import Checks, Clock, Scenario

if TYPE_CHECKING:
    import anthropic
    from pandas import DataFrame

MAX_TURNS = 200
LEARNERS_TURNS = 100
"""Requests for each prompt. The second number holds for a run with a learner's part."""
ANSWER = 8_000
"""Tokens that a reply may have in a learner's loop."""
EVIDENCE = "A system's name means its numbers, run in our agent by a scripted model"
"""What a picture or a table with presets is evidence of. It says so itself."""
KEPT = 64
"""Runs remembered."""
Kept = Callable[[tuple[Any, ...], Callable[[], "Run"]], "Run"]
"""(a run's arguments, what makes it) -> the run, made now or before."""


@dataclass(kw_only=True, eq=False)
class Run:
    """One task under some settings, and what came of it. `play` fills it in as the run
    goes on."""

    settings: Settings
    session: Session
    usages: list[Usage] = field(default_factory=list[Usage])
    """The usage of each response, those to summary requests too."""
    checks: Checks = field(default_factory=dict[str, Any])
    """The task's own measures, `done` first."""
    ended: str = ""
    """What ended the run before its time, with the API's status, or "" if nothing
    did."""
    refused: str = ""
    """The API's words, if an error of the API ended the run."""
    rounds: list[agent_loop.Turn] = field(default_factory=list[agent_loop.Turn])
    """What the loop reported after each request."""
    steps: list[Step] = field(default_factory=list[Step])
    """What the layers did, in their order, only if the run has an engine, layers or a
    part of the learner's."""
    step: Step = field(default_factory=Step)
    """The compaction by hand."""

    @property
    def turns(self) -> int:
        """Requests answered."""
        return len(self.session.requests)

    @property
    def refused_tokens(self) -> int:
        """Size of the prompt that the API refused as too long, 0 if it refused none.

        >>> words = "prompt is too long: 36535 tokens > 32000 maximum"
        >>> Run(settings=Settings(), session=Session(session_id="1"), refused=words).refused_tokens
        36535
        """
        size = re.match(r"prompt is too long: (\d+) tokens", self.refused)
        return int(size[1]) if size else 0

    @property
    def sizes(self) -> list[int]:
        """Tokens of each prompt, those of summary requests left out."""
        return [prompt_tokens(sent.usage) for sent in self.session.requests]

    @property
    def sent(self) -> int:
        """Tokens of all prompts together."""
        return sum(map(prompt_tokens, self.usages))

    @property
    def repeated(self) -> int:
        """Calls that had been made before, word for word."""
        return repeated(self.session.history)

    @property
    def summary(self) -> str:
        """The text that the compaction by hand put in place of the rest, or ""."""
        summary = self.step.summary
        return summary_text(summary) if summary else ""

    def kept(self, task: Scenario) -> dict[str, Any]:
        """How much the summary holds of what was planted: `facts`, the `rule`, `names`.

        `names` counts what the notes on files say about names in them: the details of
        the work.
        """
        return {
            "facts": sum(fact in self.summary for fact in task.facts),
            "rule": bool(task.rule) and task.rule in self.summary,
            "names": sum(
                len(n.parts[3:]) for n in notes_in(self.summary) if n.kind == "file"
            ),
        }

    def dollars(self, model: str) -> float:
        """What the run costs at this model's prices. Raises ValueError for an unknown
        model."""
        return sum(dollars(usage, model) for usage in self.usages)

    def events(self, *kinds: str) -> list[str]:
        """The loop's events as lines with the number of the turn, of these kinds or
        all."""
        return [
            f"turn {number}: {event.kind}: {event.text}"
            for number, turn in enumerate(self.rounds, 1)
            for event in turn.events
            if not kinds or event.kind in kinds
        ]

    def table(self) -> "DataFrame":
        """A row for each turn, as the charts take it."""
        return table(self._frames())

    def rows(self) -> list[dict[str, Any]]:
        """The rows of `table`, for which nobody needs pandas."""
        return rows(self._frames())

    def _frames(self) -> list[Frame]:
        steps = iter(self.steps)

        def recorded(now: Now) -> Step:
            return next(steps)

        engine = recorded if self.steps else pipeline.compact
        return replay(self.session, self.settings, engine=engine)


def repeated(history: Sequence[Message], tool: str = "") -> int:
    """Count the calls, of one tool or of all, that had been made before with the same
    input.

    >>> call = {"type": "tool_use", "name": "bash", "input": {"command": "ls"}}
    >>> repeated([{"role": "assistant", "content": [call]}] * 3)
    2
    """
    calls = Counter(
        f"{call['name']} {sorted(call['input'].items())}"
        for message in history
        for call in of_type(message, "tool_use")
        if tool in ("", call["name"])
    )
    return calls.total() - len(calls)


def outcomes(session: Session) -> Counter[str]:
    """Count the compactions of a session by outcome: done, cut to size, failed."""
    return Counter(
        "failed" if each.message is None else "cut to size" if each.failure else "done"
        for each in session.compactions
    )


def asked_at(session: Session) -> list[int]:
    """Before which requests, counted from 1, a model was asked for a summary."""
    return [
        1 + sum(sent.seen < each.seen for sent in session.requests)
        for each in session.compactions
        if not each.rested
    ]


_REMEMBERED = {"layers", "engine", "compact_after", "focus", "max_turns", "shell"}
"""A run with any other part is made again each time: such a function may change in
between."""


def play(
    task: Scenario,
    settings: Settings,
    *,
    live: bool = False,
    max_usd: float | None = None,
    faults: Sequence[Fault] = (),
    habits: Habits = HABITS,
    **parts: Unpack[Parts],
) -> Run:
    """Do the task in a fresh folder, and return what it took and what came of it.

    The window on the wire is `settings.context_window`. `live`, `max_usd`, `faults` and
    `habits` are those of `offline_api.client`. Live, commands run in bubblewrap or not
    at all. An error of the API ends the run and stands in `Run.refused`. The same
    arguments give the same run, so it is made once and remembered, unless a function of
    yours is in it, other than an engine of a module. Runs with layers of agentlib's or the
    course's functions are remembered as well.

    `layers` is a list in place of `pipeline.LAYERS`: functions (now, step) -> Step, such as
    `pipeline.clear`, and what `layer_of` makes of a function of messages. Other parts of yours
    take the place of the agent's own:

    engine            (now) -> Step, as `pipeline.compact`. It can't go with `layers`
    loop              (messages, ask, workspace): add replies and results to `messages` until the
                      model is done, where `ask(messages)` sends them and returns the reply
    tools             pairs of a definition with a `path` and a function of that file's text
    estimate          (messages) -> tokens, or (billed, sent, messages) -> tokens, with the last
                      bill and the number of messages it was for
    on_compact_call   (messages) -> the focus that the model asked for, None if it did not ask
    save, load        (messages, folder, now) -> path and (path) -> messages: after `resume_after`
                      turns (10) the context is saved, and the run goes on with what is loaded
    summarize         (messages, focus, ask) -> summary. The agent does not ask again or pause

    If such a function raises, the run stops with a PartFailed that names the line. Parts work
    together, or TypeError says which can't.

    The circumstances:

    compact_after     the turn after which the person compacts by hand, with a `focus`.
                      ValueError if the task has no such turn
    hooks             as in `loop.run`
    model             answers in place of the offline model. A KeyboardInterrupt of it ends the run
    api               an open client and the id of its model, in place of `live`. Commands run
                      as they do live
    stop              (session) -> why to stop after this turn, or ""
    shell             False: the agent has no bash, and lists files with `glob`. A web page has
                      no processes
    max_turns         requests for each prompt, one number for all or one for each; with `loop`,
                      for the whole run
    """
    check_together(parts)
    if "layers" in parts:
        parts["layers"] = tuple(parts["layers"])
    is_fixed = parts.keys() <= _REMEMBERED and not _may_change(parts)
    run = _remembered if is_fixed else _played
    return run(
        task,
        settings,
        live,
        max_usd,
        tuple(faults),
        habits,
        tuple(sorted(parts.items())),
    )


def _may_change(parts: Parts) -> bool:
    """Tell whether a run has a layer that isn't the course's, or an engine from a
    notebook or a learner's file, where what it calls may have been defined again
    since."""
    engine = parts.get("engine")
    functions = engine.layers if isinstance(engine, pipeline.Stack) else [engine]
    learners = [each for each in functions if isinstance(each, LearnersLayer)]
    layers = (*learners, *parts.get("layers", ()))
    roots = {name.partition(".")[0] for each in layers for name in _modules(each)}
    names = {name for each in functions for name in _modules(each)}
    return bool(roots - {"agentlib", "course"} or names & {"__main__", "my_agent"})


def _modules(function: object) -> Iterator[str]:
    """Yield the modules of a function, and of the functions that a partial gives it."""
    if isinstance(function, LearnersLayer):
        function = function.function
    if isinstance(function, partial):
        bound = (function.func, *function.args, *function.keywords.values())
        for each in filter(callable, bound):
            yield from _modules(each)
    else:
        yield getattr(function, "__module__", "")


def keep_runs(kept: Kept) -> None:
    """Ask `kept` for each offline run of this process that `play` remembers."""
    _keeper.append(kept)
    _remembered.cache_clear()


_keeper: list[Kept] = []
"""Who keeps runs beyond this process; the last one counts."""


@lru_cache(maxsize=KEPT)
def _remembered(task: Scenario, settings: Settings, live: bool, *more: Any) -> Run:
    make = partial(_played, task, settings, live, *more)
    if live or not _keeper:
        return make()
    return _keeper[-1]((task, settings, *more), make)


def _played(
    task: Scenario,
    settings: Settings,
    live: bool,
    max_usd: float | None,
    faults: tuple[Fault, ...],
    habits: Habits,
    named_parts: tuple[tuple[str, Any], ...],
) -> Run:
    """Make the folder, the client and the session, and go through the task."""
    parts = cast(Parts, dict(named_parts))
    clock = Clock()
    model = parts.get("model")
    window = settings.context_window
    llm, name_of_model = parts.get("api") or (
        client(
            live,
            window=window,
            max_usd=max_usd,
            faults=faults,
            clock=clock,
            habits=habits,
            model=model,
        ),
        model_id(live),
    )
    if has_own_summary(parts):  # the learner's own has no breaker
        settings = replace(settings, summary_retries=0, breaker_failures=0)
    with TemporaryDirectory() as name:
        folder = Path(name, "work")
        task.make_workspace(folder)
        stem = re.sub(r"[^\w. -]", "-", task.name)
        session = OpenSession.create(
            name, settings=settings, session_id=stem, clock=clock
        )
        run = Run(settings=settings, session=session)
        bench = ToolBench(
            folder,
            sandbox=live or "api" in parts,
            added=tuple(parts.get("tools", ())),
            shell=parts.get("shell", True),
        )
        work = _Work(run, llm, name_of_model, session, bench, clock, parts)
        try:
            work.through(task)
        except KeyboardInterrupt:
            if not model:  # the learner's own, so this run must not be remembered
                raise
            run.ended = "KeyboardInterrupt"
        finally:
            session.close()
        run.checks = task.checks(folder, session.history)
    return run


class _TurnsOver(BaseException):
    """Stop a learner's loop at its last request. Its own `except Exception` doesn't
    catch this."""


@dataclass
class _Work:
    """What a run needs at hand."""

    run: Run
    client: "anthropic.Anthropic"
    model: str
    session: OpenSession
    workspace: ToolBench
    clock: Clock
    parts: Parts

    def __post_init__(self) -> None:
        parts = self.parts
        has_part = bool(parts.keys() & LearnersParts.__annotations__.keys())
        self.own = has_part or any(map(is_own, parts.get("layers", ())))
        self.engine = composed(self.session, parts)
        self.hooks = parts.get("hooks", NO_HOOKS)
        reopens = "save" in parts
        self.pause = (
            parts.get("resume_after", 10) if reopens else parts.get("compact_after")
        )

    def through(self, task: Scenario) -> None:
        """Go through the prompts, and note what ended the run before its time."""
        import anthropic

        try:
            for number, prompt in enumerate(task.prompts):
                self._wait(task.pauses[number] if task.pauses else 0)
                if self.run.ended:
                    return
                if loop := self.parts.get("loop"):
                    self._by_loop(loop, prompt)
                else:
                    self._by_agent(prompt, self._most(number))
        except (anthropic.APIError, agent_loop.RequestTooLarge) as error:
            self.run.refused = words_of(error)
            self.run.ended = (
                f"{getattr(error, 'status_code', '')} {self.run.refused}".strip()
            )
            return
        except SummaryFailed as error:
            self.run.ended = f"no summary: {error}"
            return
        if self.pause is not None and not self.run.ended:
            there = len(self.session.requests)
            raise ValueError(
                f"after turn {self.pause}: the task has turns 1 to {there}"
            )

    def _wait(self, seconds: float) -> None:
        """Let a pause pass, and keep the prompt cache alive in it as often as the
        settings say."""
        session = self.session
        end = self.clock.start + seconds
        for _ in range(session.settings.keep_alive if session.requests else 0):
            due = session.used_at + session.settings.repeat_after
            if due >= end:
                break
            self.clock.pause(due - self.clock.start)
            self.run.usages.append(repeat(self._agent()).usage)
        self.clock.pause(max(0.0, end - self.clock.start))

    def _most(self, number: int = 0) -> int:
        """Requests that the prompt with this number may take."""
        most = self.parts.get("max_turns", LEARNERS_TURNS if self.own else MAX_TURNS)
        return most if isinstance(most, int) else most[number]

    def _by_agent(self, prompt: str, most: int) -> None:
        """Work on a prompt, with the compaction by hand or the new start if it falls
        due."""
        left = (self.pause or 0) - len(self.session.requests)
        self._turns(prompt, left if left > 0 else most)
        if not self.run.ended and self.pause == len(self.session.requests):
            self.pause = None
            if "compact_after" in self.parts:
                self.run.step = self._agent().compact_now(self.parts.get("focus", ""))
                self.run.usages += self.run.step.usage
            else:
                self._reopen()
            self._turns(None, most)

    def _turns(self, prompt: str | None, most: int) -> None:
        stop = self.parts.get("stop")
        for turn in agent_loop.turns(self._agent(), prompt, most):
            self.run.rounds.append(turn)
            self.run.usages += turn.usages
            self.run.ended = stop(self.session) if stop else ""
            if self.run.ended:
                return

    def _engine(self, now: Now) -> Step:
        step = run_engine(self.engine, now)
        view = step.applied(now.messages)
        if self.own or self.parts.keys() & {"engine", "layers"}:
            # A replay can't know messages that a part has shown.
            is_shown = isinstance(step, Shown)
            self.run.steps.append(
                step if is_shown else Shown(**vars(step), view=now.messages)
            )
        if step.compaction == "manual" and now.reason == "auto":
            # The learner's rule asked. A replay takes that for a person, and so for two
            # steps.
            self.run.steps.append(Shown(view=view, settled=step.settled))
        return step

    def _agent(self) -> agent_loop.Agent:
        return agent_loop.equipped(
            self.client,
            self.workspace,
            self.session,
            settings=self.session.settings,
            engine=self._engine,
            model=self.model,
            clock=self.clock,
            hooks=self.hooks,
        )

    def _reopen(self) -> None:
        """Save the context by the learner's function, and go on with what is loaded."""
        save = self.parts.get("save")
        load = self.parts.get("load")
        assert save
        assert load
        folder = self.workspace.root.parent
        path = named(save)(list(self.session.context), folder, self._now())
        self.session.show(named(load, list)(path))

    def _by_loop(self, loop: Loop, prompt: str) -> None:
        """Let the learner's loop work on a prompt."""
        import anthropic

        session = self.session
        if not session.requests:
            system = agent_loop.system_prompt(session.settings)
            session.begin(
                session.settings, system, self.workspace.definitions, at=self._now()
            )
        session.say(prompt, at=self._now())
        messages = list(session.context)
        try:
            named(loop, passes=(anthropic.APIError,))(
                messages, self._ask, self.workspace
            )
        except _TurnsOver:
            self.run.ended = f"{self._most()} turns"
        session.show(messages)

    def _ask(self, messages: list[Message]) -> dict[str, Any]:
        """Send the messages for a learner's loop, and note the results in them and the
        reply.

        Nothing asks for the prompt cache.
        """
        session = self.session
        if len(session.requests) == self._most():
            raise _TurnsOver
        for result in of_type(messages[-1], "tool_result"):
            if result["tool_use_id"] in session.pending:
                session.answer(result, at=self._now())
        session.show(messages)
        has_layers = bool(self.parts.keys() & LAYERS)
        if has_layers:
            self.run.usages += self._agent().context(self._now()).usage
            messages[:] = session.context
        sent = {"model": self.model, "system": session.system, "tools": session.tools}
        sent |= {"messages": messages, "max_tokens": ANSWER}
        reply: dict[str, Any] = send(self.client, sent).to_dict()
        if not has_layers:
            self.run.steps.append(Shown(view=list(messages)))
        session.reply(reply, at=self._now())
        self.run.usages.append(reply["usage"])
        return reply

    def _now(self) -> float:
        return round(self.clock(), 3)


def words_of(error: Exception) -> str:
    """The API's own words in an error of the SDK."""
    body: Any = getattr(error, "body", None)
    try:
        return str(body["error"]["message"])
    except (KeyError, TypeError):
        return str(error)
