"""Head and tail: both ends stay word for word, a hand-off stands for the middle (lesson 06).

As Hermes does it (003), without its slips: the first exchanges stay for good, the newest by tokens
and not by number, and what lies between is trimmed, then summarised. The summary is updated and
not begun anew, as long as what it replaces asks for, and says of itself that it is no instruction.
Pure but for the two callables of auto_compact. Not here: when to compact (pipeline), and which
model is asked (settings, agent).
"""

from collections.abc import Sequence

from agentlib.auto_compact import Archive, Summarize, accepted_message, is_worth_it, keep_from
from agentlib.estimation import message_tokens
from agentlib.messages import (
    SUMMARY_WANTED,
    Message,
    active_request,
    blocks,
    changes,
    drop_newest_thinking,
    drop_thinking,
    exchanges,
    is_summary,
)
from agentlib.micro_compact import trim_results

HEAD_EXCHANGES = 2
"""The head has so many exchanges at most, however small they are (003)."""
FOCUS_SHARE = 2 / 3
"""Share of the summary that a focus is given (Hermes asks for 60 to 70 %)."""
_MARKER = 100
"""Characters: more than the mark has that stands where a result was split."""

_PROMPT = f"""\
{SUMMARY_WANTED} What you write is a hand-off: it takes the place of everything above but the \
first exchanges, and the newest follow it word for word. State what is; give no orders. Do not \
call a tool. Answer under these headings:
## Task context
What is asked for, what was done and what was found, with names and values.
## Decisions resolved
Decisions, rules and constraints, in the words of whoever stated them.
## Active files
The files that matter, and what is known of each.
## Pending questions
What the user asked and nobody has answered.
## Remaining work
What is left to do.
Use at most {{tokens:,}} tokens."""
_UPDATE = (
    "\nAn earlier summary stands above, between its marks. Update it: carry over what still holds, "
    "add what is new, leave out what is settled."
)
_FOCUS = "\nFocus: {focus}\nGive {share:,} of these tokens to the focus, the rest briefly."


def head_and_tail(
    messages: Sequence[Message],
    summarize: Summarize,
    archive: Archive,
    *,
    focus: str = "",
    head_tokens: int = 4_000,
    tail_tokens: int | None = 16_000,
    unseen_tokens: int = 0,
    keep_exchanges: int = 1,
    summary_tokens: int = 5_000,
    trim_over: int = 2_000,
    trim_keep: int = 800,
    reference_only: bool = True,
) -> list[Message]:
    """Replace the middle by a summary of it; head, tail and the active request stay.

    `summarize` is given the head, the trimmed middle and, as the last message, the request for a
    hand-off of at most `summary_budget` tokens. `tail_tokens` None: the tail is the newest
    `keep_exchanges`, as in auto_compact. Nothing between the two: `messages` again, and neither
    callable is called. Raises SummaryFailed, with nothing changed.

    >>> roles = ("user", "assistant")
    >>> talk = [{"role": r, "content": f"{r} {n} " * 50} for n in (1, 2, 3) for r in roles]
    >>> new = head_and_tail([*talk, {"role": "user", "content": "Go on."}],
    ...     lambda asked, focus: "Two.", lambda: "t.jsonl", head_tokens=200, tail_tokens=300)
    >>> [message["content"][:11] for message in new if isinstance(message["content"], str)]
    ['user 1 user', 'assistant 3', 'Go on.']
    """
    head, middle, tail = parts(
        messages, head_tokens, tail_tokens, unseen_tokens, keep_exchanges, least=trim_keep
    )
    if not is_worth_it(middle):
        return list(messages)
    asked = _asked(head, middle, focus, summary_tokens, trim_over, trim_keep)
    name, summary = archive(), summarize(asked, focus)
    carried = None if active_request(tail) else active_request(middle)
    message = accepted_message(summary, name, carried, middle, reference_only=reference_only)
    return drop_thinking([*head, message, *tail], len(head))


def parts(
    messages: Sequence[Message],
    head_tokens: int,
    tail_tokens: int | None,
    unseen_tokens: int = 0,
    keep_exchanges: int = 1,
    *,
    least: int = 800,
) -> tuple[list[Message], list[Message], list[Message]]:
    """Head, middle and tail, the tail with its long results split where that was needed."""
    start = head_length(messages, head_tokens)
    rest = messages[start:]
    if tail_tokens is None:
        tail = list(rest[keep_from(rest, keep_exchanges) :])
    else:
        tail = tail_of(rest, tail_tokens, unseen_tokens, least=least)
    return list(messages[:start]), list(rest[: len(rest) - len(tail)]), tail


def summary_index(messages: Sequence[Message]) -> int | None:
    """Where the message of the last compaction stands; None where there was none."""
    found = (i for i, m in enumerate(messages) if any(map(is_summary, blocks(m)[:1])))
    return next(found, None)


def head_length(messages: Sequence[Message], head_tokens: int) -> int:
    """How many leading messages are the head: the first words, and one or two exchanges.

    As many as fit `head_tokens`, of those that the conversation has left behind, so that the head
    is the same at every turn; after a compaction, what stands before its summary.

    >>> user, assistant = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
    >>> talk = [user, *[assistant, user] * 5]
    >>> head_length(talk, 4_000), head_length(talk, 0), head_length(talk[:3], 4_000)
    (5, 0, 1)
    """
    if not head_tokens:
        return 0
    if (summary := summary_index(messages)) is not None:
        return summary
    first = exchanges(messages)[: HEAD_EXCHANGES + 1]
    fitting = (i for i, _ in first if _tokens(messages[:i]) <= head_tokens)
    return max(fitting, default=0)


def tail_of(
    messages: Sequence[Message], tail_tokens: int, unseen_tokens: int = 0, *, least: int = 800
) -> list[Message]:
    """The newest exchanges within `tail_tokens`; never none, and never a result without its call.

    Where one does not fit, its long results are split: their middle goes, as much as needed, with
    a mark that counts it. An older one keeps `least` characters at each end, or is left out with
    all before it. The newest, which the model has not seen yet, stays at any price; it is whole
    up to `unseen_tokens`, where that is more.

    >>> call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 9_000}
    >>> tail = tail_of([{"role": "user", "content": "Go."},
    ...     {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}], 500)
    >>> [message["role"] for message in tail], tail[1]["content"][0]["content"][:6]
    (['assistant', 'user'], 'xxxxxx')
    >>> "characters trimmed" in tail[1]["content"][0]["content"]
    True
    """
    tail, left = list[Message](), float(tail_tokens)
    for begin, stop in reversed(exchanges(messages)):
        room = left if tail else max(left, unseen_tokens)
        fitted = _fitted(messages[begin:stop], room, least if tail else 0)
        if tail and _tokens(fitted) > left:
            break
        tail = [*fitted, *tail]
        left -= _tokens(fitted)
    return tail


def _fitted(exchange: Sequence[Message], room: float, least: int) -> list[Message]:
    """The exchange with its long results split until it fits, or to `least` characters an end."""
    fitted, keep = list(exchange), int(1.5 * max(room, 0))  # two ends of it: about `room` tokens
    while _tokens(fitted) > room and keep >= least:
        fitted = trim_results(
            exchange, trim_over=2 * keep + _MARKER, trim_keep=keep, keep_unseen=False
        )
        keep = -1 if keep == 0 else keep * 3 // 4
    return fitted


def _asked(
    head: Sequence[Message],
    middle: Sequence[Message],
    focus: str,
    summary_tokens: int,
    trim_over: int,
    trim_keep: int,
) -> list[Message]:
    """What the summary is written from: the trimmed middle after the head, and the prompt."""
    trimmed = trim_results(middle, trim_over=trim_over, trim_keep=trim_keep, keep_unseen=False)
    shown, first = [*head, *trimmed], next(changes(middle, trimmed), None)
    if first is not None:
        shown = drop_newest_thinking(drop_thinking(shown, len(head) + first))
    tokens, update = summary_budget(_tokens(middle), summary_tokens), summary_index(middle)
    prompt = handoff_prompt(tokens, focus, update=update is not None)
    return [*shown, {"role": "user", "content": prompt}]


def handoff_prompt(tokens: int, focus: str = "", *, update: bool = False) -> str:
    """The request for a hand-off, or for an update of one; a focus gets two thirds of it."""
    prompt = _PROMPT.format(tokens=tokens) + (_UPDATE if update else "")
    share = max(1, int(FOCUS_SHARE * tokens))
    return prompt + (_FOCUS.format(focus=focus, share=share) if focus else "")


def summary_budget(replaced: float, most: int) -> int:
    """Tokens asked of a summary of `replaced` tokens: more for more, and ever less of it.

    A fifth of the first `2 x most` tokens, a twentieth of the next `4 x most`, a thirty-fifth of
    the next `14 x most`, and no more: with 5,000 the three figures that 003 gives, of which its
    own table makes a saw (D18).

    >>> [summary_budget(n, 5_000) for n in (10_000, 29_999, 30_000, 100_000, 2_000_000)]
    [2000, 2999, 3000, 5000, 5000]
    """
    first, second = min(replaced, 2 * most), min(max(0, replaced - 2 * most), 4 * most)
    third = min(max(0, replaced - 6 * most), 14 * most)
    return max(1, int(first / 5 + second / 20 + third / 35))


def _tokens(messages: Sequence[Message]) -> float:
    return sum(map(message_tokens, messages))
