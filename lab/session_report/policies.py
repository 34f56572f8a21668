"""Policies on recorded sessions: what each would have cost, and what it would have
forgotten.

The replay is open loop. The recorded replies stay as they are, so a policy is charged
for what they quote and it has forgotten, as if that had been read again. Only words
that are quoted count.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentlib.api.spending import MILLION, priced, rates
from agentlib.messages import Message, blocks, is_summary
from agentlib.pipeline import ContextEngine, Now, compact
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.transcripts import Session
from offline_api.cache import LONG
from session_report.bills import KINDS, bills, lasting, lifetime
from session_report.frames import Shown
from session_report.playback import replay, table

if TYPE_CHECKING:
    from pandas import DataFrame

Policy = Callable[[list[Message], float], list[Message]]
"""(messages, seconds since the prompt cache was last used) -> the messages to send."""
KEEPS_ALL = Settings(context_window=1_000_000, enabled=False)
"""Forget nothing, in a window with room for it. What policies are compared with."""


def engine(policy: Policy) -> ContextEngine:
    """Make an engine of a policy. A summary that it puts in is billed as a request.

    A cache marker follows the last message that the policy has edited, as after a
    clearing.
    """

    def step(now: Now) -> Step:
        view = policy(list(now.messages), now.idle)
        old = set(map(id, now.messages))
        edited = [place for place, message in enumerate(view) if id(message) not in old]
        places = (i for i in edited if any(map(is_summary, blocks(view[i]))))
        settled = edited[-1] + 1 if edited else min(now.settled, len(view))
        place = next(places, None)
        if place is None:
            return Shown(view=view, settled=settled)
        others = tuple(i for i in range(len(view)) if i != place)
        return Shown(view=view, settled=settled, kept=others, summary=view[place])

    return step


def judge(
    sessions: Sequence[Session],
    settings: Settings,
    model: str,
    engine: ContextEngine = compact,
) -> "DataFrame":
    """Replay each session and return a row for it, with simulated bills, so that
    policies compare.

    `tokens` of all prompts, `dollars`, and `need`: the texts and calls in 100 turns
    that quote what was forgotten. The dollars have the price of reading that again: one
    more request, which reads the prompt from the cache and writes what comes back.
    `read`, `written`, `uncached`, `answers`: the tokens that the dollars are for.
    """
    from pandas import DataFrame

    rate = rates(model)
    rows = list[dict[str, float]]()
    for session in sessions:
        ttl = lifetime(session)
        writing = rate["cache_write_1h" if ttl == LONG else "cache_write_5m"]
        frames = replay(session, lasting(settings, ttl), engine=engine)
        turns = table(frames)
        billed = bills(session, frames)
        again = {"written": turns["reread"].sum()}
        again["read"] = turns["tokens"][turns["need"] > 0].sum()
        paid = [priced(usage, model) for bill in billed for usage in bill.usages]
        kinds = {
            kind: again.get(kind, 0) + sum(each[kind][0] for each in paid)
            for kind in KINDS
        }
        spent = sum(dollars for each in paid for _, dollars in each.values())
        spent += (
            writing * again["written"] + rate["cache_read"] * again["read"]
        ) / MILLION
        need = 100 * turns["need"].mean()
        tokens = turns["tokens"].sum()
        rows.append({"tokens": tokens, "dollars": spent, "need": need, **kinds})
    return DataFrame(rows)
