"""What each way of counting said before a request, beside what the request was billed (lesson 01).

Not here: the ways themselves (estimation), and pictures of them (estimation_panel).
"""

from collections.abc import Sequence
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
    """A row a request: `turn`, `billed` tokens, and what each way said before it was sent.

    Only what was known by then goes into a reading. `LAST_BILL` adds chars/4 of the new messages
    to the bill before; where there is none, it is chars/4 of all. For a session whose context
    only grew, as one with `enabled=False`.
    """
    import pandas

    known = meter("anchored", len(session.system) + len(str(session.tools)))
    rows: list[dict[str, int]] = []
    billed = sent = 0
    for number, request in enumerate(session.requests, 1):
        context = request.context
        said = (
            estimate_tokens(context),
            estimate_by_block(context),
            billed + estimate_tokens(context[sent:]),
            known.estimate(context),
        )
        billed, sent = prompt_tokens(request.usage), len(context)
        rows.append({"turn": number, "billed": billed, **dict(zip(WAYS, said, strict=True))})
        known.observe(context, request.usage)
    return pandas.DataFrame(rows)


def error_percent(reading: float, billed: float) -> float:
    """How far off a reading is, in percent of the bill; negative: it reads low.

    >>> error_percent(40, 100)
    -60.0
    """
    return 100 * (reading - billed) / billed


def rings_at(threshold: float, percent: float) -> int:
    """The real tokens at which an alarm set to `threshold` rings when its estimate is `percent`
    off: 60 % low makes 171,000 ring at 427,500. ValueError for an estimate that reads nothing.

    >>> rings_at(171_000, -60), rings_at(171_000, 100)
    (427500, 85500)
    """
    if percent <= -100:
        raise ValueError(f"an estimate that is {percent} % off reads nothing; take more than -100")
    return round(threshold / (1 + percent / 100))


def growths(session: Session) -> Sequence[int]:
    """Tokens that each request was larger than the one before it."""
    sizes = [prompt_tokens(request.usage) for request in session.requests]
    return [after - before for before, after in pairwise(sizes)]
