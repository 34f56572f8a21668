"""Say in the placeholder what was there: the command and its end, the path and the
first line.

Who: hermes-agent (one line for each call), gemini-cli (path and preview),
learn-claude-code's s08. Source: https://github.com/NousResearch/hermes-agent,
`agent/context_compressor.py`. Good for: the agent's own decisions. It knows what it has
done and where to look again, for some 20 tokens a result.
"""

from dataclasses import replace
from typing import Any

from agentlib.messages import PLACEHOLDER, Block, result_text
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, seen, with_texts


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Clear all but the newest results, and tell in a line what each was."""
    old = seen(messages)[: -settings.keep_recent or None]
    long = [(c, r) for c, r in old if len(result_text(r)) > settings.min_chars]
    lines = {r["tool_use_id"]: (told(c, r), result_text(r)) for c, r in long}
    new = {name: line for name, (line, text) in lines.items() if len(line) < len(text)}
    return with_texts(messages, replace(settings, micro="off"), given, new)


def told(call: Block, result: Block) -> str:
    """Write the line: what was called with what, how it ended, and how the result
    begins."""
    lines = [
        line.strip()[:80] for line in result_text(result).splitlines() if line.strip()
    ]
    inputs = " ".join(
        str(value).partition("\n")[0][:80] for value in call["input"].values()
    )
    end = "error" if result.get("is_error") else f"{len(lines)} lines"
    edge = lines[-1 if call["name"] == "bash" else 0] if lines else ""
    return f"{PLACEHOLDER}{call['name']} {inputs}: {end}, {edge}]"
