"""Take a response's usage apart into the calls that it bills.

Since 2.1.219 Claude Code notes `iterations`: the calls that were made for one response.
Those of type "message" are of the model that answers, and the counts above them are
their sum. An advisor, a fallback or a compaction is billed beside these counts.

Source: https://github.com/anthropics/claude-code/issues/84738.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from agentlib.api.replies import counts
from agentlib.api.spending import Usage, listed_name
from agentlib.messages import Block

_PROMPT = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
_COUNTS = (*_PROMPT, "output_tokens")
_HOUR = "ephemeral_1h_input_tokens"
_MESSAGE = "message"
_OF_MODEL = ("", _MESSAGE)
"""Types of a call of the model that answers."""


class Calls(NamedTuple):
    """The calls of one response, each with its `usage`."""

    last: Block
    """The call whose prompt is the whole context of the response."""
    earlier: list[Block]
    """Calls of the same model before it, whose prompts are the beginning of that."""
    beside: list[Block]
    """Calls for something else. Each names its `type`, and its `model` if another."""


def calls_of(usage: Usage, model: str = "") -> Calls:
    """Take a usage apart by its iterations. `model`: the one that answered.

    Which of them the counts above include is found by adding up, because programs
    differ: the sum of all messages, of all calls, or one of them. Else the counts above
    stand as they are, and calls of another type are billed beside them.

    >>> step = {"input_tokens": 5, "output_tokens": 1}
    >>> both = {"input_tokens": 10, "output_tokens": 2, "iterations": [step, step]}
    >>> calls_of(both).last["input_tokens"], len(calls_of(both).earlier)
    (5, 1)
    """
    top: Block = {name: value for name, value in usage.items() if name != "iterations"}
    listed = usage.get("iterations")
    given: list[Any] = cast(list[Any], listed) if isinstance(listed, list) else []
    steps = [counts(cast(Block, step)) for step in given if isinstance(step, dict)]
    steps = [step for step in steps if any(step.get(name) for name in _COUNTS)]
    if not steps:
        return Calls(top, [], [])
    own = [step for step in steps if step.get("type", _MESSAGE) == _MESSAGE]
    typed = [step for step in steps if "type" in step]
    included = _included(top, own, steps)
    if not included:
        return Calls(top, [], [step for step in typed if step not in own])
    beside = [step for step in typed if not any(step is each for each in included)]
    last = _last(included, own, model)
    parts = _with_hours(top, included)
    rest = [
        part for step, part in zip(included, parts, strict=True) if step is not last
    ]
    final = parts[[step is last for step in included].index(True)]
    flags = {name: value for name, value in top.items() if name not in _COUNTS}
    flags.pop("cache_creation", None)
    searches = {"server_tool_use": top.get("server_tool_use")}
    shared = {name: value for name, value in flags.items() if name not in searches}
    earlier = [{**shared, **part} for part in rest if part.get("type", "") in _OF_MODEL]
    others = [part for part in rest if part.get("type", "") not in _OF_MODEL]
    return Calls({**flags, **final}, earlier, [*others, *beside])


def _last(included: list[Block], own: list[Block], model: str) -> Block:
    """Return the step that gave the answer: the last message of the model, or its last
    step of any type if others refused before, or the last message of any model."""

    def is_same(step: Block) -> bool:
        name = str(step.get("model") or model)
        return listed_name(name) == listed_name(model)

    by_model = [step for step in included if is_same(step)]
    messages = [step for step in by_model or included if step in own]
    return (messages or by_model or included)[-1]


def _included(top: Block, own: list[Block], steps: list[Block]) -> list[Block]:
    """Return the steps that the counts on top include, none if nothing adds up.

    All counts are compared first. A stream may have ended before the last one of the
    answer, so then the prompts have to do.
    """
    for names in (_COUNTS, _PROMPT):
        whole = _counts(top, names)
        for part in (own, steps, *([step] for step in reversed(steps))):
            if part and _sum(part, names) == whole:
                return part
    return []


def _counts(usage: Usage, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(usage.get(name) or 0 for name in names)


def _sum(steps: Iterable[Usage], names: tuple[str, ...]) -> tuple[int, ...]:
    counted = (_counts(step, names) for step in steps)
    return tuple(map(sum, zip(*counted, strict=True)))


def _with_hours(top: Block, steps: list[Block]) -> list[Block]:
    """Say of steps that don't how many of their writes live an hour: as of all."""
    split: Block = top.get("cache_creation") or {}
    written = top.get("cache_creation_input_tokens") or 0
    share = (split.get(_HOUR) or 0) / (written or 1)
    parts = list[Block]()
    for step in steps:
        hour = round(share * (step.get("cache_creation_input_tokens") or 0))
        is_silent = share and not step.get("cache_creation")
        parts.append({**step, "cache_creation": {_HOUR: hour}} if is_silent else step)
    return parts
