"""Keep identical results once: the newest stays, an older one only says that it is the
same.

Who: hermes-agent, opencode's plugin for dynamic pruning, Claude Code since 2.1.86 for
files that are read again unchanged. Source:
https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`, and the
change log of Claude Code. Good for: agents that run the same command or read the same
file again and again. It loses nothing, but the prompt cache ends where the older result
stood.
"""

from typing import Any

from agentlib.messages import PLACEHOLDER, of_type, result_text
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, seen, with_texts


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Replace each result whose text comes once more, further down."""
    results = [
        result for message in messages for result in of_type(message, "tool_result")
    ]
    newest = {result_text(result): result["tool_use_id"] for result in results}
    same = {
        result[
            "tool_use_id"
        ]: f"{PLACEHOLDER}{call['name']}; {newest[text]} has the same result]"
        for call, result in seen(messages)
        if newest[text := result_text(result)] != result["tool_use_id"]
        and len(text) > settings.min_chars
    }
    return with_texts(messages, settings, given, same)
