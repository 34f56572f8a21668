"""Compare the estimators with the bills of real sessions, in a table with a row for
each file.

python tests/benchmarks/estimator.py DIR

The error is in % of the billed prompt, over the responses of each session file in DIR.
The first response of a file doesn't count, nor does the first after a compaction,
because no estimator can know yet what the system prompt, the tools and the attached
files weigh. Below the table stand the tokens that a turn added, because the buffer has
to hold that many.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import session_report as sessions
from agentlib.estimation import new_meter, prompt_tokens
from agentlib.settings import Settings
from agentlib.transcripts import Session
from windtunnel.estimates import growths

ESTIMATORS = ("anchored", "chars", "blocks")


def errors(session: Session, estimator: str) -> list[float]:
    """Return |estimate - billed| in % of the billed prompt, for each response that
    counts."""
    percents: list[float] = []
    gauge = new_meter(estimator)
    before = -1
    for number, request in enumerate(session.requests):
        billed = prompt_tokens(request.usage)
        estimate = gauge.estimate(request.context)
        compacted = any(
            before < c.seen <= request.seen for c in session.compactions if c.message
        )
        if number and billed and not compacted:
            percents.append(abs(estimate - billed) / billed * 100)
        gauge.observe(request.context, request.usage)
        before = request.seen
    return percents


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values don't exceed, interpolated.

    >>> percentile([1, 2, 3], 0.75)
    2.5
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def growth_of(loaded: Sequence[Session]) -> str:
    """Describe by how many tokens the turns of these sessions made the prompt grow."""
    turns = [growth for session in loaded for growth in growths(session) if growth > 0]
    if not turns:
        return "No turn made a prompt grow."
    buffer = Settings().buffer
    return (
        f"The median of {len(turns):,} turns added {percentile(turns, 0.5):,.0f} tokens, the "
        f"largest {max(turns):,}. More than {buffer:,} came {sum(t > buffer for t in turns)} times."
    )


def row(name: str, session: Session) -> str:
    """Return a file's line of the table."""
    columns = {estimator: errors(session, estimator) for estimator in ESTIMATORS}
    count = len(columns["anchored"])
    cells = [
        f"{percentile(e, s):>9.3f}" for e in columns.values() if e for s in (0.5, 0.95)
    ]
    return f"{name:<32} {count:>5}" + "".join(cells)


def main(arguments: Sequence[str]) -> int:
    """Print the table for the session files of a folder."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(__doc__)
        return 2
    above = "".join(f"{name:>18}" for name in ESTIMATORS)
    print(f"{'error in % of the prompt':<38}{above}")
    print(f"{'file':<32} {'n':>5}" + f"{'median':>9}{'p95':>9}" * len(ESTIMATORS))
    paths = sorted(Path(arguments[0]).glob("*.jsonl"))
    loaded = {path.stem: sessions.load(path) for path in paths}
    for name, session in loaded.items():
        print(row(name, session))
    print(growth_of(list(loaded.values())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
