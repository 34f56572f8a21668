"""Policies on recorded sessions: what each would have cost, and what it would have forgotten.

The replay is open loop. The recorded replies stay as they are, so a policy is charged for what they
quote and it has forgotten, as if that had been read again. Only words that are quoted count.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agentlib.lab.replay import replay
from agentlib.lab.replay.bills import bills
from agentlib.lab.replay.need import needs
from agentlib.lab.spending import MILLION, dollars, rates
from agentlib.messages import Message, blocks, is_summary
from agentlib.pipeline import compact
from agentlib.settings import Settings
from agentlib.step import ContextEngine, Outcome, Step
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

Policy = Callable[[list[Message], float], list[Message]]
"""(messages, seconds since the prompt cache was last used) -> the messages to send."""
KEEPS_ALL = Settings(context_window=1_000_000, enabled=False)
"""Forget nothing, in a window with room for it. What policies are compared with."""


def engine(policy: Policy) -> ContextEngine:
    """Make an engine of a policy. A summary that it puts in is billed as a request."""

    def step(messages: Sequence[Message], settings: Settings, **given: Any) -> Step:
        view, old = policy(list(messages), given["idle"]), set(map(id, messages))
        is_new = any(is_summary(b) for m in view if id(m) not in old for b in blocks(m))
        return Step(messages=view, compaction=Outcome.AUTO if is_new else None)

    return step


def judge(
    sessions: Sequence[Session], settings: Settings, model: str, engine: ContextEngine = compact
) -> "DataFrame":
    """Replay each session and return a row for it, with simulated bills, so that policies compare.

    `tokens` of all prompts, `dollars`, and `need`: the texts and calls in 100 turns that quote what
    was forgotten. The dollars have the price of reading that again: one more request, which reads
    the prompt from the cache and writes what comes back.
    """
    from pandas import DataFrame

    rate, rows = rates(model), list[dict[str, float]]()
    for session in sessions:
        frames = replay(session, settings, engine=engine)
        usages = [u for b in bills(session, frames, simulate=True) for u in b.usages]
        spent, need = sum(dollars(usage, model) for usage in usages), needs(frames)
        for frame, each in zip(frames, need, strict=True):
            again = rate["cache_write_5m"] * each.tokens
            again += rate["cache_read"] * frame.prompt_tokens * bool(each.outputs)
            spent += again / MILLION
        outputs = 100 * sum(each.outputs for each in need) / len(frames)
        tokens = sum(frame.prompt_tokens for frame in frames)
        rows.append({"tokens": tokens, "dollars": spent, "need": outputs})
    return DataFrame(rows)
