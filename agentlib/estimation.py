"""Estimate how many tokens a request will be, without a tokenizer (lesson 01).

Three ways: all characters over four, text and results over four times 4/3, and the
`TokenMeter`. The meter takes the last bill as its anchor and guesses only the messages
that are new since.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any

from agentlib.messages import KINDS, Block, Message, changes, kinds_of

# Tokens per character of agent traffic, fitted on 4,292 billed replies of real
# sessions.
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
"""The id, name and markup of one tool call, whatever its input."""
_PER_IMAGE = 1_500
_PER_CJK = 0.85
_MOST_BASE = 50_000
"""Tokens. A first bill that leaves more for system prompt and tools is of a
conversation that began before its file."""
_CJK = re.compile(
    "[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


def estimate_tokens(
    messages: Sequence[Message], *, chars_per_token: float = 4.0
) -> int:
    """Divide the characters of the messages' Python text by four.

    This is the estimate of learn-claude-code and of the Java agent.

    >>> estimate_tokens([{"role": "user", "content": "goodbye"}])   # 38 characters, 2 of the list
    10
    """
    return int(sum(map(_chars, messages)) / chars_per_token)


def _chars(message: Message) -> int:
    return (
        len(str(message)) + 2
    )  # with the comma and the space that follow it in a list


def estimate_by_block(messages: Sequence[Message]) -> int:
    """Divide the characters of texts and results by four, times 4/3, rounded up.

    This is s24's estimate. As there, tool inputs, thinking and images count nothing.

    >>> estimate_by_block([{"role": "user", "content": "twelve chars"}])   # 12 / 4 * 4/3
    4
    """
    return math.ceil(sum(map(_chars_by_block, messages)) / 3)


def _chars_by_block(message: Message) -> int:
    return sum(
        len(t) for kind, t in kinds_of(message) if kind not in ("tool_use", "thinking")
    )


def estimate_text(text: str, kind: str = "tool_result") -> float:
    """Estimate a text by its kind. A CJK character counts 0.85, any other by the table.

    >>> estimate_text("x" * 1000, "tool_result"), estimate_text("\u4e2d" * 100)
    (345.0, 85.0)
    """
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    return (len(text) - cjk) * _PER_CHARACTER[kind] + cjk * _PER_CJK


def leading_lines(lines: Sequence[str], tokens: float) -> list[str]:
    """Return the lines from the first on that fit in `tokens`, as text of a summary.

    >>> len(leading_lines(["x" * 99] * 9, 60))   # 28.5 tokens each
    2
    """
    weights = accumulate(estimate_text(f"{line}\n", "summary") for line in lines)
    return [
        line for line, weight in zip(lines, weights, strict=True) if weight <= tokens
    ]


def _weigh(kind: str, text: str) -> float:
    if kind == "image":
        return _PER_IMAGE
    return estimate_text(text, kind) + (_PER_CALL if kind == "tool_use" else 0)


def message_tokens(message: Message) -> float:
    """Estimate one message by its blocks: 90 more for each tool call, 1,500 for an
    image."""
    return sum(_weigh(kind, text) for kind, text in kinds_of(message))


def breakdown(
    messages: Sequence[Message], *, system: str = "", tools: Sequence[Block] = ()
) -> dict[str, int]:
    """Estimate by kind of block. Every kind is there, most of them 0.

    >>> tokens = breakdown([{"role": "user", "content": "x" * 100}])
    >>> tokens["user"], tokens["tool_result"]
    (30, 0)
    """
    total = dict.fromkeys(KINDS, 0.0)
    total["system"] = estimate_text(system, "system")
    total["tools"] = estimate_text(str(list(tools)) if tools else "", "tools")
    for message in messages:
        for kind, text in kinds_of(message):
            total[kind] += _weigh(kind, text)
    return {kind: round(tokens) for kind, tokens in total.items()}


def prompt_tokens(usage: Mapping[str, Any]) -> int:
    """Add up the whole prompt that a usage bills: uncached, written to the cache, read
    from it.

    >>> prompt_tokens({"input_tokens": 5, "cache_creation_input_tokens": 20,
    ...                "cache_read_input_tokens": 75})
    100
    """
    uncached = usage.get("input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    return uncached + written + (usage.get("cache_read_input_tokens") or 0)


_Weights = dict[int, tuple[Message, float]]
"""A message's id -> the message and its tokens. It is kept, so that its id is not used
again."""


class TokenMeter:
    """Estimate the next prompt from the bills of the last ones.

    Each message weighs what the bill that came with it said. Only messages that are new
    since then are guessed, by `weigh`. Messages are told apart by identity, which the
    layers preserve.

    `base_chars`: characters of the system prompt and the tools. `anchored=False`
    ignores the bills; the estimators "chars" and "blocks" use it.

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
        self.base = base_chars * _PER_CHARACTER["tools"]
        """Tokens of the system prompt and the tools, as the bills have shown them."""
        self._most_base = max(_MOST_BASE, 2 * self.base)
        self._weigh = weigh
        self._anchored = anchored
        self._billed: _Weights = {}
        self._guessed: _Weights = {}  # what no bill has seen yet
        # The messages observed last, and the sums of their weights up to each.
        self._last: tuple[list[Message], list[float]] = [], [0.0]

    def estimate(self, messages: Sequence[Message]) -> int:
        """Estimate a prompt of these messages, with the system prompt and the tools."""
        known = self._begun(messages)
        tokens = self._last[1][known] + sum(self.weights(messages[known:]))
        return int(self.base + tokens + 1e-6)

    def weights(self, messages: Sequence[Message]) -> list[float]:
        """Return the tokens of each message, as it was billed or else guessed."""
        return [self._weight(message) for message in messages]

    def billed(self, messages: Sequence[Message]) -> tuple[int, int]:
        """Return the tokens that the API billed for the messages it knows, and how many
        of these, from the first on, they are.

        Behind a message that changed or is new nothing is billed yet. The tokens include
        the system prompt and the tools. It is (0, 0) before the first bill, and always
        without an anchor.

        >>> meter, hello = TokenMeter(), {"role": "user", "content": "x" * 100}
        >>> meter.observe([hello], {"input_tokens": 50})
        >>> meter.billed([hello, {"role": "assistant", "content": "x" * 200}])
        (50, 1)
        """
        known = list(takewhile(lambda m: id(m) in self._billed, messages))
        if not (known and self._anchored):
            return 0, 0
        return self.estimate(known), len(known)

    def observe(self, messages: Sequence[Message], usage: Mapping[str, Any]) -> None:
        """Learn from a reply's usage: the new messages share the growth of the prompt.

        The first bill shows the size of system prompt and tools. A later fall that the
        messages don't explain is theirs, because the rest stays the same; an
        unexplained growth is not. A usage without input tokens (a stream cut off)
        teaches nothing.
        """
        billed = prompt_tokens(usage)
        if self._anchored and billed > 0:
            self._anchor(messages, billed)
        known = self._begun(messages)
        *sums, last = self._last[1][: known + 1]
        sums += accumulate(self.weights(messages[known:]), initial=last)
        self._last = list(messages), sums
        self._billed |= self._guessed
        self._guessed = {}

    def believe(self, messages: Sequence[Message], tokens: int) -> None:
        """Take these messages for a prompt of so many tokens, because the API refused
        them as such.

        The messages that no bill has seen share what was missing. Without an anchor,
        all do. So the guess that let them through isn't made again for the same
        messages. A guess never falls.

        >>> meter, hello = TokenMeter(), {"role": "user", "content": "x" * 100}
        >>> meter.observe([hello], {"input_tokens": 30})
        >>> answer = {"role": "assistant", "content": "x" * 200}
        >>> meter.believe([hello, answer], 4_000)
        >>> meter.estimate([hello, answer]), meter.estimate([hello])
        (4000, 30)
        """
        factor = tokens / max(1.0, self.base + sum(self.weights(messages)))
        if factor > 1 and self._anchored:
            self._anchor(messages, tokens)
        elif factor > 1:
            self._scale(messages, factor)

    def _anchor(self, messages: Sequence[Message], billed: int) -> None:
        """Scale the guesses so that the sum is the bill."""
        known = self._begun(messages)
        tokens = self._last[1][known]
        others = messages[known:]
        tokens += sum(self.weights(others))
        new = [message for message in others if id(message) in self._guessed]
        guess = sum(self.weights(new))
        rest = self.base + tokens - guess
        if self._billed and guess > 0 and rest < billed:
            self._scale(new, (billed - rest) / guess)
            return
        if not (self._billed and self.base < billed <= self.base + tokens):
            most = self._most_base if tokens else billed
            self.base = max(0.0, min(billed - tokens, most))
        self._scale(messages, (billed - self.base) / tokens if tokens else 1.0)

    def _begun(self, messages: Sequence[Message]) -> int:
        """Return how many messages at the beginning are those observed last.

        So a session in which each prompt continues the last one is weighed once, and
        not as often as it has requests.
        """
        last = self._last[0]
        return next(changes(last, messages), min(len(last), len(messages)))

    def _weight(self, message: Message) -> float:
        key = id(message)
        known = self._billed.get(key) or self._guessed.get(key)
        if known is None:
            known = self._guessed[key] = message, self._weigh(message)
        return known[1]

    def _scale(self, messages: Sequence[Message], factor: float) -> None:
        for key, message in {id(message): message for message in messages}.items():
            weights = self._billed if key in self._billed else self._guessed
            if weights is self._billed:
                self._last = [], [0.0]
            weights[key] = message, weights[key][1] * factor


def new_meter(
    estimator: str,
    base_chars: int = 0,
    weigh: Callable[[Message], float] = message_tokens,
) -> TokenMeter:
    """Make the meter for `Settings.estimator`. Only "anchored" needs the other
    arguments."""
    if estimator == "chars":
        return TokenMeter(weigh=lambda m: _chars(m) / 4, anchored=False)
    if estimator == "blocks":
        return TokenMeter(weigh=lambda m: _chars_by_block(m) / 3, anchored=False)
    return TokenMeter(base_chars, weigh=weigh)
