"""Ten thousand turns in a window of 32,000 tokens: flat cost, bounded context. `make
stress`.

The real loop, tools, session file and SDK; the model behind the transport reads one
file after another and writes a short summary when asked. `make stress ARGS=2000` for
fewer.
"""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentlib.loop import run
from agentlib.presets import DEFAULT
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client
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


def main(turns: int) -> None:
    for name, settings in SETTINGS.items():
        print(f"\n{name}\n{'turns':>8}{'ms a turn':>12}{'messages':>10}{'tokens':>10}")
        with tempfile.TemporaryDirectory() as folder:
            for block in blocks(Path(folder), settings, turns, max(1, turns // 10)):
                row = f"{block.turns:>8,}{block.seconds * 1e3:>12.2f}{block.messages:>10,}"
                print(f"{row}{block.tokens:>10,}", flush=True)
            start = time.perf_counter()
            session = load(Path(folder) / "sessions" / "stress.jsonl")
            size = session.path.stat().st_size
            seconds = time.perf_counter() - start
            done = len(session.compactions)
            print(f"loaded {size / 1e6:.1f} MB in {seconds:.1f} s: {done} compactions")


if __name__ == "__main__":
    main(count(__doc__, "turns", 10_000))
