"""Edit the conversation on the server's side, as the beta `context_management` does.

Three edits: `clear_tool_uses_20250919`, `clear_thinking_20251015` and
`compact_20260112`. The client sends its whole history each time. The two clears change
only what the model reads. The compaction puts a block into the answer, and what stands
before the newest such block is ignored. Defaults and shapes are those of the SDK's
types and of the API's page on context editing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from agentlib.messages import THINKING, Block, Message, blocks, of_type, tool_names
from agentlib.settings import Settings
from offline_api.errors import WORDINGS
from offline_api.thinking import thinking_mode
from offline_api.tokens import lay_out

Body = dict[str, Any]
CLEAR = "clear_tool_uses_20250919"
THINK = "clear_thinking_20251015"
COMPACT = "compact_20260112"
BETAS = {CLEAR: "context-management-2025-06-27", THINK: "context-management-2025-06-27"}
BETAS[COMPACT] = "compact-2026-01-12"
CLEARED = "[cleared]"
"""What stands for a cleared result. The API doesn't say; this is a well-known client's
mark."""
LEAST = 50_000
"""Tokens below which no compaction can be asked for."""
DEFAULTS = {CLEAR: 100_000, COMPACT: 150_000}
"""Tokens at which an edit strikes, if the request names no trigger."""
_WANTED = """\
Write a summary of the conversation so far, so that another reader can go on with the work from \
it alone. Say what was asked, what is done and found, and what is left to do."""


def edits_of(body: Body) -> list[Body]:
    """Return the edits that a request asks for, in order."""
    management: Body = body.get("context_management") or {}
    return list(management.get("edits") or ())


def broken_edits(body: Body, betas: str) -> Iterator[str]:
    """Say which rules the edits break. Their shape is known to be right."""
    kinds = [edit["type"] for edit in edits_of(body)]
    for i, edit in enumerate(edits_of(body)):
        kind = edit["type"]
        path = f"context_management.edits.{i}.{edit['type']}"
        if BETAS[kind] not in betas:
            yield f"{path}: {WORDINGS['needs_beta'].format(BETAS[kind])}"
        if kind in kinds[:i]:
            yield f"{path}: each edit may be given once"
        if kind == COMPACT and _trigger(edit)[1] < LEAST:
            yield f"{path}.trigger.value: Input should be greater than or equal to {LEAST}"
    if THINK in kinds[1:]:
        yield f"context_management.edits: {THINK} must be the first edit"
    if THINK in kinds and thinking_mode(body) != "adaptive":
        yield f"`{THINK}` strategy requires `thinking` to be enabled or adaptive"


# -- the two clears --------------------------------------------------------------------


def cleared(body: Body) -> tuple[Body, list[Body]]:
    """Return the body as the model reads it, and the `applied_edits` of the answer.

    An edit that would clear nothing, or less than it must, is not among them.
    """
    applied: list[Body] = []
    for edit in edits_of(body):
        if edit["type"] == COMPACT or not _strikes(edit, body):
            continue
        clear = _without_results if edit["type"] == CLEAR else _without_thinking
        messages, counted = clear(edit, body["messages"])
        after = {**body, "messages": messages}
        saved = lay_out(body).tokens - lay_out(after).tokens
        least: Body = edit.get("clear_at_least") or {}
        if counted[1] and saved >= least.get("value", 0):
            applied.append(
                dict([counted]) | {"cleared_input_tokens": saved, "type": edit["type"]}
            )
            body = after
    return body, applied


def _trigger(edit: Body) -> tuple[str, int]:
    trigger: Body = edit.get("trigger") or {}
    return trigger.get("type", "input_tokens"), trigger.get(
        "value", DEFAULTS.get(edit["type"], 0)
    )


def _strikes(edit: Body, body: Body) -> bool:
    unit, value = _trigger(edit)
    size = (
        lay_out(body).tokens
        if unit == "input_tokens"
        else len(tool_names(body["messages"]))
    )
    return size >= value


def _without_results(
    edit: Body, messages: Sequence[Message]
) -> tuple[list[Message], tuple[str, int]]:
    """Clear the results, and the inputs if that is asked for, of all but the newest
    tool uses."""
    names = tool_names(messages)
    inputs = edit.get("clear_tool_inputs") or ()
    keep: int = (edit.get("keep") or {"value": 3})["value"]
    old = [
        each
        for each, name in names.items()
        if name not in (edit.get("exclude_tools") or ())
    ]
    old = old[: max(0, len(old) - keep)]

    def mark(block: Block) -> Block:
        if block.get("tool_use_id") in old:
            return {**block, "content": CLEARED}
        wants = inputs is True or (inputs and block.get("name") in inputs)
        return {**block, "input": {}} if wants and block.get("id") in old else block

    new = [{**m, "content": [mark(block) for block in blocks(m)]} for m in messages]
    before = [
        b
        for m in messages
        for b in of_type(m, "tool_result")
        if b["tool_use_id"] in old
    ]
    return new, ("cleared_tool_uses", len(before))


def _without_thinking(
    edit: Body, messages: Sequence[Message]
) -> tuple[list[Message], tuple[str, int]]:
    """Drop the thinking of all but the newest assistant turns that have any."""
    keep = edit.get("keep") or {"value": 1}
    if keep == "all" or keep.get("type") == "all":
        return list(messages), ("cleared_thinking_turns", 0)
    thought = [i for i, m in enumerate(messages) if any(map(_is_thinking, blocks(m)))]
    old = thought[: max(0, len(thought) - keep["value"])]
    new = [
        {**m, "content": [b for b in blocks(m) if not _is_thinking(b)]}
        if i in old
        else m
        for i, m in enumerate(messages)
    ]
    return [m for m in new if m["content"]], ("cleared_thinking_turns", len(old))


def _is_thinking(block: Block) -> bool:
    return block["type"] in THINKING


# -- compaction ------------------------------------------------------------------------


def since_compaction(body: Body) -> Body:
    """Return the body without the messages before its newest compaction block.

    The block becomes a text of the user's, as the model reads it. A block of a
    compaction that failed has no content, and counts as not there.
    """
    new: list[Message] = []
    for message in body["messages"]:
        kept = list(blocks(message))
        for block in of_type(message, "compaction"):
            after = kept[kept.index(block) + 1 :]
            kept = (
                after if block.get("content") else [b for b in kept if b is not block]
            )
            if block.get("content"):
                new = [{"role": "user", "content": [_as_text(block)]}]
        changed = len(kept) != len(blocks(message))
        new += (
            [{**message, "content": kept} if changed else message]
            if kept or not changed
            else []
        )
    return {**body, "messages": new}


def _as_text(block: Block) -> Block:
    mark = {"cache_control": mark} if (mark := block.get("cache_control")) else {}
    return {"type": "text", "text": block["content"], **mark}


def compaction_due(body: Body) -> Body | None:
    """Return the edit that compacts this prompt now, None if there is none."""
    due = (
        edit
        for edit in edits_of(body)
        if edit["type"] == COMPACT and _strikes(edit, body)
    )
    return next(due, None)


def summary_request(body: Body, edit: Body) -> Body:
    """Return the request for the summary. The edit's instructions take the place of
    ours."""
    wanted = edit.get("instructions") or _WANTED
    return {
        **body,
        "messages": [*body["messages"], {"role": "user", "content": wanted}],
    }


# -- our settings as the server's edits ------------------------------------------------

_SAID = (
    *("micro", "keep_recent", "clear_at_least", "keep_tools", "auto", "enabled"),
    *("threshold", "threshold_pct", "context_window", "output_reserve", "buffer"),
)
"""The settings that an edit can say."""


def as_edits(settings: Settings) -> tuple[list[Body], dict[str, Any]]:
    """Return the edits that ask the server for the same, and the settings without a
    counterpart.

    The second part holds the settings whose values differ from Settings() and that no
    edit can say, by name. A way of clearing, or a threshold, that the server doesn't
    know is among them.

    >>> edits, rest = as_edits(Settings(keep_recent=5, head_tokens=4_000))
    >>> [edit["type"] for edit in edits], edits[0]["keep"]["value"], rest
    (['clear_tool_uses_20250919', 'compact_20260112'], 5, {'head_tokens': 4000})
    """
    edits = list[Body]()
    said = set(_SAID)
    tokens = settings.threshold_tokens
    if settings.enabled and settings.micro == "clear":
        edits.append(_clearing(settings))
    elif settings.enabled and settings.micro != "off":
        said.remove("micro")
    if settings.enabled and settings.auto and tokens >= LEAST:
        edits.append(
            {"type": COMPACT, "trigger": {"type": "input_tokens", "value": tokens}}
        )
    elif settings.enabled and settings.auto:
        said.remove("threshold")
    own = {**vars(settings), "threshold": tokens}
    plain = vars(Settings())
    return edits, {
        n: value for n, value in own.items() if n not in said and value != plain[n]
    }


def _clearing(settings: Settings) -> Body:
    """Ask for the clearing of our micro layer, which strikes at each request."""
    keep = {"type": "tool_uses", "value": settings.keep_recent}
    edit: Body = {"type": CLEAR, "trigger": {**keep, "value": settings.keep_recent + 1}}
    edit["keep"] = keep
    if settings.clear_at_least:
        edit["clear_at_least"] = {
            "type": "input_tokens",
            "value": settings.clear_at_least,
        }
    return edit | (
        {"exclude_tools": list(settings.keep_tools)} if settings.keep_tools else {}
    )
