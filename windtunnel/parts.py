"""Make a working part of the agent out of a learner's function.

Each wrapper gives an engine, so the loop needs no new arguments. What the function
returns is sent as it is, however wrong, and the API says why.
"""

import inspect
import linecache
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, ClassVar, TypedDict

from agentlib import pipeline
from agentlib.auto_compact import Summarize, SummaryFailed, summary_message
from agentlib.engine_check import run_engine
from agentlib.estimation import TokenMeter, prompt_tokens
from agentlib.hooks import Hooks
from agentlib.messages import Message, blocks, of_type, waiting
from agentlib.pipeline import ContextEngine, Now
from agentlib.step import Step, clearing, standing_in
from agentlib.tools import Definition, Workspace
from agentlib.transcripts import Session
from offline_api import violation
from offline_api.server import Model

Ask = Callable[[list[Message]], dict[str, Any]]
"""(messages) -> the model's reply to them: `content`, `stop_reason`, `usage`."""
Loop = Callable[[list[Message], Ask, Workspace], object]
"""(messages, ask, workspace): ask and act until the model is done, adding to
`messages`."""
Tool = tuple[Definition, Callable[[str], str]]
"""A tool's definition, and a function of the text of the file that the call's `path`
names."""


class PartFailed(RuntimeError):
    """A learner's function raised, or returned something that nobody could send.

    Its text names the function and the line: "`clear` raised IndexError() in line 3:
    return x[9]".
    """


def named(
    function: Callable[..., Any],
    returns: type | tuple[type, ...] = object,
    passes: tuple[type[Exception], ...] = (),
) -> Callable[..., Any]:
    """Call the function. If it raises, or returns another type, say in which of its
    lines.

    Exceptions of the types `passes` are part of what the function may do and stay as
    they are.
    """

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            answer = function(*arguments)
            if inspect.isgenerator(answer):
                answer = list(answer)
        except (PartFailed, *passes):
            raise
        except (Exception, SystemExit) as error:
            raise failed(function, f"raised {error!r}", error) from error
        if not isinstance(answer, returns):
            raise failed(function, f"returned {answer!r:.60}")
        return answer

    return call


def failed(
    function: Callable[..., Any], what: str, error: BaseException | None = None
) -> PartFailed:
    function = inspect.unwrap(function)
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(
        function.__call__, "__code__", None
    )
    if code is None:  # a class, or a function of C
        return PartFailed(f"{function!r:.60} {what}")
    line = code.co_firstlineno
    text = linecache.getline(code.co_filename, line).strip()
    for frame in traceback.extract_tb(error.__traceback__ if error else None):
        if frame.filename == code.co_filename:
            line, text = frame.lineno or line, frame.line or text
    return PartFailed(f"`{code.co_name}` {what} in line {line}: {text}")


class OpenSession(Session):
    """A session whose view may be anything, as a learner's function makes it.

    Its file lies in a folder that is removed after the run, so nobody waits for a disk.
    """

    durable: ClassVar[bool] = False

    def show(self, messages: Sequence[Message]) -> None:
        """Send these messages next, whatever the history says."""
        names = dict(zip(map(id, self.context), self.ids, strict=True))
        self.context = list(messages)
        self.ids = [names.get(id(message), "a learner's") for message in messages]


@dataclass(frozen=True)
class ToolBench(Workspace):
    """A workspace with the learner's tools beside its own."""

    added: tuple[Tool, ...] = ()

    @property
    def tools(self) -> dict[str, Callable[..., str]]:
        added = {tool["name"]: self._on_file(named(do, str)) for tool, do in self.added}
        return super().tools | added

    @property
    def definitions(self) -> list[Definition]:
        return [*super().definitions, *(definition for definition, _ in self.added)]

    def _on_file(self, do: Callable[[str], str]) -> Callable[[str], str]:
        return lambda path: do(self.read_file(path))


class LearnersParts(TypedDict, total=False):
    """The parts that a learner writes. The docstring of `play` says what each is."""

    loop: Loop
    tools: Sequence[Tool]
    estimate: Callable[..., float]
    layer: Callable[[list[Message]], list[Message] | None]
    compact: Callable[..., list[Message]]
    on_compact_call: Callable[[list[Message]], str | None]
    save: Callable[[list[Message], Path, float], Path]
    load: Callable[[Path], list[Message]]
    summarize: Callable[[list[Message], str, Summarize], str]


class Parts(LearnersParts, total=False):
    """All that `play` takes by name: the learner's parts and the circumstances of the
    run."""

    engine: ContextEngine
    resume_after: int
    compact_after: int
    focus: str
    hooks: Hooks
    model: Model
    stop: Callable[[Session], str]
    max_turns: int | tuple[int, ...]


NOT_WITH_A_LOOP = ("save", "load", "stop", "hooks", "compact_after", "resume_after")
"""Parts and circumstances that only the agent's own loop can serve."""
LAYERS = {"engine", "estimate", "layer", "compact", "on_compact_call", "summarize"}
"""Parts that decide what the next request sends."""


def check_together(parts: Parts) -> None:
    """Raise TypeError if one of these parts would keep another from running."""
    if ("save" in parts) != ("load" in parts):
        raise TypeError("save and load go together: what one writes, the other reads")
    if "save" in parts and "compact_after" in parts:
        raise TypeError("save and compact_after would both interrupt the run; take one")
    if "loop" in parts and (others := [n for n in NOT_WITH_A_LOOP if n in parts]):
        raise TypeError(
            f"a loop of yours can't go with {', '.join(others)}: only the agent's own "
            "loop stops in between; leave out one or the other"
        )
    compact = parts.get("compact")
    if compact and len(_needed(compact)) == 1:
        unused = [n for n in ("estimate", "on_compact_call", "summarize") if n in parts]
        if unused:
            raise TypeError(
                f"a compact(messages) runs before each request and asks nobody, so "
                f"{', '.join(unused)} would never run; "
                "write compact(messages, summary), which runs when it is time"
            )


def _needed(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that have no default."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is each.empty]


def composed(session: OpenSession, parts: Parts) -> ContextEngine:
    """Return the engine, with each of the learner's functions in its place."""
    engine = parts.get("engine", pipeline.compact)
    if compact := parts.get("compact"):
        engine = _compacting(engine, named(compact, list), session)
    if layer := parts.get("layer"):
        engine = _clearing(engine, named(layer, (list, type(None))), session)

    def step(now: Now) -> Step:
        if (call := parts.get("on_compact_call")) and now.reason != "reactive":
            focus = named(call, (str, type(None)))(list(now.messages))
            reason = "auto" if focus is None else "manual"
            now = replace(now, reason=reason, focus=focus or "")
        if estimate := parts.get("estimate"):
            function = named(estimate, (int, float))
            now = replace(now, meter=_Estimate(now.meter, function, session))
        if summarize := parts.get("summarize"):
            write, ask = named(summarize, str, passes=(SummaryFailed,)), now.summarize
            now = now.asking(lambda messages, focus: write(list(messages), focus, ask))
        return run_engine(engine, now)

    return step


class _Estimate(TokenMeter):
    """A meter whose `estimate` is the learner's function. All else is the real one's.

    The function takes (messages), or (billed, sent, messages) with the newest bill.
    """

    def __init__(
        self, meter: TokenMeter, function: Callable[..., float], session: Session
    ) -> None:
        vars(self).update(vars(meter))
        self.function, self.session = function, session

    def estimate(self, messages: Sequence[Message]) -> int:
        if len(inspect.signature(self.function).parameters) != 3:
            return int(self.function(list(messages)))
        newest = self.session.requests[-1:]
        bills = [(prompt_tokens(sent.usage), len(sent.context)) for sent in newest] or [
            (0, 0)
        ]
        return int(self.function(*bills[0], list(messages)))


def _clearing(
    engine: ContextEngine,
    function: Callable[..., list[Message] | None],
    session: OpenSession,
) -> ContextEngine:
    """Put function(messages) -> messages in the place of micro-compact.

    A function that returns None has edited its messages.
    """

    def step(now: Now) -> Step:
        before = list(now.messages)
        view = function(list(before))
        view = before if view is None else view
        texts = dict[str, str]()
        if cleared := clearing(before, view):
            texts |= cleared.texts
        else:
            session.show(view)
        off = replace(now.settings, micro="off")
        done = run_engine(engine, replace(now, messages=view, settings=off, settled=0))
        return replace(done, texts={**texts, **done.texts})

    return step


def is_message(message: Any) -> bool:
    """Tell whether something has the shape of a message: a role, and a text or
    blocks."""
    match message:
        case {"role": "user" | "assistant", "content": str() | list()}:
            parts: list[Any] = list(blocks(message))
            return all(isinstance(part, dict) and "type" in part for part in parts)
        case _:
            return False


def results(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the content of each tool result by the id of its call, oldest first."""
    blocks = [
        block for message in messages for block in of_type(message, "tool_result")
    ]
    return {block["tool_use_id"]: block["content"] for block in blocks}


def _compacting(
    engine: ContextEngine, function: Callable[..., list[Message]], session: OpenSession
) -> ContextEngine:
    """Call function(messages) at each request, or else when it is time: with a summary,
    with `summarize`, or with the finished message `top`."""
    names = _needed(function)

    def step(now: Now) -> Step:
        settings, reason = now.settings, now.reason
        quiet = replace(settings, auto=False)
        only_cleared = replace(now, settings=quiet, reason="auto", focus="")
        step = run_engine(engine, only_cleared)
        context = step.applied(now.messages)
        full = settings.auto and step.tokens_after > settings.threshold_tokens

        def ask(asked: Sequence[Message], about: str = now.focus) -> str:
            return now.summarize(asked, about)

        archive = ""
        if len(names) == 1:
            view = function(context)
        elif reason == "auto" and not full:
            return step
        elif names[1] == "summarize":
            view = function(context, ask)
        elif names[1] == "top":
            archive = now.archive()
            words = [text for _, text in waiting(context, now.persons)]
            view = function(context, summary_message(ask(context), archive, words))
        else:
            view = function(context, ask(context))
        after = now.meter.estimate(view)
        step = replace(step, reason=reason, focus=now.focus, tokens_after=after)
        if view == context:
            return step
        # A view that the API would refuse is sent as it is: the session would mend it.
        done = None if violation(view) else standing_in(context, view)
        if done is None:
            session.show(view)
            return step
        return replace(
            step,
            kept=done.kept,
            summary=done.summary,
            settled=done.settled,
            archive=archive or now.archive(),
        )

    return step
