"""Kill an agent at drawn moments, resume it, and compare what it had noted with what is
there.

Each run is a forked process. After each turn it tells its parent how long the history
is, so the parent knows what has to be in the file. POSIX only.
"""

import os
import random
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from agentlib.loop import run
from agentlib.messages import of_type
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client, violation
from tests.benchmarks.count import count
from tests.benchmarks.fuzz import brain as reader
from tests.benchmarks.fuzz import files

TURNS = 25
SETTINGS = Settings(
    context_window=8_000, output_reserve=400, buffer=400, threshold=4_000
)


def live(folder: Path, workspace: Workspace, witness: int) -> None:
    """Work for some turns, and write a byte to `witness` for each."""
    with Session.create(folder, settings=SETTINGS, session_id="killed") as session:
        terms = {"settings": SETTINGS, "session": session, "max_turns": TURNS}
        for _ in run(client(window=8_000, model=reader), "Read.", workspace, **terms):
            os.write(witness, b".")


def killed(folder: Path, workspace: Workspace, after: float) -> tuple[int, float]:
    """Let an agent live so many seconds. Returns the turns that it told of, and how
    long it took"""
    told, witness = os.pipe()
    started = time.perf_counter()
    if not (child := os.fork()):
        live(folder, workspace, witness)
        os._exit(0)
    os.close(witness)
    time.sleep(after)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(told, "rb") as file:
        return len(file.read()), time.perf_counter() - started


def check(path: Path, workspace: Workspace, turns: int) -> str:
    """Resume a killed session. Returns what is wrong, "" if nothing is."""
    session = load(path)
    results = {
        r["tool_use_id"] for m in session.history for r in of_type(m, "tool_result")
    }
    if [each for each in session.damage if "it is no JSON object" not in each]:
        return f"damaged: {session.damage}"
    if len(session.requests) < turns or len(results) < 2 * turns:
        return f"{turns} turns were told of, {len(session.requests)} are there"
    before = list(session.history)
    terms = {"settings": SETTINGS, "session": session}
    with session:
        *_, last = run(client(window=8_000, model=reader), "Go on.", workspace, **terms)
    again = load(path)
    if (
        again.history != session.history
        or again.history[: max(0, len(before) - 1)] != before[:-1]
    ):
        return "the history has changed"
    if last.stop_reason != "end_turn":
        return f"it stopped with {last.stop_reason}"
    return violation([*again.context, {"role": "user", "content": "?"}]) or ""


def main(cases: int) -> None:
    rng = random.Random(7)
    faults = list[str]()
    told = 0
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        workspace = files(top)
        live(
            top, workspace, os.open(os.devnull, os.O_WRONLY)
        )  # builds what is built at first use
        started = time.perf_counter()
        (top / "killed.jsonl").unlink()
        live(top, workspace, os.open(os.devnull, os.O_WRONLY))
        whole = time.perf_counter() - started
        for n in range(cases):
            folder = top / str(n)
            turns, _ = killed(folder, workspace, rng.uniform(0, whole))
            path = folder / "killed.jsonl"
            told += turns
            with suppress(FileNotFoundError):  # killed before the file was there
                if (
                    fault := check(path, workspace, turns)
                    if path.stat().st_size
                    else ""
                ):
                    faults.append(f"{n}: {fault}")
    print(
        f"kills: {cases:,}; turns told of before them: {told:,}; faults: {len(faults)}"
    )
    print("\n".join(faults))
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main(count(__doc__, "kills", 500))
