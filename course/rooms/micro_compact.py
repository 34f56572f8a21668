"""Lesson 02: which results are cleared, what the two numbers do, and when a clearing
pays."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

from agentlib.api.spending import PRICED_AS, Usage, dollars, priced
from agentlib.estimation import prompt_tokens
from agentlib.messages import Block, Message, of_type
from agentlib.micro_compact import micro_compact
from agentlib.settings import Settings
from course.checking import Answer, conversation, exercise, require, shown
from course.figures import charts, window_map
from course.figures.window_map import Tile
from course.page import print_json, run_sentence
from course.panels.panel import Panel, knobs
from session_report.amounts import many
from windtunnel.parts import layer_of, results
from windtunnel.runner import MAX_TURNS, Run, play
from windtunnel.tasks.scenarios import RENAME, Scenario

# -- the exercises ---------------------------------------------------------------------


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
    ]
    for case, before, numbers in cases:
        after = deepcopy(before)
        right = micro_compact(before, **numbers)
        given = answer.function(after, **numbers)
        copied = given is not None and after == before != right
        require(
            not copied, "it returned something; edit the messages that it gets instead."
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
    case = "with keep_recent left out and six results"
    six = conversation(*[200] * 6)
    same_view(case, six, micro_compact(six), answer.messages(six))


def same_view(
    case: str, before: list[Message], right: list[Message], view: list[Message]
) -> None:
    """Raise `Wrong` with the first result that `view` treats unlike the right view."""
    expected = results(right)
    given = results(view)
    for name, text in results(before).items():
        content = given.get(name)
        done = "left it whole" if content == text else f"reads {shown(content)}"
        should = (
            "be left whole"
            if expected[name] == text
            else f"read {shown(expected[name])}"
        )
        require(
            content == expected[name],
            f"{case}, result {name} should {should}; yours {done}.",
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

    Each request after that reads `cleared` tokens fewer.

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
    }
    answer.agree(cases, rounded=True)


# -- what the cells show ---------------------------------------------------------------


def clearing_panel(
    scenario: Scenario, settings: Settings, view: Callable[..., Any] = micro_compact
) -> Panel:
    """Run the task again for each position of `keep_recent` and `min_chars`.

    `settings`: where the sliders start; everything else in it stays. `view`: the
    function that clears. The axis has room for 160 turns, so that runs of different
    lengths compare.
    """

    def draw(keep_recent: int, min_chars: int) -> tuple[bytes, str]:
        own = layer_of(partial(view, keep_recent=keep_recent, min_chars=min_chars))
        done = play(scenario, settings, layers=[own], max_turns=MAX_TURNS)
        end = "done" if done.checks["done"] else "not done"
        options: Any = {"title": f"{many(done.turns, 'turn')}, {end}"}
        options["refused"] = {"": done.refused} if done.refused else {}
        return charts.turns(done.table(), turns=160, **options).png(), run_sentence(
            done
        )

    return Panel(
        knobs(settings, keep_recent=(0, 40, 1), min_chars=(0, 14_000, 100)), draw
    )


def beside(history: Sequence[Message], view: Sequence[Message], **known: Any) -> None:
    """Draw the history and the view of it, and print how large the view is."""
    window = 32_000

    def headed(name: str, row: Sequence[Tile]) -> str:
        size = sum(tile.tokens for tile in row)
        return f"{name}: {size:,.0f} tokens" + (", too many" if size > window else "")

    cleared = window_map.tiles(view, history, **known)
    sent = [replace(tile, gone=0) for tile in cleared]
    rows = {
        "The history": window_map.tiles(history, **known),
        "The view that is sent": sent,
    }
    display(window_map.maps({headed(n, row): row for n, row in rows.items()}, window))
    print(window_map.sentence(cleared, window))


def show(block: Block, longest: int = 150) -> None:
    """Print a block as JSON, its content cut for this page."""
    content = block.get("content", "")
    if len(content) > longest:
        rest = f" … and {len(content) - longest:,} characters more"
        block = block | {"content": content[:longest] + rest}
    print_json(block)


def print_bills(runs: Mapping[str, Sequence[Usage]]) -> None:
    """Print what the picture of the requests shows: the sums of each run."""
    print(f"{'tokens':>28}{'read':>10}{'written':>10}{'dollars':>10}")
    for name, usages in runs.items():
        kinds = [priced(usage, PRICED_AS) for usage in usages]
        read, written = (sum(k[n][0] for k in kinds) for n in ("read", "written"))
        spent = sum(dollars(usage, PRICED_AS) for usage in usages)
        tokens = sum(prompt_tokens(usage) for usage in usages)
        print(f"{name:<18}{tokens:>10,}{read:>10,}{written:>10,}{spent:>10.2f}")


def characters(run: Run) -> int:
    """Count the characters of all tool results in a run's history."""
    return sum(len(text) for text in results(run.session.history).values())
