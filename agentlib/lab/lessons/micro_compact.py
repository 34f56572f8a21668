"""The exercises of lesson 02: which results are cleared, and what the numbers do."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from agentlib.lab.lessons.checking import Answer, conversation, exercise, require, results, shown
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import RENAME
from agentlib.messages import Message, of_type
from agentlib.micro_compact import micro_compact
from agentlib.settings import Settings


def same_view(case: str, before: list[Message], right: list[Message], view: list[Message]) -> None:
    """Raise `Wrong` with the first result that `view` treats unlike the right view."""
    expected, given = results(right), results(view)
    for name, text in results(before).items():
        content = given.get(name)
        done = "left it whole" if content == text else f"reads {shown(content)}"
        should = "be left whole" if expected[name] == text else f"read {shown(expected[name])}"
        require(content == expected[name], f"{case}, result {name} should {should}; yours {done}.")
    require(view == right, f"{case}, something besides the text of results has changed.")


@exercise("02.1", "the old, long results are cleared; the short one and the newest stay.")
def _in_place(answer: Answer) -> None:
    before = conversation(500, 80, 500, 500, 500, 500)
    cases: dict[str, dict[str, Any]] = {
        "with keep_recent=3 and min_chars=100": {},
        "with keep_recent=1 and six results": {"keep_recent": 1},
        "with min_chars=500 and results of 500 characters": {"min_chars": 500},
    }
    for case, numbers in cases.items():
        after = deepcopy(before)
        answer.function(after, **numbers)
        same_view(case, before, micro_compact(before, **numbers), after)


@exercise("02.2", "right for 3 of 5, for 0, for 5 and for more than there are.")
def _old_results(answer: Answer) -> None:
    five = of_type(conversation([500] * 5)[-1], "tool_result")
    for keep in (3, 0, 5, 9):
        right = five[: max(0, 5 - keep)]
        old = answer.call(five, keep)
        case = f"with keep_recent={keep} and five results, the {len(right)} oldest are old"
        require(list(old) == right, f"{case}; yours returned {len(old)} of them.")


PAPER = conversation([300, 90], [500, 250], [150, 400, 600])
"""The messages of exercise 02.3, with keep_recent=4 and min_chars=100."""


@exercise("02.3", "toolu_2 is too short, toolu_4 is the fourth from the end, the rest is unseen.")
def _on_paper(answer: Answer) -> None:
    reasons = {
        "toolu_1": "it is old and has 300 characters",
        "toolu_2": "its 90 characters are not over 100",
        "toolu_3": "four results are newer, and it has 500 characters",
        "toolu_4": "it is the fourth result from the end, and keep_recent is 4",
        **dict.fromkeys(("toolu_5", "toolu_6", "toolu_7"), "the model has not seen it yet"),
    }
    answer.choose(("toolu_1", "toolu_3"), reasons)


@exercise("02.4", "unseen results stay, 0 means 0, and the history is as it was.")
def _view(answer: Answer) -> None:
    unseen, bash = conversation(200, 200, [200] * 5), conversation(101, 100, 200)
    bash[1]["content"][0]["name"] = "bash"
    for case, messages, keep in (
        ("with keep_recent=3 and five unseen results", unseen, 3),
        ("with keep_recent=0 and five unseen results", unseen, 0),
        ("with keep_recent=9 and seven results", unseen, 9),
        ("with keep_recent=1 and results of 101, 100 and 200 characters", bash, 1),
    ):
        view = answer.messages(messages, keep_recent=keep)
        same_view(case, messages, micro_compact(messages, keep_recent=keep), view)
    shared = answer.function(bash, keep_recent=9)[0] is bash[0]
    require(shared, "it copies messages that do not change; put the same objects into the view.")


@exercise("02.5")
def _settings(answer: Answer) -> str:
    numbers = answer.typed(dict, 'give {"keep_recent": …, "min_chars": …}')
    start = Settings(auto=False, manual=False).scaled(32_000)
    run = play(RENAME, replace(start, **numbers))
    cost = f"{run.turns} turns, {run.repeated} calls made again, {run.sent:,} tokens sent"
    require(not run.refused, f"{cost}, and the API refused a request: {run.refused}.")
    require(run.checks["done"], f"{cost}, and {run.checks['left']} places are left.")
    require(run.sent < 400_000, f"done with {cost}; it should be under 400,000.")
    return f"done with {cost}."
