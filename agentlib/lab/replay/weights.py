"""What a recording tells: each message's weight by its bill, and what was compacted when.

Not here: other settings (replay).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from agentlib.estimation import breakdown, message_tokens, meter
from agentlib.manual_compact import requested_focus
from agentlib.messages import KINDS, Message, changes
from agentlib.session_file import Compaction
from agentlib.transcripts import Session


@dataclass(frozen=True)
class Recording:
    """What a session's bills say of its messages."""

    base: float
    weights: Mapping[int, float]
    """id of a message of the history -> tokens its arrival was billed."""
    by_hand: tuple[Compaction, ...]
    at_request: Mapping[int, Compaction]
    """Length of the history -> the compaction carried out at the request made there."""
    refused: Mapping[int, Compaction]
    """The same, of those with which the agent answered a refused request."""

    guesses: dict[int, float] = field(default_factory=dict[int, float])
    parts: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    """id of a message -> its guess, and its kinds: worked out once for all replays to come."""

    def weigh(self, message: Message) -> float:
        return self.weights.get(id(message)) or self.guess(message)

    def guess(self, message: Message) -> float:
        """What a message weighs before its bill, by the kinds of its blocks."""
        if id(message) not in self.weights:  # a passing one: its id will be used again
            return message_tokens(message)
        if id(message) not in self.guesses:
            self.guesses[id(message)] = message_tokens(message)
        return self.guesses[id(message)]

    def kinds(self, message: Message) -> dict[str, int]:
        """Its guessed tokens by kind, without those that are 0."""
        if id(message) not in self.weights:
            return _kinds(message)
        if id(message) not in self.parts:
            self.parts[id(message)] = _kinds(message)
        return self.parts[id(message)]


def _kinds(message: Message) -> dict[str, int]:
    return {kind: n for kind, n in breakdown([message]).items() if n}


@lru_cache(maxsize=8)
def recording(session: Session, requests: int) -> Recording:
    known = meter("anchored", len(session.system) + len(str(session.tools)))
    weights: dict[int, float] = {}
    for sent in session.requests[:requests]:
        known.observe(sent.context, sent.usage)
        for message, weight in known.weights():
            weights.setdefault(id(message), weight)
    by_hand = [c for c in session.compactions if _is_by_hand(c, session)]
    reactive = [c for c in session.compactions if c.trigger == "reactive"]
    others = {c.seen: c for c in session.compactions if c not in by_hand + reactive}
    refused = {c.seen: c for c in reactive}
    return Recording(known.base, weights, tuple(by_hand), others, refused)


def _is_by_hand(compaction: Compaction, session: Session) -> bool:
    return (
        compaction.trigger == "manual"
        and requested_focus(session.history[: compaction.seen]) is None
    )


@dataclass
class Scale:
    """Contexts weighed message by message; work only for what is new."""

    recorded: Recording
    last: list[Message] = field(default_factory=list[Message])
    sums: list[float] = field(default_factory=lambda: [0.0])

    def tokens(self, context: list[Message]) -> int:
        """Of the prompt, system and tools included."""
        start = shared(self.last, context)
        del self.sums[start + 1 :]
        for message in context[start:]:
            self.sums.append(self.sums[-1] + self.recorded.weigh(message))
        self.last = context
        return int(self.recorded.base + int(self.sums[-1] + 1e-6))


def shared(old: Sequence[Message], new: Sequence[Message]) -> int:
    """How many leading messages of the two are the same objects."""
    return next(changes(old, new), min(len(old), len(new)))


@dataclass
class Stack:
    """Contexts by kind of block, each message by its weight; work only for what is new."""

    session: Session
    recorded: Recording
    last: list[Message] = field(default_factory=list[Message])
    total: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    parts: dict[int, tuple[Message, dict[str, float]]] = field(
        default_factory=dict[int, tuple[Message, dict[str, float]]]
    )

    def __post_init__(self) -> None:
        system, tools = len(self.session.system), self.session.tools
        self.system = system / (system + len(str(tools))) if tools else 1.0

    def kinds(self, context: list[Message], prompt: int) -> dict[str, float]:
        shorter = min(len(self.last), len(context))
        for i in changes(self.last, context):
            self._add(self.last[i], -1)
            self._add(context[i], 1)
        for message in self.last[shorter:]:
            self._add(message, -1)
        for message in context[shorter:]:
            self._add(message, 1)
        self.last = context
        return self._with_base(prompt)

    def _add(self, message: Message, sign: int) -> None:
        for kind, tokens in self._parts(message).items():
            self.total[kind] += sign * tokens

    def _with_base(self, prompt: int) -> dict[str, float]:
        """System and tools are what the prompt has beside its messages, by their length."""
        messages = {kind: max(0.0, tokens) for kind, tokens in self.total.items()}
        rest = max(0.0, prompt - sum(messages.values()))
        found = {**messages, "system": rest * self.system, "tools": rest * (1 - self.system)}
        factor = prompt / (sum(found.values()) or 1)
        return {kind: tokens * factor for kind, tokens in found.items()}

    def _parts(self, message: Message) -> dict[str, float]:
        if id(message) not in self.parts:
            guessed = self.recorded.kinds(message)
            factor = self.recorded.weigh(message) / (sum(guessed.values()) or 1)
            # The message is kept beside its parts, so that its id is not used again.
            self.parts[id(message)] = message, {k: n * factor for k, n in guessed.items()}
        return self.parts[id(message)][1]
