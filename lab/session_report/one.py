"""Say what one session says: where its dollars went, what filled its window, what it
lost.

A prompt begins like the one before it, so the prompt cache should have that part. If it
was written once more, the cache had lost it, and the clock tells whether a pause
explains that.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from math import isnan, nan
from operator import is_

from agentlib.api.spending import Usage, priced, unpriced
from agentlib.auto_compact import summary_text
from agentlib.estimation import message_tokens, prompt_tokens
from agentlib.messages import PUT_BACK, Message, blocks
from agentlib.session.file import Prefix, Request
from agentlib.settings import MODEL
from agentlib.transcripts import Session
from session_report.bills import lifetime
from session_report.need import (
    Quote,
    Row,
    calls_of,
    file_of,
    lost_quotes,
    named_blocks,
    what_of,
)
from session_report.tools import files_of, kind_of
from session_report.weights import Weights

READS = "cache reads"
GROWTH = "new in the prompt"
ANSWERS = "answers"
FIRST = "first prompts"
PAUSE = "rewritten after a pause"
WARM = "rewritten without pause"
COMPACTION = "compactions"
BESIDE = "other calls"
NOT_COUNTED = "no token count"
"""Where dollars go.

FIRST: what was new in the first prompt. COMPACTION: the requests for summaries, if the
file has them, and what was new in the prompts after them. BESIDE: the prompts of
advisors, fallbacks and whatever else was asked for one response, and web searches, if
the file has their bills. NOT_COUNTED: responses whose file has no token count, so they
cost what nobody knows.
"""
_LEAST = 1_000
_SHARE = 0.05
_FALL = 0.97
"""Fewer tokens than this, or than this share of the prompt, count as new. A prompt that
is smaller than this share of the last one has lost something."""
_USUAL = {READS: 0.1, ANSWERS: 5.0}
"""What a token costs against one of the prompt, where only a sum is known."""
BASE = "system prompt and tools"
Sums = tuple[float, float]
"""Tokens and dollars."""
_NOTHING: Sums = (0.0, 0.0)

# -- where the dollars went ------------------------------------------------------------


def responses(session: Session) -> list[Row]:
    """Return a row for each response.

    `at` is when its request was sent, in seconds since the epoch, and `minutes` how
    long the cache had not been used. `why` says what was new in the prompt, and `gone`
    counts tokens that left the prompt while nothing in the file says so. `branch` is
    the number of the branch that a rewind left with the response on it. `key` is what a
    copy of the response has, too, and so are `request` and `opening`, if it has any.
    `origin` is what a copy in a fork has, even if its time is another. `spent` maps
    each place to its tokens and dollars, which are NaN if no price is known for the
    `model`, and `beside` has rows for calls of other models. `unpriced` counts what the
    dollars leave out. `is_estimated`: the file has no final count of the answer.
    `is_stated`: the dollars are the file's own.

    On paper: a prompt of 10,000 tokens is written to the cache. Ten minutes later the
    next one has 10,500 and reads nothing, so 500 tokens are new and 10,000 rewritten
    after a pause.
    """
    pairs = pairwise([None, *session.requests])
    life = lifetime(session)
    return [_response(session, life, turn, *pair) for turn, pair in enumerate(pairs, 1)]


def model_of(session: Session, usage: Usage) -> str:
    """Name the model that answered. Our own files don't say, and the offline model is
    `MODEL`."""
    return usage.get("model") or (MODEL if session.path else "")


def _response(
    session: Session,
    life: float,
    turn: int,
    before: Request | None,
    request: Request | None,
) -> Row:
    assert request
    usage = request.usage
    model = model_of(session, request.usage)
    start, old = (before.seen, prompt_tokens(before.usage)) if before else (-1, 0)
    repeats = [
        each
        for each in session.extras.repeats
        if before and before.at < each.at < request.at
    ]
    idle = request.at - max(each.at for each in [*repeats, before or request])
    compactions = [c for c in session.compactions if start < c.seen <= request.seen]
    calls: list[Usage] = usage.get("calls") or []
    own = [*(call for call in calls if call.get("type") == ""), usage]
    bills = [_bill([each], model) for each in own]
    prompt = prompt_tokens(usage)
    new = [_added(bill["written"], bill["uncached"]) for bill in bills]
    # Only the first call of a response can miss what the response before has written.
    first = prompt_tokens(own[0])
    missed = min(new[0][0], max(0, min(old, first) - bills[0]["read"][0]))
    share = missed / (new[0][0] or 1) * (missed > max(_LEAST, _SHARE * first))
    why = (PAUSE if idle > life else WARM) if share else GROWTH
    if before is None or any(
        start < place <= request.seen for place in session.extras.emptied
    ):
        why = FIRST
        share = 1
    elif any(compaction.message for compaction in compactions):
        why = COMPACTION
        share = 1
    places = (READS, GROWTH, ANSWERS, COMPACTION, BESIDE, why)
    spent: dict[str, Sums] = dict.fromkeys(places, _NOTHING)
    summaries = _bill((usage for c in compactions for usage in c.usage), model)
    again = _bill((each.usage for each in repeats), model)

    def spend(where: str, *sums: Sums) -> None:
        spent[where] = _added(spent[where], *sums)

    spend(READS, *(bill["read"] for bill in bills), *again.values())
    spend(ANSWERS, *(bill["answers"] for bill in bills))
    spend(COMPACTION, *summaries.values())
    spend(GROWTH, _part(1 - share, new[0]), *new[1:])
    spend(why, _part(share, new[0]))
    spend(BESIDE, *(bill["searches"] for bill in bills))
    beside = list[Row]()
    unknown = dict[str, int]()
    for call in (call for call in calls if call.get("type") != ""):
        name = call.get("model") or model
        where = COMPACTION if call.get("type") == "compaction" else BESIDE
        bill = _bill([call], name)
        answered = bill.pop("answers")
        asked = _added(*bill.values())
        for place, sums in ((where, asked), (ANSWERS, answered)):
            if name == model:
                spend(place, sums)
            elif sums[0]:
                beside.append({"model": name, "where": place, "sums": sums})
        _add_left_out(unknown, call, name)
    for each in own:
        _add_left_out(unknown, each, model)
    stated = usage.get("stated")
    is_unknown = any(isnan(usd) for _, usd in spent.values())
    is_stated = stated is not None and is_unknown
    if stated is not None and is_unknown:
        spent = _stated(spent, stated)
    branch, old_branch = (
        r.usage.get("branch", 0) if r else 0 for r in (request, before)
    )
    is_shrunk = 0 < prompt < _FALL * old and not usage.get("is_edited")
    is_shrunk = is_shrunk and why != COMPACTION and _goes_on(before, request)
    answer = sum(bill["answers"][0] for bill in bills)
    return {
        "turn": turn, "at": request.at, "model": model, "prompt": prompt, "why": why,
        "answer": int(answer), "minutes": idle / 60,
        "gone": old - prompt if is_shrunk and old_branch in (0, branch) else 0,
        "branch": branch, "key": _copy_key(request), "origin": usage.get("origin", ""),
        "request": usage.get("request", ""), "opening": _opening(request),
        "spent": {where: sums for where, sums in spent.items() if any(sums)},
        "beside": beside, "unpriced": unknown, "is_stated": is_stated,
        "is_estimated": bool(usage.get("is_estimated")),
    }  # fmt: skip


def _copy_key(request: Request) -> str:
    """Return what all copies of a response have: its id and the tokens of its prompt.

    Without an id the time stands for it. Some relays give every response one id, so
    `request` and `opening` tell apart what has the same key.
    """
    name = request.usage.get("id") or request.at
    return f"{name} {prompt_tokens(request.usage)}"


def _opening(request: Request) -> str:
    """Return the beginning of what a response says or calls, without its thinking,
    which some copies lack."""
    for block in blocks(request.reply):
        if text := block.get("id") or block.get("text"):
            return str(text)[:60]
    return ""


def _add_left_out(counts: dict[str, int], usage: Usage, model: str) -> None:
    """Count what the dollars of a usage leave out. Without a price it is all of it."""
    with suppress(ValueError):
        for what, number in unpriced(usage, model).items():
            counts[what] = counts.get(what, 0) + number


def _stated(spent: dict[str, Sums], usd: float) -> dict[str, Sums]:
    """Divide the dollars that a file states among the places, by usual prices."""
    weights = {where: sums[0] * _USUAL.get(where, 1.0) for where, sums in spent.items()}
    total = sum(weights.values()) or 1.0
    return {
        where: (sums[0], usd * weights[where] / total) for where, sums in spent.items()
    }


def _added(*sums: Sums) -> Sums:
    tokens, usd = _NOTHING
    for each in sums:
        tokens += each[0]
        usd += each[1]
    return tokens, usd


def _part(share: float, sums: Sums) -> Sums:
    return share * sums[0], share * sums[1]


def _bill(usages: Iterable[Usage], model: str) -> dict[str, Sums]:
    """Add up usages: for each way of billing its tokens and dollars, NaN without a
    price."""
    kinds = ("read", "written", "uncached", "answers", "searches")
    total: dict[str, Sums] = dict.fromkeys(kinds, _NOTHING)
    for usage in usages:
        try:
            bill = priced(usage, model)
        except ValueError:
            bill = {
                kind: (tokens, nan if tokens else 0.0)
                for kind, (tokens, _) in priced(usage, MODEL).items()
            }
        for kind, (tokens, usd) in bill.items():
            total[kind] = total[kind][0] + tokens, total[kind][1] + usd
    return total


def _goes_on(before: Request | None, request: Request) -> bool:
    """Tell whether the messages of the last request are all there, as they were."""
    old = before.context if before else []
    return len(old) <= len(request.context) and all(map(is_, old, request.context))


# -- what was in the window ------------------------------------------------------------


def window(session: Session) -> list[Row]:
    """Return what filled the window up to the first compaction: rows of what, tool and
    tokens.

    A text counts once for each request that sent it. System prompt and tools are one
    lump, because session files don't have them.
    """
    weights = Weights(session)
    calls = calls_of(session)
    first = next(
        (c.seen for c in session.compactions if c.message), len(session.history)
    )
    sent = [request.sent for request in session.requests if request.seen < first]
    rows: list[Row] = [{"what": BASE, "tool": "", "tokens": weights.base * len(sent)}]
    for message, times in _sent(sent):
        weight = weights.of(message)
        parts = blocks(message)
        guesses = [weight.guess]
        if len(parts) != 1:
            guesses = [message_tokens({**message, "content": [b]}) for b in parts]
        scale = times * weight.tokens / (sum(guesses) or 1)
        rows += [
            {**what_of(b, message, calls), "tokens": scale * guess}
            for b, guess in zip(parts, guesses, strict=True)
        ]
    return rows


def _sent(contexts: Iterable[Prefix]) -> Iterable[tuple[Message, int]]:
    """Return each message of some contexts, and in how many it is. Contexts that share
    a list are counted at once."""
    lists = dict[int, tuple[list[Message], Counter[int]]]()
    for sent in contexts:
        _, sizes = lists.setdefault(id(sent.growing), (sent.growing, Counter()))
        sizes[sent.size] += 1
    times = Counter[int]()
    messages = dict[int, Message]()
    for growing, sizes in lists.values():
        left = sizes.total()
        for place, message in enumerate(growing[: max(sizes)]):
            left -= sizes[place]
            messages.setdefault(id(message), message)
            times[id(message)] += left
    return ((message, times[key]) for key, message in messages.items())


def files_read(session: Session) -> list[Row]:
    """Return a row for each time that a tool for files read a file."""
    reads = (call for call in calls_of(session).values() if kind_of(call) == "read")
    return [{"file": file, "reads": 1} for call in reads for file in files_of(call)]


# -- what compactions lost -------------------------------------------------------------


def compactions(session: Session) -> list[Row]:
    """Return a row for each compaction, with its summary.

    `before` is the size that the file notes, or else that of the last prompt.
    """
    rows = list[Row]()
    seen = [request.seen for request in session.requests]
    sizes = [prompt_tokens(request.usage) for request in session.requests]
    for number, compaction in enumerate(session.compactions, 1):
        place = bisect_left(seen, compaction.seen)
        message = compaction.message
        summary = (
            summary_text(message).partition(PUT_BACK)[0].strip() if message else ""
        )
        rows.append({
            "compaction": number, "turn": place + 1, "trigger": compaction.trigger,
            "before": compaction.tokens_before or [0, *sizes[:place]][-1],
            "after": [*sizes[place:], compaction.tokens_after][0],
            "summary": summary or compaction.failure or "",
        })  # fmt: skip
    return rows


@lru_cache(maxsize=1)
def losses(session: Session) -> list[Row]:
    """Return what each compaction lost that was asked for again later, a row for each
    block.

    The rows of the last session are remembered.

    A reply that repeats 40 characters that only forgotten blocks have had asks for
    them, see `replay.need`. `turn` is when that happened first, `times` how often it
    did, and `quote` has the words. The agent may have found them again by other means.
    """
    made = [(c.seen, n) for n, c in enumerate(session.compactions, 1) if c.message]
    found = list[tuple[int, int, Quote]]()
    for turn, request in enumerate(session.requests if made else (), 1):
        lost_here = lost_quotes(session, turn, request.context, has_all=False)
        found += ((turn, request.seen, q) for quotes in lost_here for q in quotes)
    places = _places(session, {quote.source for _, _, quote in found})
    lost = dict[int, Row]()
    for turn, place, quote in found:
        source, what = places[quote.source]
        by = next((n for seen, n in made if source < seen <= place), None)
        if by:  # or else it was cleared
            row = {"compaction": by, **what, "tokens": quote.tokens, "turn": turn}
            row["times"] = 0
            row["quote"] = " ".join(quote.text.replace("\0", " ").split())
            lost.setdefault(quote.source, row)["times"] += 1
    return list(lost.values())


def _places(session: Session, sources: set[int]) -> dict[int, tuple[int, Row]]:
    """Return the place of some blocks in the history, and what they are, by their
    ids."""
    calls = calls_of(session) if sources else {}
    return {
        key: (place, what_of(block, message, calls) | {"file": file_of(block, calls)})
        for place, message in enumerate(session.history if sources else ())
        for key, block in named_blocks(message)
        if key in sources
    }
