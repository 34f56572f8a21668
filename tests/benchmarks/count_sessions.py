"""Count sessions twice: by the reader, and by a parser of its own that shares no line
with it.

python tests/benchmarks/count_sessions.py PATH…

A row for each file, with the seconds that the reader took, and the sums. A file whose
counts differ shows both. PATH is a session file, or a folder of them.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import session_report as sessions
from agentlib.messages import INTERRUPTED, of_type

Line = dict[str, Any]
COLUMNS = (
    "responses",
    "uncached",
    "written",
    "read",
    "calls",
    "results",
    "compactions",
)
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def by_reader(path: Path) -> Counter[str]:
    """Count what the reader made of a file."""
    session = sessions.load(path)
    counts = Counter[str]()
    counts["responses"] = len(session.requests)
    usages = [request.usage for request in session.requests]
    usages += [call for usage in usages for call in usage.get("calls") or ()]
    usages += [
        usage for compaction in session.compactions for usage in compaction.usage
    ]
    for column, name in zip(COLUMNS[1:4], _USAGE, strict=True):
        counts[column] = sum(usage.get(name) or 0 for usage in usages)
    results = [
        r for message in session.history for r in of_type(message, "tool_result")
    ]
    counts["calls"] = sum(
        len(of_type(message, "tool_use")) for message in session.history
    )
    counts["results"] = sum(result["content"] != INTERRUPTED for result in results)
    counts["compactions"] = len(session.compactions)
    return counts


def by_hand(path: Path) -> Counter[str]:
    """Count the same from the file's JSON alone."""
    objects = list(_objects(path.read_text(encoding="utf-8", errors="replace")))
    head = next(
        each for each in objects if {"payload", "cwd", "projectHash", "uuid"} & {*each}
    )
    if "payload" in head:
        return _codex(objects)
    if "projectHash" in head:
        return _gemini(objects)
    return _pi(objects) if head.get("type") == "session" else _claude_code(objects)


def _objects(text: str) -> Iterator[Line]:
    """Find the objects, whatever stands between them. A line that begins with none is
    skipped."""
    decoder = json.JSONDecoder()
    at = 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at = text.find("\n", at)
            if at < 0:
                return
        else:
            yield value


def _counts(*numbers: int) -> Counter[str]:
    return Counter(dict(zip(COLUMNS, numbers, strict=True)))


def _claude_code(objects: list[Line]) -> Counter[str]:
    said = [o for o in objects if o.get("type") in ("user", "assistant")]
    said = [o for o in said if not o.get("isSidechain")] or said
    said = [o for o in said if isinstance(o["message"].get("content"), str | list)]
    replies: dict[str, Line] = {}
    blocks: list[Line] = []
    for each in said:
        message = each["message"]
        blocks += message["content"] if isinstance(message["content"], list) else []
        is_reply = each["type"] == "assistant" and message.get("model") != "<synthetic>"
        if is_reply and not each.get("isApiErrorMessage"):
            replies[message.get("id") or each["uuid"]] = message.get("usage") or {}
    calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    results = {
        block["tool_use_id"] for block in blocks if block["type"] == "tool_result"
    }
    tokens = (
        sum(usage.get(name) or 0 for usage in replies.values()) for name in _USAGE
    )
    summaries = {each["uuid"] for each in said if each.get("isCompactSummary")}
    return _counts(
        len(replies), *tokens, len(calls), len(results & calls), len(summaries)
    )


def _pi(objects: list[Line]) -> Counter[str]:
    messages = [each["message"] for each in objects if each.get("type") == "message"]
    sent = ("stop", "length", "toolUse")
    names = ("input", "cacheWrite", "cacheRead")
    replies = [
        m
        for m in messages
        if m.get("stopReason") in sent
        or (m.get("stopReason") and any(map(m["usage"].get, (*names, "output"))))
    ]
    kept = [m for m in replies if m["stopReason"] in sent]
    calls = [b["id"] for m in kept for b in m["content"] if b["type"] == "toolCall"]
    results = {m["toolCallId"] for m in messages if m["role"] == "toolResult"}
    compactions = [each for each in objects if each.get("type") == "compaction"]
    usages = [each["usage"] for each in (*replies, *compactions) if each.get("usage")]
    tokens = (sum(u[name] for u in usages) for name in names)
    known = len(results & {*calls})
    return _counts(len(replies), *tokens, len(calls), known, len(compactions))


def _codex(objects: list[Line]) -> Counter[str]:
    """Take the tokens from the last sum, where the reader adds up what each request
    cost."""
    items = [each["payload"] for each in objects if each["type"] == "response_item"]
    calls = {item["call_id"] for item in items if item["type"].endswith("_call")}
    results = {item["call_id"] for item in items if item["type"].endswith("_output")}
    written = [item.get("role") == "assistant" or not _is_told(item) for item in items]
    replies = sum(
        after and not before
        for before, after in zip([False, *written], written, strict=False)
    )
    events = [each["payload"] for each in objects if each["type"] == "event_msg"]
    infos = [e["info"] for e in events if e["type"] == "token_count" and e["info"]]
    last: Line = infos[-1]["total_token_usage"] if infos else {}
    names = ("input_tokens", "cache_write_input_tokens", "cached_input_tokens")
    total, new, read = (last.get(name, 0) for name in names)
    compactions = sum(each["type"] == "compacted" for each in objects)
    numbers = (replies, total - new - read, new, read, len(calls), len(results & calls))
    return _counts(*numbers, compactions)


def _is_told(item: Line) -> bool:
    return "role" in item or item["type"].endswith("_output")


def _gemini(objects: list[Line]) -> Counter[str]:
    snapshots: list[list[Line]] = [
        e.get("$set", e).get("messages") or [e] for e in objects
    ]
    records = [record for records in snapshots for record in records]
    replies = {r["id"]: r for r in records if r.get("type") == "gemini" and r.get("id")}
    listed: list[list[Line]] = [r.get("toolCalls") or [] for r in replies.values()]
    calls = {call["id"]: call for each in listed for call in each}
    bills: list[Line] = [r["tokens"] for r in replies.values() if r.get("tokens")]
    uncached = sum(bill["input"] + bill["tool"] - bill["cached"] for bill in bills)
    read = sum(bill["cached"] for bill in bills)
    results = sum(bool(call.get("result")) for call in calls.values())
    return _counts(len(replies), uncached, 0, read, len(calls), results, 0)


def main(paths: list[str], say: Callable[[str], object] = print) -> None:
    """Print the counts of each file, and their sums."""
    say(f"{'file':<44}{'MB':>7}{'s':>7}" + "".join(f"{name:>13}" for name in COLUMNS))
    sums = Counter[str]()
    differences = 0
    for path in sessions.files(paths):
        started = time.perf_counter()
        try:
            counts = by_reader(path)
        except ValueError as error:
            say(f"{error}"[:150])
            continue
        taken = time.perf_counter() - started
        own = by_hand(path)
        row = f"{path.stem[-42:]:<44}{path.stat().st_size / 1e6:>7.2f}{taken:>7.2f}"
        say(row + "".join(f"{counts[name]:>13,}" for name in COLUMNS))
        if differing := {
            name: own[name] for name in COLUMNS if own[name] != counts[name]
        }:
            say(f"    by hand: {differing}")
        differences += len(differing)
        sums += counts
    say(f"{'sums':<58}" + "".join(f"{sums[name]:>13,}" for name in COLUMNS))
    say(f"{differences} differences")


if __name__ == "__main__":
    main(sys.argv[1:])
