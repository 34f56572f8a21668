"""Shorten the long arguments of calls that were answered. They stay valid JSON.

Who: hermes-agent (of a text in more than 500 characters of arguments, 200 stay),
deepagents, inspect_ai, Anthropic's API since September 2025 (`clear_tool_inputs` clears
them). Source: https://github.com/NousResearch/hermes-agent,
`agent/context_compressor.py`. Good for: agents that write whole files. A file's text is
on the disk, and else stands in each prompt once more.
"""

import json
from typing import Any

from agentlib.messages import INPUT
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, seen, with_texts

LONG, KEPT = 500, 200
_MARK = "... [{} characters of this argument are left out here]"


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Cut the long texts in the arguments of all calls but the newest."""
    old = [call for call, _ in seen(messages)[: -settings.keep_recent or None]]
    short = {
        call["id"]: {n: cut(value) for n, value in call["input"].items()}
        for call in old
    }
    new = {c["id"] + INPUT: short[c["id"]] for c in old if short[c["id"]] != c["input"]}
    return with_texts(
        messages, settings, given, {n: json.dumps(each) for n, each in new.items()}
    )


def cut(value: Any) -> Any:
    """Return the beginning of a long text and a mark. Other values stay."""
    if not isinstance(value, str) or len(value) <= LONG:
        return value
    return value[:KEPT] + _MARK.format(len(value) - KEPT)
