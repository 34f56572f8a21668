"""A session that follows a framework's list of messages, and the view of it that is sent.

The framework keeps its whole list and hands it over before each request. The session takes what is
new, the engine decides, and the session file remembers the decision. Without that memory the list
would be over the threshold at every request, and each would ask for another summary.

Less than in our own loop: a prompt that the API refuses for its size is not made smaller and sent
again, `clear_when="cold"` never clears, and nothing adds up the summaries' bills.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from agentlib.auto_compact import SummaryFailed, summary_prompt
from agentlib.loop import metered
from agentlib.messages import (
    Block,
    Message,
    asks_for_summary,
    blocks,
    of_type,
    stripped,
    tool_names,
)
from agentlib.pipeline import compact
from agentlib.presets import DEFAULT
from agentlib.recovery import breaker
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Reason
from agentlib.transcripts import Session, load

Theirs = TypeVar("Theirs")


class Conversations(Generic[Theirs]):
    """All conversations of one agent, with a session for each: the base of the adapters.

    `folder`: for the session files, which `transcripts.load` and the lab read. Each message of the
    framework is one of a person, one reply, or one result.
    """

    def __init__(
        self, folder: Path | str, settings: Settings = DEFAULT, engine: ContextEngine = compact
    ) -> None:
        self.folder, self.settings, self.engine = Path(folder), settings, engine
        self.sessions = dict[str, Session]()

    def ours(self, message: Theirs) -> Message:
        """Write a framework's message in the wire's shape. A reply has its `usage`."""
        raise NotImplementedError

    def theirs(self, message: Message) -> Theirs:
        """Write a summary, or a message that the engine changed. A result has its tool's `name`."""
        raise NotImplementedError

    def view(
        self,
        name: str,
        messages: Sequence[Theirs],
        ask: Callable[[list[Theirs]], str],
        *,
        reason: Reason = "auto",
    ) -> list[Theirs]:
        """Return the messages to send. `ask` sends messages to the model and returns its text.

        A session of this name goes on, even after a restart. Raises ValueError if the messages
        don't begin with those that the session has.
        """
        session, settings = self.session(name), self.settings
        given, known = list(map(self.ours, messages)), [unit for _, unit in _units(session.history)]
        if [m["content"] for m in known] != [m["content"] for m in given[: len(known)]]:
            raise ValueError(f"{session.path} has another beginning; use another conversation id")
        for message in given[len(known) :]:
            _note(session, message)
        originals = dict(zip((key for key, _ in _units(session.history)), messages, strict=True))

        def written(context: Sequence[Message]) -> list[Theirs]:
            names = tool_names(session.history)
            return [
                originals.get(key) or self.theirs(_named(unit, names))
                for key, unit in _units(context)
            ]

        def summarize(context: Sequence[Message], focus: str) -> str:
            wish = {"role": "user", "content": summary_prompt(settings.summary_tokens, focus)}
            try:
                return ask(written(context if asks_for_summary(context) else [*context, wish]))
            except Exception as error:  # whatever a framework raises, its agent goes on
                raise SummaryFailed(f"the summary call failed: {error!s:.500}") from error

        rest = breaker(session.compactions, session.requests, settings)
        step = self.engine(
            session.context,
            rest.in_force(settings),
            meter=metered(session, settings),
            summarize=rest.guard(summarize),
            archive=session.archive,
            reason=reason,
            settled=session.settled,
        )
        session.take(step, at=time.time())
        return written(session.context)

    async def aview(
        self,
        name: str,
        messages: Sequence[Theirs],
        ask: Callable[[list[Theirs]], Coroutine[Any, Any, str]],
        *,
        reason: Reason = "auto",
    ) -> list[Theirs]:
        """Do the same in a thread, because an engine waits for its summary. `ask` runs here."""
        loop = asyncio.get_running_loop()

        def wait(messages: list[Theirs]) -> str:
            return asyncio.run_coroutine_threadsafe(ask(messages), loop).result()

        return await asyncio.to_thread(self.view, name, messages, wait, reason=reason)

    def session(self, name: str) -> Session:
        """Return the session of this name. Load it or begin it, if it isn't in memory yet."""
        path = self.folder / f"{quote(name, safe='')}.jsonl"
        if name not in self.sessions and path.exists():
            self.sessions[name] = load(path)
        elif name not in self.sessions:
            begun = Session.create(self.folder, settings=self.settings, session_id=path.stem)
            self.sessions[name] = begun
        return self.sessions[name]


def reply(said: Sequence[Block], whole: int, output: int, read: int, written: int) -> Message:
    """Make the message of a reply. `whole`: the prompt's tokens, cached ones too."""
    usage = {"input_tokens": whole - read - written, "output_tokens": output}
    usage |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return {"role": "assistant", "content": stripped(said), "usage": usage}


def result(call: str, text: str, *, wrong: bool = False) -> Message:
    """Make the message of one result."""
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": wrong}
    return {"role": "user", "content": [block]}


def use(call: str, name: str, given: Mapping[str, Any]) -> Block:
    """Make the block of one call."""
    return {"type": "tool_use", "id": call, "name": name, "input": dict(given)}


def _units(messages: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    """Yield each message with a key by which it is known again, and each result as a message."""
    for message in messages:
        results = of_type(message, "tool_result")
        yield from ((id(block), {"role": "user", "content": [block]}) for block in results)
        if not results:
            yield id(message), message


def _named(message: Message, names: Mapping[str, str]) -> Message:
    """Add its tool's name to a result, because some frameworks want it."""
    if not of_type(message, "tool_result"):
        return message
    return {**message, "content": [{**b, "name": names[b["tool_use_id"]]} for b in blocks(message)]}


def _note(session: Session, message: Message) -> None:
    at = time.time()
    if message["role"] == "assistant":
        session.reply(message, at=at, settled=session.settled)
    elif results := of_type(message, "tool_result"):
        session.answer(results[0], at=at)
    else:
        session.say(message["content"], at=at)
