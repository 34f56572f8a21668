"""A layer made of a function of messages: what a step can say of its view, and what is
shown as it is."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.auto_compact import auto_compact
from agentlib.compaction.engine_check import NoEngine
from agentlib.estimation import TokenMeter
from agentlib.messages import Message, of_type, with_results
from agentlib.micro_compact import micro_compact
from agentlib.pipeline import Layer, Now, Stack, clear, cut, stacked, summarise
from agentlib.settings import Settings
from agentlib.step import Step, drop_thinking
from offline_api import violation
from session_report.frames import Shown
from tests.builders import conversation, user
from tests.strategies import histories, results_of, short
from windtunnel import layer_of
from windtunnel.parts import PartFailed
from windtunnel.runner import play
from windtunnel.tasks.scenarios import TRACE

START = Settings(auto=False, manual=False).scaled(32_000)
TIGHT = replace(Settings(micro="off", manual=False).scaled(32_000), threshold=1_200)
FULL = Settings(threshold=1)


def at(messages: Sequence[Message], settings: Settings = START, **more: Any) -> Now:
    return Now(
        messages,
        settings,
        meter=TokenMeter(),
        summarize=short,
        archive=lambda: "t.jsonl",
        **more,
    )


def made(now: Now, *layers: Layer) -> Step:
    return stacked(*layers)(now)


# -- what a step can say, and what it can't --------------------------------------------

NOTE = user("What was said.")


def emptied(messages: list[Message], start: int, stop: int) -> list[Message]:
    names = list(results_of(messages))[start:stop]
    return with_results(messages, dict.fromkeys(names, "[gone]"))


VIEWS: dict[str, Callable[[list[Message], int, int], list[Message]]] = {
    "texts": emptied,
    "a slice": lambda m, start, stop: m[start:stop],
    "one message for a slice": lambda m, start, stop: [*m[:start], NOTE, *m[stop:]],
    "two": lambda m, start, stop: [*m[:start], NOTE, user("More."), *m[stop:]],
    "turned round": lambda m, start, stop: [*m[:start], *m[start:stop][::-1]],
    "copies": lambda m, start, stop: [dict(each) for each in m],
    "words": lambda m, start, stop: [user("Go on.")] * (start > 1),
}


@given(
    messages=histories(),
    kind=st.sampled_from([*VIEWS]),
    start=st.integers(0, 6),
    stop=st.integers(0, 20),
    summarises=st.booleans(),
)
def test_a_view_becomes_a_step_without_a_violation_or_is_sent_word_for_word(
    messages: list[Message], kind: str, start: int, stop: int, summarises: bool
):
    before = [dict(message) for message in messages]
    view = VIEWS[kind](list(messages), start, stop)
    if summarises:
        layer = layer_of(lambda messages, summary: view, given="summary")
    else:
        layer = layer_of(lambda messages: view)
    step = made(at(messages, FULL), layer)
    context = step.applied(messages)
    assert messages == before
    if isinstance(step, Shown):
        assert context == view
        return
    assert violation(context) is None
    # A change costs the thinking behind it, as in any step.
    assert drop_thinking(context, 0) == drop_thinking(view, 0)


def test_texts_and_a_compaction_are_said_by_the_steps_own_fields():
    messages = conversation(5)
    cleared = made(at(messages), layer_of(micro_compact))
    assert (type(cleared), len(cleared.texts)) == (Step, 2)
    assert cleared.tokens_cleared == round(2 * (345 - 26 * 0.345))
    step = made(
        at(messages, FULL, focus="files"),
        layer_of(micro_compact),
        layer_of(lambda messages, top: [top, *messages[-2:]], given="message"),
    )
    assert type(step) is Step
    assert step.kept == (9, 10)
    assert step.cleared == cleared.cleared
    assert (step.compaction, step.focus, step.archive) == ("auto", "files", "t.jsonl")
    assert step.tokens_after < step.tokens_before - step.tokens_cleared


def test_what_a_function_edits_is_its_view_even_behind_a_layer_that_made_copies():
    def in_place(messages: list[Message]) -> None:
        for message in messages:
            for block in of_type(message, "tool_result"):
                block["content"] = block["content"][:9]

    messages = conversation(5)
    step = made(at(messages), clear, layer_of(in_place))
    texts = [each["content"] for each in results_of(step.applied(messages)).values()]
    assert texts == ["[Previous"] * 2 + ["read the "] * 3


def test_a_later_layer_works_on_what_is_shown():
    messages = conversation(6, size=3_000)
    wrong = layer_of(lambda messages: messages[2:])
    now = at(messages, replace(FULL, auto=True, micro="clear"))
    step = made(now, wrong, clear)
    assert isinstance(step, Shown)
    assert step.applied(messages) == micro_compact(messages[2:])
    step = made(now, wrong, layer_of(lambda m, top: [top, m[-1]], given="message"))
    assert step.applied(messages)[1:] == messages[-1:]
    step = made(now, wrong, summarise, cut)
    assert step.compaction == "auto"
    assert step.applied(messages)[-2:] == messages[-2:]
    assert step.tokens_after == TokenMeter().estimate(step.applied(messages))


def test_a_run_notes_a_compaction_of_what_is_shown():
    wrong = layer_of(lambda messages: [user("Find RETRY_LIMIT."), *messages[1:]])
    run = play(TRACE, TIGHT, layers=[wrong, summarise], max_turns=9)
    assert run.session.compactions
    assert list(run.table()["tokens"]) == run.sizes


# -- when it acts, and what it gets ----------------------------------------------------


@pytest.mark.parametrize("name", ["summary", "summarize", "message"])
def test_a_function_that_compacts_waits_until_it_is_time(name: Any):
    calls = list[tuple[Any, ...]]()
    layer = layer_of(lambda *gets: calls.append(gets) or gets[0], given=name)
    messages = conversation(3)
    for settings, reason, number in (
        (START, "auto", 0),
        (replace(FULL, auto=False), "auto", 0),
        (replace(FULL, enabled=False), "auto", 0),
        (START, "manual", 1),
        (FULL, "reactive", 2),
        (FULL, "auto", 3),
    ):
        step = made(at(messages, settings, reason=reason), layer)
        assert len(calls) == number
        assert step.compaction is None
    second = made(at(messages, FULL), summarise, layer)
    assert (second.compaction, len(calls)) == ("auto", 3)


def test_what_is_given_is_named_and_not_guessed():
    gets = list[Any]()

    def mine(messages: list[Message], top: Any) -> list[Message]:
        gets.append(top)
        return messages

    now = at(conversation(3), FULL, focus="names")
    for name in ("summary", "summarize", "message"):
        made(now, layer_of(mine, given=name))
    text, ask, top = gets
    assert text == "Did it." == ask(conversation(1)) == ask(conversation(1), "focus")
    assert "Did it." in str(top)
    assert "Read every file." in str(top)
    with pytest.raises(ValueError, match="choose one of summary, summarize, message"):
        layer_of(mine, given="top")  # pyright: ignore[reportArgumentType]


def test_print_says_what_runs():
    def mine(messages: list[Message]) -> list[Message]:
        return messages

    engine = stacked(layer_of(mine), layer_of(mine, given="message"), cut)
    lines = str(engine.layers).splitlines()
    assert lines[0] == "1. mine  before each request: mine(messages)"
    assert lines[1] == "2. mine  when it is time: mine(messages, message)"
    assert lines[2].startswith("3. cut   over ")


# -- what is wrong is said in a sentence -----------------------------------------------


def test_a_function_of_messages_in_the_list_is_told_of_layer_of():
    def one(messages: list[Message]) -> list[Message]:
        return messages

    def two(messages: list[Message], top: Message) -> list[Message]:
        return [top, *messages[-2:]]

    def three(messages: list[Message], top: Message) -> list[Message]:
        return [top]

    wrong: Any = [one]
    with pytest.raises(NoEngine, match=r"layer_of\(one\)"):
        play(TRACE, START, layers=wrong)
    for function in (two, three):
        wrong = [function]
        name = function.__name__
        with pytest.raises(PartFailed, match=rf"^`{name}` .* layer_of\({name}\)"):
            play(TRACE, START, layers=wrong)
    wrong = layer_of(one)
    with pytest.raises(TypeError, match="layers is a list"):
        play(TRACE, START, layers=wrong)
    wrong = [None]
    with pytest.raises(NoEngine):
        play(TRACE, START, layers=wrong)


def test_a_layer_of_ones_own_that_raises_is_named_with_its_line():
    def mine(now: Now, step: Step) -> Step:
        return replace(step, settled=len(now.messages[99]))

    with pytest.raises(PartFailed, match=r"^`mine` raised IndexError.*\[99\]\)\)$"):
        play(TRACE, START, layers=[mine])


@pytest.mark.parametrize("wrong", ["Go on.", None, {"role": "user"}, {"content": [1]}])
def test_a_list_with_something_else_than_messages_is_named(wrong: Any):
    with pytest.raises(PartFailed, match=r"^`<lambda>` returned .* as a message in li"):
        play(TRACE, START, layers=[layer_of(lambda messages: [wrong])])


def test_an_engine_cant_go_with_layers_and_what_nobody_would_ask_is_refused():
    quiet: list[Layer] = [clear, layer_of(lambda messages: messages)]
    with pytest.raises(TypeError, match=r"stacked\(\*layers\)"):
        play(TRACE, START, layers=quiet, engine=stacked(clear))
    for part in ("summarize", "on_compact_call", "estimate"):
        more: Any = {part: len}
        with pytest.raises(TypeError, match=f"{part} would never count"):
            play(TRACE, START, layers=quiet[1:], **more)
    with pytest.raises(TypeError, match="compact_after would never count"):
        play(TRACE, START, layers=quiet, compact_after=2)


# -- which runs are remembered ---------------------------------------------------------


def test_only_layers_of_agentlibs_functions_make_a_run_that_is_remembered():
    own = layer_of(list)

    def mine(now: Now, step: Step) -> Step:
        return step

    for layer in (clear, layer_of(micro_compact)):
        first = play(TRACE, START, layers=[layer])
        assert play(TRACE, START, layers=[layer]) is first
    bound = layer_of(partial(auto_compact, archive=mine), given="summarize")
    for layer in (own, mine, layer_of(partial(list)), bound):
        first = play(TRACE, START, layers=[clear, layer])
        assert play(TRACE, START, layers=[clear, layer]) is not first


@pytest.mark.parametrize("place", ["my_agent", "__main__", "a learner's function"])
def test_an_engine_is_looked_into(place: str):
    def mine(now: Now, step: Step) -> Step:
        return step

    mine.__module__ = place
    engine = stacked(clear, mine if place.isidentifier() else layer_of(list))
    assert play(TRACE, START, engine=engine) is not play(TRACE, START, engine=engine)
    others: Stack = stacked(clear)
    assert play(TRACE, START, engine=others) is play(TRACE, START, engine=others)


def test_agentlibs_layers_in_a_list_run_as_its_engine_does():
    settings = replace(TIGHT, micro="clear")
    run = play(TRACE, settings, layers=[clear, summarise, cut])
    finished = play(TRACE, settings)
    assert run.sizes == finished.sizes
    assert run.session.context == finished.session.context
    assert run.session.settings.breaker_failures == settings.breaker_failures
    own = play(TRACE, settings, layers=[layer_of(lambda m, s: m, given="summary")])
    assert own.session.settings.breaker_failures == 0
