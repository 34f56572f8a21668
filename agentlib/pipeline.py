"""The layers in order, the one place where they meet, and what an engine is given.

An engine is a function from a `Now` to a `Step`. `compact` is the finished one. It is
pure but for `summarize` and `archive`. The `Step` that it returns holds every decision,
and the session file records it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from agentlib import messages as msg
from agentlib.auto_compact import Archive, Summarize, SummaryFailed, auto_compact
from agentlib.estimation import TokenMeter
from agentlib.head_and_tail import head_and_tail, head_length, summary_index
from agentlib.messages import (
    Message,
    changes,
    last_assistant,
    of_type,
    waiting,
    with_results,
)
from agentlib.micro_compact import (
    micro_compact,
    replacements,
    trim_results,
    truncate_results,
)
from agentlib.recovery import CompactionRests, cut_unseen, emergency, truncating
from agentlib.settings import Settings
from agentlib.step import Reason, Step, clearing, standing_in

_TOO_LARGE = "the newest results alone are too large, so they are cut"


@dataclass(frozen=True, eq=False)
class Now:
    """All that an engine may look at before one request, and the verbs that it needs.

    The shortest engine changes a setting in some case and lets the layers do the rest:

    >>> def patient(now: Now) -> Step:
    ...     return now.compact(auto=len(now.messages) > 10)
    """

    messages: Sequence[Message]
    """What the last request sent, and what is new since then. An engine never edits
    them."""
    settings: Settings
    _: KW_ONLY
    meter: TokenMeter
    """Estimates prompts, and knows what the API billed."""
    summarize: Summarize
    """(messages, focus) -> the summary. Raises SummaryFailed."""
    archive: Archive
    """() -> the name under which the history was saved. Call it before a compaction."""
    reason: Reason = "auto"
    """Why this is a moment to compact. "manual": the person or the model asked."""
    focus: str = ""
    """What the summary should look after."""
    settled: int = 0
    """The last step's: so many leading messages no layer will touch again."""
    idle: float = 0.0
    """Seconds since the prompt cache was last used."""
    persons: frozenset[str] | None = None
    """Texts that the person wrote, word for word, whatever they look like. None: nobody
    noted who wrote what, so the marks of the program's own texts decide."""

    @property
    def waiting(self) -> list[tuple[int, str]]:
        """The person's words that still wait for an answer, see `messages.waiting`."""
        return waiting(self.messages, self.persons)

    def compact(self, **changed: Any) -> Step:
        """Let the layers do their work, with some settings changed.

        `now.compact(keep_recent=9)` is DEFAULT with another number. Raises TypeError or
        ValueError for a setting that doesn't exist or a value that doesn't fit.
        """
        settings = replace(self.settings, **changed) if changed else self.settings
        return compact(replace(self, settings=settings))

    def asking(self, summarize: Summarize) -> "Now":
        """Return the same moment with another way to get a summary."""
        return replace(self, summarize=summarize)

    def with_texts(self, texts: Mapping[str, str], **changed: Any) -> Step:
        """Replace texts of results by tool_use id, then let the layers do the rest.

        For keys and values see `Step.texts`. `changed` are settings, as in `compact`.
        """
        view = Step(texts=texts).applied(self.messages)
        rest = replace(self, messages=view).compact(**changed)
        before = self.meter.estimate(self.messages)
        return replace(
            rest,
            texts={**texts, **rest.texts},
            tokens_before=before,
            tokens_cleared=before - rest.tokens_before + rest.tokens_cleared,
        )

    def sized(self, focus: str = "", **numbers: float) -> "Now":
        """Return the same moment with numbers of one's own.

        `threshold` and `summary_tokens` are shares of the window, so that an engine
        works in any. All others are settings as they are. `focus` holds where nobody
        asked for another. Raises TypeError or ValueError as `compact` does.

        >>> from agentlib.presets import DEFAULT
        >>> now = Now([], DEFAULT, meter=TokenMeter(), summarize=None, archive=None)
        >>> now.sized(threshold=0.5, keep_recent=9).settings.threshold_tokens
        100000
        """
        window = self.settings.context_window
        shares = {
            name: round(window * numbers[name])
            for name in ("threshold", "summary_tokens")
            if name in numbers
        }
        changed: dict[str, Any] = {**numbers, **shares}
        settings = replace(self.settings, **changed)
        return replace(self, settings=settings, focus=self.focus or focus)

    @property
    def may_clear(self) -> bool:
        """Whether the settings let old results be cleared at this moment."""
        settings = self.settings
        is_time = settings.clear_when == "always" or self.idle > settings.cache_ttl
        return settings.enabled and settings.micro != "off" and is_time

    def is_full(self, tokens: float) -> bool:
        """Whether the settings ask for a compaction of a context of so many tokens."""
        settings = self.settings
        is_on = settings.enabled and settings.auto
        return is_on and tokens > settings.threshold_tokens

    def unchanged(self) -> Step:
        """Return the step that changes nothing."""
        return self._measured(Step(settled=self.settled))

    def cleared(self, view: Sequence[Message]) -> Step:
        """Return the step to a view in which some results have other texts.

        `view` is what a function such as `micro_compact` made of the messages. What
        stands before the newest change counts as settled. Raises ValueError if the view
        differs in anything else.
        """
        step = clearing(self.messages, view)
        if step is None:
            raise ValueError(
                "this view can't be noted as a clearing, because it differs in more "
                "than the texts of results; see now.compacted"
            )
        view = with_results(self.messages, step.texts)
        newest = max(changes(self.messages, view), default=-1)
        return self._measured(replace(step, settled=max(self.settled, newest + 1)))

    def unheard(self, view: Sequence[Message]) -> str | None:
        """Return the person's words that still wait for an answer and stand nowhere in
        a view. They belong beside the summary. None: nothing is missing.

        >>> now = Now([{"role": "user", "content": "Go."}], Settings(), meter=TokenMeter(),
        ...           summarize=None, archive=None)
        >>> now.unheard([]), now.unheard(now.messages)
        ('Go.', None)
        """
        return "\n\n".join(self._missing(view)) or None

    def _missing(self, view: Sequence[Message]) -> list[str]:
        there = {text for each in view for text in msg.words(each, self.persons)}
        waiting = msg.waiting(self.messages, self.persons)
        return [words for _, words in waiting if words not in there]

    def compacted(
        self, view: Sequence[Message], archive: str, *, after: Step | None = None
    ) -> Step:
        """Return the step to a view in which one new message stands for all that went.

        `view` is what a function such as `auto_compact` made of the messages, and
        `archive` the name that its message tells. `after`: a clearing that came first,
        so the view was made of what it left. Words that `unheard` joined get a block
        each. If the answer to words that stay is gone, the new message says that they
        were answered. Raises ValueError if more is new
        than one message of the user, or if the others are in another order.
        """
        first = after or Step()
        old = first.applied(self.messages)
        step = standing_in(old, view)
        if step is None:
            raise ValueError(
                "this view can't be noted as a compaction: one new message of the user "
                "has to stand for all that went, and the others have to keep their order"
            )
        summary = step.summary
        others = [message for message in view if message is not summary]
        if summary is not None:
            step = replace(step, summary=_parted(summary, self._missing(others)))
        waiting = msg.waiting(old, self.persons)
        if len(msg.waiting(step.applied(old), self.persons)) > len(waiting):
            step = replace(step, summary=_with_answered(step.summary or {}))
        noted = replace(step, reason=self.reason, focus=self.focus, archive=archive)
        done = self._measured(replace(noted, texts=first.texts))
        return replace(done, tokens_cleared=first.tokens_cleared)

    def _measured(self, step: Step) -> Step:
        """Fill in a step's amounts."""
        before = self.meter.estimate(self.messages)
        after = self.meter.estimate(step.applied(self.messages))
        cleared = before - after if step.texts and step.summary is None else 0
        return replace(
            step, tokens_before=before, tokens_after=after, tokens_cleared=cleared
        )


def _parted(summary: Message, words: Sequence[str]) -> Message:
    """Give each of the person's words a block, if they were joined in one."""
    joined = "\n\n".join(words)
    if len(words) < 2 or joined not in [b.get("text") for b in msg.blocks(summary)]:
        return summary
    apart = [{"type": "text", "text": each} for each in words]
    content = [
        part
        for block in msg.blocks(summary)
        for part in (apart if block.get("text") == joined else [block])
    ]
    return {**summary, "content": content}


def _with_answered(summary: Message) -> Message:
    """Say beside a summary that the person's words above it were answered."""
    first, *others = msg.blocks(summary)
    answered = {"type": "text", "text": msg.ANSWERED}
    return {"role": "user", "content": [first, answered, *others]}


ContextEngine = Callable[[Now], Step]
"""The type of `compact`. The loop, `play`, the judge and the adapters take any function
of it.

An engine takes one `Now` and returns a `Step`: `engine_check.run_engine` sees to that
wherever one is run. `windtunnel.judge` checks what else it promises:

- It edits none of the messages.
- It compacts if the reason is "manual".
- The context of its step breaks no rule of the API: each call has its result, and the
  end is the user's.
- Results that the model hasn't seen stay word for word, and so do the person's words
  that wait for an answer.
- It answers within three seconds, the summary's own request apart, and raises nothing.

Nobody checks that it calls `now.archive` before a summary takes the place of messages,
and that it makes a refused prompt smaller if the reason is "reactive".
"""


def compact(now: Now) -> Step:
    """Clear old results, then compact if the estimate is over the threshold or the
    reason says so.

    If the summary fails, after all that `SummaryCall.parts` could do for it, the step
    has what clearing made of the messages, and `failure` says why. In an emergency the
    messages are cut to size without a model. If the API has refused the prompt and even
    that leaves no summary, unseen results are trimmed.
    """
    before = now.meter.estimate(now.messages)
    step = Step(settled=now.settled, tokens_before=before, tokens_after=before)
    if not now.settings.enabled:
        return step
    is_urgent = _is_urgent(now, before)
    if is_urgent:
        now = replace(now, settings=emergency(now.settings))
    cleared = _cleared(step, now)
    if now.reason == "auto" and not now.is_full(cleared.tokens_after):
        return cleared
    cleared = replace(cleared, reason=now.reason, focus=now.focus)
    done = _compacted(cleared, now) if _may_help(cleared, now) else cleared
    if is_urgent and done.failure:
        done = _without_model(cleared, done, now)
    if now.reason == "reactive" and done.summary is None:
        done = _cut(done, now)
    return done


def _is_urgent(now: Now, tokens: int) -> bool:
    """Return whether the context has to become smaller, with a summary or without."""
    settings = now.settings
    if now.reason == "auto":
        is_past = tokens > settings.emergency_tokens
        return settings.auto and settings.emergency_at is not None and is_past
    return now.reason == "reactive"


def _may_help(step: Step, now: Now) -> bool:
    """Return whether a summary can cure a refused prompt: not if what has to stay is
    larger than the window by itself."""
    view = step.applied(now.messages)
    unseen = view[last_assistant(view) + 1 :]
    window = now.settings.context_window
    return now.reason != "reactive" or now.meter.estimate(unseen) <= window


def _without_model(cleared: Step, failed: Step, now: Now) -> Step:
    """Put the messages cut to size in place of a summary that failed."""
    cut = truncating(failed.failure or "", now.settings.summary_tokens)
    name = failed.archive or ""
    done = _compacted(cleared, replace(now, summarize=cut, archive=lambda: name))
    if done.summary is None:
        return failed
    return replace(done, failure=failed.failure, rested=failed.rested)


def _cleared(step: Step, now: Now) -> Step:
    """Clear, truncate or trim old results, if that frees at least `clear_at_least`
    tokens."""
    # The head stays word for word, so clearing begins after it.
    messages = now.messages
    settings = now.settings
    enough = settings.clear_at_least
    head = head_length(messages, settings.head_tokens) if settings.head_tokens else 0
    settled = max(min(step.settled, len(messages)), head)
    if settings.micro == "off" or (
        settings.clear_when == "cold" and now.idle <= settings.cache_ttl
    ):
        return replace(step, settled=settled)
    old = messages[settled:]
    if enough:
        weights = zip(now.meter.weights(messages)[settled:], old, strict=True)
        most = sum(tokens for tokens, message in weights if message["role"] == "user")
        if enough > most:  # not even clearing them all would be enough
            return replace(step, settled=settled)
    new = _policy(old, settings)
    edge = settled + _edge(new, settings)
    changed = list(changes(old, new))
    if not changed:
        return replace(step, settled=edge)
    texts = replacements([old[i] for i in changed], [new[i] for i in changed])
    shorter = _measured(replace(step, texts=texts), now)
    freed = step.tokens_before - shorter.tokens_after
    if enough and freed < enough:
        return replace(step, settled=settled)
    return replace(shorter, settled=edge, tokens_cleared=freed)


def _measured(step: Step, now: Now) -> Step:
    """Estimate the context that a step makes."""
    return replace(step, tokens_after=now.meter.estimate(step.applied(now.messages)))


def _policy(messages: Sequence[Message], settings: Settings) -> list[Message]:
    if settings.micro == "truncate":
        keep = settings.keep_messages
        most = settings.max_result_chars
        return truncate_results(messages, keep_messages=keep, max_result_chars=most)
    if settings.micro == "trim":
        return trim_results(
            messages, trim_over=settings.trim_over, trim_keep=settings.trim_keep
        )
    return micro_compact(
        messages,
        keep_recent=settings.keep_recent,
        min_chars=settings.min_chars,
        keep_tools=settings.keep_tools,
        recall=settings.recall,
    )


def _edge(view: Sequence[Message], settings: Settings) -> int:
    """Return where the exchange begins that has the oldest result that may still
    change."""
    edge = len(view)
    if settings.micro == "truncate":
        edge -= settings.keep_messages
    elif settings.micro == "clear":
        recent = settings.keep_recent
        while edge > 0 and recent > 0:
            edge -= 1
            recent -= len(of_type(view[edge], "tool_result"))
    edge = min(edge, last_assistant(view))
    # An edge inside an exchange would part a result from the call that names its tool.
    while edge > 0 and (view[edge]["role"], view[edge - 1]["role"]) != (
        "assistant",
        "user",
    ):
        edge -= 1
    return max(0, edge)


def _compacted(step: Step, now: Now) -> Step:
    """Put a summary in place of messages, if there are any worth replacing."""
    messages = step.applied(now.messages)
    names = list[str]()

    def noted_archive() -> str:
        names.append(now.archive())
        return names[0]

    try:
        view = _summarised(messages, replace(now, archive=noted_archive))
    except SummaryFailed as error:
        rested = isinstance(error, CompactionRests)
        return replace(step, failure=str(error), rested=rested, archive="".join(names))
    if not names:
        return step
    head = summary_index(view) or 0
    tail = len(view) - head - 1
    done = replace(
        step,
        texts={**step.texts, **replacements(messages, view)},
        kept=(*range(head), *range(len(messages) - tail, len(messages))),
        summary=view[head],
        settled=head + 1,
        archive=names[0],
    )
    return _measured(done, now)


def _cut(step: Step, now: Now) -> Step:
    """Trim unseen results of a context that the API has refused and no summary can make
    fit."""
    settings = now.settings
    view = step.applied(now.messages)
    most = settings.context_window - settings.output_reserve - settings.buffer
    cut = cut_unseen(view, now.meter, most, recall=settings.recall)
    texts = replacements(view, cut)
    if texts and not step.compaction:
        step = replace(step, failure=_TOO_LARGE, rested=True)
    step = _measured(replace(step, texts={**step.texts, **texts}), now)
    return replace(step, tokens_cleared=step.tokens_before - step.tokens_after)


def _summarised(messages: Sequence[Message], now: Now) -> list[Message]:
    """Use head_and_tail if the settings have a head or a tail, auto_compact if not."""
    settings = now.settings
    if not settings.head_tokens and settings.tail_tokens is None:
        return auto_compact(
            messages,
            now.summarize,
            now.archive,
            focus=now.focus,
            keep_exchanges=settings.keep_exchanges,
            reference_only=settings.reference_only,
            persons=now.persons,
        )
    # Unseen results are split only if the window has no room for them whole.
    budget = settings.context_window - settings.output_reserve - now.meter.base
    room = max(0, int(budget - settings.head_tokens - settings.summary_tokens))
    as_sent = now.meter.estimate(messages[: last_assistant(messages)])
    whole = as_sent + settings.summary_max_tokens <= settings.context_window
    return head_and_tail(
        messages,
        now.summarize,
        now.archive,
        settings,
        focus=now.focus,
        unseen_tokens=room,
        whole=whole,
        persons=now.persons,
    )
