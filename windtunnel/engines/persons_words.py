"""Keep the person's newest 20,000 tokens word for word, and a summary. Nothing else
stays.

Who: codex, since its first compaction. Source: https://github.com/openai/codex,
`codex-rs/core/src/compact.rs`. Good for: rules. What the person said is never put in
other words. What the agent read and did has only the summary, so it reads files again.
"""

from dataclasses import replace
from typing import Any

from agentlib import pipeline
from agentlib.auto_compact import summary_message, summary_text
from agentlib.messages import active_request, drop_thinking
from agentlib.settings import Settings
from agentlib.step import Step, summary_place
from windtunnel.engines.common import Messages, said, scaled, summary_of_all_but

MOST = 20_000


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Compact to a summary alone, then keep the person's older messages beside it."""
    alone = replace(summary_of_all_but(0, settings), micro="off")
    step = pipeline.compact(messages, alone, **given)
    if not step.archive or step.compaction == "failed":
        return step
    older = messages[: min(step.kept, default=len(messages))]
    kept = [*said(older, scaled(MOST, settings)), *step.kept]
    view = [messages[i] for i in kept]
    words = None if active_request(view) else active_request(messages)
    summary = summary_message(summary_text(step.messages[0]), step.archive, words)
    view.insert(place := summary_place(kept), summary)
    size = given["meter"].estimate(view := drop_thinking(view, place))
    return replace(
        step, messages=view, kept=tuple(kept), settled=place + 1, tokens_after=size
    )
