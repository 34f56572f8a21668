"""Turn what happened into lines of text: a turn, a compaction, a bill, the window.

Nothing here prints. Control characters from a model or a file are spelled out, because
they could rewrite what stands on the screen.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from unicodedata import category

import click

from agentlib.api.masks import masked
from agentlib.api.spending import dollars
from agentlib.compaction.around import preview
from agentlib.estimation import breakdown, prompt_tokens
from agentlib.loop import Agent, Turn, meter_of
from agentlib.messages import Block, blocks, kinds_of, of_type, result_text
from agentlib.step import Outcome, Step
from agentlib.transcripts import Session

_UNSAFE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
"""Control characters, and those that turn the writing direction."""
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U000e0100-\U000e01ef]"
)
"""Letters and marks that no screen shows, such as fillers and selectors."""


def plain(text: str) -> str:
    """Spell out control characters and those that turn the writing direction, and mask
    keys.

    >>> plain("rm x\\rls")
    'rm x\\\\rls'
    """
    return masked(_spelt(text.replace("\r\n", "\n"), _UNSAFE))


def as_it_runs(command: str) -> str:
    """Return a whole command as text on which a person can decide. No key in it is
    masked.

    Characters that can't be seen are spelt out, and so is every blank but the space:
    to bash they are letters. Of many blanks or empty lines stands the number.

    >>> as_it_runs("ls" + 90 * " " + "; rm -r x")
    'ls[90 blanks]; rm -r x'
    """
    shown = re.sub(r"[^ -~\n\t]", _seen, command)
    text = re.sub(r"\n(?:[^\S\n]*\n){3,}", _empty_lines, shown)
    return re.sub(r"[^\S\n]{20,}", lambda match: f"[{len(match[0])} blanks]", text)


def _seen(match: re.Match[str]) -> str:
    """Spell out a character unless a screen shows it."""
    sign = match[0]
    is_hidden = category(sign)[0] in "CZ" or _BLANK.match(sign)
    return ascii(sign)[1:-1] if is_hidden else sign


def _empty_lines(match: re.Match[str]) -> str:
    return f"\n[{match[0].count(chr(10)) - 1} empty lines]\n"


def _spelt(text: str, characters: str) -> str:
    return re.sub(f"[{characters}]", lambda match: ascii(match[0])[1:-1], text)


def short(text: str, width: int = 60) -> str:
    """Take the first line that is not blank, without control characters, cut to
    `width`.

    >>> short("\\n  one two three\\nfour", 8)
    'one two…'
    """
    line = next((line.strip() for line in plain(text).splitlines() if line.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def turn_lines(turn: Turn) -> Iterator[str]:
    """Yield one turn in the order in which it happened."""
    yield from (
        f"[{e.text}]" for e in turn.events if e.kind in ("tier", "limit", "full")
    )
    yield from step_lines(turn.step)
    reply, *answers = turn.messages
    results = {r["tool_use_id"]: r for m in answers for r in of_type(m, "tool_result")}
    for block in blocks(reply):
        if block["type"] == "text":
            yield plain(block["text"]).strip()
        elif block["type"] == "tool_use":
            yield call_line(block, results.get(block["id"], {"content": "no result"}))
    yield from (f"[{e.text}]" for e in turn.events if e.kind == "cut")
    yield from (
        f"[stopped: {plain(e.text)}]" for e in turn.events if e.kind == "stopped"
    )


def step_lines(step: Step) -> Iterator[str]:
    """Yield what the layers did, nothing if they left the context as it was."""
    before = step.tokens_before
    after_micro = step.tokens_before - step.tokens_cleared
    if step.tokens_cleared:
        text = f"results shortened: {len(step.cleared):,}; {before:,} -> {after_micro:,} tokens"
        yield click.style(f"[micro_compact: {text}]", dim=True)
    if not step.compaction and step.reason == "auto":
        return
    yield (
        "[auto_compact triggered]"
        if step.reason == "auto"
        else f"[{step.reason} compact]"
    )
    if not step.compaction:
        yield "[nothing to compact yet: the newest exchanges stay as they are]"
    elif step.compaction == Outcome.FAILED:
        note = "" if step.cleared else "; nothing was changed"
        yield f"[compaction failed: {plain(step.failure or '')}{note}]"
    else:
        if step.failure:
            yield f"[no summary: {plain(step.failure)}; the conversation is cut to size instead]"
        sizes = f"{before:,} -> {step.tokens_after:,} tokens"
        yield f"[transcript saved: {plain(step.archive or '')}] {sizes}"


def preview_lines(agent: Agent) -> Iterator[str]:
    """Yield a line for each message of the context: `-` if a summary would take its
    place."""
    step = preview(agent)
    context = agent.session.context
    kept = step.kept if step.compaction else range(len(context))
    for at, message in enumerate(context):
        words = " ".join(text or kind for kind, text in kinds_of(message))
        yield f"{' ' if at in kept else '-'} {message['role']:<9} {short(words)}"
    sizes = f"{step.tokens_before:,} -> {step.tokens_after:,} tokens and the summary"
    yield f"[{sizes if step.compaction else 'nothing to compact yet'}; nothing was changed]"


def call_line(call: Block, result: Block) -> str:
    """Put a tool call and its result into one line.

    >>> call = {"type": "tool_use", "name": "read_file", "input": {"path": "a.py", "offset": 40}}
    >>> click.unstyle(call_line(call, {"content": "x = 1\\ny = 2"}))
    '> read_file a.py offset=40  x = 1 (lines: 2)'
    """
    first, *others = [*call["input"].items()] or [("", "")]
    numbers = [f"{name}={value}" for name, value in others if isinstance(value, int)]
    request = plain(" ".join([call["name"], short(str(first[1])), *numbers]).rstrip())
    text = result_text(result)
    error = "error: " if result.get("is_error") else ""
    lines = f" (lines: {text.count(chr(10)) + 1:,})" if "\n" in text else ""
    return f"> {request}  {click.style(error + short(text) + lines, dim=True)}"


def files_written(session: Session) -> str:
    """Name the files that the agent was asked to write or edit, the first three."""
    calls = [call for each in session.history for call in of_type(each, "tool_use")]
    writes = [c for c in calls if c["name"] in ("write_file", "edit_file")]
    names = [*dict.fromkeys(plain(str(c["input"].get("path"))) for c in writes)]
    return ", ".join(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3)


def bill_line(
    what: str, usages: Sequence[Mapping[str, Any]], model: str, *, live: bool
) -> str:
    """Add up what some requests sent and cost.

    >>> usage = {"input_tokens": 1_200}   # at 4 dollars a million
    >>> bill_line("turns: 1", [usage], "claude-opus-5-5", live=True)
    '[turns: 1; tokens sent: 1,200, cached: 0; cost $0.0048 at claude-opus-5-5 prices]'
    """
    sent = sum(map(prompt_tokens, usages))
    cached = sum(usage.get("cache_read_input_tokens") or 0 for usage in usages)
    try:
        total = sum(dollars(usage, model) for usage in usages)
        cost = f"{'cost' if live else 'would have cost'} ${total:.4f} at {model} prices"
    except ValueError:
        cost = f"no price is known for {model}"
    return f"[{what}; tokens sent: {sent:,}, cached: {cached:,}; {cost}]"


def window_lines(agent: Agent) -> Iterator[str]:
    """Yield the tokens of the next prompt by kind: estimated shares of the anchored
    total."""
    session = agent.session
    settings = agent.settings
    window = agent.settings.context_window
    anchored = replace(settings, estimator="anchored")
    total = meter_of(session, anchored, agent.system + str(agent.tools)).estimate(
        session.context
    )
    limit = f"threshold {settings.threshold_tokens:,}"
    yield f"about {total:,} of {window:,} tokens ({total / window:.0%}); {limit}"
    kinds = breakdown(session.context, system=agent.system, tools=agent.tools)
    scale = total / max(1, sum(kinds.values()))
    rows = {kind: round(tokens * scale) for kind, tokens in kinds.items() if tokens}
    for kind, tokens in [*rows.items(), ("free", max(0, window - total))]:
        bar = ("." if kind == "free" else "#") * round(tokens / window * 30)
        yield f"  {kind:<12}{tokens:>9,}  {tokens / window:>6.1%}  {bar}".rstrip()
