"""What an agent's estimate said of each prompt, beside its bill (lesson 01)."""

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agentlib.estimation import prompt_tokens
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import pandas

    from windtunnel.runner import Run


def readings(run: "Run") -> "pandas.DataFrame":
    """Return a row for each request: its `turn`, the tokens `billed` and `said`, and
    `rang`.

    `said` is the estimate that was compared with the threshold, and `rang` tells
    whether it was over it and the agent compacted. A last request that the API refused
    for its size is billed as the API counted it. The run has to have `reactive=False`,
    so that each step is one request.
    """
    import pandas

    steps = run.steps or [turn.step for turn in run.rounds]
    sizes = [*run.sizes, *map(int, re.findall(r"(\d+) tokens >", run.refused))]
    rows = [
        (turn, billed, step.tokens_before - step.tokens_cleared, bool(step.compaction))
        for turn, (billed, step) in enumerate(zip(sizes, steps, strict=False), 1)
    ]
    return pandas.DataFrame(rows, columns=["turn", "billed", "said", "rang"])


def growths(session: Session) -> list[int]:
    """Return by how many tokens each request was larger than the one before it."""
    sizes = [prompt_tokens(request.usage) for request in session.requests]
    return [after - before for before, after in pairwise(sizes)]
