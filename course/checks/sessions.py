"""The exercises of lesson 09."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# An empty list has no type of items.

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, wraps
from numbers import Real
from random import Random
from typing import Any

from agentlib import presets
from course.checking import Answer, drawn, exercise, require
from session_report.policies import KEEPS_ALL
from session_report.put_back import covered, forgotten
from windtunnel.runner import play
from windtunnel.tasks.generated import generated

COMPACTS = replace(presets.CLAUDE_CODE.scaled(32_000), restore_files=0)
"""How the lesson's tasks are compacted in a replay, with nothing put back."""
ROOM = 600
"""Tokens that a rule may put back after a compaction."""
Piece = dict[str, Any]


def silent_falls(sizes: Sequence[int], compacted: Sequence[int]) -> list[int]:
    """Return the prompts that shrank by more than 3 % without a compaction."""
    shrunk = [n for n in range(2, len(sizes) + 1) if sizes[n - 1] < 0.97 * sizes[n - 2]]
    return [n for n in shrunk if n not in compacted]


@exercise(
    "09.1", "these prompts shrank, and the file doesn't say why.", finished=silent_falls
)
def _falls(answer: Answer) -> None:
    """Compare each prompt with the one before it. zip(sizes, sizes[1:]) gives the
    pairs.

    The first pair ends with prompt 2: enumerate(…, 2).
    """
    cases: dict[str, Sequence[Any]] = {
        "the second prompt has 60 tokens after 100": ([2], [100, 60, 70], []),
        "the file notes a compaction before prompt 2": ([], [100, 60, 70], [2]),
        "97 of 100 is not less than 97 %": ([], [100, 97, 98], []),
        "96 of 100 is less than 97 %": ([2], [100, 96, 97], []),
        "966 of 1,000 is less than 97 %, by a little": ([2], [1_000, 966, 990], []),
        "145 of 150 is less than 97 %, by half a token": ([2], [150, 145, 150], []),
        "the first prompt is the smallest, and has none before it": (
            [],
            [100, 200, 300],
            [],
        ),
        "an empty session has no prompt": ([], [], []),
        "the file notes one of three": (
            [6, 7],
            [999, 2_000, 500, 800, 780, 300, 200],
            [3],
        ),
        "two are noted, with falls beside them": (
            [2, 6],
            [900, 700, 400, 800, 300, 250],
            [3, 5],
        ),
    }
    listed = replace(answer, value=_listed(answer.function))
    listed.agree(cases | drawn(silent_falls, _some_prompts))


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a set of numbers be as good as a list."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        return sorted(result) if isinstance(result, set | frozenset) else result

    return call


def _some_prompts(random: Random) -> tuple[list[int], list[int]]:
    sizes = [random.randint(20_000, 90_000)]
    for _ in range(random.randint(1, 12)):
        sizes.append(int(sizes[-1] * random.choice((0.4, 0.9, 0.96, 0.98, 1, 1.2))))
    numbers = range(2, len(sizes) + 1)
    return sizes, sorted(random.sample(numbers, random.randint(0, len(numbers))))


def repeats_lost(reply: str, lost: str, context: str) -> bool:
    """Tell whether a reply repeats 40 characters that only the lost text has."""
    pieces = [reply[i : i + 40] for i in range(len(reply) - 39)]
    return any(piece in lost and piece not in context for piece in pieces)


@exercise(
    "09.2",
    "a run of 40 characters is enough, wherever it stands.",
    finished=repeats_lost,
)
def _needed(answer: Answer) -> None:
    """Take every run of 40 characters: reply[i : i + 40]. How many of them are there?

    for i in range(len(reply) - 39): a run that is in `lost` and not in `context`
    decides.
    """
    glibc = "the oldest glibc that our users have is 2.17"
    greeting = "The first line of every report must be a greeting to Ada."
    here = f"As you said, {glibc}."
    there = f"Hello. {glibc}! Yes."
    other = f"{glibc[:39]}n't known to anybody."
    part = "the context has a part of the quote, but less than 40 characters of it"
    cases = {
        "a reply repeats what only the lost text has": (True, here, there, "Read on."),
        "the context still has the same words": (
            False,
            here,
            there,
            f"He said, {glibc}, too.",
        ),
        "only 39 characters are the same": (False, other, there, "Read on."),
        "only 39 are the same, between line breaks": (
            False,
            f"So\n{glibc[:39]}\nnow",
            there,
            "Read on.",
        ),
        "only a short end is the same": (
            False,
            f"{'-' * 40} is 2.17",
            there,
            "Read on.",
        ),
        "capitals are other characters": (False, glibc.upper(), there, "Read on."),
        "the reply has fewer than 40 characters": (
            False,
            "our users have",
            there,
            "Read on.",
        ),
        part: (True, glibc, there, "the oldest glibc"),
        "the reply quotes two texts, and the context has the first": (
            True,
            f"{greeting} {here}",
            f"{there} {greeting}",
            f"Rule: {greeting}",
        ),
        "the reply ends with 40 of the quote": (
            True,
            f"?{glibc[4:]}",
            there,
            "Read on.",
        ),
        "a blank at the end is the 40th": (True, glibc[:40], there, "Read on."),
        "the lost text has other words": (
            False,
            here,
            f"Hello. {greeting}",
            "Read on.",
        ),
    }
    answer.agree(cases)


def small_and_new(piece: Piece) -> float:
    """Score a piece: likely to be needed, new and small ones first."""
    rates = {"the model's words": 0.58, "the person's words": 0.36, "results": 0.08}
    rate = rates.get(piece["what"], 0.03)
    return rate / (1 + piece["age"] / 20) / (piece["tokens"] + 40)


@exercise("09.3", finished=small_and_new)
def _score(answer: Answer) -> str:
    """Look at the table: which kinds are often needed, and how large are they?

    Divide how often a kind is needed by its tokens: rate / (piece["tokens"] + 40).

    An old piece is needed less often: divide by (1 + piece["age"] / 20), too.
    """
    score = partial(_number, answer)
    pieces = _pieces(range(5))
    seen = 100 * covered(score, pieces, ROOM)
    share = 100 * covered(score, _pieces(JUDGED), ROOM)
    says = f"on the first five sessions it covers {seen:.0f} % of what was needed, and on five"
    says += f" that aren't in this notebook {share:.0f} %"
    require(
        share >= ENOUGH,
        f"{says}, which is less than {ENOUGH} %; look at the table again.",
    )
    return f"{says}."


def _number(answer: Answer, piece: Piece) -> Any:
    """Return the learner's score of a piece, which has to be a number."""
    score = answer.call(piece)
    verdict = f"for the piece {piece} it returned {score!r:.60}"
    require(score is not None, f"{verdict.removesuffix('None')}nothing; {WANTED}.")
    number = isinstance(score, Real) and not math.isnan(score)
    require(number, f"{verdict}, which is no number; {WANTED}.")
    return score


WANTED = "return one number"
ENOUGH = 67
"""Percent of all needs that a rule has to cover. The lesson's table teaches to take the
model's words first, then the smallest, and that covers 70."""
JUDGED = range(15, 20)
"""Seeds of the sessions that judge a rule. The lesson shows others, so that nobody tunes a
rule on these."""


def _pieces(seeds: Iterable[int]) -> list[Piece]:
    sessions = [play(generated(seed), KEEPS_ALL).session for seed in seeds]
    return [piece for session in sessions for piece in forgotten(session, COMPACTS)]
