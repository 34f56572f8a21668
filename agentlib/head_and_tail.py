"""Head and tail: keep both ends word for word, put a hand-off in place of the middle
(lesson 06).

Hermes does it this way. The first exchanges stay for good. The newest stay by tokens,
not by number. What lies between is trimmed, then summarised. The next compaction
updates that summary instead of writing a new one, and the summary says that it is no
instruction.
"""

from collections.abc import Collection, Sequence

from agentlib import auto_compact as auto
from agentlib import messages as msg
from agentlib.estimation import message_tokens
from agentlib.messages import Message
from agentlib.micro_compact import trim_results
from agentlib.settings import Settings
from agentlib.step import answered, in_place_of

HEAD_EXCHANGES = 2
"""The most exchanges in a head, however small they are (Hermes)."""
FOCUS_SHARE = 2 / 3
"""Share of the summary that a focus is given (Hermes asks for 60 to 70 %)."""
_MARKER = 100
"""Characters: more than the mark in a trimmed result has."""

_PROMPT = f"""\
{msg.SUMMARY_WANTED} What you write is a hand-off: it takes the place of everything above but the \
first exchanges{{newest}} word for word. State what is; give no orders. Do not \
call a tool. Answer under these headings:
## Task context
What is asked for, what was done and what was found, with names and values.
## Decisions resolved
Decisions, rules and constraints, in the words of whoever stated them.
## Active files
The files that matter, and what is known of each.
## Earlier questions
What the user asked and nobody has answered.
## Progress notes
How far it has got.
Use at most {{tokens:,}} tokens."""
_FOLLOW = ", and the newest follow it"
_UPDATE = (
    "\nAn earlier summary stands above, between its marks. Update it: carry over what still holds, "
    "add what is new, leave out what is settled."
)
_FOCUS = (
    "\nFocus: {focus}\nGive {share:,} of these tokens to the focus, the rest briefly."
)


def head_and_tail(
    messages: Sequence[Message],
    summarize: auto.Summarize,
    archive: auto.Archive,
    settings: Settings,
    *,
    focus: str = "",
    unseen_tokens: int = 0,
    whole: bool = True,
    persons: Collection[str] | None = None,
) -> list[Message]:
    """Let `auto_compact` replace the middle by a hand-off. Head, tail and the person's
    words that still wait stay (`messages.waiting`, with `persons`).

    `summarize` is given the prompt that was sent last, so that it is read from the
    prompt cache, and behind it a request for a hand-off of at most `summary_budget`
    tokens, which names what stays. If that isn't to be sent `whole`, or if the middle
    has results to trim, it is given the head and the trimmed middle. If there is no
    middle, return the messages and call neither callable. Raises SummaryFailed, with
    nothing changed.

    >>> roles = ("user", "assistant")
    >>> talk = [{"role": r, "content": f"{r} {n} " * 50} for n in (1, 2, 3) for r in roles]
    >>> view = head_and_tail([*talk, {"role": "user", "content": "Go on."}],
    ...     lambda messages, focus: "Two.", lambda: "t.jsonl",
    ...     Settings(head_tokens=200, tail_tokens=300))
    >>> [message["content"][:11] for message in view if isinstance(message["content"], str)]
    ['user 1 user', 'assistant 3', 'Go on.']
    """
    head, middle, tail = parts(messages, settings, unseen_tokens)
    tokens = summary_budget(_tokens(middle), settings.summary_tokens)
    shown = _shown(head, middle, settings)
    update = summary_index(middle) is not None
    as_sent = messages[: msg.last_assistant(messages)]
    newest = len(as_sent) - len(shown) if whole and shown == [*head, *middle] else 0
    wish = handoff_prompt(tokens, focus, update=update, newest=newest)
    above = as_sent if newest > 0 else shown
    return auto.auto_compact(
        messages,
        summarize,
        archive,
        focus=focus,
        head=head,
        tail=tail,
        source=[*above, {"role": "user", "content": wish}],
        reference_only=settings.reference_only,
        persons=persons,
    )


def parts(
    messages: Sequence[Message], settings: Settings, unseen_tokens: int = 0
) -> tuple[list[Message], list[Message], list[Message]]:
    """Return head, middle and tail, with the tail's long results split if they must be.

    With `tail_tokens` None the tail is the newest `keep_exchanges`, as in auto_compact.
    """
    start = head_length(messages, settings.head_tokens)
    rest = list(messages[start:])
    if settings.tail_tokens is None:
        tail = rest[auto.keep_from(rest, settings.keep_exchanges) :]
    else:
        tail = tail_of(
            rest, settings.tail_tokens, unseen_tokens, least=settings.trim_keep
        )
    return list(messages[:start]), rest[: len(rest) - len(tail)], tail


def summary_index(messages: Sequence[Message]) -> int | None:
    """Return the index of the last compaction's message, None if there was no
    compaction."""
    summaries = (
        i for i, m in enumerate(messages) if any(map(msg.is_summary, msg.blocks(m)[:1]))
    )
    return next(summaries, None)


def head_length(messages: Sequence[Message], head_tokens: int) -> int:
    """Return how many leading messages are the head: the first words, and one or two
    exchanges.

    The head is what fits `head_tokens` of the exchanges that the conversation has left
    behind, so it is the same at every turn. After a compaction it is what comes before
    the summary.

    >>> user, assistant = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
    >>> talk = [user, *[assistant, user] * 5]
    >>> head_length(talk, 4_000), head_length(talk, 0), head_length(talk[:3], 4_000)
    (5, 0, 1)
    """
    if not head_tokens:
        return 0
    first = msg.exchanges(messages)[: HEAD_EXCHANGES + 1]
    # A summary stands right behind the head, so the rest isn't searched for one.
    if (
        summary := summary_index(messages[: first[-1][1]] if first else messages)
    ) is not None:
        return summary
    return max((i for i, _ in first if _tokens(messages[:i]) <= head_tokens), default=0)


def tail_of(
    messages: Sequence[Message],
    tail_tokens: int,
    unseen_tokens: int = 0,
    *,
    least: int = 800,
) -> list[Message]:
    """Return the newest exchanges within `tail_tokens`: at least one, and none without
    its call.

    If an exchange doesn't fit, its long results lose as much of their middle as needed,
    with a mark that counts it. An older exchange keeps `least` characters at each end,
    or is left out with all before it. The newest always stays, because the model hasn't
    seen its results yet. It is whole up to `unseen_tokens`, if that is more.

    >>> call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 9_000}
    >>> tail = tail_of([{"role": "user", "content": "Go."},
    ...     {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}], 500)
    >>> [message["role"] for message in tail], tail[1]["content"][0]["content"][:6]
    (['assistant', 'user'], 'xxxxxx')
    >>> "characters trimmed" in tail[1]["content"][0]["content"]
    True
    """
    tail = list[Message]()
    room = float(tail_tokens)
    for start, stop in reversed(msg.exchanges(messages)):
        most, keep = (room, least) if tail else (max(room, unseen_tokens), 0)
        exchange = fitted(messages[start:stop], most, keep)
        room -= _tokens(exchange)
        if tail and room < 0:
            break
        tail = [*exchange, *tail]
    return tail


def fitted(exchange: Sequence[Message], room: float, least: int = 0) -> list[Message]:
    """Trim long results until `room` tokens hold the messages, or `least` characters
    are left.

    That many stay at each end of a result, seen or unseen.
    """
    view, keep = (
        list(exchange),
        int(1.5 * max(room, 0)),
    )  # two such ends: about `room` tokens
    while _tokens(view) > room and keep >= least:
        over = 2 * keep + _MARKER
        view = trim_results(exchange, trim_over=over, trim_keep=keep, keep_unseen=False)
        keep = keep * 3 // 4 if keep else -1
    return view


def _shown(
    head: Sequence[Message], middle: Sequence[Message], settings: Settings
) -> list[Message]:
    """Return what the summary is written from: the head, then the middle, trimmed."""
    over = settings.trim_over
    keep = settings.trim_keep
    trimmed = trim_results(middle, trim_over=over, trim_keep=keep, keep_unseen=False)
    if next(msg.changes(middle, trimmed), None) is None:
        return [*head, *middle]
    # The middle's newest reply has its answers.
    return answered(in_place_of([*head, *middle], [*head, *trimmed]))


def handoff_prompt(
    tokens: int, focus: str = "", *, update: bool = False, newest: int = 0
) -> str:
    """Write the request for a hand-off, or for an update of one. A focus gets two
    thirds of it.

    `newest`: how many of the messages above it stay.
    """
    stay = msg.STAY.format(newest) if newest > 0 else _FOLLOW
    prompt = _PROMPT.format(tokens=tokens, newest=stay) + (_UPDATE if update else "")
    share = max(1, int(FOCUS_SHARE * tokens))
    return prompt + (_FOCUS.format(focus=focus, share=share) if focus else "")


def summary_budget(replaced: float, most: int) -> int:
    """Return how many tokens to ask for, to summarise `replaced` tokens: at most
    `most`.

    A fifth of the first `2 x most` tokens, a twentieth of the next `4 x most`, a
    thirty-fifth of the next `14 x most`, and no more. With 5,000 that meets the three
    figures that Hermes states.

    >>> [summary_budget(n, 5_000) for n in (10_000, 29_999, 30_000, 100_000, 2_000_000)]
    [2000, 2999, 3000, 5000, 5000]
    """
    first = min(replaced, 2 * most)
    second = min(max(0, replaced - 2 * most), 4 * most)
    third = min(max(0, replaced - 6 * most), 14 * most)
    return max(1, int(first / 5 + second / 20 + third / 35))


def _tokens(messages: Sequence[Message]) -> float:
    return sum(map(message_tokens, messages))
