"""What several engines share: results replaced before the layers, and a sentence more
in a wish."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from agentlib import messages as msg
from agentlib.auto_compact import Summarize, summary_prompt
from agentlib.estimation import message_tokens
from agentlib.messages import Block, Message
from agentlib.pipeline import compact
from agentlib.settings import Settings
from agentlib.step import Step

Messages = Sequence[Message]
"""A conversation, as an engine is given it."""
WINDOW = 200_000
"""The window that a system's numbers are for."""


def scaled(tokens: int, settings: Settings) -> int:
    """Return a system's number of tokens in proportion to the window of these
    settings."""
    return tokens * settings.context_window // WINDOW


def seen(messages: Messages) -> list[tuple[Block, Block]]:
    """Return the calls whose results the model has seen, with these results, oldest
    first.

    Results that a placeholder has replaced are left out.
    """
    calls = {call["id"]: call for m in messages for call in msg.of_type(m, "tool_use")}
    old = messages[: max(0, msg.last_assistant(messages))]
    results = [
        result for message in old for result in msg.of_type(message, "tool_result")
    ]
    return [
        (calls[result["tool_use_id"]], result)
        for result in results
        if not msg.result_text(result).startswith(msg.PLACEHOLDER)
    ]


def said(messages: Messages, tokens: int) -> list[int]:
    """Return the places of the person's newest messages within so many tokens.

    A message that holds a result or a summary too is none of them.
    """
    places = [
        place
        for place, message in enumerate(messages)
        if message["role"] == "user"
        and not any(
            b["type"] == "tool_result" or msg.is_summary(b) for b in msg.blocks(message)
        )
    ]
    sizes = accumulate(message_tokens(messages[place]) for place in reversed(places))
    return places[len(places) - sum(size <= tokens for size in sizes) :]


def summary_of_all_but(exchanges: int, settings: Settings) -> Settings:
    """Return settings with which only the newest exchanges stay beside a summary."""
    return replace(settings, head_tokens=0, tail_tokens=None, keep_exchanges=exchanges)


def with_texts(
    messages: Messages,
    settings: Settings,
    given: Mapping[str, Any],
    new: Mapping[str, str],
) -> Step:
    """Replace results or inputs as `with_results` does, then let the layers do the
    rest."""
    view, before = msg.with_results(messages, new), given["meter"].estimate(messages)
    first = next(msg.changes(messages, view), len(view))
    step = compact(msg.drop_thinking(view, first), settings, **given)
    return replace(
        step,
        cleared=(*dict.fromkeys([*new, *step.cleared]),),
        replaced={**new, **step.replaced},
        tokens_before=before,
        tokens_cleared=before - step.tokens_before + step.tokens_cleared,
    )


def writing(text: str) -> Summarize:
    """Make a `summarize` that asks no model and writes this text."""
    return lambda messages, focus: text


def wishing(
    summarize: Summarize, settings: Settings, more: str, answer: str = ""
) -> Summarize:
    """Add a sentence to the request for a summary. `answer`: the model's earlier one,
    to be shown.

    The request stands behind the answer, and not twice: a model takes an older one for
    a task.
    """

    def ask(messages: Messages, focus: str) -> str:
        wish: Message = {
            "role": "user",
            "content": summary_prompt(settings.summary_tokens, focus),
        }
        *shown, wish = messages if msg.asks_for_summary(messages) else [*messages, wish]
        reply: Message = {"role": "assistant", "content": answer}
        text = "\n".join(
            [*(block["text"] for block in msg.of_type(wish, "text")), more]
        )
        return summarize(
            [*shown, *[reply] * bool(answer), {**wish, "content": text}], focus
        )

    return ask
