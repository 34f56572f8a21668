"""Ten thousand turns in a window of 32,000 tokens: flat cost, bounded context. `make
stress`.

The real loop, tools, session file and SDK; the model behind the transport reads one
file after another and writes a short summary when asked. `make stress ARGS=2000` for
fewer. Ends with 1 if a context was larger than the window, or if a turn of the second half
takes half again as long as one of the first.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from agentlib.loop import run
from agentlib.presets import DEFAULT
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client
from tests.benchmarks.bench import LEAST
from tests.benchmarks.count import count

FILES = 7
WINDOW = 32_000
SETTINGS = {
    "default": DEFAULT.scaled(WINDOW),
    "clear always": Settings().scaled(WINDOW),
}


@dataclass(frozen=True)
class Block:
    """A stretch of turns: processor seconds a turn, and the largest context among
    them."""

    turns: int
    seconds: float
    messages: int
    tokens: int


def brain(body: dict[str, Any]) -> dict[str, Any]:
    """Reads a file at every turn; which one depends on how long the conversation is."""
    last = body["messages"][-1]["content"]
    text = last if isinstance(last, str) else last[-1].get("text", "")
    if text.startswith("Summarize this conversation"):
        summary = {"type": "text", "text": "## Accomplished\nRead files."}
        return {"content": [summary], "stop_reason": "end_turn"}
    call = {"type": "tool_use", "name": "read_file"}
    path = {"path": f"file{len(body['messages']) % FILES}.txt"}
    return {"content": [{**call, "input": path}], "stop_reason": "tool_use"}


def workspace(folder: Path) -> Workspace:
    """A few text files of some 1,000 tokens each."""
    for n in range(FILES):
        lines = (f"line {i} of file {n}: nothing new here" for i in range(100))
        (folder / f"file{n}.txt").write_text(
            "\n".join(lines), encoding="utf-8", newline="\n"
        )
    return Workspace(folder)


def blocks(folder: Path, settings: Settings, turns: int, size: int) -> Iterator[Block]:
    """Run so many turns; a Block each `size` of them. The session file is left in
    `folder`."""
    start = time.process_time()
    messages = 0
    tokens = 0
    with Session.create(
        folder / "sessions", settings=settings, session_id="stress"
    ) as session:
        work = run(
            client(window=WINDOW, model=brain),
            "Read on.",
            workspace(folder),
            settings=settings,
            session=session,
            max_turns=turns,
        )
        for n, turn in enumerate(work, 1):
            messages = max(messages, len(turn.context))
            tokens = max(tokens, turn.step.tokens_after)
            if n % size == 0:
                yield Block(n, (time.process_time() - start) / size, messages, tokens)
                start = time.process_time()
                messages = 0
                tokens = 0


def faults(measured: Sequence[Block]) -> list[str]:
    """Say what isn't as promised: a context that fits, and turns that stay as quick.

    The second half is measured by the first, without the block in which the window
    fills. So a slow machine is no fault.
    """
    half = len(measured) // 2
    parts = measured[1:half], measured[half:]
    first, last = (mean(block.seconds for block in part) for part in parts)
    largest = max(block.tokens for block in measured)
    return [
        *[f"a context had {largest:,} tokens"] * (largest > WINDOW),
        *[f"a turn takes {last / first:.1f} times as long"] * (first < LEAST * last),
    ]


def main(turns: int) -> int:
    """Print a table for each of the settings. Return the exit code."""
    wrong = list[str]()
    for name, settings in SETTINGS.items():
        print(f"\n{name}\n{'turns':>8}{'ms a turn':>12}{'messages':>10}{'tokens':>10}")
        with tempfile.TemporaryDirectory() as folder:
            measured = list[Block]()
            for block in blocks(Path(folder), settings, turns, max(1, turns // 10)):
                measured.append(block)
                row = f"{block.turns:>8,}{block.seconds * 1e3:>12.2f}{block.messages:>10,}"
                print(f"{row}{block.tokens:>10,}", flush=True)
            start = time.perf_counter()
            session = load(Path(folder) / "sessions" / "stress.jsonl")
            size = session.path.stat().st_size
            seconds = time.perf_counter() - start
            done = len(session.compactions)
            print(f"loaded {size / 1e6:.1f} MB in {seconds:.1f} s: {done} compactions")
        wrong += [f"{name}: {fault}" for fault in faults(measured)]
    print("\n" + ("\n".join(wrong) or "flat, and within the window"))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(count(__doc__, "turns", 10_000)))
