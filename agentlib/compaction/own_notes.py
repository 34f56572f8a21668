"""The agent's own notes in place of a summary (Claude Code's session memory)."""

from collections.abc import Sequence

from agentlib import messages as msg
from agentlib.auto_compact import Summarize
from agentlib.messages import Message
from agentlib.recovery import spoken_lines, tokens_of


def memory_first(summarize: Summarize, tokens: int) -> Summarize:
    """Let the agent's own notes stand in for the summary if they are complete and short
    enough.

    That is: no focus is asked for, the agent said something in each exchange but the
    first, and everything that was said fits in `tokens`. Then no model is asked.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        lines = spoken_lines(messages)
        said = msg.summary_source(messages)
        replies = [said[i] for i, _ in msg.exchanges(said)]
        is_noted = len(replies) > 1 and all(
            any(msg.words(reply)) for reply in replies[1:]
        )
        if not focus and is_noted and tokens_of(lines) <= tokens:
            return "\n".join(lines)
        return summarize(messages, focus)

    return ask
