"""Faults on request: what a provider does to a client on a bad day, when and how often you like.

A lesson asks for them by `client(faults=[Fault("529", at=3)])`. Not here: refusals that a request
has earned (rules).
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

from agentlib.auto_compact import asks_for_summary
from agentlib.lab.api.rules import Refusal, invalid
from agentlib.messages import Message

Kind = Literal[
    "429", "529", "500", "timeout", "too_long", "truncated", "empty", "refusal", "larger"
]
WAIT = {"retry-after-ms": "10"}
"""The real API gives whole seconds (429) or nothing (529, 500); a lesson need not wait for them."""

_RATE_LIMIT = (
    "This request would exceed the rate limit for your organization "
    "(00000000-0000-0000-0000-000000000000) of 50,000 input tokens per minute. For details, refer "
    "to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current "
    "usage. Please reduce the prompt length or the maximum tokens requested, or try again later. "
    "You may also contact sales at https://www.anthropic.com/contact-sales to discuss your options "
    "for a rate limit increase."
)


@dataclass(frozen=True)
class Fault:
    """One kind of failure and the requests it strikes; a retry is a request of its own.

    429 rate limit, 529 overloaded, 500 server error: the SDK retries them, twice by default.
    timeout: no answer. too_long: 400, as if the prompt were over the window. truncated: half the
    answer, stop_reason max_tokens. empty: no content. refusal: stop_reason refusal. larger: an
    answer longer than all it was shown, whatever max_tokens says.

    >>> Fault("529", at=(1, 2)).strikes(2)
    True
    >>> [n for n in range(1, 11) if Fault("empty", rate=0.3, seed=1).strikes(n)]
    [3, 8]
    """

    kind: Kind
    _: KW_ONLY
    at: int | Sequence[int] | None = None
    """Which requests, the first being 1. None: all, or those that `rate` draws."""
    rate: float = 1.0
    """Share of the requests, 0 to 1, drawn by `seed`: the same ones on each run."""
    seed: int = 0
    only: Literal["summary", "turn"] | None = None
    """Count and strike only the calls that ask for a summary, or only the others."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind={self.kind!r}; choose one of {', '.join(get_args(Kind))}")
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate={self.rate!r}; take a share from 0 to 1")

    def strikes(self, n: int) -> bool:
        """Whether the nth of the requests that it counts is struck."""
        if self.at is not None:
            return n == self.at if isinstance(self.at, int) else n in self.at
        return random.Random(f"{self.seed} {n}").random() < self.rate

    def counts(self, messages: Sequence[Message]) -> bool:
        """Whether a request with these messages is one of those that it counts."""
        return self.only is None or (self.only == "summary") == asks_for_summary(messages)


class Faults:
    """The faults asked for, with what each has counted so far."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = tuple(faults)
        self._met: Counter[int] = Counter()

    def next(self, messages: Sequence[Message]) -> Kind | None:
        """What strikes this request: the first in the order given, or nothing."""
        struck: list[Kind] = []
        for i, fault in enumerate(self._faults):
            if fault.counts(messages):
                self._met[i] += 1
                if fault.strikes(self._met[i]):
                    struck.append(fault.kind)
        return struck[0] if struck else None


def error_of(kind: Kind, tokens: int, window: int) -> tuple[Refusal, dict[str, str]] | None:
    """The error response of a fault and its headers; None for a fault in the answer itself."""
    match kind:
        case "429":
            return Refusal(429, "rate_limit_error", _RATE_LIMIT), {"retry-after": "1", **WAIT}
        case "529":
            return Refusal(529, "overloaded_error", "Overloaded"), {
                "x-should-retry": "true",
                **WAIT,
            }
        case "500":
            return Refusal(500, "api_error", "Overloaded"), WAIT
        case "too_long":
            size = max(tokens, window + 1)
            return invalid(f"prompt is too long: {size} tokens > {window} maximum"), {}
        case _:
            return None
