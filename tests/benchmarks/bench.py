"""Time a turn of the pipeline beside one of learn-claude-code, a view of an adapter
beside the list's own JSON, and every import. `make bench`. With ARGS=layers without the
imports.

On every turn, learn-claude-code clears results in place and weighs the whole
conversation by `len(str(messages)) // 4`. Both sides see the same messages: over 230 of
them, and about 180,000 tokens after clearing. Compare the ratios, because the times
depend on the machine. They are the processor's, and the least of three runs, so that
what else it does counts little.
"""

import copy
import email
import json
import pkgutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import agentlib
from agentlib.adapters.chat import Compaction
from agentlib.estimation import new_meter
from agentlib.messages import Message
from agentlib.pipeline import Now, compact
from agentlib.presets import DEFAULT, LEARN_CLAUDE_CODE
from agentlib.settings import Settings

WARM_UP = 115
MEASURED = 20
RUNS = 3
TEXT = "".join(
    p.read_text(encoding="utf-8")
    for p in sorted(Path(email.__file__).parent.glob("*.py"))
)


def text(n: int, size: int) -> str:
    """Return `size` characters of real source code, from a different place for every
    n."""
    start = n * 1_009 % (len(TEXT) - size)
    return TEXT[start : start + size]


def exchange(n: int, text_chars: int, result_chars: int) -> list[Message]:
    """Return an assistant's text with a call, and the call's result."""
    call = {
        "type": "tool_use",
        "id": f"toolu_{n}",
        "name": "bash",
        "input": {"command": f"cmd {n}"},
    }
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{n}",
        "content": text(n, result_chars),
    }
    return [
        {
            "role": "assistant",
            "content": [{"type": "text", "text": text(n, text_chars)}, call],
        },
        {"role": "user", "content": [result]},
    ]


def their_turn(messages: list[Message], keep: int = 3) -> int:
    """Clear in place, then weigh everything, as lesson s06 of learn-claude-code
    does."""
    results = [
        part
        for m in messages
        if m["role"] == "user" and isinstance(m["content"], list)
        for part in m["content"]
        if part["type"] == "tool_result"
    ]
    names = {
        block["id"]: block["name"]
        for m in messages
        if m["role"] == "assistant"
        for block in m["content"]
        if block["type"] == "tool_use"
    }
    for result in results[:-keep]:
        if len(result["content"]) > 100:
            result["content"] = f"[Previous: used {names[result['tool_use_id']]}]"
    return len(str(messages)) // 4


def our_turn(settings: Settings) -> Callable[[list[Message]], int]:
    """Return a turn of ours: run the pipeline, then let the meter observe the bill."""
    gauge = new_meter(settings.estimator, 4_000)
    view = list[Message]()
    settled = 0

    def turn(new: list[Message]) -> int:
        nonlocal view, settled
        now = Now(
            [*view, *new],
            settings,
            meter=gauge,
            summarize=lambda messages, focus: "",
            archive=lambda: "",
            settled=settled,
        )
        step = compact(now)
        view = step.applied(now.messages)
        settled = step.settled
        gauge.observe(view, {"input_tokens": step.tokens_after})
        return step.tokens_after

    return turn


def per_turn(
    settings: Settings, text_chars: int
) -> tuple[list[float], list[float], int, int]:
    """Return the seconds of each of their turns and of ours, and messages and tokens at
    the end."""
    history: list[Message] = [{"role": "user", "content": "Go on."}]
    theirs = list[float]()
    ours = list[float]()
    turn = our_turn(settings)
    tokens = 0
    turn(list(history))
    for n in range(WARM_UP + MEASURED):
        new = exchange(n, text_chars, 600)
        history += copy.deepcopy(new)
        start = time.process_time()
        their_turn(history)
        middle = time.process_time()
        tokens = turn(new)
        theirs.append(middle - start)
        ours.append(time.process_time() - middle)
    return theirs[WARM_UP:], ours[WARM_UP:], len(history), tokens


CASES = {
    "learn-claude-code": (replace(LEARN_CLAUDE_CODE, auto=False), 15),
    "default, clear always": (replace(DEFAULT, clear_when="always", auto=False), 18),
    "default, cache warm": (replace(DEFAULT, auto=False), 22),
}


LEAST = 2 / 3
"""Share of the wanted ratio. Below it the layers have become slower, whatever the
machine does beside them."""


def layers() -> bool:
    """Print a row for each setting. Return whether each ratio is near the wanted
    one."""
    slow = list[str]()
    heads = ("messages", "tokens", "theirs µs", "ours µs", "times")
    print(f"{'settings':24}" + "".join(f"{head:>10}" for head in heads) + "  wanted")
    for name, (settings, wanted) in CASES.items():
        text_chars = 4_900 if settings.estimator == "chars" else 4_100
        runs = [per_turn(settings, text_chars) for _ in range(RUNS)]
        theirs, ours = (typical(run[side] for run in runs) for side in (0, 1))
        *_, messages, tokens = runs[0]
        row = f"{name:24}{messages:>10,}{tokens:>10,}{theirs * 1e6:>10,.0f}{ours * 1e6:>10,.0f}"
        print(f"{row}{theirs / ours:>10.1f}  {wanted}")
        if theirs / ours < LEAST * wanted:
            slow.append(name)
    if slow:
        print(f"below two thirds of what is wanted: {', '.join(slow)}")
    return not slow


def typical(runs: Iterable[Sequence[float]]) -> float:
    """Return the median of a step's least seconds over some runs: a single run can meet
    a busy moment of the machine.

    >>> typical([[1, 9, 3], [8, 2, 3]])
    2
    """
    return statistics.median(map(min, zip(*runs, strict=True)))


LENGTHS = (201, 801, 3_201)
MOST = 7
"""A view of a list with two new messages, in times of the list's json.dumps."""


def views() -> bool:
    """Print a row for each length of a list. Return whether a view that goes on costs
    about what is wanted."""
    heads = ("json µs", "two new µs", "times", "the first", "times")
    print(
        f"\n{'messages of the list':>24}"
        + "".join(f"{h:>12}" for h in heads)
        + "  wanted"
    )
    slow = list[str]()
    for length in LENGTHS:
        given: list[Message] = [{"role": "user", "content": "Go on."}]
        for n in range(length // 2):
            given += exchange(n, 100, 1_500)
        runs = [each_view(given) for _ in range(RUNS)]
        first = min(run[0] for run in runs)
        ours = typical(run[1:] for run in runs)
        plain = min(timed(json.dumps, given) for _ in range(9))
        cells = f"{plain * 1e6:>12,.0f}{ours * 1e6:>12,.0f}{ours / plain:>12.1f}"
        print(
            f"{length:>24,}{cells}{first * 1e6:>12,.0f}{first / plain:>12.1f}  {MOST}"
        )
        if ours / plain > MOST / LEAST:
            slow.append(f"{length:,}")
    if slow:
        print(f"half again above what is wanted: lists of {', '.join(slow)}")
    return not slow


def each_view(given: list[Message]) -> list[float]:
    """Return the seconds of the first view, and of 20 that go on with two messages
    each."""
    sizes = range(len(given) - 40, len(given) + 1, 2)
    with TemporaryDirectory() as folder:
        view = Compaction(folder, DEFAULT).view
        return [timed(view, given[:size], answer) for size in sizes]


def answer(messages: object) -> str:
    """Answer a request for a summary."""
    return "All was read."


def timed(call: Callable[..., object], *given: object) -> float:
    """Return the processor's seconds of a call."""
    start = time.process_time()
    call(*given)
    return time.process_time() - start


def imports() -> None:
    """Print the milliseconds that a fresh process takes longer if it imports a
    module."""

    empty = min(seconds("pass") for _ in range(3))
    print(f"\n{'import':32}{'ms':>8}")
    for module in pkgutil.walk_packages(agentlib.__path__, "agentlib."):
        if module.name.endswith("__main__"):
            continue
        try:
            shortest = min(seconds(f"import {module.name}") for _ in range(2))
        except ModuleNotFoundError as error:  # an adapter without its framework
            print(f"{module.name:32}{'-':>8}  {error}")
        else:
            print(f"{module.name:32}{(shortest - empty) * 1e3:>8.0f}")


def seconds(statement: str) -> float:
    """Run a statement in a fresh process, and return how long that took.

    Raises ModuleNotFoundError if the statement does, and CalledProcessError for any
    other failure.
    """
    start = time.perf_counter()
    command = [sys.executable, "-c", statement]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    taken = time.perf_counter() - start
    last = done.stderr.strip().rpartition("\n")[2]
    if last.startswith("ModuleNotFoundError: "):
        raise ModuleNotFoundError(last.partition(": ")[2])
    done.check_returncode()
    return taken


if __name__ == "__main__":
    is_quick = layers() & views()
    if sys.argv[1:] != ["layers"]:
        imports()
    sys.exit(not is_quick)
