"""The exercises of lesson 08."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from agentlib.api.spending import PRICED_AS
from agentlib.messages import Message, active_request
from agentlib.micro_compact import micro_compact
from agentlib.transcripts import Session
from course.checking import Answer, conversation, drawn, exercise, require
from course.checks.micro_compact import sizes_and_prices
from session_report.policies import KEEPS_ALL, engine, judge
from windtunnel.parts import results
from windtunnel.runner import play
from windtunnel.tasks.generated import generated


def clearing_pays(gone: float, behind: float, read: float, write: float) -> float:
    """Return the requests after which a clearing has paid for itself."""
    return (write - read) * behind / (read * gone)


@exercise(
    "08.1",
    "a change is paid once, and every later request saves.",
    finished=clearing_pays,
)
def _clearing(answer: Answer) -> None:
    """Once: each token behind the change costs write instead of read.

    With each request: each token that is gone would have cost read. Divide the first by
    this.
    """
    haiku = "where reading costs a tenth of the price, as at Haiku 4.5"
    fraction = "a fraction counts exactly, or as one request more"
    cases = {
        "at the prices of Opus 5.5": (12.0, 20_000, 10_000, 0.2, 5.0),
        "nothing stands behind the change": (0.0, 5_000, 0, 0.2, 5.0),
        "much stands behind it": (48.0, 10_000, 20_000, 0.2, 5.0),
        haiku: (11.5, 10_000, 10_000, 0.1, 1.25),
        fraction: (10.35, 10_000, 9_000, 0.1, 1.25),
    }
    answer.agree(cases | drawn(clearing_pays, _clearing_drawn), rounded=True)


def _clearing_drawn(random: Random) -> tuple[int, int, float, float]:
    behind, gone, read, write = sizes_and_prices(random)
    return gone, behind, read, write


def compacting_pays(left: float, read: float, write: float, answer: float) -> float:
    """Return the requests after which a compaction has paid for itself."""
    once = read + answer * left + (write - read) * left
    return once / (read * (1 - left))


Formula = Callable[[float, float, float, float], float]
"""(left, read, write, answer) -> dollars."""


def _mistaken(once: Formula, saves: Formula | None = None) -> Callable[..., float]:
    """Return the break-even with one of its two sides mistaken."""

    def pays(left: float, read: float, write: float, answer: float) -> float:
        saved = saves(left, read, write, answer) if saves else read * (1 - left)
        return once(left, read, write, answer) / saved

    return pays


MISTAKES: dict[str, Callable[..., float]] = {
    "the answer, which is the summary, has to be paid as an answer, too": _mistaken(
        lambda left, read, write, answer: read + (write - read) * left
    ),
    "the next request has to write the summary": _mistaken(
        lambda left, read, write, answer: read + answer * left
    ),
    "without the compaction these tokens would have been read, so take write - read": (
        _mistaken(lambda left, read, write, answer: read + (answer + write) * left)
    ),
    "the request for the summary reads the whole conversation once": _mistaken(
        lambda left, read, write, answer: (answer + write - read) * left
    ),
    "what each request saves is what is gone, 1 - left": _mistaken(
        lambda left, read, write, answer: read + (answer + write - read) * left,
        lambda left, read, write, answer: read,
    ),
    "a request saves the price of reading, not of writing": _mistaken(
        lambda left, read, write, answer: read + (answer + write - read) * left,
        lambda left, read, write, answer: write * (1 - left),
    ),
}
"""What a wrong answer to 08.2 forgot, and the formula that forgets it."""


@exercise(
    "08.2",
    "a summary is paid once, as an answer and as a write.",
    finished=compacting_pays,
)
def _compacting(answer: Answer) -> None:
    """Say that the conversation has one token. The summary then has `left` of it.

    Once: read + answer * left + (write - read) * left. With each request: read * (1 -
    left).
    """
    opus = (0.2, 5.0, 20.0)
    haiku = (0.1, 1.25, 5.0)
    cases = {
        "a tenth is left, at the prices of Opus 5.5": (14.88888888888889, 0.1, *opus),
        "half is left": (126.0, 0.5, *opus),
        "nothing is left, so only the summary's request is to be paid": (
            1.0,
            0.0,
            *opus,
        ),
        "a fifth is left": (32.25, 0.2, *opus),
        "a tenth is left, at the prices of Haiku 4.5": (7.944444444444445, 0.1, *haiku),
    }
    more = drawn(compacting_pays, _compacting_drawn)
    answer.agree(cases | more, rounded=True, mistakes=MISTAKES)


def _compacting_drawn(random: Random) -> tuple[float, float, float, float]:
    *_, read, write = sizes_and_prices(random)
    return random.randint(0, 90) / 100, read, write, random.randint(20, 150) * read


def repeats_save(pause: float, read: float, write: float) -> float:
    """Return the dollars that repeats save in a pause, per million tokens."""
    repeats = pause // 270
    saved = write - read if pause >= 300 else 0.0
    return saved - repeats * read


@exercise(
    "08.3",
    "a repeat is a read, and a long pause takes many of them.",
    finished=repeats_save,
)
def _alive(answer: Answer) -> None:
    """The repeats go out every 270 seconds until the pause ends: pause // 270 of them,
    each a read.

    With repeats the next request reads. Without, it reads before 300 seconds, then it
    writes.

    (write - read if pause >= 300 else 0) - pause // 270 * read
    """
    opus = (0.2, 5.0)
    cases = {
        "a pause of 400 seconds takes one repeat": (4.6, 400, *opus),
        "after 200 seconds the cache is alive, without a repeat": (0.0, 200, *opus),
        "after 280 seconds it is, too, but a repeat was sent at 270": (
            -0.2,
            280,
            *opus,
        ),
        "an entry lives for 300 seconds, so at 300 it is gone": (4.6, 300, *opus),
        "after 545 seconds two repeats were sent, at 270 and 540": (4.4, 545, *opus),
        "a pause of 20 minutes takes four repeats": (4.0, 1_200, *opus),
        "a pause of two hours takes 26 repeats, which is too many": (
            -0.4,
            7_200,
            *opus,
        ),
        "20 minutes at the prices of Haiku 4.5": (0.75, 1_200, 0.1, 1.25),
    }
    answer.agree(cases | drawn(repeats_save, _pause))


def _pause(random: Random) -> tuple[int, float, float]:
    *_, read, write = sizes_and_prices(random)
    return random.randint(1, 9_000), read, write


def cold_five(messages: list[Message], idle: float) -> list[Message]:
    """Clear all but five results if the cache has expired."""
    if idle >= 300:
        return micro_compact(messages, keep_recent=5)
    return messages


@exercise("08.4", finished=cold_five)
def _policy(answer: Answer) -> str:
    """An edit behind which everything is lost anyway costs nothing. When is that so?

    If idle >= 300, return micro_compact(messages, keep_recent=5), else the messages as
    they are.
    """
    messages = conversation(*[4_000] * 9)
    for idle in (0.0, 3_600.0):
        view = answer.messages(messages, idle)
        case = f"with idle={idle:,.0f}"
        kept = (
            list(results(view).values())[-1:] == list(results(messages).values())[-1:]
        )
        require(
            kept,
            f"{case}, the newest result should stay: the model hasn't seen it yet.",
        )
        lost = active_request(view) != active_request(messages)
        require(not lost, f"{case}, the person's words should stay.")
    sessions = [play(generated(seed), KEEPS_ALL).session for seed in range(3)]
    says = _pays(answer, sessions, "in three sessions")
    slower = [_slowed(session, 275.0) for session in sessions]
    _pays(
        answer,
        slower,
        "if 275 seconds more pass before each request, and the cache stays warm,",
    )
    return says


def _pays(answer: Answer, sessions: Sequence[Session], case: str) -> str:
    base = judge(sessions, KEEPS_ALL, PRICED_AS)
    own = judge(sessions, KEEPS_ALL, PRICED_AS, engine(answer.function))
    cost = 100 * own["dollars"].sum() / base["dollars"].sum()
    need = own["need"].mean()
    says = f"{case} it costs {cost:.0f} % of forgetting nothing, and in 100 turns "
    says += f"{need:.1f} pieces are needed again"
    require(
        cost <= 95 and need <= 3, f"{says}; find one with at most 95 % and 3 pieces."
    )
    return f"{says}."


def _slowed(session: Session, wait: float) -> Session:
    """Let so many more seconds pass before each request."""
    requests = [
        replace(each, at=each.at + wait * n) for n, each in enumerate(session.requests)
    ]
    return replace(session, requests=requests)
