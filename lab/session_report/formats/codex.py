"""Read Codex's rollout files as lines of Claude Code's.

The format: github.com/openai/codex, codex-rs/protocol/src/protocol.rs and models.rs.
Each line is `{"timestamp", "type", "payload"}`. A `response_item` is what the model
sees. An `event_msg` is a copy of it for the screen, but for `token_count`. `compacted`
has the history that replaces the older one. A reply has no id, so its items are
gathered up to the token count after them or, in files of 2025, from the token count
before them. A turn that was rolled back stays in the context.

The bill of a request stands in a `token_count`. Since 0.154 it stands in a
`token_usage_record` first, and there alone if it was for a compaction. A file may have
only sums, so a bill may be the difference of two sums. A fork or a sub-agent repeats
its parent's lines, sometimes with the time of the fork. Files that rest for a week are
compressed.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import PureWindowsPath
from typing import Any, cast

from agentlib.messages import Block, result_text
from agentlib.session.file import Line
from session_report import lines
from session_report.formats import About, Format
from session_report.formats import Reader as Base

_KINDS = (
    "session_meta",
    "response_item",
    "turn_context",
    "event_msg",
    "compacted",
    "token_usage_record",
)
_COUNTS = (
    "cached_input_tokens",
    "cache_write_input_tokens",
    "input_tokens",
    "output_tokens",
)


def knows(line: Line) -> bool:
    """Return whether a line has the envelope of a rollout."""
    return line.get("type") in _KINDS and isinstance(line.get("payload"), dict)


class Reader(Base):
    """Turns one line after the other into lines of Claude Code's."""

    def __init__(self) -> None:
        super().__init__(About())
        self.reply = 0
        self.model = ""
        self.tier = ""
        """The service tier, if the file names one."""
        self.is_open = False
        self.is_billed = True
        """Whether the next item belongs to the newest reply, and whether that has its
        bill."""
        self.early = Block()
        """A bill that waits for its reply."""
        self.total = cast(Any, None)
        """The newest sum of all bills."""
        self.recorded: Any = None
        """The bill of the newest record."""
        self.counted: Any = None
        """The bill of a count that no record has repeated."""
        self.response = ""
        """The id of the response of the newest record."""
        self.responses = set[str]()
        """The ids of all records. One that is written again was paid once."""
        self.orphans = list[Block]()
        """Bills of requests that the file doesn't show."""
        self.places = dict[str, str]()
        """The uuid of each text and call."""
        self.digest = blake2b(digest_size=12)
        """Of the items of the newest reply."""

    def __call__(self, number: str, line: Line) -> Iterator[Line]:
        match line:
            case {"type": "session_meta", "payload": meta} if not self.about.thread:
                self._read_head(meta)
            case {"type": "turn_context", "payload": {"model": str(model)}} | {
                "payload": {
                    "type": "thread_settings_applied",
                    "thread_settings": {"model": str(model)},
                }
            }:
                self.model = model
                settings = line["payload"].get("thread_settings", line["payload"])
                self.tier = str(settings.get("service_tier") or self.tier)
            case {"type": "response_item", "payload": item}:
                yield self._item(number, item)
            case {"type": "token_usage_record", "payload": {"usage": dict()}}:
                yield from self._recorded(number, line["payload"])
            case {"payload": {"type": "token_count", "info": dict()}}:
                yield from self._counted(number, line["payload"]["info"])
            case {"type": "compacted", "payload": payload}:
                yield from self._compaction(number, payload)
            case _:
                pass

    def finish(self) -> Iterator[Line]:
        """Return a bill that no reply has claimed, as that of the newest reply."""
        self.orphans += [self.early] if self.early else []
        self.early = Block()
        if self.orphans and self.reply:
            yield self._answer("the end", [])

    def _read_head(self, meta: Block) -> None:
        """Note the session's own head. A fork repeats its parent's after it."""
        about = self.about
        source = meta.get("source")
        about.thread = str(meta.get("id") or meta.get("session_id") or "")
        about.project = PureWindowsPath(str(meta.get("cwd") or "")).as_posix()
        about.project = "" if about.project == "." else about.project
        parent = meta.get("forked_from_id") or meta.get("parent_thread_id")
        is_spawned = isinstance(source, dict) and "subagent" in source
        if is_spawned and not parent:
            spawn: Any = cast(Block, source)["subagent"]
            details: Any = spawn["thread_spawn"] if "thread_spawn" in spawn else Block()
            parent = details.get("parent_thread_id")
        about.parent = str(parent or "")
        if is_spawned or "subagent" in (source, meta.get("thread_source")):
            about.kind = "subagent"

    def _recorded(self, number: str, record: Block) -> Iterator[Line]:
        """Read a `token_usage_record`, unless it repeats the count before it."""
        response = str(record.get("response_id") or "")
        bill = _bill(record["usage"])
        is_known = bill == self.counted or response in self.responses
        self.recorded = bill
        self.counted = None
        self.response = response
        if response:
            self.responses.add(response)
        if not is_known:
            yield from self._paid(number, bill)

    def _counted(self, number: str, info: Block) -> Iterator[Line]:
        """Read a `token_count`, unless it repeats a record or the count before it."""
        usage = info.get("last_token_usage")
        total = info.get("total_token_usage")
        before = self.total
        self.total = total or self.total
        if usage is None and total:
            usage = _difference(total, before or {})
        bill = _bill(usage) if usage else Block()
        is_known = bill == self.recorded or (total is not None and total == before)
        if usage and not is_known:
            self.recorded = None
            self.counted = bill
            yield from self._paid(number, bill)

    def _paid(self, number: str, bill: Block) -> Iterator[Line]:
        if not lines.has_tokens(bill):
            return
        self.orphans += [self.early] if self.early else []
        self.early = bill
        self.is_open = False
        if not self.is_billed:
            yield self._answer(number, [])

    def _item(self, number: str, item: Block) -> Line:
        """Make a line of an item: the model wrote a part of a reply, or is told
        something."""
        self.places[_key(item) or number] = number
        if block := _written(item):
            if not self.is_open:
                self.reply = self.reply + 1
                self.is_open = True
                self.is_billed = False
                self.digest = blake2b(digest_size=12)
                self.counted = None
            self.digest.update(_bytes([block.get("id"), _key(item)]))
            return self._answer(number, [block])
        told = "output" in item
        self.is_open = self.is_open and self.is_billed and told
        content = (
            lines.result(item["call_id"], item["output"])
            if told
            else item.get("content")
        )
        return lines.told(number, content, {"type": "response_item", "payload": item})

    def _answer(self, number: str, content: list[Block]) -> Line:
        usage = self.early
        tier = {"service_tier": self.tier} if self.tier else {}
        self.early = Block()
        more: Block = {"id": f"reply {self.reply}", "model": self.model, "usage": usage}
        if usage:
            self.is_billed = True
            self.digest.update(_bytes([usage, self.total]))
            more["origin"] = self.response or self.digest.hexdigest()
            self.response = ""
            more["usage"] = {**usage, **tier}
        if self.orphans:
            of = {"model": self.model, **tier}
            more["calls"] = [{**each, **of} for each in self.orphans]
            self.orphans = []
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
        usage = [self.early] if self.early else []
        self.early = Block()
        self.is_open = False
        self.is_billed = True
        summary = "\n\n".join(new) or payload.get("message") or ""
        return lines.compaction(number, summary, kept, usage=usage)


def _bytes(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()


def _difference(total: Block, before: Block) -> Block:
    """Return what was added to a sum. If it fell, it was counted from 0 again."""
    names = [name for name, count in total.items() if isinstance(count, int)]
    usage = {name: total[name] - (before.get(name) or 0) for name in names}
    return total if any(count < 0 for count in usage.values()) else usage


def _bill(usage: Block) -> Block:
    """Read a bill. Its input has the tokens that were read from the cache or written to
    it. If only their sum is known, they count as a prompt."""
    read, written, prompt, output = (usage.get(name) or 0 for name in _COUNTS)
    prompt = prompt if prompt or output else usage.get("total_tokens") or 0
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
            called = item.get("call_id")
            name = item.get("name") or kind.removesuffix("_call")
            own = cast(Block, given) if isinstance(given, dict) else {"input": given}
            block = {"type": "tool_use" if called else "server_tool_use", "id": called}
            return {**block, "name": name, "input": own}
        case _:
            return None


FORMAT = Format(
    "Codex",
    '"type": "response_item", "payload"',
    ("*.jsonl", "*.jsonl.zst"),
    knows,
    Reader,
)
