"""The exercises of lesson 02."""

from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

from agentlib.messages import Message, of_type
from agentlib.micro_compact import micro_compact
from agentlib.settings import Settings
from course.checking import Answer, conversation, drawn, exercise, require, shown
from windtunnel.parts import results
from windtunnel.runner import play
from windtunnel.tasks.scenarios import RENAME


def clear_in_place(
    messages: list[Message], keep_recent: int = 3, min_chars: int = 100
) -> None:
    """Clear old results as learn-claude-code does."""
    results = [r for m in messages for r in of_type(m, "tool_result")]
    for result in results[:-keep_recent]:
        if len(result["content"]) > min_chars:
            result["content"] = "[Previous: used read_file]"


@exercise(
    "02.1",
    "old, long results are cleared, and the others stay.",
    finished=clear_in_place,
)
def _in_place(answer: Answer) -> None:
    """Collect all tool_result blocks of all messages in one list, oldest first.

    All but the last keep_recent of that list are old: results[:-keep_recent].

    Put a new content into those that are longer than min_chars.
    """
    long = conversation(200, 80, 500, 500, 500, 500)
    mixed = conversation(500, 500, 500, 80, 80)
    talk = conversation(*[500] * 6)
    talk[1]["content"].insert(0, {"type": "text", "text": "I read it. " * 40})
    talk[4]["content"].append({"type": "text", "text": "Go on. " * 40})
    cases: list[tuple[str, list[Message], dict[str, Any]]] = [
        ("with keep_recent=3 and min_chars=100", long, {}),
        ("with keep_recent=1 and six results", long, {"keep_recent": 1}),
        ("with min_chars=500 and results of 500 characters", long, {"min_chars": 500}),
        ("with keep_recent=3 and two short results among the newest three", mixed, {}),
        (
            "with two results in one message",
            conversation([500] * 2, [500] * 2, 500),
            {},
        ),
        ("with keep_recent=3 and only two results", conversation(500, 500), {}),
        ("with long texts of the person and of the model", talk, {}),
        (
            "with 80 letters of two bytes each, and a letter before 200 blanks",
            conversation("é" * 80, f"a{' ' * 200}", 500, 500, 500),
            {},
        ),
    ]
    for case, before, numbers in cases:
        after = deepcopy(before)
        right = micro_compact(before, **numbers)
        given = answer.function(after, **numbers)
        require(
            given is None,
            f"it returned {shown(given)}; edit the messages that it gets, and return "
            "nothing.",
        )
        same_view(case, before, right, after)


@exercise(
    "02.2", "unseen results stay, the history is as it was.", finished=micro_compact
)
def _view(answer: Answer) -> None:
    """Count from the end: the newest keep_recent results stay, or all unseen ones if
    they are more.

    Unseen are the results in messages[last_assistant(messages) + 1 :].

    How many go? max(0, len(results) - stay), counted from the front. Collect {id: text}
    for them.
    """
    six = conversation(*[200] * 6)
    unseen = conversation(200, 200, [200] * 5)
    bash = conversation(101, 100, 200)
    bash[1]["content"][0]["name"] = "bash"
    short = conversation(200, 200, 200, 80, 80, 200)
    short[2]["content"][0]["is_error"] = True
    said: Message = {"role": "assistant", "content": "Both are read."}
    follow_up = conversation(request="And d.py.")
    answered = [*conversation(900, 900), said, *follow_up]
    asked = [*conversation(200, 200), *follow_up]
    for case, messages, keep in (
        ("with keep_recent=3 and six results", six, 3),
        ("with keep_recent=3 and five unseen results (toolu_3 to toolu_7)", unseen, 3),
        ("with keep_recent=0 and five unseen results (toolu_3 to toolu_7)", unseen, 0),
        ("with keep_recent=9 and seven results", unseen, 9),
        ("with keep_recent=1 and results of 101, 100 and 200 characters", bash, 1),
        ("with keep_recent=3 and two short results among the newest three", short, 3),
        ("with keep_recent=0 and two results that the model has answered", answered, 0),
        (
            "with keep_recent=0 and a result that the model has not seen, words behind it",
            asked,
            0,
        ),
    ):
        view = answer.messages(messages, keep_recent=keep)
        same_view(case, messages, micro_compact(messages, keep_recent=keep), view)
    case = "with min_chars=200 and results of 200 characters"
    size = {"min_chars": 200}
    same_view(case, unseen, unseen, answer.messages(unseen, keep_recent=0, **size))
    view = answer.function(bash, keep_recent=1)
    right = micro_compact(bash, keep_recent=1)
    pairs = zip(bash, view, right, strict=True)
    shared = all(own is old for old, own, new in pairs if new is old)
    require(
        shared,
        "it copies messages that do not change; put the same objects into the view.",
    )
    few = conversation(200)
    own = answer.function(few, keep_recent=3)
    same = "if nothing is cleared, it returns the list that it got; return a new one."
    require(own is not few, same)
    case = "with keep_recent left out and six results"
    same_view(case, six, micro_compact(six), answer.messages(six))


def same_view(
    case: str, before: list[Message], right: list[Message], view: list[Message]
) -> None:
    """Raise `Wrong` with the first result that `view` treats unlike the right view."""
    expected = results(right)
    blocks = [block for message in view for block in of_type(message, "tool_result")]
    given = {block.get("tool_use_id"): block.get("content") for block in blocks}
    whole = results(before)
    count = sum(given.get(name) != text for name, text in whole.items())
    wanted = sum(expected[name] != text for name, text in whole.items())
    other = f" It clears {count} of {len(whole)}, not {wanted}."
    for name, text in whole.items():
        lost = 'no block has its tool_use_id; change nothing but its "content"'
        require(name in given, f"{case}, result {name} is lost: {lost}.")
        content = given[name]
        done = "left it whole" if content == text else f"reads {shown(content)}"
        should = (
            "be left whole"
            if expected[name] == text
            else f"read {shown(expected[name])}"
        )
        require(
            content == expected[name],
            f"{case}, result {name} should {should}; yours {done}."
            + other * (count != wanted),
        )
    require(
        view == right, f"{case}, something besides the text of results has changed."
    )


@exercise("02.3")
def _settings(answer: Answer) -> str:
    """The list of places is a short result. It costs few tokens to keep, and a turn to
    get again.

    Leave keep_recent at 3 and move min_chars up in steps of 1,000.
    """
    numbers = answer.numbers("keep_recent", "min_chars")
    start = Settings(auto=False, manual=False).scaled(32_000)
    run = play(RENAME, replace(start, **numbers))
    cost = (
        f"{run.turns} turns, {run.repeated} calls made again, {run.sent:,} tokens sent"
    )
    require(not run.refused, f"{cost}, and the API refused a request: {run.refused}.")
    require(run.checks["done"], f"{cost}, and {run.checks['left']} places are left.")
    require(run.sent < 400_000, f"done with {cost}; it should be under 400,000.")
    return f"done with {cost}."


def formula(behind: float, cleared: float, read: float, write: float) -> float:
    """Return the requests after which a clearing has paid for itself."""
    return (write - read) * behind / (read * cleared)


@exercise(
    "02.4", "after so many requests a clearing has paid for itself.", finished=formula
)
def _break_even(answer: Answer) -> None:
    """What is behind the change would have been read. Now it is written. What does that
    cost more?

    Each request, from this one on, reads `cleared` tokens fewer.

    The extra cost divided by the saving of one request.
    """
    opus = (0.2, 5.0)
    haiku = (0.1, 1.25)
    cases = {
        "at the prices of Opus 5.5": (12.0, 10_000, 20_000, *opus),
        "nothing stands behind the change, so nothing is written again": (
            0.0,
            0,
            5_000,
            *opus,
        ),
        "four times as much behind for each token cleared": (
            48.0,
            20_000,
            10_000,
            *opus,
        ),
        "where writing costs 12.5 times as much as reading": (
            11.5,
            10_000,
            10_000,
            *haiku,
        ),
        "a fraction counts exactly": (1.2, 1_000, 20_000, *opus),
    }
    answer.agree(cases | drawn(formula, sizes_and_prices))


def sizes_and_prices(random: Random) -> tuple[int, int, float, float]:
    """Draw two sizes in tokens, the second not 0, and the dollars of a read and a
    write."""
    read = random.choice((0.05, 0.1, 0.2, 0.5))
    return random.randint(0, 9_000), random.randint(1, 9_000), read, 12.5 * read
