"""Every number a learner can move, in one frozen dataclass that checks each of them.

See `presets` for real systems' numbers, and their sources. See the layers for what the
numbers do.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, Self, get_args, get_origin

MODEL = "claude-haiku-5-5"
"""The one literal model id in the code."""

LONGEST_REPLY = 21_000
"""Tokens. The SDK wants streaming above 21,333. A turn of an agent needs far fewer."""

Environ = Mapping[str, str]
Tokens = Annotated[int, "an amount of tokens, scaled with the window"]
SomeTokens = Annotated[int, "such an amount, at least 1"]
Percent = Annotated[float, "percent of the window"]
Share = Annotated[float, "share of the window"]

_KINDS: dict[Any, tuple[Any, Callable[[Any], object], str]] = {
    int: (int, lambda v: v >= 0, "a whole number (int), 0 or more"),
    Tokens: (int, lambda v: v >= 0, "a whole number (int), 0 or more"),
    SomeTokens: (int, lambda v: v >= 1, "a whole number (int), at least 1"),
    float: (int | float, lambda v: v >= 0, "a number, 0 or more"),
    Percent: (int | float, lambda v: 0 < v <= 100, "a percentage over 0, at most 100"),
    Share: (
        int | float,
        lambda v: 0 < v <= 1,
        "a share of the window over 0, at most 1",
    ),
    bool: (bool, lambda v: True, "True or False"),
    str: (str, str.strip, "same, auto or a model's id"),
    tuple[str, ...]: (
        tuple,
        lambda v: not any(_fix(n, str) for n in v),
        "a tuple: ('bash',)",
    ),
    tuple[Share, ...]: (
        tuple,
        lambda v: not any(_fix(n, Share) for n in v),
        "a tuple: (0.65,)",
    ),
}
"""For each type of field: the types of its values, which of them fit, and how to say
it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Policy and numbers of an agent's memory. The course starts with `Settings()`.

    >>> Settings().threshold_tokens
    171000
    >>> Settings(threshold=50_000).scaled(32_000).threshold
    8000
    """

    context_window: SomeTokens = 200_000
    """The budget of one request: prompt and reply. The model's own window may be
    larger."""
    output_reserve: Tokens = 16_000
    """Room kept for the reply (s24)."""
    buffer: Tokens = 13_000
    """Room between the threshold and the reserve, for what one more turn may bring
    (s24)."""
    threshold: SomeTokens | None = None
    """The prompt's size at which compaction begins. 50,000 in learn-claude-code and in
    the Java agent. None: see `threshold_tokens`."""
    threshold_pct: Percent | None = None
    """The same in percent of the window, if `threshold` is None."""

    estimator: Literal["anchored", "chars", "blocks"] = "anchored"
    """How tokens are estimated: from the last bill, as characters / 4
    (learn-claude-code, the Java agent), or by kind of block x 4/3 (s24)."""

    micro: Literal["clear", "truncate", "trim", "off"] = "clear"
    """Old results are cleared (learn-claude-code), truncated (the Java agent), trimmed
    in the middle (Hermes), or kept."""
    keep_recent: int = 3
    """Number of newest results that stay whole (learn-claude-code). Unseen ones always
    do."""
    min_chars: int = 100
    """Results of at most this many characters are never cleared (learn-claude-code)."""
    clear_at_least: Tokens = 0
    """Clear only if at least this many tokens would go. The prompt cache breaks less
    often."""
    keep_tools: tuple[str, ...] = ()
    """Results of these tools are never cleared."""
    clear_when: Literal["always", "cold"] = "always"
    """Clear every turn, or only when the prompt cache has expired anyway
    (`cache_ttl`)."""
    cache_ttl: float = 300.0
    """Seconds from its last use until the provider's prompt cache expires."""
    keep_messages: int = 6
    """truncate: number of newest messages that stay whole (the Java agent)."""
    max_result_chars: int = 200
    """truncate: characters that are left of an older result (the Java agent)."""
    trim_over: int = 2_000
    """trim: results of more characters than this lose their middle (Hermes). With a
    head or a tail, so do those that a summary is made of. A number that no result
    reaches, such as DEFAULT's 10**9, trims nothing."""
    trim_keep: int = 800
    """trim: characters kept at each end (Hermes)."""

    keep_exchanges: int = 1
    """Number of newest exchanges that a compaction keeps word for word. 0 in
    learn-claude-code and in the Java agent."""
    head_tokens: Tokens = 0
    """Size of the head that a compaction keeps: the first words, and an exchange or two
    (Hermes)."""
    tail_tokens: Tokens | None = None
    """Size of the tail, in place of `keep_exchanges` (Hermes). With a head or a tail, a
    compaction trims the middle, updates its last summary, and asks for a length by the
    middle's size."""
    summary_tokens: SomeTokens = 2_000
    """Length asked of a summary. With a head or a tail, the largest that is asked for.
    `max_tokens` of the call is 4 times as much, at most the reserve."""
    words_tokens: Tokens = 0
    """What the person has said stays word for word in the summary's message, within so
    many tokens. 0: it belongs to the summary (s24, Hermes, Claude Code)."""
    summary_model: str = "same"
    """The model that summarises: "same" or "auto" for the session's model, or a model's
    id. If that one gives no summary, the session's model is asked."""
    reference_only: bool = True
    """Whether a summary says that it is no instruction (Hermes). Lesson 06 shows why it
    should."""
    restore_files: int = 0
    """Number of recently read files that are put back after a compaction (Claude Code:
    5)."""
    restore_tokens: Tokens = 5_000
    """Most tokens of each text that is put back: a file, or what a hook returns."""
    reactive: bool = True
    """Whether a prompt that the API refuses as too long is compacted and sent
    again."""
    session_memory: bool = False
    """Whether the agent's own notes take the place of a summary if they suffice."""
    summary_retries: int = 3
    """How often a summary call that was refused for its size is repeated with less
    (s24)."""
    breaker_failures: int = 3
    """After this many failures in a row, or compactions that don't help, compaction
    pauses (s24). 0: never."""
    breaker_turns: int = 10
    """Number of turns of that pause. Then compaction is tried once more."""
    emergency_at: Share | None = 0.95
    """From this share of the window on, the context is cut to size even without a
    summary (Hermes)."""

    keep_alive: int = 0
    """How often the last request is repeated in a pause, each time when a tenth of
    `cache_ttl` is left, so that the prompt cache lives on. `windtunnel` and replays do
    so. A program of yours calls `session.keep_alive.repeat`."""

    recall: bool = False
    """Whether the agent has the tool `recall`, and placeholders mention it."""
    manual: bool = True
    """Whether the agent has the tool `compact`."""
    auto: bool = True
    """Whether reaching the threshold compacts."""
    enabled: bool = True
    """Whether any layer does anything."""
    warn_at: tuple[Share, ...] = (0.65, 0.75, 0.85, 0.95)
    """Shares of the window at which the loop reports a tier (Hermes)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if fix := _fix(value, field.type):
                raise ValueError(f"{field.name}={value!r}; {fix}")
        window = self.context_window
        reserved = self.output_reserve + self.buffer
        if window <= reserved:
            raise ValueError(
                f"context_window={window:,} leaves nothing beside output_reserve + buffer = "
                f"{reserved:,}; take a larger window, or Settings().scaled(window)"
            )
        if self.threshold is not None and self.threshold > window:
            raise ValueError(
                f"threshold={self.threshold:,} is larger than context_window={window:,} and would "
                f"never be reached; choose 1 to {window:,}"
            )
        if 2 * self.trim_keep + 100 > self.trim_over:
            ends = f"trim_keep={self.trim_keep} twice and a marker"
            raise ValueError(
                f"{ends} is more than trim_over={self.trim_over}; lower trim_keep"
            )

    @property
    def threshold_tokens(self) -> int:
        """Return the prompt's size at which compaction begins.

        That is the threshold, or its percentage, or window - reserve - buffer.
        """
        if self.threshold is not None:
            return self.threshold
        if self.threshold_pct is not None:
            return int(self.context_window * self.threshold_pct / 100)
        return self.context_window - self.output_reserve - self.buffer

    @property
    def emergency_tokens(self) -> int:
        """Return the size at which an emergency begins, never below the threshold."""
        share = 1.0 if self.emergency_at is None else self.emergency_at
        return max(self.threshold_tokens, int(self.context_window * share))

    @property
    def repeat_after(self) -> float:
        """Return the seconds after the cache's last use at which the last request is
        repeated.

        >>> Settings().repeat_after
        270.0
        """
        return 0.9 * self.cache_ttl

    @property
    def summary_max_tokens(self) -> int:
        """Return `max_tokens` of the summary call, with room for a reply that runs
        over."""
        return max(
            1,
            min(
                4 * self.summary_tokens, self.output_reserve or 4 * self.summary_tokens
            ),
        )

    def model_for_summaries(self, running: str) -> str:
        """Return the model that summarises while the session's model is `running`.

        >>> Settings().model_for_summaries("large")
        'large'
        >>> Settings(summary_model="small").model_for_summaries("large")
        'small'
        """
        return running if self.summary_model in ("same", "auto") else self.summary_model

    def scaled(self, window: int) -> Self:
        """Return the same policy for another window, its token amounts in proportion.

        Amounts are rounded down. Counts, characters and percentages stay.

        >>> Settings(clear_at_least=5_000).scaled(32_000).clear_at_least
        800
        """
        kinds: set[Any] = {Tokens, SomeTokens}
        names = [f.name for f in fields(self) if kinds & {f.type, *get_args(f.type)}]
        amounts = {
            name: value for name in names if (value := getattr(self, name)) is not None
        }
        return replace(
            self, **{k: v * window // self.context_window for k, v in amounts.items()}
        )

    @classmethod
    def from_env(
        cls,
        preset: "Settings | None" = None,
        *,
        environ: Environ | None = None,
        **arguments: Any,
    ) -> "Settings":
        """Return a preset, changed by the environment, changed by arguments. The last
        one wins.

        Reads the variables of Claude Code: CLAUDE_CODE_AUTO_COMPACT_WINDOW (tokens),
        CLAUDE_AUTOCOMPACT_PCT_OVERRIDE (percent), DISABLE_COMPACT and
        DISABLE_AUTO_COMPACT (set to anything but "", 0, false, no, off).

        >>> Settings.from_env(environ={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}).threshold_tokens
        100000
        """
        environ = os.environ if environ is None else environ
        changes: dict[str, Any] = {}
        for name, field, number in (
            ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "context_window", int),
            ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "threshold_pct", float),
        ):
            try:
                changes |= {field: number(environ[name])} if environ.get(name) else {}
            except ValueError as error:
                raise ValueError(
                    f"{name} in the environment: {error}; mend or unset it"
                ) from None
        for name, switch in (
            ("DISABLE_COMPACT", "enabled"),
            ("DISABLE_AUTO_COMPACT", "auto"),
        ):
            if environ.get(name, "").strip().lower() not in (
                "",
                "0",
                "false",
                "no",
                "off",
            ):
                changes[switch] = False
        if (changes | arguments).get("threshold_pct") is not None:
            changes["threshold"] = None  # or the preset's fixed one would win unnoticed
        return replace(preset or cls(), **{**changes, **arguments})

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Settings":
        """Return settings as a session file notes them, with lists for tuples.

        Unknown names are ignored, so that a newer version's file can be read.
        """
        values: dict[str, Any] = {}
        for name in {field.name for field in fields(cls)} & record.keys():
            values[name] = (
                tuple(record[name]) if isinstance(record[name], list) else record[name]
            )
        return cls(**values)


def _fix(value: Any, kind: Any) -> str:
    """Say what to take instead of a value that doesn't fit its field's type; "" if it
    fits."""
    choices = get_args(kind)
    if get_origin(kind) is Literal:
        return "" if value in choices else f"choose one of {', '.join(choices)}"
    if kind not in _KINDS:  # such as Tokens | None
        fix = "" if value is None else _fix(value, choices[0])
        return fix and f"{fix}, or None"
    types, test, fix = _KINDS[kind]
    # To Python True is an int: keep_recent=True would count as 1.
    right_type = isinstance(value, types) and isinstance(value, bool) == (kind is bool)
    return "" if right_type and test(value) else f"take {fix}"
