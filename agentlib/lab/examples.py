"""An engine of your own, and the layers in a loop of your own: three examples to copy from.

Each is the least that works. `loop.run` does more: sessions on disk, the breaker, reactive
compaction, files put back. See `step.Step` for what an engine returns.
"""

# pyright: basic
# Examples are there to be read, so they leave out types.

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentlib import auto_compact
from agentlib import messages as msg
from agentlib.auto_compact import summary_message
from agentlib.estimation import meter
from agentlib.messages import Message
from agentlib.pipeline import compact
from agentlib.recovery import with_less
from agentlib.requests import request, send
from agentlib.settings import MODEL, Settings
from agentlib.step import Reason, Step
from agentlib.tools import Workspace, result

if TYPE_CHECKING:
    import anthropic

SYSTEM = "You read files."


def relevant(messages, settings, *, meter, archive, reason: Reason = "auto", **_):
    """Keep the lines that share a word with the request, and the newest exchange whole."""
    before = meter.estimate(messages)
    step = Step(messages=list(messages), reason=reason, tokens_before=before, tokens_after=before)
    starts = [start for start, _ in msg.exchanges(messages)]
    if len(starts) < 2 or (reason == "auto" and before <= settings.threshold_tokens):
        return step
    asked, kept = msg.active_request(messages) or "", range(starts[-1], len(messages))
    texts = [b["text"] for m in messages[: starts[-1]] for b in msg.of_type(m, "text")]
    words = set(re.findall(r"\w{4,}", asked))
    lines = [line for text in texts for line in text.splitlines() if words & set(line.split())]
    top = summary_message("\n".join(lines[-20:]) or "(nothing)", name := archive(), asked)
    view = msg.drop_thinking([top, *messages[kept.start :]], 0)
    done = replace(step, messages=view, compaction=reason, kept=tuple(kept), archive=name)
    return replace(done, settled=1, tokens_after=meter.estimate(view))


def my_loop(
    model: "anthropic.Anthropic", prompt: str, workspace: Workspace, settings: Settings
) -> Iterator[Step]:
    """Compact, send, observe, act: all that a loop needs of the layers."""
    messages: list[Message] = [{"role": "user", "content": prompt}]
    settled, size, tools = 0, meter("anchored"), workspace.definitions
    asked = auto_compact.summarizer(
        model, model=MODEL, system=SYSTEM, tools=tools, summary_tokens=settings.summary_tokens
    )
    layers = {"meter": size, "summarize": with_less(asked), "archive": lambda: "mine.jsonl"}
    while messages[-1]["role"] == "user":
        step = compact(messages, settings, settled=settled, **layers)
        settled = step.settled
        sent = request(MODEL, SYSTEM, tools, step.messages, settings.output_reserve, settled)
        reply: dict[str, Any] = send(model, sent).to_dict()
        size.observe(step.messages, reply["usage"])
        messages = after(step, reply, workspace)
        yield step


async def my_async_loop(
    model: "anthropic.AsyncAnthropic", prompt: str, workspace: Workspace, settings: Settings
) -> AsyncIterator[Step]:
    """Do the same with AsyncAnthropic; the layers wait in a thread for the event loop."""
    messages: list[Message] = [{"role": "user", "content": prompt}]
    settled, size, tools = 0, meter("anchored"), workspace.definitions
    asked = asked_by(model, workspace, settings)
    layers = {"meter": size, "summarize": asked, "archive": lambda: "mine.jsonl"}
    while messages[-1]["role"] == "user":
        step = await asyncio.to_thread(compact, messages, settings, settled=settled, **layers)
        settled = step.settled
        sent = request(MODEL, SYSTEM, tools, step.messages, settings.output_reserve, settled)
        reply: dict[str, Any] = (await model.messages.create(**sent)).to_dict()
        size.observe(step.messages, reply["usage"])
        messages = after(step, reply, workspace)
        yield step


def after(step: Step, reply: dict[str, Any], workspace: Workspace) -> list[Message]:
    """Return the messages after a reply. If it makes calls, their results come last."""
    changed = step.replaced or step.compaction
    messages = msg.drop_newest_thinking(step.messages) if changed else step.messages
    messages = [*messages, {"role": "assistant", "content": msg.sendable(reply["content"])}]
    if calls := msg.of_type(messages[-1], "tool_use"):
        messages.append({"role": "user", "content": [result(call, workspace) for call in calls]})
    return messages


def asked_by(model: "anthropic.AsyncAnthropic", workspace: Workspace, settings: Settings) -> Any:
    """A `summarize` for a layer that runs in a thread. Call this in the event loop."""
    import anthropic

    loop, tools = asyncio.get_running_loop(), workspace.definitions

    async def ask(messages: Sequence[Message], focus: str) -> str:
        text = auto_compact.summary_prompt(settings.summary_tokens, focus)
        wish = {"role": "user", "content": text}
        sent = request(MODEL, SYSTEM, tools, [*messages, wish], settings.summary_max_tokens)
        try:
            return auto_compact.accepted(await model.messages.create(**sent), sent["max_tokens"])
        except anthropic.APIError as error:
            raise auto_compact.SummaryFailed(str(error)) from error

    def summarize(messages: Sequence[Message], focus: str) -> str:
        return asyncio.run_coroutine_threadsafe(ask(messages, focus), loop).result()

    return summarize
