"""How many tokens a request will be, without asking anyone (lesson 01).

Three ways: characters / 4 (000, 002, 004), block by block x 4/3 (001), and the `TokenMeter`,
which takes the last bill as its anchor and guesses only what is new. Not here: a tokenizer, and
what anyone does when the number is large (the layers).
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from operator import is_, sub
from typing import Any

from agentlib.messages import KINDS, Block, Message, blocks, changes, kinds_of, parts_of

# Tokens per character of agent traffic, fitted on 4,292 billed responses (facts: economics.md).
_PER_CHARACTER = {
    "system": 0.285,
    "tools": 0.30,
    "user": 0.30,
    "assistant": 0.285,
    "thinking": 0.29,
    "tool_use": 0.30,
    "tool_result": 0.345,
    "placeholder": 0.345,
    "summary": 0.285,
}
_PER_CALL = 90
"""The envelope of one tool call, whatever its input: id, name, markup."""
_PER_IMAGE = 1_500
_PER_CJK = 0.85
_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def estimate_tokens(messages: Sequence[Message], *, chars_per_token: float = 4.0) -> int:
    """Characters of the messages' Python text over four: the seeds' estimate (000, 002, 004).

    >>> estimate_tokens([{"role": "user", "content": "goodbye"}])   # 38 characters, 2 of the list
    10
    """
    return int(sum(len(str(m)) + 2 for m in messages) / chars_per_token)


def estimate_by_block(messages: Sequence[Message]) -> int:
    """Characters of text and result blocks over four, times 4/3, rounded up: seed 001's estimate.

    As in the seed, tool inputs, thinking and images count nothing; its slip of taking the number
    of blocks for the length of a list content (D16) is not repeated.

    >>> estimate_by_block([{"role": "user", "content": "twelve chars"}])   # 12 / 4 * 4/3
    4
    """
    return math.ceil(sum(map(_chars_by_block, messages)) / 3)


def _chars_by_block(message: Message) -> int:
    total = 0
    for block in blocks(message):
        if block["type"] == "text":
            total += len(block["text"])
        elif block["type"] == "tool_result":
            total += sum(len(text) for _, text in parts_of(block))
    return total


def text_tokens(text: str, kind: str = "tool_result") -> float:
    """Tokens of a text by its kind; a CJK character weighs 0.85, any other by the table.

    >>> text_tokens("x" * 1000, "tool_result"), text_tokens("\u4e2d" * 100)
    (345.0, 85.0)
    """
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    return (len(text) - cjk) * _PER_CHARACTER[kind] + cjk * _PER_CJK


def _weigh(kind: str, text: str) -> float:
    if kind == "image":
        return _PER_IMAGE
    return text_tokens(text, kind) + (_PER_CALL if kind == "tool_use" else 0)


def message_tokens(message: Message) -> float:
    """Tokens of one message by the kinds of its blocks, 90 for each tool call, 1,500 an image."""
    return sum(_weigh(kind, text) for kind, text in kinds_of(message))


def breakdown(
    messages: Sequence[Message], *, system: str = "", tools: Sequence[Block] = ()
) -> dict[str, int]:
    """Estimated tokens by kind of block; every kind is there, most of them 0.

    >>> found = breakdown([{"role": "user", "content": "x" * 100}])
    >>> found["user"], found["tool_result"]
    (30, 0)
    """
    total = dict.fromkeys(KINDS, 0.0)
    total["system"] = text_tokens(system, "system")
    total["tools"] = text_tokens(str(list(tools)) if tools else "", "tools")
    for message in messages:
        for kind, text in kinds_of(message):
            total[kind] += _weigh(kind, text)
    return {kind: round(tokens) for kind, tokens in total.items()}


def prompt_tokens(usage: Mapping[str, Any]) -> int:
    """The whole prompt that a usage bills: uncached, written to the cache and read from it.

    >>> prompt_tokens({"input_tokens": 5, "cache_creation_input_tokens": 20,
    ...                "cache_read_input_tokens": 75})
    100
    """
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


class TokenMeter:
    """Estimates the next prompt from what the last ones were billed.

    Each message weighs what its arrival was billed; only messages that are new since are guessed
    by `weigh`. Cost is in proportion to what is new: the last list is kept with running sums, and
    messages are told apart by identity, which the layers preserve.

    `base_chars`: characters of the system prompt and the tools. `anchored=False` never learns
    from a bill: so the seeds' estimators run in the same place.

    >>> meter, hello = TokenMeter(), {"role": "user", "content": "x" * 100}
    >>> meter.estimate([hello])
    30
    >>> meter.observe([hello], {"input_tokens": 50})
    >>> meter.estimate([hello, {"role": "assistant", "content": "x" * 200}])   # 50 + 200 * 0.285
    107
    """

    def __init__(
        self,
        base_chars: int = 0,
        *,
        weigh: Callable[[Message], float] = message_tokens,
        anchored: bool = True,
    ) -> None:
        self._base = base_chars * _PER_CHARACTER["tools"]
        self._weigh, self._anchored = weigh, anchored
        self._messages: list[Message] = []
        self._sums: list[float] = [0.0]
        self._guesses: dict[int, tuple[Message, float]] = {}
        self._asked: tuple[list[Message], list[float], list[int]] | None = None

    def estimate(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt of these messages, system and tools included once billed or sized."""
        return int(self._base + self._measured(messages)[0][-1] + 1e-6)

    def users_share(self, messages: Sequence[Message], start: int) -> float:
        """Tokens of the user messages from `start` on: the most that clearing could free there."""
        sums, _ = self._measured(messages)
        users = (i for i in range(start, len(messages)) if messages[i]["role"] == "user")
        return sum(sums[i + 1] - sums[i] for i in users)

    def observe(self, messages: Sequence[Message], usage: Mapping[str, Any]) -> None:
        """Learn from a response's usage: what was new shares what the prompt has grown by.

        A usage without input tokens (a stream cut off) teaches nothing.
        """
        sums, guessed = self._measured(messages)
        billed = prompt_tokens(usage)
        if self._anchored and billed > 0:
            sums = self._anchor(sums, guessed, billed)
        self._messages, self._sums, self._guesses = list(messages), sums, {}
        self._asked = None

    @property
    def base(self) -> float:
        """Tokens of system prompt and tools, as far as the bills told."""
        return self._base

    def weights(self) -> list[tuple[Message, float]]:
        """The messages last observed, each with its weight."""
        pairs = zip(self._messages, self._sums, self._sums[1:], strict=False)
        return [(message, after - before) for message, before, after in pairs]

    def _anchor(self, sums: list[float], guessed: list[int], billed: int) -> list[float]:
        """Scale the guesses so that the whole is what was billed.

        The first bill says what system and tools weigh; so does one that no new message explains.
        """
        guess = sum(sums[i + 1] - sums[i] for i in guessed)
        known = self._base + sums[-1] - guess
        if not self._messages or guess <= 0 or billed <= known:
            self._base = max(0.0, billed - sums[-1])
            return [s * min(1.0, billed / sums[-1]) for s in sums] if sums[-1] else sums
        factor, missing = (billed - known) / guess - 1, 0.0
        start, scaled = guessed[0], sums[: guessed[0] + 1]
        new = set(guessed)
        for i in range(start, len(sums) - 1):
            missing += (sums[i + 1] - sums[i]) * factor if i in new else 0.0
            scaled.append(sums[i + 1] + missing)
        return scaled

    def _shared(self, messages: Sequence[Message]) -> int:
        """How many leading messages are the very ones of the last list."""
        if self._messages == messages[: len(self._messages)]:  # the usual case, and the quickest
            return len(self._messages)
        return next(changes(self._messages, messages), min(len(self._messages), len(messages)))

    def _measured(self, messages: Sequence[Message]) -> tuple[list[float], list[int]]:
        """Running sums over the messages, and which of them had to be guessed."""
        if self._asked and _same(self._asked[0], messages):  # asked before, not yet billed
            return self._asked[1:]
        known = self._shared(messages)
        sums, guessed = self._sums[: known + 1], list[int]()
        kept = self._weights_from(known)
        for i, message in enumerate(messages[known:], start=known):
            weight = kept.get(id(message))
            if weight is None:
                guessed.append(i)
                weight = self._guess(message)
            sums.append(sums[-1] + weight)
        self._asked = list(messages), sums, guessed
        return sums, guessed

    def _weights_from(self, start: int) -> dict[int, float]:
        """id of a message last observed, from index `start` on -> its weight."""
        ids, sums = map(id, self._messages[start:]), self._sums[start:]
        return dict(zip(ids, map(sub, sums[1:], sums), strict=False))

    def _guess(self, message: Message) -> float:
        """What a new message weighs, worked out once however often it is asked before the bill."""
        if id(message) not in self._guesses:
            # The message is kept beside its guess, so that its id is not used again.
            self._guesses[id(message)] = message, self._weigh(message)
        return self._guesses[id(message)][1]


def _same(old: Sequence[Message], new: Sequence[Message]) -> bool:
    """Whether the two lists hold the same objects."""
    return len(old) == len(new) and all(map(is_, old, new))


def meter(
    estimator: str, base_chars: int = 0, weigh: Callable[[Message], float] = message_tokens
) -> TokenMeter:
    """The meter for `Settings.estimator`: "anchored" (it guesses by `weigh`), "chars", "blocks"."""
    if estimator == "chars":
        return TokenMeter(weigh=lambda m: (len(str(m)) + 2) / 4, anchored=False)
    if estimator == "blocks":
        return TokenMeter(weigh=lambda m: _chars_by_block(m) / 3, anchored=False)
    return TokenMeter(base_chars, weigh=weigh)
