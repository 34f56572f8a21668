"""Weigh the messages of a session by its bills: one table, made once for each session.

A message of the recording weighs the tokens that its arrival was billed. Any other
message, such as a cleared result, weighs an estimate.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from operator import is_

from agentlib.estimation import breakdown, message_tokens, new_meter
from agentlib.messages import KINDS, Message, blocks
from agentlib.transcripts import Session
from offline_api.cache import Part


class Weight:
    """The tokens of one message. Keeps the message, so that no other can get its id."""

    def __init__(self, message: Message, billed: float | None = None) -> None:
        self.message = message
        self.guess = message_tokens(message)
        self.tokens = billed or self.guess

    @cached_property
    def kinds(self) -> dict[str, float]:
        """The tokens by kind of block, without those that are 0."""
        guesses = {kind: n for kind, n in breakdown([self.message]).items() if n}
        scale = self.tokens / (sum(guesses.values()) or 1)
        return {kind: n * scale for kind, n in guesses.items()}

    @cached_property
    def part(self) -> Part:
        """The message as a part of a prompt, for the prompt cache."""
        content = blocks(self.message)
        types = {block["type"] for block in content}
        kind, positions = (
            (types.pop(), 1) if len(types) == 1 else ("", max(1, len(content)))
        )
        return Part(id(self.message), round(self.tokens), kind, positions)


@lru_cache(maxsize=8)
def _recorded(session: Session, requests: int) -> tuple[float, dict[int, Weight]]:
    """Weigh system prompt and tools, and the messages of the first `requests` requests.

    Their number is an argument because the session may still grow.
    """
    new = list[Message]()
    guessed = dict[int, Weight]()

    def guess(message: Message) -> float:
        new.append(message)
        guessed[id(message)] = weight = Weight(message)
        return weight.guess

    chars = len(session.system) + len(str(session.tools))
    anchored = new_meter("anchored", chars, guess)
    for request in session.requests[:requests]:
        anchored.observe(request.context, request.usage)
        for message, tokens in zip(new, anchored.weights(new), strict=True):
            guessed[id(message)].tokens = tokens or guessed[id(message)].guess
        new.clear()
    return anchored.base, guessed


class Weights:
    """The table of one session, and the sums over one context."""

    def __init__(self, session: Session) -> None:
        self.base, table = _recorded(session, len(session.requests))
        self._table = dict(table)
        system = len(session.system)
        tools = session.tools
        self._system_share = system / (system + len(str(tools))) if tools else 1.0
        self._context = list[Message]()
        self._sums = [
            (0.0, dict.fromkeys(KINDS, 0.0))
        ]  # tokens and kinds of so many messages

    def of(self, message: Message) -> Weight:
        """Return the weight of a message, an estimate if the recording doesn't have
        it."""
        if id(message) not in self._table:
            self._table[id(message)] = Weight(message)
        return self._table[id(message)]

    def prompt(self, context: Sequence[Message]) -> int:
        """Return the tokens of a prompt, system and tools included."""
        # Most contexts begin as the last one did, so its sums are taken over.
        same = [*map(is_, context, self._context), False].index(False)
        del self._sums[same + 1 :]
        for weight in map(self.of, context[same:]):
            total, kinds = self._sums[-1]
            more = {kind: kinds[kind] + tokens for kind, tokens in weight.kinds.items()}
            self._sums.append((total + weight.tokens, kinds | more))
        self._context = list(context)
        return int(self.base + int(self._sums[-1][0] + 1e-6))

    def kinds(self, prompt: int) -> dict[str, float]:
        """Return the last context by kind of block, as a prompt of `prompt` tokens.

        System and tools get what the messages leave, in proportion to their length.
        """
        kinds = dict(self._sums[-1][1])
        rest = max(0.0, prompt - sum(kinds.values()))
        kinds |= {
            "system": rest * self._system_share,
            "tools": rest * (1 - self._system_share),
        }
        scale = prompt / (sum(kinds.values()) or 1)
        return {kind: tokens * scale for kind, tokens in kinds.items()}
