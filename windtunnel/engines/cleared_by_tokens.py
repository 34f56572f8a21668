"""Clear results by a budget of tokens, not by their number, and only if that frees
enough.

Who: opencode (the newest 40,000 tokens of results stay, clearing frees at least
20,000), goose, Anthropic's API since September 2025 (`clear_tool_uses_20250919` with
`clear_at_least`). Source: https://github.com/sst/opencode,
`packages/opencode/src/session/compaction.ts`. Good for: sessions whose results differ
much in size. One file of 30,000 tokens doesn't count the same as a listing of 30, and
the prompt cache breaks rarely.
"""

from dataclasses import replace
from itertools import accumulate
from typing import Any

from agentlib import pipeline
from agentlib.estimation import estimate_text
from agentlib.messages import of_type, result_text
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, scaled

PROTECTED, LEAST = 40_000, 20_000


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Keep the newest results that fit the budget, and clear the others."""
    results = [
        result for message in messages for result in of_type(message, "tool_result")
    ]
    sizes = accumulate(
        estimate_text(result_text(result)) for result in reversed(results)
    )
    keep = sum(size <= scaled(PROTECTED, settings) for size in sizes)
    rule = replace(settings, micro="clear", clear_when="always", keep_recent=keep)
    rule = replace(rule, clear_at_least=scaled(LEAST, settings))
    return pipeline.compact(messages, rule, **given)
