"""Time the report on generated session files, as a ratio to `json.loads`: `make
bench-report`.

A ratio is nearly the same on every machine. The sessions are of Claude Code's form: 200
turns each, that read files, edit them with words that they have read, and compact.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agentlib.session.file import timestamp
from session_report.overview import summarise

Line = dict[str, Any]
_TURNS = 200
_EVERY = 80
"""Turns from one compaction to the next."""
WANTED = 13
"""How many times as long as `json.loads` the report takes."""
MOST = 1.5
"""Times that. Above it the report has fallen to two thirds of its speed, whatever the
machine does beside it."""


def session(number: int) -> Iterator[Line]:
    """Yield the lines of one session, the same ones each time."""
    chance = random.Random(number)
    names = [f"name_{chance.randrange(10**6)}" for _ in range(2_000)]
    read = ""

    def line(kind: str, turn: int, content: Any, **more: Any) -> Line:
        message = {"role": kind, "content": content, **more}
        at = timestamp(1_760_000_000 + 60 * turn)
        return {
            "type": kind,
            "uuid": f"{kind}{turn}",
            "timestamp": at,
            "message": message,
        }

    yield line("user", -1, "Mend everything, and never push to main.")
    for turn in range(_TURNS):
        if turn % _EVERY == _EVERY - 1:
            details = {"trigger": "auto", "preTokens": 150_000}
            mark = {"type": "system", "subtype": "compact_boundary", "uuid": f"b{turn}"}
            yield {**mark, "timestamp": timestamp(1_760_000_000 + 60 * turn),
                   "compactMetadata": details}  # fmt: skip
            summary = line("user", 1_000 + turn, " ".join(chance.choices(names, k=300)))
            yield {**summary, "isCompactSummary": True}
        old = read[chance.randrange(len(read) or 1) :][:300]
        given = {"file_path": f"/w/{turn % 50}.py", "old_string": old}
        call = {"type": "tool_use", "id": f"t{turn}", "name": "Edit", "input": given}
        usage = {"input_tokens": 2_000, "cache_read_input_tokens": 600 * (turn % _EVERY),
                 "output_tokens": 300}  # fmt: skip
        more = {"id": f"m{number}.{turn}", "model": "claude-opus-5-5", "usage": usage}
        words = {"type": "text", "text": " ".join(chance.choices(names, k=60))}
        yield line("assistant", turn, [words, call], **more)
        rows = (f"    {' '.join(chance.choices(names, k=6))}" for _ in range(80))
        read = "\n".join(rows)
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": read}
        yield line("user", turn, [result])


def seconds(*functions: Callable[[], object]) -> list[float]:
    """Return the shortest of five times of each, taken in turns. It is the processor's
    time, so that what else runs on the machine matters less."""
    times = [list[float]() for _ in functions]
    for _ in range(5):
        for function, each in zip(functions, times, strict=True):
            begun = time.process_time()
            function()
            each.append(time.process_time() - begun)
    return [*map(min, times)]


def main() -> bool:
    """Print the ratio of some sessions. Return whether it is near the wanted one. An
    argument is the number of sessions."""
    count = int(sys.argv[1]) if sys.argv[1:] else 5
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.jsonl" for number in range(count)]
        for number, path in enumerate(paths):
            lines = map(json.dumps, session(number))
            path.write_text("\n".join(lines), encoding="utf-8")
        raw = [path.read_text(encoding="utf-8").splitlines() for path in paths]
        size = sum(path.stat().st_size for path in paths)
        parsed, reported = seconds(
            lambda: [json.loads(line) for lines in raw for line in lines],
            lambda: [summarise(path) for path in paths],
        )
    print(f"{count} sessions, {size / 1e6:.1f} MB, in one process")
    times = reported / parsed
    both = f"json.loads {parsed:.3f} s, the report {reported:.3f} s"
    print(f"{both}: {times:.1f} times, wanted {WANTED}")
    if times > MOST * WANTED:
        print("half again above what is wanted")
    return times <= MOST * WANTED


if __name__ == "__main__":
    sys.exit(not main())
