"""The summariser fails, in every way and ever more often: who gets to the end, and what
is lost.

Many short sessions for each fault and share, seeded; the real loop, tools, session file
and SDK. The SDK's retries are off for time-outs, or it would wait for seconds. A
message is lost if it was said in a run and does not stand in the session file read
back. `make bench-faults`; `make bench-faults ARGS=10` takes a tenth of the sessions.
Ends with 1 if a message was lost, or if a session under DEFAULT didn't end.
"""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, get_args

from agentlib import presets
from agentlib.loop import run
from agentlib.messages import asks_for_summary
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client
from offline_api.faults import INVENTED, Fault, Kind
from tests.benchmarks.count import count
from windtunnel.runner import outcomes
from windtunnel.tasks.scenarios import Clock

WINDOW = 8_000
READINGS = 16
PROMPT = "Read the text, again and again."
SHARES = (0.1, 0.5, 1.0)
KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in INVENTED)
"""Every fault that leaves no summary. A summary with an invented line is one all the
same."""
MANY = 50
FEW = 20
"""Sessions for each cell of the table: under DEFAULT, under each other preset."""


@dataclass(frozen=True)
class Played:
    """One session: whether it came to its end, and what its file still has."""

    completed: bool
    lost: int
    outcomes: Counter[str]
    """Compactions by what became of them: done, cut to size, failed."""


class Reader:
    """The model: reads one file so many times, then is done; summarises in a line."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        if asks_for_summary(body["messages"]):
            return says(
                f"## Accomplished\nRead it {self.read} times, with all that was in it."
            )
        self.read += 1
        if self.read > READINGS:
            return says("Done.")
        call = {"type": "tool_use", "name": "read_file", "input": {"path": "text.txt"}}
        said = {"type": "text", "text": f"Noted part {self.read}."}
        return {"content": [said, call], "stop_reason": "tool_use"}


def says(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def workspace(folder: Path) -> Workspace:
    """One file of some 1,000 tokens: eight readings fill the window."""
    lines = (f"line {n} of the text, and nothing new in it" for n in range(65))
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    return Workspace(folder)


def play(settings: Settings, fault: Fault, place: Workspace, folder: Path) -> Played:
    """One session under this fault."""
    clock = Clock()
    name = f"{fault.kind}-{fault.seed}"
    session = Session.create(folder, settings=settings, session_id=name, clock=clock)
    api = client(model=Reader(), window=WINDOW, faults=[fault], clock=clock)
    if fault.kind == "timeout":
        api = api.with_options(max_retries=0)
    said: list[Any] = [{"role": "user", "content": PROMPT}]
    stopped = ""
    try:
        for turn in run(
            api, PROMPT, place, settings=settings, session=session, clock=clock
        ):
            said += turn.messages
            stopped = turn.stop_reason
    except Exception as error:
        stopped = type(error).__name__
    finally:
        session.close()
    found = load(folder / f"{name}.jsonl")
    kept = [a == b for a, b in zip(said, found.history, strict=False)]
    return Played(stopped == "end_turn", len(said) - sum(kept), outcomes(found))


def cell(settings: Settings, kind: Kind, share: float, sessions: int) -> list[Played]:
    """So many sessions under one fault, each with a seed of its own."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "work").mkdir()
        place = workspace(Path(name) / "work")
        faults = [
            Fault(kind, rate=share, seed=n, only="summary") for n in range(sessions)
        ]
        return [play(settings, fault, place, Path(name)) for fault in faults]


def broken(name: str, played: Sequence[Played]) -> bool:
    """Tell whether sessions under a preset broke the promise: nothing is lost, and under
    DEFAULT each gets to its end."""
    ended = name != "default" or all(one.completed for one in played)
    return not ended or any(one.lost for one in played)


def row(name: str, kind: Kind, share: float, played: Sequence[Played]) -> str:
    """Write the line of a cell."""
    total = sum((one.outcomes for one in played), Counter[str]())
    ended = sum(one.completed for one in played)
    lost = sum(one.lost for one in played)
    line = f"{name:<22}{kind:<11}{share:>6.0%}{len(played):>10}{ended:>11}{lost:>6}"
    return line + "".join(f"{total[o]:>8}" for o in ("done", "cut to size", "failed"))


def main(divisor: int = 1) -> int:
    """Print the table, a line for each preset, fault and share. Return the exit
    code."""
    head = f"{'preset':<22}{'fault':<11}{'share':>6}{'sessions':>10}{'completed':>11}"
    print(f"{head}{'lost':>6}{'done':>8}{'cut':>8}{'failed':>8}")
    wrong = 0
    for name, preset in presets.ALL.items():
        sessions = max(1, (MANY if name == "default" else FEW) // divisor)
        for kind, share in product(KINDS, SHARES):
            played = cell(preset.scaled(WINDOW), kind, share, sessions)
            wrong += (is_wrong := broken(name, played))
            mark = "  BROKEN" if is_wrong else ""
            print(row(name, kind, share, played) + mark, flush=True)
    print(f"{wrong or 'no'} cells break the promise")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(count(__doc__, "take one session in so many", 1)))
