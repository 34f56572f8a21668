"""The engine between a framework's list of messages and its model: what the adapters
share.

A guest never harms its host. The framework hands over its whole list before each
request, and that list is the truth. The view of it is made of the list and of the
decisions that are known for its beginning (see `thread`), so a fork, an edit or a
restart needs no care. What the adapter can't do leaves the list as it is, and the cause
goes to the log `agentlib.adapters` and to `tell`. Only the framework's own signals, such
as a cancellation, pass through.

Less than in our own loop: a prompt that the API refuses for its size is not made
smaller and sent again, `clear_when="cold"` never clears, and an engine can't change the
input of a call.
"""

import asyncio
import contextvars
import logging
import re
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from agentlib import (
    auto_compact,
    estimation,
    pipeline,
    presets,
    recovery,
    step,
)
from agentlib import messages as msg
from agentlib.adapters import shapes
from agentlib.adapters.record import Record
from agentlib.adapters.thread import Recorded, Thread, Writer, entries, newest_reply
from agentlib.api import replies
from agentlib.api.refusals import excess
from agentlib.compaction import breaker
from agentlib.compaction.around import Part, through
from agentlib.compaction.engine_check import check_engine
from agentlib.compaction.events import left_out
from agentlib.compaction.own_notes import memory_first
from agentlib.messages import Message
from agentlib.pipeline import run_engine
from agentlib.settings import LONGEST_REPLY, Settings
from agentlib.step import Event, Step

Ask = Callable[[list[Any]], Any]
"""(a framework's messages) -> the model's reply, as `shapes.reply` makes it, or its
text. `aview` wants a coroutine of it."""

_THOUGHT = re.compile(r"\A\s*<(think|thinking)>.*?(</\1>|\Z)", re.DOTALL)
"""Reasoning that some servers leave in front of the text of a reply."""
_LOG = logging.getLogger("agentlib.adapters")


class Stopped(BaseException):
    """The framework has stopped waiting for this view, so nothing of it is kept."""


@dataclass(eq=False)
class Conversations(Writer):
    """All conversations of one agent: the base of the adapters.

    Raises TypeError or ValueError for an argument that can't work. After that no
    exception of ours reaches the framework.
    """

    folder: Path | str
    """For the session files, which `transcripts.load` and session_report read."""
    settings: Settings = presets.DEFAULT
    engine: pipeline.ContextEngine = pipeline.compact
    tell: Callable[[Event], None] | None = None
    """Is told of each compaction, and of all that went wrong: `adapter_failed`,
    or the kinds of `Event` that say compaction."""

    reason: ClassVar[step.Reason] = "auto"
    keeps_views: ClassVar[bool] = False
    """Whether the framework's list has our summaries in it, and not only its own
    messages."""
    is_cut: ClassVar[bool] = False
    """Whether the list is cut to size if there is no summary, because the framework
    can't go on with the whole of it."""
    passing: ClassVar[tuple[type[BaseException], ...]] = ()
    """The framework's own signals, which go through us as if we weren't there."""

    _record: Record = field(init=False, repr=False)
    _last: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        _check(self.settings, self.engine, self.tell)
        folder = checked_folder(self.folder)
        self._record = Record(folder, partial(self.say, "adapter_failed"))

    def __reduce__(self) -> Any:
        """Let the framework copy and store its agent. A copy reads the files again."""
        given = (self.folder, self.settings, self.engine, self.tell)
        return type(self), given

    def ours(self, message: Any) -> Message:
        """Write a framework's message, or a part of a reply, in the wire's shape.

        Use `said`, `reply` or `result` of `shapes`. Parts of a reply that follow one
        another become one reply.
        """
        raise NotImplementedError

    def view(
        self,
        name: str,
        given: Sequence[Any],
        ask: Ask,
        *,
        base: Callable[[], str] = str,
        bill: Sequence[int] = (),
    ) -> list[Any]:
        """Return the messages to send instead of all. `ask` asks the model for a
        summary.

        If nothing is replaced, that is the list that was given. `name` is the
        conversation's, for its file. `base` writes the system prompt and the tools, as
        far as they aren't in the list, because they have a weight. `bill`: the tokens
        of the newest reply, as `shapes.reply` takes them, if the list doesn't have them.
        """
        return self._guarded(name, given, ask, base, bill)

    async def aview(
        self,
        name: str,
        given: Sequence[Any],
        ask: Ask,
        *,
        base: Callable[[], str] = str,
        bill: Sequence[int] = (),
    ) -> list[Any]:
        """Do the same in a thread, because an engine waits for its summary. `ask` runs
        here.

        If this is cancelled, so is `ask`, and nothing of the view is kept.
        """
        try:
            waiting = _Waiting(ask, asyncio.get_running_loop())
            return await waiting.run(
                lambda: self._guarded(name, given, waiting.ask, base, bill)
            )
        except self.passing:
            raise
        except Exception as error:  # no thread to be had, or another library's loop
            self.say("adapter_failed", f"the whole list is sent: {error!r:.500}")
            return list(given)

    def _guarded(
        self,
        name: str,
        given: Sequence[Any],
        ask: Ask,
        base: Callable[[], str],
        bill: Sequence[int],
    ) -> list[Any]:
        listed = given if isinstance(given, list) else list(given)
        try:
            return self._view(name, listed, ask, base, bill)
        except self.passing:
            raise
        except Exception as error:
            _LOG.debug("an adapter failed", exc_info=True)
            self.say("adapter_failed", f"the whole list is sent: {error!r:.500}")
            return listed

    def _view(
        self,
        name: str,
        given: list[Any],
        ask: Ask,
        base: Callable[[], str],
        bill: Sequence[int],
    ) -> list[Any]:
        begun = self._record.begun(name)
        listed = list(entries(given, self.ours, begun.listed if begun else ()))
        newest = newest_reply(listed)
        if any(bill) and newest:
            own = {**listed[newest - 1].own, "usage": shapes.reply([], bill)["usage"]}
            listed[newest - 1] = replace(listed[newest - 1], own=own)
        digests = [entry.digest for entry in listed]
        place = self._record.place(name, digests, newest)
        known = dict[str, list[Step]]()
        for point in place.known:
            known.setdefault(point.digest, []).extend(filter(None, [point.step]))
        at = time.time()
        if begun and begun.goes_on(place.session_id, listed, known):
            thread = begun.copy(place.file, at)
        else:
            session = Recorded(
                session_id=place.session_id, settings=self.settings, file=place.file
            )
            thread = Thread(session, at)
        thread.read(listed, known)
        session = thread.session
        if not session.pending:  # a call without its result is the framework's to end
            decision = self._decided(thread, ask, base)
            covered = thread.covered(decision)
            thread.take(decision)
            self._record.note(place, thread, decision, covered)
            self._say_step(decision, partial(thread.fills, base()))
        self._record.go_on_from(name, thread.begun)
        return thread.written(session.context, self) if thread.is_changed else given

    def _decided(self, thread: Thread, ask: Ask, base: Callable[[], str]) -> Step:
        """Ask the engine. One that fails decides nothing."""
        session = thread.session
        bills = list[Mapping[str, Any]]()
        meter = thread.meter(base())
        rest = breaker.breaker(session.compactions, session.requests, self.settings)
        asking = self._asking(thread, ask, bills)
        now = pipeline.moment(
            session,
            rest.in_force(self.settings),
            meter=meter,
            summarize=through(self._parts(rest, meter), asking),
            reason=self.reason,
        )
        persons = self._persons(thread)
        now = replace(now, persons=persons, said=self._said(thread), settled=0)
        try:
            made = run_engine(self.engine, now)
            if self.is_cut and made.failure and made.summary is None:
                made = self._cut(made, now)
            made.applied(now.messages)
        except self.passing:
            raise
        except Exception as error:
            _LOG.debug("an engine failed", exc_info=True)
            self.say("adapter_failed", f"the engine decided nothing: {error!r:.500}")
            made = Step()
        return replace(made, usage=tuple(bills))

    def _persons(self, thread: Thread) -> frozenset[str]:
        """Return what the person wrote, without our own texts if the list keeps
        them."""
        if not self.keeps_views:
            return thread.persons
        texts = [{"role": "user", "content": text} for text in thread.persons]
        return frozenset(text for each in texts for text in msg.words(each))

    def _said(self, thread: Thread) -> list[str]:
        """Return what the person said, in order. If the list keeps our views, what is
        older stands in their blocks."""
        if not self.keeps_views:
            return thread.said
        return msg.said([{"role": "user", "content": text} for text in thread.said])

    def _cut(self, made: Step, now: pipeline.Now) -> Step:
        failure = made.failure or ""
        cut = recovery.truncating(failure, self.settings.summary_tokens)
        shorter = run_engine(self.engine, now.asking(cut))
        return replace(shorter, failure=failure, rested=made.rested)

    def _asking(
        self, thread: Thread, ask: Ask, bills: list[Mapping[str, Any]]
    ) -> auto_compact.Summarize:
        """Make a `summarize` that asks by `ask`."""

        def summarize(context: Sequence[Message], focus: str) -> str:
            wish = auto_compact.summary_prompt(self.settings.summary_tokens, focus)
            asked = list(context)
            if not msg.asks_for_summary(context):
                asked.append({"role": "user", "content": wish})
            try:
                reply = _received(ask(thread.written(asked, self)))
            except self.passing:
                raise
            except Exception as error:  # whatever a framework raises, its agent goes on
                is_size = any(map(excess, _chain(error)))
                failure = (
                    auto_compact.SummaryTooLong
                    if is_size
                    else auto_compact.SummaryFailed
                )
                raise failure(f"the summary call failed: {error!r:.500}") from error
            if thread.is_signed and not shapes.is_signed(reply):
                _LOG.warning("taken for no summary: %.500r", reply["content"])
                raise auto_compact.SummaryFailed(
                    "the answer has neither usage nor a provider's data, as earlier "
                    "replies do, so it isn't the model's; put retries before us"
                )
            bills.append(reply["usage"])
            return auto_compact.summary_in(_measured(reply), self._longest)

        return summarize

    def _parts(self, rest: breaker.Breaker, meter: estimation.TokenMeter) -> list[Part]:
        """List what our own loop puts around the call, too."""
        settings = self.settings

        def fits(messages: Sequence[Message]) -> bool:
            tokens = meter.estimate(messages) + self._longest
            return tokens <= settings.context_window

        own_notes = partial(memory_first, tokens=settings.summary_tokens)
        return [
            *([own_notes] if settings.session_memory else []),
            rest.guard,
            partial(recovery.with_less, times=settings.summary_retries, fits=fits),
        ]

    @property
    def _longest(self) -> int:
        return min(self.settings.summary_max_tokens, LONGEST_REPLY)

    def _say_step(self, decision: Step, fills: Callable[[], str]) -> None:
        if decision.failure and not (decision.rested and decision.summary is None):
            kind = "truncated" if decision.summary else "failed"
            self.say(f"compaction_{kind}", decision.failure)
        if decision.summary is not None:
            sizes = f"{decision.tokens_before:,} -> {decision.tokens_after:,} tokens"
            missing = left_out(decision.summary)
            window = self.settings.context_window
            if decision.tokens_after > window:
                self.say("full", f"{sizes} of a window of {window:,}: {fills()}")
                return
            self.say("compaction_done", f"{sizes}; {decision.archive}{missing}")

    def say(self, kind: str, text: str) -> None:
        """Tell the person, once if the same happens again and again."""
        if self._last == f"{kind} {text}":
            return
        self._last = f"{kind} {text}"
        is_fine = kind == "compaction_done"
        _LOG.log(logging.INFO if is_fine else logging.WARNING, "%s: %s", kind, text)
        if self.tell is not None:
            try:
                self.tell(Event(kind, text))
            except Exception:
                _LOG.exception("`tell` failed")


class _Waiting:
    """A view that is made in a thread of its own, and asks in the framework's loop.

    It takes no thread of the loop's own, because `ask` may need one of these: if all
    waited for their summaries, nothing would go on.
    """

    def __init__(self, ask: Ask, loop: asyncio.AbstractEventLoop) -> None:
        self._ask = ask
        self._loop = loop
        self._asked: Future[Any] | None = None
        self._is_stopped = False

    async def run(self, make: Callable[[], list[Any]]) -> list[Any]:
        """Return what `make` makes."""
        done: Future[list[Any]] = Future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                done.set_result(context.run(make))
            except Stopped:
                done.cancel()
            except BaseException as error:
                done.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        try:
            return await asyncio.shield(asyncio.wrap_future(done))
        except asyncio.CancelledError:
            self._is_stopped = True
            if self._asked:
                self._asked.cancel()
            raise

    def ask(self, messages: list[Any]) -> Any:
        """Ask in the loop, and wait."""
        if self._is_stopped:
            raise Stopped
        asked: Coroutine[Any, Any, Any] = self._ask(messages)
        self._asked = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return self._asked.result()
        except CancelledError:
            if self._is_stopped:
                raise Stopped from None
            raise RuntimeError("the call was cancelled") from None


def checked_folder(folder: Any) -> Path:
    """Return the path of a folder. Raises TypeError or ValueError for anything else."""
    if not isinstance(folder, (str, Path)):
        raise TypeError(f"folder is {folder!r:.60}; give the path of a folder")
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(f"folder={str(folder)!r} is a file; name a folder")
    return Path(folder)


def _check(settings: Any, engine: Any, tell: Any) -> None:
    if not isinstance(settings, Settings):
        raise TypeError(
            f"settings are {settings!r:.60}; give presets.DEFAULT.scaled(200_000), say"
        )
    if not callable(engine):
        raise TypeError(f"engine is {engine!r:.60}; give a function of one argument")
    check_engine(engine)
    if tell is not None and not callable(tell):
        raise TypeError(f"tell is {tell!r:.60}; give a function of one event, or none")


def _received(answer: Any) -> Message:
    """Mend an answer as our own loop does. Parts, such as reasoning, are no summary."""
    if isinstance(answer, str):
        answer = shapes.reply([shapes.text(answer)])
    content = [block for block in answer["content"] if "part" not in block]
    content = [
        {**block, "text": _THOUGHT.sub("", block["text"])} if "text" in block else block
        for block in content
    ]
    return replies.received({**answer, "content": content})


def _measured(reply: Message) -> Message:
    """Count a summary by its text. A bill may have the thinking in it."""
    texts = [block["text"] for block in msg.of_type(reply, "text")]
    tokens = int(estimation.estimate_text("\n".join(texts), "summary"))
    return {**reply, "usage": {"output_tokens": tokens}}


def _chain(error: BaseException | None) -> Iterator[Exception]:
    """Yield an error and its causes. A framework puts the API's into one of its own."""
    for _ in range(20):
        if isinstance(error, Exception):
            yield error
            error = error.__cause__ or error.__context__
