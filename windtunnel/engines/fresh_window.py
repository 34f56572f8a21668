"""Begin a fresh window without any summary. Only the person's newest words are carried
over.

Who: codex, behind the flag `token_budget`, June 2026. There the model asks for the new
window, and is reminded before the limit. Here the window begins at the threshold.
Source: https://github.com/openai/codex/pull/27438 and 27488. Good for: agents that keep
their own notes in files. No model is asked, so nothing is made up and nothing is paid
for a summary.
"""

from typing import Any

from agentlib import pipeline
from agentlib.settings import Settings
from agentlib.step import Step
from windtunnel.engines.common import Messages, summary_of_all_but, writing

NOTE = "A fresh window. What was done before isn't in it; look at the files for what is there."


def compact(messages: Messages, settings: Settings, **given: Any) -> Step:
    """Replace everything that was seen by a note."""
    given["summarize"] = writing(NOTE)
    return pipeline.compact(messages, summary_of_all_but(0, settings), **given)
