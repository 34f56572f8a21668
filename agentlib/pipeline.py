"""The layers in order, the one place where they meet. The loop and replays call
`compact`.

It is pure but for `summarize` and `archive`. The `Step` that it returns holds every
decision, and the session file records it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentlib.auto_compact import Archive, Summarize, SummaryFailed, auto_compact
from agentlib.estimation import TokenMeter
from agentlib.head_and_tail import head_and_tail, head_length, summary_index
from agentlib.messages import Message, changes, drop_thinking, last_assistant, of_type
from agentlib.micro_compact import (
    micro_compact,
    replacements,
    trim_results,
    truncate_results,
)
from agentlib.recovery import CompactionRests, cut_unseen, emergency, truncating
from agentlib.settings import Settings
from agentlib.step import Outcome, Reason, Step

_TOO_LARGE = "the newest results alone are too large, so they are cut"


def compact(
    messages: Sequence[Message],
    settings: Settings,
    *,
    meter: TokenMeter,
    summarize: Summarize,
    archive: Archive,
    reason: Reason = "auto",
    focus: str = "",
    settled: int = 0,
    idle: float = 0.0,
) -> Step:
    """Clear old results, then compact if the estimate is over the threshold or `reason`
    says so.

    `settled`: the last step's. `idle`: seconds since the last request. If the summary
    fails, the step has what clearing made of the messages, or, in an emergency, the
    messages cut to size. `failure` says why.
    """
    before = meter.estimate(messages)
    step = Step(
        messages=list(messages),
        settled=settled,
        tokens_before=before,
        tokens_after=before,
    )
    if not settings.enabled:
        return step
    past = settings.emergency_at is not None and before > settings.emergency_tokens
    urgent = reason == "reactive" or (reason == "auto" and settings.auto and past)
    if urgent:
        settings = emergency(settings)
    step = _cleared(step, settings, meter, idle)
    if reason == "auto" and not (
        settings.auto and step.tokens_after > settings.threshold_tokens
    ):
        return step
    step = replace(step, reason=reason, focus=focus)
    done, unseen = step, step.messages[last_assistant(step.messages) + 1 :]
    if reason != "reactive" or meter.estimate(unseen) <= settings.context_window:
        done = _compacted(step, settings, meter, summarize, archive)
    if urgent and done.failure:
        cut, name = (
            truncating(done.failure, settings.summary_tokens),
            done.archive or "",
        )
        without_model = _compacted(step, settings, meter, cut, lambda: name)
        if without_model.compaction != Outcome.FAILED:
            done = replace(without_model, failure=done.failure, rested=done.rested)
    cures = reason == "reactive" and done.compaction in (None, Outcome.FAILED)
    return _cut(done, settings, meter) if cures else done


def _cleared(step: Step, settings: Settings, meter: TokenMeter, idle: float) -> Step:
    """Clear, truncate or trim old results, if that frees at least `clear_at_least`
    tokens."""
    # The head stays word for word, so clearing begins after it.
    messages, enough = step.messages, settings.clear_at_least
    head = head_length(messages, settings.head_tokens) if settings.head_tokens else 0
    settled = max(min(step.settled, len(messages)), head)
    if settings.micro == "off" or (
        settings.clear_when == "cold" and idle <= settings.cache_ttl
    ):
        return replace(step, settled=settled)
    old = messages[settled:]
    weights = zip(meter.weights(messages)[settled:], old, strict=True) if enough else ()
    if enough > sum(tokens for tokens, message in weights if message["role"] == "user"):
        return replace(
            step, settled=settled
        )  # not even clearing them all would be enough
    new = _policy(old, settings)
    edge = settled + _edge(new, settings)
    changed = list(changes(old, new))
    if not changed:
        return replace(step, settled=edge)
    texts = replacements([old[i] for i in changed], [new[i] for i in changed])
    shorter = _showing(
        step, messages[:settled] + drop_thinking(new, changed[0]), texts, meter
    )
    freed = step.tokens_before - shorter.tokens_after
    if enough and freed < enough:
        return replace(step, settled=settled)
    return replace(shorter, settled=edge, tokens_cleared=freed)


def _showing(
    step: Step, view: list[Message], texts: Mapping[str, str], meter: TokenMeter
) -> Step:
    """Return the step with another view, in which some results have new texts."""
    return replace(
        step,
        messages=view,
        cleared=(*step.cleared, *(name for name in texts if name not in step.replaced)),
        replaced={**step.replaced, **texts},
        tokens_after=meter.estimate(view),
    )


def _policy(messages: Sequence[Message], settings: Settings) -> list[Message]:
    if settings.micro == "truncate":
        keep, most = settings.keep_messages, settings.max_result_chars
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


def _compacted(
    step: Step,
    settings: Settings,
    meter: TokenMeter,
    summarize: Summarize,
    archive: Archive,
) -> Step:
    """Put a summary in place of messages, if there are any worth replacing."""
    messages, names = step.messages, list[str]()

    def noted_archive() -> str:
        names.append(archive())
        return names[0]

    try:
        view = _summarised(step, settings, meter, summarize, noted_archive)
    except SummaryFailed as error:
        rested = isinstance(error, CompactionRests)
        failed = replace(
            step, compaction=Outcome.FAILED, failure=str(error), rested=rested
        )
        return replace(failed, archive="".join(names))
    if not names:
        return step
    head = summary_index(view) or 0
    tail = len(view) - head - 1
    return replace(
        _showing(step, view, replacements(messages, view), meter),
        compaction=Outcome(step.reason),
        kept=(*range(head), *range(len(messages) - tail, len(messages))),
        settled=head + 1,
        archive=names[0],
    )


def _cut(step: Step, settings: Settings, meter: TokenMeter) -> Step:
    """Trim unseen results of a context that the API has refused and no summary can make
    fit."""
    most = settings.context_window - settings.output_reserve - settings.buffer
    view = cut_unseen(step.messages, meter, most, recall=settings.recall)
    texts = replacements(step.messages, view)
    if texts and not step.compaction:
        step = replace(step, compaction=Outcome.FAILED, failure=_TOO_LARGE, rested=True)
    cut = _showing(step, view, texts, meter)
    return replace(cut, tokens_cleared=step.tokens_before - cut.tokens_after)


def _summarised(
    step: Step,
    settings: Settings,
    meter: TokenMeter,
    summarize: Summarize,
    archive: Archive,
) -> list[Message]:
    """Use head_and_tail if the settings have a head or a tail, auto_compact if not."""
    messages, focus = step.messages, step.focus
    if not settings.head_tokens and settings.tail_tokens is None:
        keep, note = settings.keep_exchanges, settings.reference_only
        return auto_compact(
            messages,
            summarize,
            archive,
            focus=focus,
            keep_exchanges=keep,
            reference_only=note,
        )
    # Unseen results are split only if the window has no room for them whole.
    budget = settings.context_window - settings.output_reserve - meter.base
    room = max(0, int(budget - settings.head_tokens - settings.summary_tokens))
    as_sent = meter.estimate(messages[: last_assistant(messages)])
    whole = as_sent + settings.summary_max_tokens <= settings.context_window
    return head_and_tail(
        messages,
        summarize,
        archive,
        settings,
        focus=focus,
        unseen_tokens=room,
        whole=whole,
    )
