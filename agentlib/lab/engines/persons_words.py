"""Keep the person's newest 20,000 tokens word for word, and a summary. Nothing else stays.

Who: codex, since its first compaction.
Source: https://github.com/openai/codex, `codex-rs/core/src/compact.rs`.
Good for: rules. What the person said is never put in other words. What the agent read and did has
only the summary, so it reads files again.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from agentlib import pipeline
from agentlib.auto_compact import summary_message, summary_text
from agentlib.estimation import message_tokens
from agentlib.lab.engines.common import only_words, scaled
from agentlib.messages import Message, active_request, drop_thinking
from agentlib.session_file import summary_place
from agentlib.settings import Settings
from agentlib.step import Step

MOST = 20_000


def compact(messages: Sequence[Message], settings: Settings, **given: Any) -> Step:
    """Compact to a summary alone, then keep the person's older messages beside it."""
    alone = replace(settings, micro="off", head_tokens=0, tail_tokens=None, keep_exchanges=0)
    step = pipeline.compact(messages, alone, **given)
    if not step.archive or step.compaction == "failed":
        return step
    newest = min(step.kept, default=len(messages))
    said = [i for i, message in enumerate(messages[:newest]) if only_words(message)]
    sizes = accumulate(message_tokens(messages[i]) for i in reversed(said))
    fits = sum(size <= scaled(MOST, settings) for size in sizes)
    kept = [*said[len(said) - fits :], *step.kept]
    view = [messages[i] for i in kept]
    words = None if active_request(view) else active_request(messages)
    summary = summary_message(summary_text(step.messages[0]), step.archive, words)
    view.insert(place := summary_place(kept), summary)
    step = replace(step, messages=drop_thinking(view, place), kept=tuple(kept), settled=place + 1)
    return replace(step, tokens_after=given["meter"].estimate(step.messages))
