"""A session that follows a framework's list of messages, and the view of it that is sent.

The framework keeps its whole list and hands it over before each request. The session takes what is
new, the engine decides, and the session file remembers the decision. Without that memory the list
would be over the threshold at every request, and each would ask for another summary. The file is
read again each time, which takes a moment for each thousand messages.

Less than in our own loop: a prompt that the API refuses for its size is not made smaller and sent
again, `clear_when="cold"` never clears, and nothing adds up the summaries' bills.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentlib import messages as msg
from agentlib.auto_compact import SummaryFailed, summary_prompt
from agentlib.loop import metered
from agentlib.messages import Block, Message
from agentlib.pipeline import compact
from agentlib.presets import DEFAULT
from agentlib.recovery import breaker
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Reason
from agentlib.transcripts import Session, load

Theirs = list[Any]
"""Messages of a framework."""
Names = Mapping[str, str]
"""The name of the tool of each call, by the call's id."""
Ask = Callable[[Theirs], str]
"""(messages) -> the text that the model answers."""
AskLater = Callable[[Theirs], Coroutine[Any, Any, str]]


class Conversations:
    """All conversations of one agent, with a session file for each: the base of the adapters.

    `folder`: for the session files, which `transcripts.load` and the lab read. Each message of the
    framework is one of a person, one reply, or one result.
    """

    def __init__(
        self, folder: Path | str, settings: Settings = DEFAULT, engine: ContextEngine = compact
    ) -> None:
        self.folder, self.settings, self.engine = Path(folder), settings, engine

    def ours(self, message: Any) -> Message:
        """Write a framework's message in the wire's shape. A reply has its `usage`."""
        raise NotImplementedError

    def theirs(self, message: Message, names: Names) -> Any:
        """Write a summary, or a message that the engine changed."""
        raise NotImplementedError

    def view(self, name: str, given: Theirs, ask: Ask, reason: Reason = "auto") -> Theirs:
        """Return the messages to send instead of all. `ask` asks the model for a summary.

        A session of this name goes on, even after a restart. Raises ValueError if the messages
        don't begin with those that the session has.
        """
        session, settings = self._session(name, list(map(self.ours, given))), self.settings
        originals = dict(zip(_units(session.history), given, strict=True))
        names = msg.tool_names(session.history)

        def written(context: Sequence[Message]) -> Theirs:
            units = _units(context).items()
            return [originals.get(key) or self.theirs(unit, names) for key, unit in units]

        def summarize(context: Sequence[Message], focus: str) -> str:
            wish = {"role": "user", "content": summary_prompt(settings.summary_tokens, focus)}
            try:
                return ask(written(context if msg.asks_for_summary(context) else [*context, wish]))
            except Exception as error:  # whatever a framework raises, its agent goes on
                raise SummaryFailed(f"the summary call failed: {error!s:.500}") from error

        rest = breaker(session.compactions, session.requests, settings)
        engine = partial(self.engine, session.context, rest.in_force(settings), reason=reason)
        calls = partial(engine, summarize=rest.guard(summarize), archive=session.archive)
        step = calls(meter=metered(session, settings), settled=session.settled)
        session.take(step, at=time.time())
        return written(session.context)

    async def aview(
        self, name: str, given: Theirs, ask: AskLater, reason: Reason = "auto"
    ) -> Theirs:
        """Do the same in a thread, because an engine waits for its summary. `ask` runs here."""
        loop = asyncio.get_running_loop()

        def wait(messages: Theirs) -> str:
            return asyncio.run_coroutine_threadsafe(ask(messages), loop).result()

        return await asyncio.to_thread(self.view, name, given, wait, reason)

    def _session(self, name: str, messages: list[Message]) -> Session:
        """Load or begin the session of this name, and note the messages that are new to it."""
        path, at = self.folder / f"{quote(name, safe='')}.jsonl", time.time()
        if not path.exists():
            Session.create(self.folder, settings=self.settings, session_id=path.stem)
        session = load(path)
        known = [unit["content"] for unit in _units(session.history).values()]
        if known != [message["content"] for message in messages[: len(known)]]:
            raise ValueError(f"{path} has another beginning; use another conversation id")
        for message in messages[len(known) :]:
            if message["role"] == "assistant":
                session.reply(message, at=at, settled=session.settled)
            else:
                session.say(message["content"], at=at)
        return session


def reply(
    content: Sequence[Block], prompt: int = 0, output: int = 0, read: int = 0, written: int = 0
) -> Message:
    """Make the message of a reply. `prompt`: its tokens, cached ones too."""
    usage = {"input_tokens": prompt - read - written, "output_tokens": output}
    usage |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return {"role": "assistant", "content": msg.stripped(content), "usage": usage}


def result(call: str, text: str, *, wrong: bool = False) -> Message:
    """Make the message of one result."""
    return {"role": "user", "content": [msg.tool_result(call, text, wrong=wrong)]}


def use(call: str, name: str, given: Mapping[str, Any]) -> Block:
    """Make the block of one call."""
    return {"type": "tool_use", "id": call, "name": name, "input": dict(given)}


def _units(messages: Sequence[Message]) -> dict[int, Message]:
    """Map a key, by which it is known again, to each message, and to each result as a message."""
    units = dict[int, Message]()
    for message in messages:
        results = msg.of_type(message, "tool_result")
        units |= {id(block): {"role": "user", "content": [block]} for block in results}
        units |= {} if results else {id(message): message}
    return units
