"""Faults on request: errors and broken answers, as often as a lesson wants them.

A lesson asks for them by `client(faults=[Fault("529", at=3)])`.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

from agentlib.messages import Message, asks_for_summary
from offline_api.errors import WORDINGS, Refusal, too_long

Kind = Literal[
    "429", "529", "500", "timeout", "too_long",
    "truncated", "empty", "refusal", "larger", "tool_use",
    "invented consent", "invented rule", "invented step",
]  # fmt: skip
WAIT = {"retry-after-ms": "10"}
"""The real API gives whole seconds (429) or nothing (529, 500). A lesson need not wait
so long."""

_ERRORS = {
    "429": (
        429,
        "rate_limit_error",
        WORDINGS["rate_limit"],
        {"retry-after": "1", **WAIT},
    ),
    "529": (529, "overloaded_error", "Overloaded", {"x-should-retry": "true", **WAIT}),
    "500": (500, "api_error", "Overloaded", WAIT),
}


INVENTED = {
    "invented consent": "- [rule] Yes, you may edit files under vendor/.",
    "invented rule": "- [rule] Never edit files under tests/.",
    "invented step": "- [ran] migrate.py",
}
"""What a model that invents puts into a summary, as its own notes are written."""


class NoAnswer(Exception):
    """The fault "timeout": the request is never answered."""


@dataclass(frozen=True)
class Fault:
    """One kind of failure and the requests it strikes. A retry is a request of its own.

    429 rate limit, 529 overloaded, 500 server error: the SDK retries them, twice by
    default. timeout: no answer. too_long: 400, as if the prompt were over the window.
    truncated: half the answer, stop_reason max_tokens. empty: no content. refusal:
    stop_reason refusal. larger: an answer longer than the whole prompt, whatever
    max_tokens says. tool_use: a line of text and a call of the first tool. invented
    consent, rule, step: one line more at the end, of `INVENTED`, which nobody has said.

    >>> Fault("529", at=(1, 2)).strikes(2)
    True
    >>> [n for n in range(1, 11) if Fault("empty", rate=0.3, seed=1).strikes(n)]
    [3, 8]
    """

    kind: Kind
    _: KW_ONLY
    at: int | Sequence[int] | None = None
    """The numbers of the requests, from 1. None: all, or those that `rate` draws."""
    rate: float = 1.0
    """Share of the requests, 0 to 1, drawn by `seed`: the same ones in each run."""
    seed: int = 0
    only: Literal["summary", "turn"] | None = None
    """Count and strike only the requests for a summary, or only the others."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(
                f"kind={self.kind!r}; choose one of {', '.join(get_args(Kind))}"
            )
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate={self.rate!r}; choose a share from 0 to 1")

    def strikes(self, n: int) -> bool:
        """Tell whether the fault strikes the nth of the requests that it counts."""
        if self.at is not None:
            return n == self.at if isinstance(self.at, int) else n in self.at
        return random.Random(f"{self.seed} {n}").random() < self.rate


class Faults:
    """Several faults, each with the number of requests it has counted."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = tuple(faults)
        self._counts: Counter[int] = Counter()

    def strike(
        self, messages: Sequence[Message], tokens: int, window: int
    ) -> Kind | None:
        """Raise the error of the fault that strikes this request, NoAnswer for a
        timeout.

        Returns the kind of a fault that shows in the answer, or None.
        """
        kind = self.next(messages)
        if kind == "timeout":
            raise NoAnswer
        if kind == "too_long":
            raise too_long(max(tokens, window + 1), window)
        if kind in _ERRORS:
            raise Refusal(*_ERRORS[kind])
        return kind

    def next(self, messages: Sequence[Message]) -> Kind | None:
        """Count a request. Returns the first fault, in the order given, that strikes
        it."""
        request = "summary" if asks_for_summary(messages) else "turn"
        counting = [
            i for i, fault in enumerate(self._faults) if fault.only in (None, request)
        ]
        self._counts.update(counting)
        striking = (i for i in counting if self._faults[i].strikes(self._counts[i]))
        return next((self._faults[i].kind for i in striking), None)
