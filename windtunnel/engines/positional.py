"""Decide by position only: results are cleared in blocks, at places that never move
back.

Who: maf-compaction 0.9.0 for Microsoft's agent framework, 2026. Source:
https://github.com/sokolaidev/maf-extensions, `docs/compaction/README.md`. Good for: the
prompt cache. What was sent once stays byte for byte until a whole block is cleared, so
the prefix is rewritten once in eight results and not at every turn.
"""

from dataclasses import replace
from typing import Any

from agentlib import pipeline
from agentlib.messages import of_type
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages

BLOCK = 8
"""Results that are cleared together. The newest block always stays, and what follows
it."""


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Clear whole blocks of results, counted from the first one."""
    results = sum(len(of_type(message, "tool_result")) for message in messages)
    keep = BLOCK + results % BLOCK
    rule = replace(
        settings, micro="clear", clear_when="always", keep_recent=keep, clear_at_least=0
    )
    return pipeline.compact(messages, rule, **given)
