"""Make a working part of the agent out of a learner's function.

Each wrapper gives an engine with the signature of `pipeline.compact`, so the loop needs no new
arguments. What the function returns is sent as it is, however wrong, and the API says why.
"""

import inspect
import linecache
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypedDict

from agentlib import pipeline
from agentlib.auto_compact import Summarize, SummaryFailed
from agentlib.estimation import TokenMeter, prompt_tokens
from agentlib.hooks import Hooks
from agentlib.lab.api.server import Model
from agentlib.messages import Block, Message, of_type, with_results
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Reason, Step
from agentlib.tools import Definition, Workspace
from agentlib.transcripts import Session

Ask = Callable[[list[Message]], dict[str, Any]]
"""(messages) -> the model's reply to them: `content`, `stop_reason`, `usage`."""
Loop = Callable[[list[Message], Ask, Workspace], object]
"""(messages, ask, workspace): ask and act until the model is done, adding to `messages`."""
Tool = tuple[Definition, Callable[[str], str]]
"""A tool's definition, and a function of the text of the file that the call's `path` names."""


class PartFailed(RuntimeError):
    """A learner's function raised, or returned something that nobody could send.

    >>> PartFailed("clear", 3, "return messages[10]", "raised IndexError")
    PartFailed('`clear` raised IndexError in line 3: return messages[10]')
    """

    def __init__(self, function: str, line: int, text: str, what: str) -> None:
        super().__init__(f"`{function}` {what} in line {line}: {text}")
        self.function, self.line, self.text = function, line, text


def named(
    function: Callable[..., Any],
    returns: type | tuple[type, ...] = object,
    passes: tuple[type[Exception], ...] = (),
) -> Callable[..., Any]:
    """Call the function; if it raises, or returns another type, say in which of its lines.

    Exceptions of the types `passes` are part of what the function may do and stay as they are.
    """

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            answer = function(*arguments)
            if inspect.isgenerator(answer):
                answer = list(answer)
        except (PartFailed, *passes):
            raise
        except Exception as error:
            raise _failed(function, f"raised {error!r}", error) from error
        if not isinstance(answer, returns):
            raise _failed(function, f"returned {answer!r:.60}")
        return answer

    return call


def _failed(function: Callable[..., Any], what: str, error: Exception | None = None) -> PartFailed:
    while isinstance(function, partial):
        function = function.func
    code = inspect.unwrap(function).__code__
    line = code.co_firstlineno
    text = linecache.getline(code.co_filename, line).strip()
    for frame in traceback.extract_tb(error.__traceback__ if error else None):
        if frame.filename == code.co_filename:
            line, text = frame.lineno or line, frame.line or text
    return PartFailed(code.co_name, line, text, what)


class OpenSession(Session):
    """A session whose view may be anything, as a learner's function makes it."""

    def show(self, messages: Sequence[Message]) -> None:
        """Send these messages next, whatever the history says."""
        names = dict(zip(map(id, self.context), self._ids, strict=True))
        self.context = list(messages)
        self._ids = [names.get(id(message), "a learner's") for message in messages]


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


class Parts(TypedDict, total=False):
    """What `play` takes by name; its docstring says what each is."""

    engine: ContextEngine
    loop: Loop
    tools: Sequence[Tool]
    estimate: Callable[..., float]
    layer: Callable[[list[Message]], list[Message] | None]
    compact: Callable[..., list[Message]]
    on_compact_call: Callable[[list[Message]], str | None]
    save: Callable[[list[Message], Path, float], Path]
    load: Callable[[Path], list[Message]]
    resume_after: int
    summarize: Callable[[list[Message], str, Summarize], str]
    compact_after: int
    focus: str
    hooks: Hooks
    notes: str
    retries: int
    model: Model
    stop: Callable[[Session], str]
    max_turns: int | tuple[int, ...]


LEARNERS = Parts.__annotations__.keys() - {
    *("engine", "resume_after", "compact_after", "focus", "hooks"),
    *("notes", "retries", "model", "stop", "max_turns"),
}
"""The parts that a learner writes."""


def composed(session: OpenSession, parts: Parts) -> ContextEngine:
    """The engine, with each of the learner's parts in place of its own."""
    engine = parts.get("engine", pipeline.compact)
    if compact := parts.get("compact"):
        engine = _compacting(engine, named(compact, list), session)
    if layer := parts.get("layer"):
        engine = _clearing(engine, named(layer, (list, type(None))), session)
    if summarize := parts.get("summarize"):
        engine = _summarizing(engine, named(summarize, str, passes=(SummaryFailed,)))
    if estimate := parts.get("estimate"):
        engine = _estimating(engine, named(estimate, (int, float)), session)
    if on_compact_call := parts.get("on_compact_call"):
        engine = _answering(engine, named(on_compact_call, (str, type(None))))
    return engine


@dataclass
class _Estimate:
    """A meter that reads what the learner's function says, and else is the real one."""

    meter: TokenMeter
    estimate: Callable[[Sequence[Message]], float]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.meter, name)


def _estimating(
    engine: ContextEngine, function: Callable[..., float], session: Session
) -> ContextEngine:
    """01: function(messages), or function(billed, sent, messages) with the newest bill."""
    by_bill = _arity(function) == 3

    def estimate(messages: Sequence[Message]) -> int:
        if not by_bill:
            return int(function(list(messages)))
        newest = session.requests[-1] if session.requests else None
        bill = (prompt_tokens(newest.usage), len(newest.context)) if newest else (0, 0)
        return int(function(*bill, list(messages)))

    def step(
        messages: Sequence[Message], settings: Settings, *, meter: TokenMeter, **given: Any
    ) -> Step:
        return engine(messages, settings, meter=_Estimate(meter, estimate), **given)

    return step


def _clearing(
    engine: ContextEngine, function: Callable[..., list[Message] | None], session: OpenSession
) -> ContextEngine:
    """02: function(messages) -> messages, in place of micro-compact; None: edited in place."""

    def step(messages: Sequence[Message], settings: Settings, **given: Any) -> Step:
        before = list(messages)
        view = function(list(messages))
        view = before if view is None else view
        cleared = _cleared(before, view)
        if with_results(before, cleared) != view:
            session.show(view)
            cleared = {}
        done = engine(view, replace(settings, micro="off"), **{**given, "settled": 0})
        ids = (*cleared, *(name for name in done.cleared if name not in cleared))
        return replace(done, cleared=ids, replaced={**cleared, **done.replaced})

    return step


def _cleared(before: Sequence[Message], view: Sequence[Message]) -> dict[str, Any]:
    """Results with another content than before: tool_use id -> the new content."""
    contents = {id_: content for m in before for id_, content in _results(m)}
    return {
        id_: content
        for message in view
        for id_, content in _results(message)
        if id_ in contents and contents[id_] != content
    }


def _results(message: Message) -> list[tuple[str, Any]]:
    results: list[Block] = of_type(message, "tool_result")
    return [(result["tool_use_id"], result["content"]) for result in results]


def _compacting(
    engine: ContextEngine, function: Callable[..., list[Message]], session: OpenSession
) -> ContextEngine:
    """03: function(messages) at each request, or with a summary or `summarize` when it is time."""
    names = list(inspect.signature(function).parameters)

    def step(
        messages: Sequence[Message],
        settings: Settings,
        *,
        summarize: Summarize,
        reason: Reason = "auto",
        focus: str = "",
        **given: Any,
    ) -> Step:
        quiet = replace(settings, auto=False)
        step = engine(messages, quiet, summarize=summarize, **given)
        full = settings.auto and step.tokens_after > settings.threshold_tokens
        context = list(step.messages)

        def ask(asked: Sequence[Message], about: str = focus) -> str:
            return summarize(asked, about)

        if len(names) == 1:
            view = function(context)
        elif reason == "auto" and not full:
            return step
        elif names[1] == "summary":
            view = function(context, summarize(context, focus))
        else:
            view = function(context, ask)
        after = given["meter"].estimate(view)
        return _noted(replace(step, reason=reason, focus=focus, tokens_after=after), view, session)

    return step


def _noted(step: Step, view: list[Message], session: OpenSession) -> Step:
    """The step to this view: a compaction, if one new message stands in for those that went."""
    if view == step.messages:
        return step
    kept = _kept(step.messages, view)
    stays = tuple(place for place in kept if place is not None)
    head = next((n for n, place in enumerate(stays) if n != place), len(stays))
    if len(stays) + 1 == len(view) and kept[head] is None and view[head]["role"] == "user":
        noted = replace(step, compaction=step.reason, kept=stays, settled=head + 1)
        return replace(noted, messages=view, archive=session.archive())
    session.show(view)
    return replace(step, messages=view)


def _kept(before: Sequence[Message], view: Sequence[Message]) -> list[int | None]:
    """For each message of the view, where it stood before; None: it is new."""
    places: list[int | None] = []
    start = 0
    for message in view:
        rest = range(start, len(before))
        place = next((at for at in rest if before[at] == message), None)
        places.append(place)
        start = start if place is None else place + 1
    return places


def _answering(
    engine: ContextEngine, function: Callable[[list[Message]], str | None]
) -> ContextEngine:
    """04: function(messages) -> the focus that the model asked for; None: it did not ask."""

    def step(
        messages: Sequence[Message],
        settings: Settings,
        *,
        reason: Reason = "auto",
        focus: str = "",
        **given: Any,
    ) -> Step:
        if reason != "reactive":
            asked = function(list(messages))
            reason, focus = ("auto", "") if asked is None else ("manual", asked)
        return engine(messages, settings, reason=reason, focus=focus, **given)

    return step


def _summarizing(engine: ContextEngine, function: Callable[..., str]) -> ContextEngine:
    """07: function(messages, focus, ask) -> the summary; `ask(messages, focus)` asks the model."""

    def step(
        messages: Sequence[Message], settings: Settings, *, summarize: Summarize, **given: Any
    ) -> Step:
        def mine(about: Sequence[Message], focus: str) -> str:
            return function(list(about), focus, summarize)

        return engine(messages, settings, summarize=mine, **given)

    return step


def _arity(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)
