"""Read Codex's rollout files.

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
from contextlib import suppress
from hashlib import blake2b
from pathlib import PureWindowsPath
from typing import Any, cast

from agentlib.messages import Block, result_text
from agentlib.session.file import Line
from session_report import events
from session_report.events import Compacted, Event, Reply, Who
from session_report.formats import Format
from session_report.formats import Reader as Base
from session_report.speakers import words_in

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
    """Reads one line after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.model = ""
        self.tier = ""
        """The service tier, if the file names one."""
        self.stamp: object = None
        """The time of the line that is read."""
        self.reply: Reply | None = None
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
        self.places = dict[str, list[Event]]()
        """The events of each text and call."""
        self.digest = blake2b(digest_size=12)
        """Of the items of the newest reply."""

    def read(self, number: str, line: Line) -> None:
        self.stamp = line.get("timestamp")
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
                self.places[_key(item) or number] = self._item(number, item)
            case {"type": "token_usage_record", "payload": {"usage": dict()}}:
                self._recorded(line["payload"])
            case {"payload": {"type": "token_count", "info": dict()}}:
                self._counted(line["payload"]["info"])
            case {"type": "compacted", "payload": payload}:
                self._compaction(number, payload)
            case _:
                pass

    def finish(self) -> None:
        """Give a bill that no reply has claimed to the newest reply."""
        self.orphans += [self.early] if self.early else []
        self.early = Block()
        if self.orphans and self.reply:
            self._charge(self.reply)

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

    def _recorded(self, record: Block) -> None:
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
            self._paid(bill)

    def _counted(self, info: Block) -> None:
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
            self._paid(bill)

    def _paid(self, bill: Block) -> None:
        if not events.has_tokens(bill):
            return
        self.orphans += [self.early] if self.early else []
        self.early = bill
        self.is_open = False
        if self.reply and not self.is_billed:
            self.clock.said(self.stamp)
            self._charge(self.reply)

    def _item(self, number: str, item: Block) -> list[Event]:
        """Take in an item: the model wrote a part of a reply, or is told something."""
        if block := _written(item):
            return [self._written(number, block, _key(item))]
        is_result = "output" in item
        self.is_open = self.is_open and self.is_billed and is_result
        content = item.get("content")
        is_person = item.get("role") == "user" and words_in(content)
        who = Who.PERSON if is_person else Who.PROGRAM
        told = (
            [events.result(item["call_id"], item["output"])]
            if is_result
            else events.blocks(content)
        )
        return self.tell(number, self.clock.said(self.stamp), told, who)

    def _written(self, number: str, block: Block, key: str) -> Reply:
        """Add a block to the newest reply, or begin the next one with it."""
        at = self.clock.asked(self.stamp)
        if self.reply is None or not self.is_open:
            self.reply = Reply(name=number, at=at, model=self.model)
            self.events.append(self.reply)
            self.is_open = True
            self.is_billed = False
            self.digest = blake2b(digest_size=12)
            self.counted = None
        self.digest.update(_bytes([block.get("id"), key]))
        self.reply.blocks.append(block)
        self._charge(self.reply)
        return self.reply

    def _charge(self, reply: Reply) -> None:
        """Let a reply have the bills that wait."""
        tier = {"service_tier": self.tier} if self.tier else {}
        if self.early:
            self.is_billed = True
            self.digest.update(_bytes([self.early, self.total]))
            reply.marks["origin"] = self.response or self.digest.hexdigest()
            self.response = ""
            reply.bill = {**self.early, **tier}
            self.early = Block()
        of = {"model": self.model, **tier}
        reply.calls += [{**each, **of} for each in self.orphans]
        self.orphans = []

    def _compaction(self, number: str, payload: Block) -> None:
        """Keep what the replacement repeats. The messages that are new in it are the
        summary."""
        items: list[Block] = payload.get("replacement_history") or []
        kept = [each for item in items for each in self.places.get(_key(item), ())]
        new = [
            _key(item)
            for item in items
            if "role" in item and _key(item) not in self.places
        ]
        bills = [self.early] if self.early else []
        self.early = Block()
        self.is_open = False
        self.is_billed = True
        summary = "\n\n".join(new) or payload.get("message") or ""
        at = self.clock.said(self.stamp)
        self.events.append(
            Compacted(name=number, at=at, summary=summary, kept=kept, bills=bills)
        )


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
    return events.bill(prompt - read - written, written, read, output)


def _key(item: Block) -> str:
    """Return what an item is recognised by: the id of its call, or its text."""
    return item.get("call_id") or result_text(
        {"content": events.blocks(item.get("content"))}
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
