"""What the terminal shows, as lines of text: a turn, a compaction, a bill, what fills the window.

Pure functions; nothing here prints or asks. What comes from a model or a file loses its control
characters: they could rewrite what stands on the screen. Not here: the conversation (terminal).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from agentlib.agent import metered
from agentlib.estimation import breakdown, prompt_tokens
from agentlib.loop import Turn
from agentlib.messages import Block, blocks, of_type, result_text
from agentlib.step import Step
from agentlib.transcripts import Session

Style = Callable[[str], str]
WIDTH = 60
"""Characters of a tool call, and of its outcome, on their one line."""
_BAR = 30
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STARTED = {
    "auto": "auto_compact triggered",
    "manual": "manual compact",
    "reactive": "the API found the prompt too long",
}


def dimmed(text: str) -> str:
    """In the faint style of a terminal."""
    return f"\x1b[2m{text}\x1b[0m" if text else ""


def has_colors(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal that shows styles, and whoever reads it wants them."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def plain(text: str) -> str:
    """The text with control characters spelled out, also those that turn the writing direction.

    >>> plain("rm x\\rls")
    'rm x\\\\rls'
    """
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def short(text: str, width: int = WIDTH) -> str:
    """The first line that is not blank, cut to `width`.

    >>> short("\\n  one two three\\nfour", 8)
    'one two…'
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def turn_lines(turn: Turn, dim: Style = str) -> Iterator[str]:
    """One turn, in the order of what happened."""
    yield from (f"[{event.text}]" for event in turn.events if event.kind == "tier")
    yield from step_lines(turn.step, dim)
    reply, *answers = turn.messages
    results = {r["tool_use_id"]: r for m in answers for r in of_type(m, "tool_result")}
    for block in blocks(reply):
        if block["type"] == "text":
            yield plain(block["text"]).strip()
        elif block["type"] == "tool_use":
            yield call_line(block, results.get(block["id"]), dim)
    yield from (f"[stopped: {event.text}]" for event in turn.events if event.kind == "stopped")


def step_lines(step: Step, dim: Style = str) -> Iterator[str]:
    """What the layers did; nothing where they did nothing."""
    before, after = step.tokens_before, step.tokens_before - step.tokens_cleared
    # A compaction cuts results to size too; those are in its own numbers.
    if step.replaced and (step.tokens_cleared or not step.compaction):
        count = _many(len(step.replaced), "result")
        yield dim(f"[micro_compact: {count} shortened, {before:,} -> {after:,} tokens]")
    if step.compaction or step.reason != "auto":
        yield f"[{_STARTED.get(step.reason, f'{step.reason} compact')}]"
    if step.compaction is None:
        if step.reason != "auto":
            yield "[nothing to compact yet: the newest exchanges stay as they are]"
    elif step.compaction == "failed":
        yield f"[compaction failed: {plain(step.failure or '')}; nothing was changed]"
    else:
        if step.failure:
            yield f"[no summary: {plain(step.failure)}; what was said is cut to size instead]"
        yield f"[transcript saved: {step.archive}] {before:,} -> {step.tokens_after:,} tokens"


def call_line(call: Block, result: Block | None, dim: Style = str) -> str:
    """A tool call and what came of it, in one line.

    >>> call = {"type": "tool_use", "name": "read_file", "input": {"path": "a.py", "offset": 40}}
    >>> call_line(call, {"content": "x = 1\\ny = 2"})
    '> read_file a.py offset=40  2 lines, 11 characters'
    """
    first, *others = [*call["input"].items()] or [("", "")]
    numbers = [f"{name}={value}" for name, value in others if isinstance(value, int)]
    what = " ".join([call["name"], short(plain(str(first[1]))), *numbers]).rstrip()
    return f"> {what}  {dim(_outcome(call['name'], result))}".rstrip()


def _outcome(name: str, result: Block | None) -> str:
    if result is None:
        return "no result"
    text = plain(result_text(result))
    count = text.count("\n") + 1
    if result.get("is_error"):
        return f"error: {short(text)}"
    if name in ("read_file", "recall"):
        return f"{_many(count, 'line')}, {len(text):,} characters"
    return short(text) + (f" (and {_many(count - 1, 'line')} more)" if count > 1 else "")


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What a stretch of a session came to."""

    turns: int
    usages: Sequence[Mapping[str, Any]]

    @classmethod
    def since(cls, session: Session, requests: int, compactions: int) -> "Bill":
        """All requests and summary calls from these numbers on, failed ones too."""
        asked = session.requests[requests:]
        summaries = [u for c in session.compactions[compactions:] for u in c.usage]
        return cls(turns=len(asked), usages=[*summaries, *(r.usage for r in asked)])

    @property
    def sent(self) -> int:
        """Tokens of all prompts."""
        return sum(map(prompt_tokens, self.usages))

    @property
    def read(self) -> int:
        """Tokens of the prompts that came from the cache."""
        return sum(usage.get("cache_read_input_tokens") or 0 for usage in self.usages)


def bill_line(bill: Bill, dollars: str) -> str:
    """The numbers of a run. `dollars`: what they cost, as a phrase.

    >>> bill_line(Bill(turns=1, usages=[{"input_tokens": 1_200}]), "cost $0.0001")
    '[1 turn; 1,200 tokens sent, 0 of them read from the cache; cost $0.0001]'
    """
    sent = f"{bill.sent:,} tokens sent, {bill.read:,} of them read from the cache"
    return f"[{_many(bill.turns, 'turn')}; {sent}; {dollars}]"


def window_lines(session: Session) -> Iterator[str]:
    """What fills the window, by kind: the estimated shares, scaled to what the bills told.

    The total is the anchored one whatever the policy counts by; what that counts is said too.
    """
    settings, window = session.settings, session.settings.context_window
    total = metered(session, replace(settings, estimator="anchored")).estimate(session.context)
    point = f"compaction at {settings.threshold_tokens:,}"
    if not (settings.enabled and settings.auto):
        point = "no compaction of itself"
    yield f"about {total:,} of {window:,} tokens ({total / window:.0%}); {point}"
    if settings.estimator != "anchored":
        counted = metered(session, settings).estimate(session.context)
        yield f"the policy itself counts {counted:,} (estimator={settings.estimator!r})"
    kinds = breakdown(session.context, system=session.system, tools=session.tools)
    scale, told, edge = total / max(1, sum(kinds.values())), 0, 0.0
    for kind, tokens in kinds.items():
        edge += tokens * scale
        if tokens:  # rounded at its edges, so that the rows add up to the total
            yield _row(kind, round(edge) - told, window, "#")
        told = round(edge)
    yield _row("free", max(0, window - total), window, ".")


def _row(kind: str, tokens: int, window: int, mark: str) -> str:
    bar = mark * round(tokens / window * _BAR)
    return f"  {kind:<12}{tokens:>9,}  {tokens / window:>6.1%}  {bar}".rstrip()


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
