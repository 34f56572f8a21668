"""An engine of your own, and the layers in a loop of your own: two examples to copy from.

Each is the least that works. `loop.run` does more: sessions on disk, the breaker, reactive
compaction, files put back. See `step.Step` for what an engine returns.
"""

# pyright: basic
# Examples are there to be read, so they leave out types.

import re
from collections.abc import Iterator
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


def layers(
    model: "anthropic.Anthropic", workspace: Workspace, settings: Settings
) -> dict[str, Any]:
    """Return what `compact` needs by name. The summaries come from `model`."""
    asked: Any = {"model": MODEL, "system": SYSTEM, "tools": workspace.definitions}
    summarize = auto_compact.summarizer(model, **asked, summary_tokens=settings.summary_tokens)
    archive = {"archive": lambda: "mine.jsonl"}
    return {"meter": meter("anchored"), "summarize": with_less(summarize), **archive}


def my_loop(
    model: "anthropic.Anthropic", prompt: str, workspace: Workspace, settings: Settings
) -> Iterator[Step]:
    """Compact, send, observe, act: all that a loop needs of the layers."""
    messages: list[Message] = [{"role": "user", "content": prompt}]
    settled, needed, tools = 0, layers(model, workspace, settings), workspace.definitions
    while messages[-1]["role"] == "user":
        step = compact(messages, settings, settled=settled, **needed)
        settled = step.settled
        sent = request(MODEL, SYSTEM, tools, step.messages, settings.output_reserve, settled)
        reply: dict[str, Any] = send(model, sent).to_dict()
        needed["meter"].observe(step.messages, reply["usage"])
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
