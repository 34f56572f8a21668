"""The exercises of lesson 07: going on without, rejecting, resting, putting back, an engine.

Each checker tries the answer on small conversations of its own.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import product
from typing import Any

from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import TokenMeter
from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.messages import Block, Message, active_request, blocks, exchanges
from agentlib.settings import Settings
from agentlib.step import Step

REQUEST, SUMMARY = "Read a.py, b.py and c.py.", "a.py and b.py are read."


def conversation(*results: str) -> list[Message]:
    """A request and an exchange for each result; one that begins with "Error" is an error.

    >>> [message["role"] for message in conversation("ok")]
    ['user', 'assistant', 'user']
    """
    talk: list[Message] = [{"role": "user", "content": REQUEST}]
    for n, text in enumerate(results, 1):
        call: Block = {"type": "tool_use", "id": f"toolu_{n}", "name": "bash"}
        call["input"] = {"command": f"make step{n}"}
        answer: Block = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": text}
        if text.startswith("Error"):
            answer["is_error"] = True
        talk += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    return talk


def _unedited(answer: Callable[..., Any], talk: list[Message], *more: Any) -> Any:
    given = deepcopy(talk)
    found = answer(given, *more)
    if given != talk:
        raise Wrong("it edited the messages that it was given; return new ones.")
    return found


def _saying(summary: str) -> Callable[[Sequence[Message]], str]:
    def ask(messages: Sequence[Message]) -> str:
        return summary

    return ask


def _goes_on(answer: Callable[..., Any]) -> str:
    talk = conversation("ok " * 200, "ok " * 200)
    for error in (SummaryFailed("overloaded"), ConnectionError("no network")):

        def fails(messages: Sequence[Message], error: Exception = error) -> str:
            raise error

        try:
            found = _unedited(answer, talk, fails)
        except type(error):
            name = type(error).__name__
            raise Wrong(
                f"the summary's call raised {name}, and so did it: the session would end here. "
                "Catch it, and return the messages as they were."
            ) from None
        if found != talk:
            raise Wrong("without a summary the messages stay as they were; it changed them.")
    if _unedited(answer, talk, _saying("")) != talk:
        raise Wrong(
            "an empty summary took the place of all that was said. Return the messages instead."
        )
    if not (new := _unedited(answer, talk, _saying(SUMMARY))) or new == talk:
        raise Wrong("there was a good summary, and it did not take the messages' place.")
    said = "\n".join(str(b.get("text")) for m in new for b in blocks(m))
    if SUMMARY not in said or active_request(new) != REQUEST:
        raise Wrong("a good summary and the person's last words belong in what it returns.")
    return "no failure of the summary's call can end the session any more."


_REJECTED = {
    ("", "end_turn", 900): "empty",
    ("  \n", "end_turn", 900): "blank",
    ("Half a sen", "max_tokens", 900): "cut off",
    ("I can't help with that.", "refusal", 900): "a refusal",
    ("On and on.", "end_turn", 5_000): "as large as what it replaces",
    ("On and on and on.", "end_turn", 5_001): "larger than what it replaces",
    ("", "max_tokens", 9_000): "empty and cut off",
}


def _rejects(answer: Callable[..., Any]) -> str:
    for (text, stop, tokens), why in _REJECTED.items():
        if answer(text, stop, tokens, 5_000):
            raise Wrong(
                f"{text!r} with stop_reason {stop!r}, {tokens:,} tokens in place of 5,000, "
                f"was accepted; it is {why}."
            )
    for stop, tokens in product(("end_turn", "stop_sequence"), (1, 4_999)):
        if not answer(SUMMARY, stop, tokens, 5_000):
            raise Wrong(
                f"{SUMMARY!r} with stop_reason {stop!r}, {tokens:,} tokens in place of 5,000, was "
                "rejected; it is fine."
            )
    return "only whole answers that are smaller than what they replace take its place."


def resting(outcomes: Sequence[str], turns: int, limit: int, rest: int) -> bool:
    """Whether a breaker is open; `outcomes`: "ok" or "failed", oldest first, `turns` since then.

    >>> resting(["failed", "failed", "failed"], 4, limit=3, rest=10)
    True
    >>> resting(["failed", "failed", "failed"], 10, limit=3, rest=10)   # the probe
    False
    """
    newest = list(outcomes[len(outcomes) - limit :]) if len(outcomes) >= limit else []
    return newest == ["failed"] * limit and turns < rest


def _rests(answer: Callable[..., Any]) -> str:
    ok, failed = "ok", "failed"
    for outcomes, turns, why in (
        ([], 0, "nothing was tried yet"),
        ([failed, failed], 0, "two failures are fewer than three"),
        ([failed] * 3, 0, "three in a row are three"),
        ([failed] * 3, 9, "nine turns are less than ten"),
        ([failed] * 3, 10, "after ten turns one is let through: the probe"),
        ([failed] * 4, 2, "the probe failed, too: it rests again"),
        ([failed, failed, failed, ok], 0, "a success closes it"),
        ([failed, ok, failed, failed], 0, "only failures in a row count"),
        ([ok, failed, failed, failed], 1, "the newest three are failures"),
    ):
        wanted = resting(outcomes, turns, 3, 10)
        if bool(answer(list(outcomes), turns, 3, 10)) != wanted:
            raise Wrong(f"{outcomes}, {turns} turns ago, limit 3, rest 10: {wanted}, since {why}.")
    if not answer([failed], 0, 1, 5) or answer([failed] * 3, 0, 4, 5):
        raise Wrong("it does not go by `limit`; try it with 1 and with 4.")
    return "after so many failures in a row it rests, and asks once more when the time is over."


def _pairs(found: Any) -> list[Sequence[Any]]:
    return [*found]


def _puts_back(answer: Callable[..., Any]) -> str:
    error = "Error: make: *** no rule for step2"
    for results, wanted in (
        (("fine", error, "fine"), error),
        (("Error: old", "fine", error), error),
    ):
        found = _unedited(answer, conversation(*results))
        if not isinstance(found, list) or [len(pair) for pair in _pairs(found)] != [2]:
            raise Wrong(f"it returned {found!r:.80}; return a list with one pair, (name, text).")
        text = str(_pairs(found)[0][1])
        if wanted not in text:
            raise Wrong(f"the newest error, {wanted!r}, is not in the text: {text!r:.60}.")
        if "Error: old" in text:
            raise Wrong("it gives an older error, too; the newest one is enough.")
    if (found := _unedited(answer, conversation("fine", "fine"))) != []:
        raise Wrong(f"where nothing went wrong there is nothing to put back: [], not {found!r}.")
    return "the newest error stands beside the summary, in the words of the tool."


def _is_engine(answer: Callable[..., Any]) -> str:
    small = Settings(context_window=4_000, output_reserve=400, buffer=400, micro="off")
    known: dict[str, Any] = {
        "meter": TokenMeter(),
        "summarize": lambda messages, focus: SUMMARY,  # pyright: ignore[reportUnknownLambdaType]
        "archive": lambda: "t.jsonl",
    }
    for count, reason, wanted in ((3, "auto", None), (6, "auto", "auto"), (3, "manual", "manual")):
        talk = conversation(*["word " * 1_200 + str(n) for n in range(count)])
        step = answer(list(talk), small, reason=reason, **known)
        if not isinstance(step, Step):
            raise Wrong(f"it returned {type(step).__name__}; an engine returns a Step.")
        if step.compaction != wanted:
            have = len(exchanges(talk))
            asked = "by hand" if reason == "manual" else "by itself"
            raise Wrong(
                f"{have} exchanges, over the point, compacted {asked}: compaction should be "
                f"{wanted!r}, it is {step.compaction!r}."
            )
    return "a new policy in a few lines; the finished layers do the rest."


EXERCISES = {
    "07.1": Exercise(
        check=_goes_on,
        hints=(
            "try: summary = ask(messages), and on an Exception: return messages.",
            "`if not summary.strip(): return messages` takes care of the empty one.",
        ),
    ),
    "07.2": Exercise(
        check=_rejects,
        hints=(
            "Which stop reasons mean that the model had said all that it wanted to say?",
            '"end_turn" and "stop_sequence". And the text, stripped, must not be empty.',
        ),
    ),
    "07.3": Exercise(
        check=_rests,
        hints=(
            "Are the newest `limit` outcomes all failures? And is the rest over?",
            "outcomes[-limit:] == ['failed'] * limit is False where there are fewer.",
        ),
    ),
    "07.4": Exercise(
        check=_puts_back,
        hints=(
            'Go through the messages from the end; results are of_type(m, "tool_result").',
            'An error has result.get("is_error"); result_text(result) is its text.',
        ),
    ),
    "07.5": Exercise(
        check=_is_engine,
        hints=(
            "replace(settings, auto=False) turns auto-compact off for one call.",
            "Pass everything else on: compact(messages, settings, **known).",
        ),
    ),
}
