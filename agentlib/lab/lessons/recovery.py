"""The exercises of lesson 07: going on without, rejecting, resting, putting back, an engine."""

from collections.abc import Callable, Sequence
from functools import partial

from agentlib.auto_compact import SummaryFailed
from agentlib.estimation import TokenMeter
from agentlib.lab.lessons.checking import Answer, conversation, exercise, require, text_of
from agentlib.messages import Message, active_request, of_type, result_text
from agentlib.settings import Settings

SUMMARY = "1.py and 2.py are read."


def _asking(outcome: str | Exception) -> Callable[[Sequence[Message]], str]:
    """Make the function that asks for a summary: it returns this text or raises this error."""

    def ask(messages: Sequence[Message]) -> str:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return ask


@exercise("07.1", "no failure of the summary's call can end the session any more.")
def _goes_on(answer: Answer) -> None:
    messages = conversation(800, 800)
    for outcome in (SummaryFailed("the model is overloaded"), ConnectionError("no network"), ""):
        new = answer.call(messages, _asking(outcome))
        case = f"if the summary is {outcome!r}"
        require(new == messages, f"{case}, the messages should stay as they were.")
    new = answer.messages(messages, _asking(SUMMARY))
    right = SUMMARY in text_of(new) and active_request(new) == active_request(messages)
    require(right, f"if the summary is {SUMMARY!r}, it and the person's words should be left.")


@exercise("07.2", "only whole answers that are smaller than what they replace take its place.")
def _rejects(answer: Answer) -> None:
    cases = {
        "an empty reply": (False, "", "end_turn", 900, 5_000),
        "a blank reply": (False, "  \n", "end_turn", 900, 5_000),
        "a reply cut off": (False, "Half a sen", "max_tokens", 900, 5_000),
        "a refusal": (False, "I can't help with that.", "refusal", 900, 5_000),
        "as large as what it replaces": (False, "On and on.", "end_turn", 5_000, 5_000),
        "a good summary": (True, SUMMARY, "end_turn", 4_999, 5_000),
        "a good summary that a stop sequence ended": (True, SUMMARY, "stop_sequence", 900, 5_000),
    }
    answer.agree(cases)


@exercise("07.3", "after so many failures in a row it rests, and then asks once more.")
def _rests(answer: Answer) -> None:
    ok, failed = "ok", "failed"
    cases: dict[str, tuple[bool, list[str], int, int, int]] = {
        "nothing was tried yet": (False, [], 0, 3, 10),
        "three failures in a row open it": (True, [failed] * 3, 0, 3, 10),
        "two failures are fewer than three": (False, [failed] * 2, 0, 3, 10),
        "nine turns are fewer than ten": (True, [failed] * 3, 9, 3, 10),
        "after ten turns the probe goes through": (False, [failed] * 3, 10, 3, 10),
        "the probe failed, so it rests again": (True, [failed] * 4, 2, 3, 10),
        "a success closes it": (False, [*[failed] * 3, ok], 0, 3, 10),
        "only failures in a row count": (False, [failed, ok, failed, failed], 0, 3, 10),
        "one failure is enough if the limit is 1": (True, [failed], 0, 1, 5),
    }
    answer.agree(cases)


@exercise("07.4", "the newest error stands beside the summary, in the words of the tool.")
def _puts_back(answer: Answer) -> None:
    newest = "Error: make: *** no rule for step2"
    for texts, right in (
        (["fine", newest, "fine"], [newest]),
        (["Error: old", "fine", newest], [newest]),
        (["fine", "fine"], []),
    ):
        messages = conversation(*texts)
        for block in [block for m in messages for block in of_type(m, "tool_result")]:
            block["is_error"] = result_text(block).startswith("Error")
        given = [text for _, text in answer.call(messages)]
        case = f"with the results {texts}, the texts should be {right}"
        require(given == right, f"{case}; yours are {given}.")


def _summarize(messages: Sequence[Message], focus: str) -> str:
    return SUMMARY


@exercise("07.5", "a new policy in a few lines; the finished layers do the rest.")
def _is_engine(answer: Answer) -> None:
    settings = Settings(context_window=4_000, output_reserve=400, buffer=400, micro="off")
    engine = partial(answer.function, meter=TokenMeter(), summarize=_summarize, archive=str)
    for count, reason, right in ((3, "auto", None), (6, "auto", "auto"), (3, "manual", "manual")):
        step = engine(conversation(*[6_000] * count), settings, reason=reason)
        case = f"with {count} exchanges over the threshold and reason={reason!r}"
        compaction = f"compaction should be {right!r}; yours is {step.compaction!r}"
        require(step.compaction == right, f"{case}, {compaction}.")
