"""The exercises of lesson 07."""

import contextlib
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from agentlib.api.refusals import excess
from agentlib.auto_compact import summary_message
from agentlib.estimation import estimate_tokens
from agentlib.messages import SUMMARY_HEADER, Message, active_request, of_type
from agentlib.settings import MODEL
from course.checking import (
    Answer,
    conversation,
    drawn,
    exercise,
    read,
    require,
    same_value,
    text_of,
)
from offline_api import client
from offline_api.faults import Fault

Ask = Callable[[list[Message]], Any]
COSTS = "each time costs a whole prompt"
PATIENCE = 5
"""The number of the request that works whatever fails, so that an endless loop ends
there."""


def go_on_without(messages: list[Message], ask: Ask) -> list[Message]:
    """Return the messages with a summary in their place, or as they are if it fails."""
    try:
        reply = ask(messages)
    except Exception:
        return messages
    text = "\n".join(block["text"] for block in of_type(reply, "text"))
    is_whole = reply["stop_reason"] in ("end_turn", "stop_sequence")
    is_smaller = reply["usage"]["output_tokens"] < estimate_tokens(messages)
    if not (text.strip() and is_whole and is_smaller):
        return messages
    return [summary_message(text, "t.jsonl", active_request(messages))]


@exercise(
    "07.1", "neither a failure nor a bad reply does harm.", finished=go_on_without
)
def _careful(answer: Answer) -> None:
    """Put the request into a try, and on an Exception return messages.

    Only "end_turn" and "stop_sequence" mean that the model said all it wanted to say.

    Compare reply["usage"]["output_tokens"] with estimate_tokens(messages).
    """
    replies = tomllib.loads(read("replies.toml"))
    good = replies.pop("good")
    _harmless(answer, conversation(800, 800), replies, good)
    _harmless(answer, conversation(900, request="And d.py."), {}, good)


def _harmless(
    answer: Answer, messages: list[Message], replies: dict[str, Any], good: Any
) -> None:
    """Require that bad replies leave the messages, and that sound ones replace them."""
    most = estimate_tokens(messages)
    replies[f"the reply has {most} tokens, as many as the messages"] = _long(most)
    for error in (RuntimeError("overloaded"), ConnectionError("no network")):
        replies[f"ask raises {error!r}"] = error
    replies["ask raises anthropic.OverloadedError, as the API does"] = _overloaded()
    for case, reply in replies.items():
        outcome = reply if isinstance(reply, Exception) else good | reply
        try:
            new, asked = _answered(answer, messages, outcome, good)
        except Exception as error:
            caught = error is not outcome
            require(
                caught, f"if {case}, the error passes through; catch any Exception."
            )
            raise
        times = len(asked)
        require(times < 2, f"if {case}, it asked {times} times; {COSTS}.")
        require(new == messages, f"if {case}, the messages should stay as they were.")
    reasons = ("end_turn", "stop_sequence")
    sound = {f"stop_reason is {name!r}": {"stop_reason": name} for name in reasons}
    sound[f"the reply has {most - 1} tokens, one fewer than the messages"] = _long(
        most - 1
    )
    for reason, reply in sound.items():
        new, asked = _answered(answer, messages, good | reply, good)
        times = len(asked)
        case = f"if {reason}, the reply is sound"
        taken = f"{case} and its summary should be taken; the messages are as they were"
        require(new != messages, f"{taken}.")
        alone = f"{case}, and one message with its summary should take the place of all"
        require(len(new) == 1, f"{alone}; yours leaves {len(new)} messages.")
        words = all(block["text"] in text_of(new) for block in of_type(good, "text"))
        whole = f"{case}, and all its texts should be in the message"
        require(words, f"{whole}; its first block is thinking, and two have a text.")
        lost = active_request(new) != active_request(messages)
        require(
            not lost, f"{case}, the person's words should stand beside the summary."
        )
        require(times == 1, f"it asked {times} times; {COSTS}.")
        require(
            asked == [messages], "ask should get the messages, all and as they are."
        )
        header = f"{SUMMARY_HEADER}t.jsonl]"
        named = (
            f"the message should begin with {header!r}; give summary_message 't.jsonl'"
        )
        require(text_of(new).startswith(header), f"{named}.")
    with contextlib.suppress(KeyboardInterrupt):
        _answered(answer, messages, KeyboardInterrupt(), good)
        require(
            False, "KeyboardInterrupt, which is Ctrl-C, should pass; catch Exception."
        )


def _overloaded() -> Exception:
    """Return the error that the API's client raises if the API is overloaded."""
    import anthropic

    api = client(faults=[Fault("529")]).with_options(max_retries=0).messages
    try:
        _ask(api, [], conversation())
    except anthropic.APIError as error:
        return error
    raise AssertionError("the fault should raise")


def _long(tokens: int) -> dict[str, Any]:
    return {"usage": {"output_tokens": tokens}}


def _answered(answer: Answer, messages: list[Message], outcome: Any, good: Any) -> Any:
    """Call the function with an `ask` that raises or returns the outcome.

    Return its messages, and those of each request.
    """
    asked = list[Any]()

    def ask(messages: list[Message]) -> Any:
        asked.append(messages)
        if isinstance(outcome, BaseException) and len(asked) < PATIENCE:
            raise outcome
        return good if len(asked) >= PATIENCE else outcome

    return answer.messages(messages, ask), asked


def rests(outcomes: Sequence[str], turns: int, limit: int, rest: int) -> bool:
    """Tell whether the newest outcomes are failures and the pause isn't over."""
    if limit == 0:
        return False
    return outcomes[-limit:] == ["failed"] * limit and turns < rest


@exercise(
    "07.2", "after the failures it rests, and then asks once more.", finished=rests
)
def _breaker(answer: Answer) -> None:
    """Are the newest `limit` outcomes all failures? And have fewer than `rest` turns
    passed?

    outcomes[-limit:] is the whole list if limit is 0, so ask first whether limit is 0.
    """
    failed = "failed"
    ok = "ok"
    cases: dict[str, Sequence[Any]] = {
        "nothing was tried yet": (False, [], 0, 3, 10),
        "three failures in a row open it": (True, [failed] * 3, 1, 3, 10),
        "two failures are fewer than three": (False, [failed] * 2, 1, 3, 10),
        "nine turns are fewer than ten": (True, [failed] * 3, 9, 3, 10),
        "after ten turns the next request goes through": (
            False,
            [failed] * 3,
            10,
            3,
            10,
        ),
        "eleven turns are more than ten": (False, [failed] * 3, 11, 3, 10),
        "five turns are enough if the rest is 5": (False, [failed] * 3, 5, 3, 5),
        "seven turns are more than a rest of 5": (False, [failed] * 3, 7, 3, 5),
        "a rest of 0 is over at once": (False, [failed] * 3, 1, 3, 0),
        "that request failed, so it rests again": (True, [failed] * 4, 2, 3, 10),
        "a success closes it": (False, [*[failed] * 3, ok], 1, 3, 10),
        "after a success one failure is the first": (
            False,
            [*[failed] * 3, ok, failed],
            1,
            3,
            10,
        ),
        "the rest is as long after a fourth failure": (False, [failed] * 4, 10, 3, 10),
        "it opens again after a seventh failure": (True, [failed] * 7, 1, 3, 10),
        "only failures in a row count": (False, [failed, ok, failed, failed], 1, 3, 10),
        "one failure is enough if the limit is 1": (True, [failed], 1, 1, 5),
        "a limit of 0 means that it never opens": (False, [failed] * 2, 1, 0, 10),
        "nor before anything was tried, with a limit of 0": (False, [], 0, 0, 10),
    }
    answer.agree(cases | drawn(rests, _some_outcomes))


def _some_outcomes(random: Random) -> tuple[list[str], int, int, int]:
    outcomes = random.choices(["failed", "ok"], (3, 1), k=random.randint(0, 6))
    return outcomes, random.randint(0, 9), random.randint(0, 4), random.randint(0, 9)


def send_again(
    messages: list[Message], ask: Ask, shrink: Callable[[list[Message]], list[Message]]
) -> tuple[list[Message], Any]:
    """Return the messages that the API took, and its reply."""
    try:
        return messages, ask(messages)
    except Exception as error:
        if not excess(error):
            raise
    smaller = shrink(messages)
    return smaller, ask(smaller)


@exercise(
    "07.3", "a prompt that is too long is sent once more, smaller.", finished=send_again
)
def _once_more(answer: Answer) -> None:
    """except Exception as error: is it for its size? If not, a bare `raise` passes it
    on.

    The second ask stands outside the try, so that a second refusal passes through.
    """
    import anthropic

    messages = conversation(800, 800)
    smaller = conversation(800)
    both = [messages, smaller]
    struck = range(1, PATIENCE)
    empty: Message = {"role": "user", "content": []}
    unfit = [*messages, empty]  # the API refuses this, not for its size

    for case, fault, sent, right, passes in (
        (
            "the API takes the prompt",
            Fault("too_long", at=9),
            messages,
            [messages],
            False,
        ),
        ("the prompt is too long", Fault("too_long", at=1), messages, both, False),
        (
            "both prompts are too long",
            Fault("too_long", at=struck),
            messages,
            both,
            True,
        ),
        ("the API is overloaded", Fault("529", at=struck), messages, [messages], True),
        (
            "the API refuses the prompt for its form",
            Fault("too_long", at=9),
            unfit,
            [unfit],
            True,
        ),
    ):
        asked = list[Any]()
        shrunk = list[Any]()
        shrink = partial(_shrink, smaller, shrunk)
        outcome: Any = "the API's error"
        ask = partial(
            _ask, client(faults=[fault]).with_options(max_retries=0).messages, asked
        )
        with contextlib.suppress(anthropic.APIError):
            outcome = answer.call(sent, ask, shrink)
        counts = f"{len(right)} request{'s' * (len(right) > 1)} should be made, not {len(asked)}"
        require(len(asked) == len(right), f"if {case}, {counts}.")
        needed = (
            f"the calls of shrink should number {len(right) - 1}, not {len(shrunk)}"
        )
        require(len(shrunk) == len(right) - 1, f"if {case}, {needed}.")
        require(
            asked == right,
            f"if {case}, the second request should have what shrink returned.",
        )
        raised = outcome == "the API's error"
        result = f"yours gives {outcome!r:.60}"
        require(
            raised or not passes, f"if {case}, the API's error should pass; {result}."
        )
        pair = (
            outcome.__class__ is tuple
            and outcome[0] == right[-1]
            and "usage" in outcome[1]
        )
        require(
            pair or passes, f"if {case}, return what was sent, and its reply; {result}."
        )
    _second_error(answer)


def _ask(api: Any, asked: list[Any], messages: list[Message]) -> dict[str, Any]:
    asked.append(messages)
    return api.create(model=MODEL, max_tokens=99, messages=messages).to_dict()


def _shrink(
    smaller: list[Message], shrunk: list[Any], messages: list[Message]
) -> list[Message]:
    shrunk.append(messages)
    return smaller


def both_ends(lines: list[str], most: int) -> list[str]:
    """Keep the oldest and the newest lines, and say how many are missing between
    them."""
    if len(lines) <= most:
        return lines
    old = most // 4
    new = len(lines) - (most - old)
    return [*lines[:old], f"[{new - old} lines left out]", *lines[new:]]


def _first(messages: list[Message]) -> list[Message]:
    return messages[:1]


def _second_error(answer: Answer) -> None:
    """Require that the error of the second request passes, and not the first one's."""
    import anthropic

    faults = [Fault("too_long", at=1), Fault("529", at=2)]
    api = client(faults=faults).with_options(max_retries=0).messages
    messages = conversation(300, 300)
    try:
        answer.call(messages, partial(_ask, api, []), _first)
    except anthropic.APIStatusError as error:
        raised: object = error.status_code
    else:
        raised = "none"
    require(
        raised == 529,
        "if the first prompt is too long and the API then is overloaded, the second one's "
        f"error should pass, 529; yours is {raised}.",
    )


@exercise(
    "07.4", "the beginning and the end stand, and the gap is named.", finished=both_ends
)
def _stand_in(answer: Answer) -> None:
    """If all lines fit, return them. Else old = most // 4 lines come from the
    beginning.

    The others begin at len(lines) - (most - old). Slices with a minus fail for 0.
    """
    lines = list("abcdefgh")
    cut = ["a", "[4 lines left out]", *"fgh"]
    one_gone = ["a", "b", "[1 lines left out]", *"defghi"]
    cases = {
        "a quarter of 4 from the beginning, the rest from the end": (cut, lines, 4),
        "3 // 4 is 0": (["[5 lines left out]", *"fgh"], lines, 3),
        "there is no room at all": (["[8 lines left out]"], lines, 0),
        "a line that comes twice stays twice": (
            ["a", "[3 lines left out]", *"bbb"],
            list("aaaabbb"),
            4,
        ),
        "empty lines count": (
            ["", "[2 lines left out]", "", "", "a"],
            [*[""] * 5, "a"],
            4,
        ),
        "all lines fit": (lines, lines, 8),
        "nine lines are one too many for 8": (one_gone, [*lines, "i"], 8),
        "there is more room than lines": (lines, lines, 30),
    }
    for name, (right, *given) in (cases | drawn(both_ends, _some_lines)).items():
        result = answer.call(*given)
        asked = "with lines={} and most={}".format(*given)
        verdict = f"{asked} the answer is {right}, not {result!r:.300}"
        require(same_value(right, result), f"{name}: {verdict}.")


def _some_lines(random: Random) -> tuple[list[str], int]:
    return random.choices("abc", k=random.randint(0, 20)), random.randint(0, 20)
