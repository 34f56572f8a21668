"""Read Codex's rollout files as lines of Claude Code's.

The format: github.com/openai/codex, codex-rs/protocol/src/protocol.rs and models.rs.
Each line is `{"timestamp", "type", "payload"}`. A `response_item` is what the model
sees. An `event_msg` is a copy of it for the screen, but for `token_count`. `compacted`
has the history that replaces the older one. A reply has no id, so its items are
gathered up to the token count after them or, in files of 2025, from the token count
before them. A turn that was rolled back stays in the context.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from agentlib.messages import Block, result_text
from agentlib.session_file import Line
from session_report import lines

_KINDS = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_COUNTS = (
    "cached_input_tokens",
    "cache_write_input_tokens",
    "input_tokens",
    "output_tokens",
)


def knows(line: Line) -> bool:
    """Return whether a line has the envelope of a rollout."""
    return line.get("type") in _KINDS and isinstance(line.get("payload"), dict)


class Reader:
    """Turns one line after the other into lines of Claude Code's."""

    def __init__(self) -> None:
        self.reply, self.model = 0, ""
        self.is_open, self.is_billed = False, True
        """Whether the next item belongs to the newest reply, and whether that has its
        bill."""
        self.early, self.total = Block(), cast(Any, None)
        """A bill that waits for its reply, and the newest sum of all bills."""
        self.places = dict[str, str]()
        """The uuid of each text and call."""

    def __call__(self, number: str, line: Line) -> Iterator[Line]:
        match line:
            case {"type": "turn_context", "payload": {"model": str(model)}}:
                self.model = model
            case {"type": "response_item", "payload": item}:
                yield self._item(number, item)
            case {
                "payload": {
                    "type": "token_count",
                    "info": {"last_token_usage": usage} as info,
                }
            }:
                bill, total = _bill(usage), info.get("total_token_usage")
                if any(bill.values()) and (
                    total is None or total != self.total
                ):  # else a copy
                    self.early, self.total, self.is_open = bill, total, False
                    if not self.is_billed:
                        yield self._answer(number, [])
            case {"type": "compacted", "payload": payload}:
                yield from self._compaction(number, payload)
            case _:
                pass

    def _item(self, number: str, item: Block) -> Line:
        """Make a line of an item: the model wrote a part of a reply, or is told
        something."""
        self.places[_key(item) or number] = number
        if block := _written(item):
            if not self.is_open:
                self.reply, self.is_open, self.is_billed = self.reply + 1, True, False
            return self._answer(number, [block])
        told = "output" in item
        self.is_open = self.is_open and self.is_billed and told
        content = (
            lines.result(item["call_id"], item["output"])
            if told
            else item.get("content")
        )
        return lines.message(number, "user", content)

    def _answer(self, number: str, content: list[Block]) -> Line:
        usage, self.early = self.early, Block()
        self.is_billed |= bool(usage)
        more = {"id": f"reply {self.reply}", "model": self.model, "usage": usage}
        return lines.message(number, "assistant", content, **more)

    def _compaction(self, number: str, payload: Block) -> list[Line]:
        """Keep what the replacement repeats. The messages that are new in it are the
        summary."""
        items: list[Block] = payload.get("replacement_history") or []
        kept = [self.places[key] for key in map(_key, items) if key in self.places]
        new = [
            _key(item)
            for item in items
            if "role" in item and _key(item) not in self.places
        ]
        usage, self.early, self.is_open, self.is_billed = (
            self.early,
            Block(),
            False,
            True,
        )
        summary = "\n\n".join(new) or payload.get("message") or ""
        return lines.compaction(number, summary, kept, usage=[usage] if usage else [])


def _bill(usage: Block) -> Block:
    """Read a bill. Its input has the tokens that were read from the cache or written to
    it."""
    read, written, prompt, output = (usage.get(name) or 0 for name in _COUNTS)
    return lines.bill(prompt - read - written, written, read, output)


def _key(item: Block) -> str:
    """Return what an item is recognised by: the id of its call, or its text."""
    return item.get("call_id") or result_text(
        {"content": lines.blocks(item.get("content"))}
    )


def _written(item: Block) -> Block | None:
    """Return the block of a reply, None if the model didn't write the item."""
    match item:
        case {"type": "message", "role": "assistant"}:
            return {"type": "text", "text": _key(item)}
        case {"type": "reasoning"}:
            thought = _key(item) or _key({"content": item["summary"]})
            return {"type": "thinking", "thinking": thought}
        case {"type": str(kind)} if kind.endswith("_call"):
            given: Any = (
                item.get("arguments") or item.get("input") or item.get("action")
            )
            with suppress(TypeError, ValueError):
                given = json.loads(given)
            called, name = (
                item.get("call_id"),
                item.get("name") or kind.removesuffix("_call"),
            )
            own = cast(Block, given) if isinstance(given, dict) else {"input": given}
            block = {"type": "tool_use" if called else "server_tool_use", "id": called}
            return {**block, "name": name, "input": own}
        case _:
            return None
