"""Lesson 09: its wrong answers, and its run with the published solutions."""

from functools import partial
from itertools import pairwise

from tests.course.rooms.solved import Lesson


def silent_falls(
    sizes: list[int],
    compacted: list[int],
    noted: bool = True,
    share: float = 0.97,
    first: int = 2,
) -> list[int]:
    """Solve exercise 09.1, or one of its wrong answers."""
    falls = (
        n for n, (old, new) in enumerate(pairwise(sizes), first) if new < share * old
    )
    return [n for n in falls if not (noted and n in compacted)]


def quoted(reply: str, lost: str, context: str, run: int = 40, short: int = 39) -> bool:
    """Solve exercise 09.2, or one of its wrong answers."""
    pieces = (reply[i : i + run] for i in range(len(reply) - short))
    return any(
        piece in lost and piece not in context for piece in pieces if len(piece) == run
    )


def first_noted(sizes, compacted):
    return silent_falls(sizes, compacted[:1])


def away_from_compactions(sizes, compacted):
    near = {n + step for n in compacted for step in (-1, 0, 1)}
    return [n for n in silent_falls(sizes, compacted) if n not in near]


def from_the_first(sizes, compacted):
    return silent_falls(sizes, compacted) if sizes[0] else []


def in_any_case(reply, lost, context):
    return quoted(reply.lower(), lost.lower(), context.lower())


def stripped_runs(reply, lost, context):
    runs = (reply[i : i + 40].strip() for i in range(len(reply) - 39))
    return any(run in lost and run not in context for run in runs)


def by_three_tokens(sizes, compacted):
    pairs = enumerate(pairwise(sizes), 2)
    return [n for n, (a, b) in pairs if a - b > 3 and n not in compacted]


def with_the_last_before_the_first(sizes, compacted):
    """Begin at 1, so that sizes[-1] stands before sizes[0]."""
    return [
        n
        for n in range(1, len(sizes) + 1)
        if sizes[n - 1] < 0.97 * sizes[n - 2] and n not in compacted
    ]


def by_whole_tokens(sizes, compacted):
    pairs = enumerate(pairwise(sizes), 2)
    return [n for n, (a, b) in pairs if b < int(0.97 * a) and n not in compacted]


def by_kind(piece):
    return {"the model's words": 0.6, "the person's words": 0.4}.get(
        piece["what"], 0.05
    ) / (piece["tokens"] + 30)


def words_first(piece):
    return 10_000 * (piece["what"] == "the model's words") - piece["tokens"]


WRONG = {
    "09.1": [
        (
            lambda sizes, compacted: silent_falls(sizes, compacted)[:1],
            "notes one of three",
        ),
        (by_three_tokens, "notes one of three"),
        (with_the_last_before_the_first, "the smallest, and has none before it"),
        (by_whole_tokens, "by half a token"),
        (first_noted, "two are noted"),
        (away_from_compactions, "two are noted"),
        (from_the_first, "it raised IndexError"),
    ],
    "09.2": [
        (
            lambda reply, lost, context: quoted(reply, lost, ""),
            "still has the same words",
        ),
        (partial(quoted, run=39, short=38), "only 39 characters are the same"),
        (
            lambda reply, lost, context: (
                quoted(reply, lost, "") and not quoted(reply, context, "")
            ),
            "the context has the first",
        ),
        (in_any_case, "capitals are other characters"),
        (stripped_runs, "between line breaks"),
        (
            lambda reply, lost, context: quoted(reply.strip(), lost, context),
            "is the 40th",
        ),
    ],
    "09.3": [
        (lambda piece: -piece["age"], "it covers 41 %"),
        (lambda piece: -piece["tokens"], "less than 67 %"),
        (lambda piece: piece["tokens"], "less than 67 %"),
        (lambda piece: piece["what"] == "the model's words", "less than 67 %"),
        (lambda piece: piece["needed"], "it raised KeyError"),
        (lambda piece: None, "it returned nothing"),
    ],
}
RIGHT = {
    "09.1": [
        lambda sizes, noted: tuple(silent_falls(sizes, noted)),
        lambda sizes, noted: {*silent_falls(sizes, noted)},
        lambda sizes, noted: list(dict.fromkeys(silent_falls(sizes, noted))),
    ],
    "09.2": [
        lambda a, b, c: any(
            a[i : i + 40] in b and a[i : i + 40] not in c for i in range(len(a) - 39)
        )
    ],
    "09.3": [by_kind, words_first],
}


class TestSessions(Lesson):
    wrong = WRONG
    right = RIGHT
