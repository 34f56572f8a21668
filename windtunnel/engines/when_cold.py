"""Compact a large context when the person comes back and the prompt cache has expired.

Who: kimi-code and deepagents suggest it to the person. Claude Code since 2.1.286 and
oh-my-pi do it in the pause itself, before the cache expires. An engine is only asked
before a request, so here it is the first request after the pause. Source:
https://github.com/can1357/oh-my-pi/pull/617,
https://github.com/MoonshotAI/kimi-code/pull/2646. Good for: people with long pauses.
The whole prompt has to be paid for anyway, so a short one pays.
"""

from dataclasses import replace
from typing import Any

from agentlib import pipeline
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages

SHARE = 0.5
"""Of the threshold: smaller contexts stay."""


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Halve the threshold for a request that the cache can't help."""
    if given.get("idle", 0.0) > settings.cache_ttl:
        settings = replace(settings, threshold=int(SHARE * settings.threshold_tokens))
    return pipeline.compact(messages, settings, **given)
