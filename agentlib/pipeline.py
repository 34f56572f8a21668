"""The layers in order: the one place where they meet. The loop and the lab call the same function.

Pure but for `summarize` and `archive`. What it decides is all in the `Step` it returns, which is
what the session file records. Not here: the request itself (loop) and its price (lab.cost).
"""

from collections.abc import Sequence
from dataclasses import replace

from agentlib.auto_compact import Archive, Summarize, SummaryFailed, auto_compact
from agentlib.estimation import TokenMeter
from agentlib.head_and_tail import head_and_tail, head_length, summary_index
from agentlib.messages import Message, changes, drop_thinking, last_assistant, of_type
from agentlib.micro_compact import micro_compact, replacements, trim_results, truncate_results
from agentlib.recovery import CompactionRests, emergency, is_emergency, truncating
from agentlib.settings import Settings
from agentlib.step import Outcome, Reason, Step


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
    """Micro-compact, then auto-compact where the estimate is over the threshold, or when asked to.

    `settled`: the last step's; `idle`: seconds since the last request. A summary that fails leaves
    what micro-compact made; in an emergency, what was said cut to size. `failure` says why.
    """
    before = meter.estimate(messages)
    if not settings.enabled:
        return Step(messages=list(messages), tokens_before=before, tokens_after=before)
    if urgent := is_emergency(before, settings, reason):
        settings = emergency(settings)
    # The head stays word for word: clearing begins after it.
    settled = max(min(settled, len(messages)), head_length(messages, settings.head_tokens))
    view, edge = _micro(messages, settings, meter, settled, idle, before)
    step = replace(_cleared(messages, view, settled, meter, before), settled=edge)
    over = step.tokens_after > settings.threshold_tokens
    if reason == "auto" and not (settings.auto and over):
        return step
    done = _compacted(step, settings, meter, summarize, archive, reason, focus)
    return _at_any_cost(step, done, settings, meter) if urgent and done.failure else done


def _at_any_cost(step: Step, failed: Step, settings: Settings, meter: TokenMeter) -> Step:
    """The compaction that failed, done without a model."""
    why, archive = str(failed.failure), str(failed.archive)
    cut = truncating(why, settings.summary_tokens)
    done = _compacted(step, settings, meter, cut, lambda: archive, failed.reason, failed.focus)
    if done.compaction == Outcome.FAILED:
        return failed
    return replace(done, failure=why, rested=failed.rested)


def _cleared(
    messages: Sequence[Message],
    view: Sequence[Message],
    settled: int,
    meter: TokenMeter,
    before: int,
) -> Step:
    """What micro-compact did, told."""
    replaced = replacements(messages, view, settled) if view is not messages else {}
    shown = _rethought(messages, view, settled)
    after = meter.estimate(shown) if replaced else before
    return Step(
        messages=shown,
        cleared=tuple(replaced),
        replaced=replaced,
        tokens_before=before,
        tokens_cleared=before - after,
        tokens_after=after,
    )


def _micro(
    messages: Sequence[Message],
    settings: Settings,
    meter: TokenMeter,
    settled: int,
    idle: float,
    before: int,
) -> tuple[Sequence[Message], int]:
    """The view after micro-compact, or `messages` themselves; its settled edge."""
    if settings.micro == "off" or (settings.clear_when == "cold" and idle <= settings.cache_ttl):
        return messages, settled
    if 0 < settings.clear_at_least > meter.user_tokens(messages[settled:]):
        return messages, settled  # not even clearing them all would be enough
    view = [*messages[:settled], *_policy(messages[settled:], settings)]
    changed = any(True for _ in changes(messages, view, settled))
    enough = settings.clear_at_least
    if changed and enough and before - meter.estimate(view) < enough:
        return messages, settled
    return (view if changed else messages), _edge(view, settings, settled)


def _policy(messages: Sequence[Message], settings: Settings) -> list[Message]:
    if settings.micro == "truncate":
        return truncate_results(
            messages,
            keep_messages=settings.keep_messages,
            max_result_chars=settings.max_result_chars,
        )
    if settings.micro == "trim":
        return trim_results(messages, trim_over=settings.trim_over, trim_keep=settings.trim_keep)
    return micro_compact(
        messages,
        keep_recent=settings.keep_recent,
        min_chars=settings.min_chars,
        keep_tools=settings.keep_tools,
        recall=settings.recall,
    )


def _edge(view: Sequence[Message], settings: Settings, settled: int) -> int:
    """Where the exchange of the oldest result begins that may still change."""
    recent, edge = settings.keep_recent, len(view)
    newest = last_assistant(view)
    if settings.micro == "truncate":
        edge = max(0, len(view) - settings.keep_messages)
    elif settings.micro == "clear":
        while edge > settled and recent > 0:
            edge -= 1
            recent -= len(of_type(view[edge], "tool_result"))
    edge = min(edge, newest if newest >= 0 else 0)
    # An edge inside an exchange would part a result from the call that names its tool.
    while settled < edge < len(view) and not _begins_exchange(view, edge):
        edge -= 1
    return max(settled, edge)


def _begins_exchange(view: Sequence[Message], i: int) -> bool:
    return view[i]["role"] == "assistant" and view[i - 1]["role"] == "user"


def _rethought(messages: Sequence[Message], view: Sequence[Message], settled: int) -> list[Message]:
    """The view without the thinking that follows its first change."""
    if view is messages:
        return list(messages)
    return drop_thinking(view, next(changes(messages, view, settled)))


def _compacted(
    step: Step,
    settings: Settings,
    meter: TokenMeter,
    summarize: Summarize,
    archive: Archive,
    reason: Reason,
    focus: str,
) -> Step:
    saved: list[str] = []

    def noted_archive() -> str:
        saved.append(archive())
        return saved[0]

    step = replace(step, reason=reason, focus=focus)
    try:
        view = _replaced(step.messages, settings, meter, summarize, noted_archive, focus)
    except SummaryFailed as failure:
        rested = isinstance(failure, CompactionRests)
        noted = replace(step, failure=str(failure), rested=rested, archive="".join(saved))
        return replace(noted, compaction=Outcome.FAILED)
    if not saved:
        return step
    head = summary_index(view) or 0
    split = _split(step.messages, view)
    return replace(
        step,
        messages=view,
        cleared=(*step.cleared, *(name for name in split if name not in step.replaced)),
        replaced={**step.replaced, **split},
        compaction=Outcome(reason),
        kept=(
            *range(head),
            *range(len(step.messages) - len(view) + head + 1, len(step.messages)),
        ),
        settled=head + 1,
        archive=saved[0],
        tokens_after=meter.estimate(view),
    )


def _replaced(
    messages: Sequence[Message],
    settings: Settings,
    meter: TokenMeter,
    summarize: Summarize,
    archive: Archive,
    focus: str,
) -> list[Message]:
    """The view with a summary in it: by head and tail where the settings have either."""
    if not settings.head_tokens and settings.tail_tokens is None:
        return auto_compact(
            messages, summarize, archive, focus=focus, keep_exchanges=settings.keep_exchanges
        )
    # What nobody has seen is split only where the window has no room for it as it is.
    budget = settings.context_window - settings.output_reserve - meter.base
    room = budget - settings.head_tokens - settings.summary_tokens
    return head_and_tail(
        messages,
        summarize,
        archive,
        focus=focus,
        head_tokens=settings.head_tokens,
        tail_tokens=settings.tail_tokens,
        unseen_tokens=max(0, int(room)),
        keep_exchanges=settings.keep_exchanges,
        summary_tokens=settings.summary_tokens,
        trim_over=settings.trim_over,
        trim_keep=settings.trim_keep,
        reference_only=settings.reference_only,
    )


def _split(before: Sequence[Message], view: Sequence[Message]) -> dict[str, str]:
    """The results in the view that a compaction has split: tool_use id -> what is left of it."""
    whole = {r["tool_use_id"]: r for m in before for r in of_type(m, "tool_result")}
    return {
        r["tool_use_id"]: r["content"]
        for m in view
        for r in of_type(m, "tool_result")
        if r is not whole[r["tool_use_id"]]
    }
