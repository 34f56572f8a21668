"""Apply the prompt cache's rules: which part of a prompt is read, written, or neither.

A cache entry is a whole prefix of a prompt. It is written only at a breakpoint. A later
request reads the longest living entry that one of its own breakpoints can find by
looking back. So a change to an early block loses everything behind it, and a prompt
without a breakpoint is never cached.

Two simplifications: an entry can be read as soon as its request was billed (the API
needs the answer to have begun), and it lives exactly as long as promised.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, cast

LOOK_BACK = 20
"""Positions that a breakpoint searches for an older entry, its own included."""

SHORT = 300.0
LONG = 3_600.0
"""The two lifetimes, 5m and 1h, in seconds."""

_RUNS = ("tool_use", "tool_result")


class Part(NamedTuple):
    """One piece of a prompt: a block, a tool, or a whole message.

    Equal keys stand for equal content: a text, a hash, or an id of your own. `kind` is
    the type of block, because a run of tool_use parts is one position of the look-back,
    and so is a run of tool_result. `positions` is 1 for a block, more for a message of
    several blocks, 0 for a setting.
    """

    key: Hashable
    tokens: int
    kind: str = ""
    positions: int = 1


class Bill(NamedTuple):
    """Tokens of one prompt by how they are billed. read + written + uncached is the
    prompt."""

    read: int
    written: int
    uncached: int
    written_1h: int = 0
    """The part of `written` before a breakpoint of an hour, which costs more."""

    def usage(self, output_tokens: int) -> dict[str, Any]:
        """Return the bill as the API's `usage` of an answer with so many tokens."""
        return {
            "input_tokens": self.uncached,
            "cache_creation_input_tokens": self.written,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written - self.written_1h,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
            "output_tokens": output_tokens,
        }


class PromptCache:
    """The cache of one organisation for one model.

    `min_tokens`: shorter prefixes are never cached (512 for claude-haiku-5-5). `ttl`:
    seconds that an entry lives after the start of the request that wrote or last read
    it.

    >>> cache = PromptCache(min_tokens=100)
    >>> system, question = Part("You are kind.", 100), Part("Hello", 10)
    >>> cache.bill([system, question], marks=[0], now=0)
    Bill(read=0, written=100, uncached=10, written_1h=0)
    >>> cache.bill([system, Part("Bye", 7)], marks=[0, 1], now=299)
    Bill(read=100, written=7, uncached=0, written_1h=0)
    >>> cache.bill([system, Part("Bye", 7)], marks=[0, 1], now=600)
    Bill(read=0, written=107, uncached=0, written_1h=0)

    Source: the provider's page on prompt caching, October 2026.
    """

    def __init__(self, min_tokens: int = 512, ttl: float = SHORT) -> None:
        self.min_tokens = min_tokens
        self.ttl = ttl
        self._entries: dict[
            int, tuple[float, float]
        ] = {}  # prefix -> (dies at, lives for)

    def bill(
        self,
        blocks: Sequence[Part],
        marks: Iterable[int] | Mapping[int, float],
        now: float,
    ) -> Bill:
        """Bill one request and remember the entries it wrote.

        `marks`: indices of the parts with a breakpoint. A mapping gives each its
        seconds to live. `now`: when the request started, in seconds.
        """
        lives: dict[int, float] = dict.fromkeys(marks, self.ttl)
        if isinstance(marks, Mapping):
            lives.update(cast(Mapping[int, float], marks))
        trail = _trail(blocks)
        points = [i for i in sorted(lives) if trail[i][1] >= self.min_tokens]
        hit = max((self._look_back(trail, i, now) for i in points), default=-1)
        if hit >= 0:
            self._keep(trail[hit][0], now, self._entries[trail[hit][0]][1])
        for i in points:
            self._keep(trail[i][0], now, lives[i])
        sizes = [
            *(tokens for _, tokens, _ in trail),
            0,
        ]  # the last one if nothing is read
        read = sizes[hit]
        hours = [i for i in points if lives[i] > SHORT]
        cached, long = (
            max([read, *map(sizes.__getitem__, ends)]) for ends in (points, hours)
        )
        return Bill(read, cached - read, max(sizes) - cached, long - read)

    def _look_back(
        self, trail: Sequence[tuple[int, int, int]], at: int, now: float
    ) -> int:
        near = takewhile(
            lambda i: trail[at][2] - trail[i][2] < LOOK_BACK, range(at, -1, -1)
        )
        living = (i for i in near if self._entries.get(trail[i][0], (now, 0))[0] > now)
        return next(living, -1)

    def _keep(self, prefix: int, now: float, lives: float) -> None:
        old = self._entries.get(prefix, (now, 0))
        longest = max(lives, old[1]) if old[0] > now else lives
        self._entries[prefix] = (now + longest, longest)


def _trail(parts: Sequence[Part]) -> list[tuple[int, int, int]]:
    """For each part the hash of the prefix that ends with it, its tokens and its
    position."""
    trail: list[tuple[int, int, int]] = []
    prefix = 0
    tokens = 0
    position = 0
    kind = ""
    for part in parts:
        prefix = hash((prefix, part.key))
        tokens = tokens + part.tokens
        position += 0 if part.kind in _RUNS and part.kind == kind else part.positions
        kind = part.kind
        trail.append((prefix, tokens, position))
    return trail
