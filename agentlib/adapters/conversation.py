"""A session that follows a framework's list of messages, and the view of it that is
sent.

The framework keeps its whole list and hands it over before each request. The session
takes what is new, the engine decides, and the session file remembers the decision.
Without that memory the list would be over the threshold at every request, and each
would ask for another summary. The file is read again each time, which takes a moment
for each thousand messages.

Less than in our own loop: a prompt that the API refuses for its size is not made
smaller and sent again, `clear_when="cold"` never clears, an engine can't change the
input of a call, and nothing adds up the summaries' bills.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from agentlib import auto_compact, loop, pipeline, presets, recovery, step, transcripts
from agentlib import messages as msg
from agentlib.messages import Block, Message
from agentlib.settings import Settings

Pairs = Sequence[tuple[Message, Any]]
"""Our messages, each with the framework's."""
Ask = Callable[[list[Any]], Any]
"""(a framework's messages) -> the text that the model answers. `aview` wants a
coroutine of it."""


@dataclass(eq=False)
class Conversations:
    """All conversations of one agent, with a session file for each: the base of the
    adapters."""

    folder: Path | str
    """For the session files, which `transcripts.load` and session_report read."""
    settings: Settings = presets.DEFAULT
    engine: pipeline.ContextEngine = pipeline.compact
    reason: ClassVar[step.Reason] = "auto"

    def ours(self, message: Any) -> Message:
        """Write a framework's message, or a part of a reply, in the wire's shape.

        Use `said`, `reply` or `result`. Parts that follow one another become one reply.
        """
        raise NotImplementedError

    def theirs(self, texts: list[str], original: Any) -> Any:
        """Write a summary. With an `original`: write that with the new text, and
        without thinking.

        The original is a result that the engine changed, or a reply that may not keep
        its thinking.
        """
        raise NotImplementedError

    def view(self, name: str, given: list[Any], ask: Ask) -> list[Any]:
        """Return the messages to send instead of all. `ask` asks the model for a
        summary.

        A session of this name goes on, even after a restart. System messages stand in
        front. Raises ValueError if the messages don't begin with those that the session
        has.
        """
        pairs = [(self.ours(message), message) for message in given]
        session, settings = (
            self._session(name, [own for own, _ in pairs]),
            self.settings,
        )
        written = partial(self._written, pairs, _blocks(session.history))

        def summarize(context: Sequence[Message], focus: str) -> str:
            wish = auto_compact.summary_prompt(settings.summary_tokens, focus)
            wishes = (
                []
                if msg.asks_for_summary(context)
                else [{"role": "user", "content": wish}]
            )
            try:
                return ask([*written([*context, *wishes])])
            except Exception as error:  # whatever a framework raises, its agent goes on
                raise auto_compact.SummaryFailed(
                    f"the call failed: {error!s:.500}"
                ) from error

        rest = recovery.breaker(session.compactions, session.requests, settings)
        now = pipeline.Now(
            session.context,
            rest.in_force(settings),
            meter=loop.metered(session, settings),
            summarize=rest.guard(summarize),
            archive=session.archive,
            reason=self.reason,
            persons=session.persons,
        )
        session.take(pipeline.run_engine(self.engine, now), at=time.time())
        return [*written(session.context)]

    async def aview(self, name: str, given: list[Any], ask: Ask) -> list[Any]:
        """Do the same in a thread, because an engine waits for its summary. `ask` runs
        here."""
        wait = partial(
            asyncio.run_coroutine_threadsafe, loop=asyncio.get_running_loop()
        )
        return await asyncio.to_thread(
            self.view, name, given, lambda m: wait(ask(m)).result()
        )

    def _written(
        self, pairs: Pairs, known: list[Block], context: list[Message]
    ) -> Iterator[Any]:
        """Yield a context as the framework's own messages, but for what is new or
        changed."""
        yield from (message for own, message in pairs if not own["content"])
        owners = (i for i, (own, _) in enumerate(pairs) for _ in own["content"])
        indexes = dict(zip(map(_key, known), owners, strict=True))
        for i, group in groupby(
            _blocks(context), lambda block: indexes.get(_key(block))
        ):
            content, (own, original) = (
                list(group),
                ({}, None) if i is None else pairs[i],
            )
            texts = [
                text for b in content if (text := b.get("text") or b.get("content"))
            ]
            yield (
                original
                if content == own.get("content")
                else self.theirs(texts, original)
            )

    def _session(self, name: str, messages: Sequence[Message]) -> transcripts.Session:
        """Load or begin the session of this name, and note the messages that are new to
        it."""
        path, at = Path(self.folder, f"{quote(name, safe='')}.jsonl"), time.time()
        if not path.exists():
            transcripts.Session.create(
                self.folder, settings=self.settings, session_id=path.stem
            )
        session = transcripts.load(path)
        known = _blocks(session.history)
        parts = [{**m, "content": [block]} for m in messages for block in m["content"]]
        if known != _blocks(parts[: len(known)]):
            raise ValueError(
                f"{path} has another beginning; use another conversation id"
            )
        # The parts of a reply come together, each other part by itself.
        for _, group in groupby(
            parts[len(known) :], lambda m: m["role"] == "assistant" or id(m)
        ):
            turn = list(group)
            if turn[0]["role"] == "assistant":
                session.reply({**turn[-1], "content": _blocks(turn)}, at=at)
            else:
                session.say(_blocks(turn), at=at)
        return session


def said(role: str, text: str) -> Message:
    """Make a message of one text. `role`: user, assistant, or system, which is left
    empty."""
    content = [{"type": "text", "text": text.strip() or "(no text)"}]
    return {"role": role, "content": [] if role == "system" else content}


def reply(content: Sequence[Block], tokens: Sequence[int] = (0, 0, 0, 0)) -> Message:
    """Make the message of a reply. `tokens`: of the prompt, output, read from the
    cache, written.

    The prompt's are all of them, cached ones too.
    """
    prompt, output, read, written = tokens
    usage = {"input_tokens": prompt - read - written, "output_tokens": output}
    usage |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return {"role": "assistant", "content": msg.stripped(content), "usage": usage}


def use(call: str, name: str, given: Mapping[str, Any]) -> Block:
    """Make the block of one call."""
    return {"type": "tool_use", "id": call, "name": name, "input": dict(given)}


def result(call: str, text: str, *, wrong: bool = False) -> Message:
    """Make the message of one result."""
    return {"role": "user", "content": [msg.tool_result(call, text, wrong=wrong)]}


def _blocks(messages: Iterable[Message]) -> list[Block]:
    return [block for message in messages for block in msg.blocks(message)]


def _key(block: Block) -> object:
    """Return what a block is known by, even if its text has changed."""
    return block["type"], block.get("tool_use_id") or block.get("id") or id(block)
