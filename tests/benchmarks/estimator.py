"""How far the estimators are from what real sessions were billed: a table, a row for each file.

python tests/benchmarks/estimator.py DIR

Error in % of the billed prompt, over the responses of each session file in DIR. Not counted: the
first response of a file, and the first after a compaction, since nobody can know yet what the
system prompt, the tools and the files attached again weigh. Below the table: how many tokens a
turn brought, which is what the buffer has to hold.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from agentlib.estimation import meter, prompt_tokens
from agentlib.lab import sessions
from agentlib.lab.replay.estimates import growths
from agentlib.settings import Settings
from agentlib.transcripts import Session

ESTIMATORS = ("anchored", "chars", "blocks")


def errors(session: Session, estimator: str) -> list[float]:
    """For each response that counts, |estimate - billed| in % of what was billed."""
    found: list[float] = []
    weigh, before = meter(estimator), -1
    for number, request in enumerate(session.requests):
        billed, estimate = prompt_tokens(request.usage), weigh.estimate(request.context)
        compacted = any(before < c.seen <= request.seen for c in session.compactions if c.message)
        if number and billed and not compacted:
            found.append(abs(estimate - billed) / billed * 100)
        weigh.observe(request.context, request.usage)
        before = request.seen
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed, between neighbours in proportion."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def brought(loaded: Sequence[Session]) -> str:
    """What the turns of the sessions brought, those that made the prompt smaller left out."""
    turns = [growth for session in loaded for growth in growths(session) if growth > 0]
    if not turns:
        return "no turn brought anything"
    buffer = Settings().buffer
    return (
        f"{len(turns)} turns brought {percentile(turns, 0.5):,.0f} tokens in the middle, at most "
        f"{max(turns):,}; {sum(turn > buffer for turn in turns)} more than {buffer:,}"
    )


def row(name: str, session: Session) -> str:
    """A file's line of the table."""
    found = {estimator: errors(session, estimator) for estimator in ESTIMATORS}
    count = len(found["anchored"])
    cells = [f"{percentile(e, s):>9.3f}" for e in found.values() if e for s in (0.5, 0.95)]
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
    print(brought(list(loaded.values())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
