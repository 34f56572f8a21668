"""Recovery: ask with less, go on without a summary (lesson 07).

A failed compaction loses no message and never stops a session that could go on. Each
cure is a function around `Summarize`, or one from settings to settings, so they combine
freely and any engine can have them. After three failures compaction rests: see
`breaker`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import shorten

from agentlib import messages as msg
from agentlib.auto_compact import Summarize, SummaryTooLong, summary_text
from agentlib.estimation import (
    TokenMeter,
    estimate_text,
    leading_lines,
    message_tokens,
)
from agentlib.head_and_tail import fitted
from agentlib.messages import Message
from agentlib.micro_compact import replacements, trim_results
from agentlib.settings import Settings
from agentlib.step import Step, in_place_of, stand_for

_LEFT_OUT = msg.LEFT_OUT + "the oldest exchanges, {} in number.]"
_REQUEST = "- [request] "
"""Opens a line with the person's words in notes that no model wrote."""
_CUT = "[No summary: {}. What was said stands here instead, cut to size.]"
_GAP = "[… {:,} lines left out …]"
_REASON = 160
"""Characters of the reason in `_CUT`: an API's explanation can be longer than all the
rest."""
_LESS = 5
"""A request refused for its size is made again without the oldest 1/5 of its
exchanges."""


# -- ask again with less ---------------------------------------------------------------


def with_less(
    summarize: Summarize,
    times: int = 3,
    fits: Callable[[Sequence[Message]], bool] = lambda messages: True,
) -> Summarize:
    """Ask again with less if the API refuses the request for its size.

    It is asked again at most `times` times (s24: 3), each time without the oldest fifth
    of the exchanges. If even the estimate says that the messages don't fit, their long
    results lose their middle first, then exchanges go until the rest fits. Other
    failures pass through.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        for _ in range(times):
            try:
                return summarize(messages, focus)
            except SummaryTooLong:
                shorter = (
                    without_oldest(messages) if fits(messages) else _trimmed(messages)
                )
                while (
                    not fits(shorter) and (fewer := without_oldest(shorter)) != shorter
                ):
                    shorter = fewer
                if shorter == messages:
                    raise
                messages = shorter
        return summarize(messages, focus)

    return ask


def _trimmed(messages: Sequence[Message]) -> list[Message]:
    return in_place_of(messages, trim_results(messages, keep_unseen=False))


def without_oldest(messages: Sequence[Message]) -> list[Message]:
    """Replace the oldest fifth of the exchanges, at least one of two, by a note.

    Messages before the first exchange stay, such as the task or an earlier summary. So
    does a summary that follows a head. The person's words that still wait stand behind
    the note (`step.stand_for`).

    >>> ask, yes = {"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Yes."}
    >>> fewer = without_oldest([ask, yes, ask, yes, ask])
    >>> fewer[0]["content"], [message["content"] for message in fewer[1:]]
    ('Go on.', ['[Left out, to fit: the oldest exchanges, 1 in number.]', 'Yes.', 'Go on.'])
    """
    starts = [start for start, _ in msg.exchanges(messages)]
    if len(starts) < 2:
        return list(messages)
    fewer = max(1, len(starts) // _LESS)
    # After a head, the summary is in the head's last exchange.
    kept = [
        i
        for i, message in enumerate(messages)
        if not starts[0] <= i < starts[fewer]
        or any(map(msg.is_summary, msg.blocks(message)))
    ]
    note: Message = {"role": "user", "content": _LEFT_OUT.format(fewer)}
    step = Step(kept=tuple(kept), summary=stand_for(messages, kept, note))
    return step.applied(messages)


# -- go on without a model -------------------------------------------------------------


def emergency(settings: Settings) -> Settings:
    """Return the settings of an emergency: clear all that can be, keep half the tail
    (Hermes).

    >>> urgent = emergency(Settings(clear_at_least=5_000, clear_when="cold", keep_exchanges=3))
    >>> urgent.clear_at_least, urgent.clear_when, urgent.keep_exchanges
    (0, 'always', 1)
    """
    tail = settings.tail_tokens
    keep = settings.keep_exchanges // 2
    half = None if tail is None else tail // 2
    urgent = replace(settings, clear_at_least=0, clear_when="always")
    return replace(urgent, keep_exchanges=keep, tail_tokens=half)


def cut_unseen(
    messages: Sequence[Message], meter: TokenMeter, most: int, *, recall: bool = False
) -> list[Message]:
    """Trim unseen results, so that a prompt that `meter` takes for larger has `most`
    tokens.

    This is for a prompt that the API refused for its size, if nothing else can cure
    that. The history keeps the results, and the tool `recall` returns them in pages.
    With `recall` the cut results say so. A person's words and pictures are never cut,
    so a prompt can still be too large.
    """
    newest = msg.last_assistant(messages) + 1
    over = meter.estimate(messages) - most
    unseen = messages[newest:]
    weight = sum(meter.weights(messages)[newest:])
    if over <= 0 or not weight:
        return list(messages)
    # The refusal has shown how far off the guesses are for just these results.
    room = sum(map(message_tokens, unseen)) * (1 - over / weight)
    cut = replacements(unseen, fitted(unseen, room))
    if recall:
        mark = "characters trimmed; recall {} returns them ...]"
        cut = {
            n: t.replace("characters trimmed ...]", mark.format(n))
            for n, t in cut.items()
        }
    return msg.with_results(messages, cut)


def truncating(failure: str, tokens: int) -> Summarize:
    """Make a `summarize` that asks no model: it notes why, and cuts the middle out
    (Hermes).

    The result has at most `tokens`, and a quarter of the messages' tokens. Tool results
    are left out.
    """

    def cut(messages: Sequence[Message], focus: str) -> str:
        room = min(tokens, sum(map(message_tokens, msg.summary_source(messages))) / 4)
        reason = shorten(failure, _REASON, placeholder="…")
        return "\n".join(
            [_CUT.format(reason), *_middle_cut(spoken_lines(messages), room)]
        )

    return cut


def _middle_cut(lines: Sequence[str], tokens: float) -> list[str]:
    """Give a quarter of the room to the oldest lines, the rest to the newest."""
    if tokens_of(lines) <= tokens:
        return list(lines)
    head = leading_lines(lines, tokens / 4)
    tail = leading_lines(lines[::-1], tokens - tokens_of(head))[::-1]
    return [*head, _GAP.format(len(lines) - len(head) - len(tail)), *tail]


def spoken_lines(messages: Sequence[Message]) -> list[str]:
    """Return the lines of earlier summaries, of the person's words and of the agent's
    own."""
    texts: list[str] = []
    for message in msg.summary_source(messages):
        if any(msg.is_summary(block) for block in msg.blocks(message)):
            texts.append(summary_text(message).partition(msg.PUT_BACK)[0].strip())
        words = msg.words(message)
        if message["role"] == "user" and words:
            words = [f"{_REQUEST}{' '.join(' '.join(words).split())}"]
        texts += words
    return [
        line
        for text in dict.fromkeys(texts)
        for line in text.splitlines()
        if line.strip()
    ]


def said_once(summary: Message, settings: Settings) -> Message:
    """Return a summary's message without the lines with the person's words that stand
    whole in the block beside it, if no model wrote it: in the agent's own notes, or in
    messages cut to size."""
    first, *others = msg.blocks(summary)
    is_cut = summary_text(summary).startswith(_CUT.partition("{")[0])
    if not settings.session_memory and not is_cut:
        return summary
    there = {f"{_REQUEST}{text}" for block in others for text in msg.said_in(block)}
    lines = [line for line in first["text"].split("\n") if line not in there]
    return {**summary, "content": [{**first, "text": "\n".join(lines)}, *others]}


def tokens_of(lines: Sequence[str]) -> float:
    return estimate_text("\n".join([*lines, ""]), "summary")
