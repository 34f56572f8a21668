"""The exercises of lesson 01: an estimate, the text it misreads, a threshold, a meter."""

from collections.abc import Sequence
from dataclasses import replace

from agentlib.estimation import estimate_tokens
from agentlib.lab.api.tokens import text_tokens
from agentlib.lab.lessons.checking import Answer, conversation, exercise, near, require
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import RENAME
from agentlib.messages import Message
from agentlib.settings import Settings


@exercise("01.1", "all of the text counts: roles, names, brackets and all.")
def _chars_over_four(answer: Answer) -> None:
    messages = conversation(3_600)
    names = ("a request, its role and its brackets", "a call in a list", "a result in a list")
    parts = [messages[:count] for count in (1, 2, 3)]
    cases = {name: (estimate_tokens(part), part) for name, part in zip(names, parts, strict=True)}
    answer.agree(cases, near(3))


@exercise("01.2")
def _furthest_off(answer: Answer) -> str:
    text = answer.typed(str, "give a text")
    require(200 <= len(text) <= 2_000, f"{len(text):,} characters; give a text of 200 to 2,000.")
    estimate, tokens = len(text) / 4, text_tokens(text)
    off = 100 * (estimate - tokens) / tokens
    verdict = f"chars/4 says {estimate:,.0f}, the offline API counts {tokens:,}: {off:+.0f} %"
    require(off <= -60, f"{verdict}. It takes -60 % or lower: find a text of shorter tokens.")
    return f"{verdict}. A token here is hardly more than a character, and chars/4 can't see that."


@exercise(
    "01.3", "one compaction. It fits this task: in another one chars/4 is off by another share."
)
def _rings_in_time(answer: Answer) -> None:
    threshold = answer.typed(int, "give whole tokens")
    require(1 <= threshold <= 32_000, f"{threshold:,} is not from 1 to 32,000.")
    start = Settings(estimator="chars", micro="off", reactive=False).scaled(32_000)
    run = play(RENAME, replace(start, threshold=threshold))
    too_high = f"chars/4 reads low, so the alarm at {threshold:,} was not due yet. Set it lower"
    require(not run.refused, f"the run was refused: {run.refused}. {too_high}.")
    count = len(run.session.compactions)
    require(count == 1, f"the run ends, but it compacted {count} times. Set the alarm higher.")


def _bill(messages: Sequence[Message]) -> int:
    """Bill a base prompt of 9,000 tokens, and a token for each 2.5 characters."""
    return round(9_000 + sum(len(str(message)) + 2 for message in messages) / 2.5)


@exercise("01.4", "the bill is exact, and only two messages are guessed.")
def _anchored(answer: Answer) -> None:
    messages = conversation(*[3_600] * 20)
    first = estimate_tokens(messages[:3])
    cases = {"before any bill there is only the estimate": (first, 0, 0, messages[:3])}
    for sent in range(3, len(messages) - 1, 2):
        bill, now = _bill(messages[:sent]), messages[: sent + 2]
        name = f"the first {sent} messages were billed, so only two have to be guessed"
        cases[name] = (_bill(now), bill, sent, now)
    answer.agree(cases, near(10, share=0.08))


@exercise("01.5", "it rings at 183,871. One percent more, and it is 185,870: too late.")
def _largest_error(answer: Answer) -> None:
    low = "the alarm rings past 184,000, the window without the answer's 16,000"
    high = "the alarm rings in time, and it would with a larger error, too"
    answer.hit(-7, how="give whole percent", low=low, high=high)
