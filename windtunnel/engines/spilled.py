"""Let no old result take more than a share of the window: a preview stays, `recall` has
the rest.

Who: Claude Code (results over 50,000 characters go to a file, since 2.1.51),
learn-claude-code (30,000 characters, a preview of 2,000), codex, gemini-cli, opencode,
senpi (5 % of the window). They cut a result before the model has seen it. Here it is
cut once it was seen. Source: https://github.com/shareAI-lab/learn-claude-code, s08, and
the change log of Claude Code. Good for: logs and listings. One result can't crowd out
everything else.
"""

from typing import Any

from agentlib.estimation import estimate_text
from agentlib.messages import result_text
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, seen, with_texts

SHARE, PREVIEW = 0.05, 250
_MARK = "\n\n[... {} characters trimmed; recall {} returns them ...]"


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Cut each large result that the model has seen down to its beginning."""
    texts = {result["tool_use_id"]: result_text(result) for _, result in seen(messages)}
    previews = {
        name: text[:PREVIEW] + _MARK.format(len(text) - PREVIEW, name)
        for name, text in texts.items()
        if len(text) > 2 * PREVIEW
        and estimate_text(text) > SHARE * settings.context_window
    }
    return with_texts(messages, settings, given, previews)
