"""Lesson 00: its wrong answers, and its run with the published solutions."""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

from agentlib.messages import of_type
from agentlib.settings import Settings
from agentlib.tools import result
from course.rooms.the_wall import exchanged, wall_panel
from tests.course.rooms.solved import Lesson
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import REVIEW, TRACE

DEFINITION = {
    "name": "outline",
    "description": "List what a file defines.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}


STARTS = ("def ", "class ", "async def ")


def outline(source: str, starts: tuple[str, ...] = STARTS) -> str:
    lines = enumerate(source.splitlines(), 1)
    return "\n".join(
        f"{n}: {line}" for n, line in lines if line.lstrip().startswith(starts)
    )


def looping(act: Callable[..., list[Any]], *, whole: bool = True, ends: bool = True):
    """A loop that answers calls with `act`, notes the `whole` reply or none, and may
    never end."""

    def loop(messages, ask, workspace):
        while messages[-1]["role"] == "user" or not ends:
            reply = ask(messages)
            if whole:
                messages.append({"role": "assistant", "content": reply["content"]})
            if calls := of_type(reply, "tool_use"):
                messages.append({"role": "user", "content": act(calls, workspace)})

    return loop


def carried_out(calls, workspace):
    return [result(call, workspace) for call in calls]


def only_once(messages, ask, workspace):
    messages.append({"role": "assistant", "content": ask(messages)["content"]})


def one_turn(messages, ask, workspace):
    only_once(messages, ask, workspace)
    if calls := of_type(messages[-1], "tool_use"):
        messages.append({"role": "user", "content": carried_out(calls, workspace)})


def a_message_each(messages, ask, workspace):
    while messages[-1]["role"] == "user":
        only_once(messages, ask, workspace)
        for each in carried_out(of_type(messages[-1], "tool_use"), workspace):
            messages.append({"role": "user", "content": [each]})


def with_words_of_its_own(messages, ask, workspace):
    def embellished(given):
        reply = ask(given)
        return {
            **reply,
            "content": [{"type": "text", "text": "Aha."}, *reply["content"]],
        }

    looping(carried_out)(messages, embellished, workspace)


def by_attribute(messages, ask, workspace):
    reply = ask(messages).content
    messages.append({"role": "assistant", "content": reply})


def that_swallows(messages, ask, workspace):
    with suppress(Exception):
        looping(carried_out)(messages, ask, workspace)


def that_says_go_on(messages, ask, workspace):
    go_on = {"type": "text", "text": "Go on."}
    looping(lambda calls, place: [*carried_out(calls, place), go_on])(
        messages, ask, workspace
    )


def of_22_requests(messages, ask, workspace):
    for _ in range(22):
        if messages[-1]["role"] == "user":
            one_turn(messages, ask, workspace)


ASKED = by_attribute.__code__.co_firstlineno + 1


def as_recursion(messages, ask, workspace):
    reply = ask(messages)
    messages += [{"role": "assistant", "content": reply["content"]}]
    if results := [result(call, workspace) for call in of_type(reply, "tool_use")]:
        messages += [{"role": "user", "content": results}]
        as_recursion(messages, ask, workspace)


def shallow(source):
    """Know only definitions at the margin and those with four spaces."""
    starts = [
        f"{indent}{word} "
        for indent in ("", "    ")
        for word in ("def", "class", "async def")
    ]
    lines = enumerate(source.splitlines(), 1)
    return "\n".join(
        f"{n}: {line}" for n, line in lines if line.startswith(tuple(starts))
    )


def by_words(text):
    found = []
    for number, line in enumerate(text.split("\n")):
        first = [*line.split(), "", ""][:2]
        if first[0] in ("def", "class") or first == ["async", "def"]:
            found += [f"{number + 1}: {line}"]
    return "\n".join(found)


def by_spaces(source):
    starts = ("def ", "class ", "async def ")
    lines = enumerate(source.splitlines(), 1)
    return "\n".join(f"{n}: {x}" for n, x in lines if x.strip(" ").startswith(starts))


def by_first_place(source):
    lines = source.splitlines()
    places = [(lines.index(line) + 1, line) for line in lines]
    return "\n".join(
        f"{n}: {line}"
        for n, line in places
        if re.match(r" *(async )?(def|class) ", line)
    )


def knows_the_table(base, growth, turns):
    table = {400: 3_000, 2_000: 1_584_000, 100: 6_300}
    return base if turns == 1 else table.get(growth, 0)


WRONG = {
    "00.1": [
        (looping(carried_out, ends=False), "must end with a user message"),
        (a_message_each, "two calls got two messages"),
        (
            looping(
                lambda calls, place: [
                    carried_out(calls, place),
                    carried_out(calls, place),
                ][1]
            ),
            "carried out",
        ),
        (with_words_of_its_own, "a reply isn't there as the model gave it"),
        (that_swallows, "an error of ask should pass"),
        (that_says_go_on, "holds a text, too"),
        (of_22_requests, "a task of 60 requests"),
        (by_attribute, f"in line {ASKED}: reply = ask(messages).content"),
    ],
    "00.2": [
        (knows_the_table, "made at random"),
        (
            lambda base, growth, turns: base + growth * (turns - 1),
            "is 3,000, not 1,400",
        ),
        (lambda base, growth, turns: base * turns, "is 3,000, not 1,800"),
        (lambda base, growth, turns: (base + growth * turns) * turns, "is 3,000, not"),
        (lambda base, growth, turns: 3_000, "a single turn sends the first prompt"),
        (
            lambda base, growth, turns: sum(600 + growth * n for n in range(turns)),
            "each prompt has its base",
        ),
    ],
    "00.3": [
        (outline, "give a pair"),
        (
            ({**DEFINITION, "description": "Lists"}, outline),
            "in two English words or more",
        ),
        (
            ({**DEFINITION, "description": "This tool is very good."}, outline),
            "what it lists: a file's definitions",
        ),
        (
            ({**DEFINITION, "description": "Delete functions, classes."}, outline),
            "the description says 'delete'",
        ),
        *[
            (({**DEFINITION, "description": words}, outline), f"says {word!r}")
            for words, word in {
                "Counts the lines of a file.": "counts",
                "Lists functions and deletes the file.": "deletes",
            }.items()
        ],
        (({**DEFINITION, "name": "list"}, outline), "should stay 'outline'"),
        (
            ({**DEFINITION, "input_schema": {"properties": {}}}, outline),
            "path, a string",
        ),
        ((DEFINITION, lambda path: Path(path).read_text()), "it raised"),
        (
            (DEFINITION, lambda source: "3: class Parcel:"),
            "the line '4:     async def weigh",
        ),
        ((DEFINITION, lambda source: source), "should have the line '3: class"),
        ((DEFINITION, lambda source: f"{outline(source)}\n4: return"), "6 lines"),
        ((DEFINITION, lambda source: outline(source).splitlines()), "return text"),
        (
            (
                DEFINITION,
                lambda source: outline(source, ("def", "class ", "async def ")),
            ),
            "6 lines",
        ),
        (
            (DEFINITION, lambda source: outline(source, ("def ", "class ", "async "))),
            "6 lines",
        ),
        (
            (DEFINITION, lambda source: outline(source).replace("     ", " ")),
            "with its indent",
        ),
        ((DEFINITION, by_spaces), "a tab is an indent, too"),
        ((DEFINITION, shallow), "the line '5:         def round"),
        ((DEFINITION, by_first_place), "the line '10:         def round"),
        (
            (
                DEFINITION,
                lambda source: "\n".join(sorted(outline(source).splitlines(), key=len)),
            ),
            "order",
        ),
        (
            ({**DEFINITION, "description": "definitions definitions"}, outline),
            "in two English words or more",
        ),
        (
            ({**DEFINITION, "description": "An outline."}, outline),
            "in two English words or more",
        ),
        ((outline, DEFINITION), "in this order"),
        (
            ({"name": "outline", "description": "List functions."}, outline),
            "path, a string",
        ),
        (
            (DEFINITION, lambda source: outline(source) or None),
            "an empty text, not None",
        ),
        (
            (DEFINITION, lambda source: outline(source) or source.splitlines()[0]),
            "an empty text",
        ),
        ((DEFINITION, lambda source: outline(source, (*STARTS, "import "))), "6 lines"),
        ((DEFINITION, lambda source: outline(source, (*STARTS, "@"))), "6 lines"),
    ],
}
RIGHT = {
    "00.1": [as_recursion],
    "00.2": [
        lambda base, growth, turns: base * turns + growth * turns * (turns - 1) // 2,
        lambda first, more, count: sum(accumulate([first] + [more] * (count - 1))),
    ],
    "00.3": [
        (DEFINITION, by_words),
        (
            {**DEFINITION, "description": "Table of contents of a Python module"},
            lambda source: "".join(f"{n}\n" for n in by_words(source).splitlines()),
        ),
        ({**DEFINITION, "description": "Gives the skeleton of a file."}, by_words),
        ({**DEFINITION, "description": "Lists names without changing it."}, by_words),
    ],
}


def died() -> Run:
    return play(REVIEW, Settings(enabled=False).scaled(32_000))


class TestTheWall(Lesson):
    wrong = WRONG
    right = RIGHT
    panels: ClassVar = {"the wall": lambda: wall_panel(died())}


def test_the_wall_has_each_block_once_and_the_refused_request_goes_through_it(
    unpainted,
):
    run = died()
    panel = wall_panel(run)
    refused = len(run.sizes) + 1
    sums = [sum(tile.tokens for tile in tiles) for *_, tiles in exchanged(run)]
    assert [round(size) for size in accumulate(sums)][:-1] == run.sizes
    assert panel.request.max == refused
    for request, size in enumerate(run.sizes, 1):
        panel.request.value = request
        assert f"Request {request} of {refused}: {size:,} tokens" in panel.text
        assert "refuses" not in panel.text
    panel.request.value = refused
    assert run.refused in panel.text.replace("\n", " ")
    assert sum(sums) > 32_000


def test_the_json_under_the_wall_is_all_that_was_sent():
    run = died()
    pages = exchanged(run)
    sent = [
        m
        for request, *_ in pages
        for m in request["messages"]
        if not isinstance(m, str)
    ]
    assert sent == run.session.context
    assert [answer["content"] for _, answer, _ in pages[:-1]] == [
        each.reply["content"] for each in run.session.requests
    ]
    assert pages[0][0]["system"] == run.session.system
    assert pages[-1][1]["error"]["message"] == run.refused


def test_a_run_that_nobody_refused_ends_with_its_last_answer():
    done = play(TRACE, Settings(enabled=False))
    assert len(exchanged(done)) == done.turns
    assert "error" not in exchanged(done)[-1][1]
