"""Compare four estimates of each recorded prompt with its bill (lesson 01)."""

from itertools import pairwise
from typing import TYPE_CHECKING

from agentlib.estimation import estimate_by_block, estimate_tokens, meter, prompt_tokens
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import pandas

CHARS, BLOCKS, LAST_BILL, METER = "chars/4", "blocks x 4/3", "last bill + chars/4", "meter"
WAYS: tuple[str, ...] = (CHARS, BLOCKS, LAST_BILL, METER)
"""The columns of `readings`, the crudest first."""


def readings(session: Session) -> "pandas.DataFrame":
    """Return a row a request: `turn`, `billed` tokens, and each estimate made before it was sent.

    `LAST_BILL` adds chars/4 of the new messages to the bill before. For the first request it is
    chars/4 of everything. The session's context must only grow, as with `enabled=False`.
    """
    import pandas

    anchored = meter("anchored", len(session.system) + len(str(session.tools)))
    rows: list[dict[str, int]] = []
    billed = sent = 0
    for turn, request in enumerate(session.requests, 1):
        context = request.context
        row = {
            CHARS: estimate_tokens(context),
            BLOCKS: estimate_by_block(context),
            LAST_BILL: billed + estimate_tokens(context[sent:]),
            METER: anchored.estimate(context),
        }
        billed, sent = prompt_tokens(request.usage), len(context)
        rows.append({"turn": turn, "billed": billed, **row})
        anchored.observe(context, request.usage)
    return pandas.DataFrame(rows)


def error_percent(reading: float, billed: float) -> float:
    """Return the error of an estimate in percent of the bill; negative: it is too low.

    >>> error_percent(40, 100)
    -60.0
    """
    return 100 * (reading - billed) / billed


def rings_at(threshold: float, percent: float) -> int:
    """Return the real tokens at which an alarm rings whose estimate is `percent` off.

    Raises ValueError for an estimate that is always 0.

    >>> rings_at(171_000, -60), rings_at(171_000, 100)
    (427500, 85500)
    """
    if percent <= -100:
        raise ValueError(f"an estimate that is {percent} % off reads nothing; take more than -100")
    return round(threshold / (1 + percent / 100))


def growths(session: Session) -> list[int]:
    """Return by how many tokens each request was larger than the one before it."""
    sizes = [prompt_tokens(request.usage) for request in session.requests]
    return [after - before for before, after in pairwise(sizes)]
