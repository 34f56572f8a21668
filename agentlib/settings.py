"""Every number a learner can move, in one frozen dataclass, checked when it is made.

Amounts are tokens unless a name says characters, messages or exchanges. Not here: real systems'
numbers (presets) and what is done with any of them (the layers).
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, cast, get_args, get_origin

MODEL = "claude-haiku-5-5"
"""The one literal model id in the code."""

_TOKEN_AMOUNTS = (
    "context_window",
    "output_reserve",
    "buffer",
    "threshold",
    "clear_at_least",
    "head_tokens",
    "tail_tokens",
    "summary_tokens",
    "restore_tokens",
)
_KINDS: dict[Any, tuple[Any, str]] = {  # a value's type, or its parts', and how to say it
    int: (int, "a whole number (int)"),
    int | None: (int | None, "a whole number (int) or None"),
    float: (int | float, "a number"),
    float | None: (int | float | None, "a number or None"),
    bool: (bool, "True or False"),
    str: (str, "a text"),
    tuple[str, ...]: (str, "a tuple, with brackets and a comma: ('bash',)"),
    tuple[float, ...]: (int | float, "a tuple, with brackets and a comma: (0.65,)"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Policy and numbers of an agent's memory. `Settings()` is where the course starts.

    >>> Settings().threshold_tokens
    171000
    >>> Settings(threshold=50_000).scaled(32_000).threshold
    8000
    """

    context_window: int = 200_000
    """The budget of one request: prompt and answer. The model's own window may be larger."""
    output_reserve: int = 16_000
    """Room kept for the answer (001)."""
    buffer: int = 13_000
    """Room between the compaction point and the reserve: what one more turn may bring (001)."""
    threshold: int | None = None
    """A fixed compaction point; 50,000 in 000, 002 and 004. None: see `threshold_tokens`."""
    threshold_pct: float | None = None
    """The compaction point in percent of the window, where `threshold` is None."""

    estimator: Literal["anchored", "chars", "blocks"] = "anchored"
    """How size is judged: by the bills, by characters / 4 (000, 002), by block x 4/3 (001)."""

    micro: Literal["clear", "truncate", "trim", "off"] = "clear"
    """What happens to old results: cleared (002, 004), truncated (000), trimmed (003), nothing."""
    keep_recent: int = 3
    """How many of the newest results stay whole (002). Unseen ones always do."""
    min_chars: int = 100
    """Results of this many characters or fewer are never cleared (002)."""
    clear_at_least: int = 0
    """Clear only when at least so many tokens would go: fewer, larger breaks of the cache."""
    keep_tools: tuple[str, ...] = ()
    """Results of these tools are never cleared."""
    clear_when: Literal["always", "cold"] = "always"
    """Clear every turn, or only when the prompt cache has expired anyway (`cache_ttl`)."""
    cache_ttl: float = 300.0
    """Seconds that the provider's prompt cache lives after its last use."""
    keep_messages: int = 6
    """truncate: so many of the newest messages stay whole (000)."""
    max_result_chars: int = 200
    """truncate: older results are cut to so many characters (000)."""
    trim_over: int = 2_000
    """trim: results of more characters than this lose their middle (003)."""
    trim_keep: int = 800
    """trim: characters kept at each end (003)."""

    keep_exchanges: int = 1
    """How many of the newest exchanges a compaction leaves word for word; 0: none (000, 002)."""
    head_tokens: int = 0
    """Size of the head that compactions leave: the first words, an exchange or two (003)."""
    tail_tokens: int | None = None
    """Size of the tail, in place of `keep_exchanges` (003). With a head or a tail a compaction
    hands over: it trims the middle, updates its last summary, and asks for a length by the size."""
    summary_tokens: int = 2_000
    """Length asked of a summary. On the wire max_tokens is 4 times that, at most the reserve.
    With a head or a tail it is the most that is asked, however much is replaced."""
    summary_model: str = "same"
    """Who summarises: "same" or "auto", the model that the session runs with; or a model's id."""
    reference_only: bool = True
    """Whether a hand-off says of itself that it is no instruction (003). False: to see why."""
    restore_files: int = 0
    """How many of the files that were read last are put back after a compaction (001: 5)."""
    restore_tokens: int = 5_000
    """Size of each text put back: a file, or what a hook gives."""
    reactive: bool = True
    """Whether a prompt that the API finds too long is compacted and sent once more."""
    session_memory: bool = False
    """Whether what the agent noted as it went stands in for a summary, where that suffices."""
    summary_retries: int = 3
    """How often a summary call refused for its size is made again with less (001)."""
    breaker_failures: int = 3
    """After so many failures in a row compaction rests (001); 0: never."""
    breaker_turns: int = 10
    """For so many turns; then it is tried once more."""
    emergency_at: float | None = 0.95
    """Share of the window past which all is done to go on, also without a summary (003)."""

    recall: bool = False
    """Whether the agent has the tool `recall`, and placeholders say so."""
    manual: bool = True
    """Whether the agent has the tool `compact`."""
    auto: bool = True
    """Whether reaching the compaction point compacts."""
    enabled: bool = True
    """False: no layer does anything."""
    warn_at: tuple[float, ...] = (0.65, 0.75, 0.85, 0.95)
    """Shares of the window at which the loop reports a tier (003)."""

    def __post_init__(self) -> None:
        self._check_kinds()
        self._check_amounts()
        if self.context_window <= self.output_reserve + self.buffer:
            raise ValueError(
                f"context_window={self.context_window:,} leaves nothing beside "
                f"output_reserve + buffer = {self.output_reserve + self.buffer:,}; "
                "take a larger window, or Settings().scaled(window)"
            )

    def _check_kinds(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in _KINDS:
                if not _is_of_kind(value, field.type):
                    raise ValueError(f"{field.name}={value!r}; take {_KINDS[field.type][1]}")
            elif value not in (choices := get_args(field.type)):
                raise ValueError(f"{field.name}={value!r}; choose one of {', '.join(choices)}")

    def _check_amounts(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not value >= 0:
                raise ValueError(f"{field.name}={value!r}; take 0 or more")
        if not self.summary_model.strip():
            raise ValueError("summary_model is empty; take same, auto or a model's id")
        for name in ("context_window", "summary_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)!r}; take at least 1")
        if self.threshold is not None and not 0 < self.threshold <= self.context_window:
            raise ValueError(
                f"threshold={self.threshold:,} is not within context_window="
                f"{self.context_window:,}; take one from 1 to there: past it nothing is reached"
            )
        if self.threshold_pct is not None and not 0 < self.threshold_pct <= 100:
            raise ValueError(
                f"threshold_pct={self.threshold_pct!r}; take a percentage from 0 to 100"
            )
        if 2 * self.trim_keep + 100 > self.trim_over:
            raise ValueError(
                f"trim_keep={self.trim_keep} twice and a marker is more than "
                f"trim_over={self.trim_over}; trimming would lengthen the result: lower trim_keep"
            )
        if any(not 0 < share <= 1 for share in self.warn_at):
            raise ValueError(f"warn_at={self.warn_at}; take shares of the window, from 0 to 1")
        if self.emergency_at is not None and not 0 < self.emergency_at <= 1:
            raise ValueError(f"emergency_at={self.emergency_at}; take a share from 0 to 1, or None")

    @property
    def threshold_tokens(self) -> int:
        """Where compaction begins: threshold, or its percentage, or window - reserve - buffer."""
        if self.threshold is not None:
            return self.threshold
        if self.threshold_pct is not None:
            return int(self.context_window * self.threshold_pct / 100)
        return self.context_window - self.output_reserve - self.buffer

    @property
    def emergency_tokens(self) -> int:
        """Where an emergency begins: never before the compaction point."""
        share = 1.0 if self.emergency_at is None else self.emergency_at
        return max(self.threshold_tokens, int(self.context_window * share))

    @property
    def summary_max_tokens(self) -> int:
        """`max_tokens` of the summary call: room for an answer that runs over what was asked."""
        return max(1, min(4 * self.summary_tokens, self.output_reserve or 4 * self.summary_tokens))

    def model_for_summaries(self, running: str) -> str:
        """Who is asked for summaries while `running` is the session's model: never a stale one.

        >>> Settings().model_for_summaries("large"), Settings(
        ...     summary_model="small").model_for_summaries("large")
        ('large', 'small')
        """
        return running if self.summary_model in ("same", "auto") else self.summary_model

    def scaled(self, window: int) -> Self:
        """The same policy for another window: token amounts in proportion, rounded down.

        Counts, characters and percentages stay.

        >>> Settings(clear_at_least=5_000).scaled(32_000).clear_at_least
        800
        """
        amounts = {name: getattr(self, name) for name in _TOKEN_AMOUNTS}
        return replace(
            self,
            **{k: v * window // self.context_window for k, v in amounts.items() if v is not None},
        )

    @classmethod
    def from_env(
        cls,
        preset: "Settings | None" = None,
        *,
        environ: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> "Settings":
        """A preset, changed by the environment, changed by arguments: the last one wins.

        Reads CLAUDE_CODE_AUTO_COMPACT_WINDOW (tokens), CLAUDE_AUTOCOMPACT_PCT_OVERRIDE (percent),
        DISABLE_COMPACT and DISABLE_AUTO_COMPACT (set to anything but "", 0, false, no, off).

        >>> Settings.from_env(environ={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}).threshold_tokens
        100000
        """
        found = _from_environment(os.environ if environ is None else environ)
        if arguments.get("threshold_pct") is not None:
            found["threshold"] = None  # or the preset's fixed one would silently win
        return replace(preset or cls(), **{**found, **arguments})

    @classmethod
    def from_dict(cls, noted: Mapping[str, Any]) -> "Settings":
        """Settings as a session file has them: lists for tuples, and unknown names left out."""
        known: dict[str, Any] = {f.name: noted[f.name] for f in fields(cls) if f.name in noted}
        for name in ("keep_tools", "warn_at"):
            known[name] = tuple(known.get(name, getattr(cls, name)))
        return cls(**known)


def _is_of_kind(value: Any, kind: Any) -> bool:
    accepted, _ = _KINDS[kind]
    if get_origin(kind) is tuple:
        parts = cast(tuple[Any, ...], value)
        return isinstance(value, tuple) and all(isinstance(part, accepted) for part in parts)
    # Python takes True for 1, and keep_recent=True for a number.
    return isinstance(value, accepted) and (kind is bool or not isinstance(value, bool))


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if window := environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW"):
        found["context_window"] = int(_number("CLAUDE_CODE_AUTO_COMPACT_WINDOW", window))
    if percent := environ.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"):
        found["threshold"] = None
        found["threshold_pct"] = _number("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", percent)
    if _is_set(environ.get("DISABLE_COMPACT")):
        found["enabled"] = False
    if _is_set(environ.get("DISABLE_AUTO_COMPACT")):
        found["auto"] = False
    return found


def _number(name: str, text: str) -> float:
    with suppress(ValueError):
        if 0 < (number := float(text)) < 1e12:
            return number
    raise ValueError(f"{name}={text!r} in the environment: set it to a number above 0, or unset it")


def _is_set(text: str | None) -> bool:
    return (text or "").strip().lower() not in ("", "0", "false", "no", "off")
