"""Lists of layers: any order, any number, and what each of them may do wrong."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib import auto_compact, messages, micro_compact, presets, recovery
from agentlib.compaction.engine_check import NoEngine
from agentlib.estimation import new_meter
from agentlib.messages import Message, is_summary, waiting
from agentlib.pipeline import (
    LAYERS,
    Now,
    clear,
    compact,
    cut,
    run_engine,
    stacked,
    summarise,
)
from agentlib.settings import Settings
from agentlib.step import Step
from offline_api import violation
from tests.builders import conversation
from tests.strategies import histories, requests_of, short, some_settings, unseen_of


def now_of(history: list[Message], settings: Settings, **more: Any) -> Now:
    known = {
        "meter": new_meter(settings.estimator, 800),
        "summarize": short,
        "archive": lambda: "t.jsonl",
        "idle": 1_000.0,
    }
    return Now(history, settings, **{**known, **more})


# -- layers as somebody may write them -------------------------------------------------


def forgetful(now: Now, step: Step) -> Step:
    """Clears a result, and leaves amounts that are wrong."""
    view = step.applied(now.messages)
    new = micro_compact.micro_compact(view, keep_recent=0)
    texts = {**step.texts, **micro_compact.replacements(view, new)}
    return replace(step, texts=texts, tokens_after=1, tokens_before=2)


def by_verb(now: Now, step: Step) -> Step:
    return now.cleared(micro_compact.micro_compact(step.applied(now.messages)))


def whole_list(now: Now, step: Step) -> Step:
    return now.compact(keep_recent=1)


def replaced(now: Now, step: Step) -> Step:
    names = list(messages.results(now.messages))
    return now.with_texts(dict.fromkeys(names[:1], "another text"))


def by_hand(now: Now, step: Step) -> Step:
    if step.summary is not None:
        return step
    view = step.applied(now.messages)
    new = auto_compact.auto_compact(view, now.summarize, now.archive, keep_exchanges=2)
    return step if new == view else now.compacted(new, "t.jsonl")


def idle(now: Now, step: Step) -> Step:
    return step


ANY = [*LAYERS, forgetful, by_verb, whole_list, replaced, by_hand, idle]


@given(
    histories(min_size=1),
    some_settings,
    st.lists(st.sampled_from(ANY), max_size=6),
    st.sampled_from(["auto", "manual", "reactive"]),
    st.data(),
)
def test_any_list_of_layers_makes_one_step_that_can_be_sent(
    history, settings, layers, reason, data
):
    stop = data.draw(st.sampled_from(requests_of(history)))
    given_messages = history[:stop]
    before = copy.deepcopy(given_messages)
    now = now_of(given_messages, settings, reason=reason)
    step = stacked(*layers)(now)
    view = step.applied(given_messages)
    assert given_messages == before
    assert not violation(view) or violation(given_messages)
    assert step.tokens_before == now.meter.estimate(given_messages)
    assert step.tokens_after == now.meter.estimate(view)
    assert 0 <= step.settled <= len(view)
    new = [m for m in view if any(map(is_summary, messages.blocks(m)))]
    assert len(new) <= 1 + sum(m in given_messages for m in new)
    assert [text for _, text in waiting(given_messages)] == [
        text for _, text in waiting(view)
    ]
    if not {forgetful, replaced} & {*layers} and reason != "reactive":
        assert unseen_of(view).keys() == unseen_of(given_messages).keys()


@given(histories(min_size=1), some_settings, st.sampled_from(["auto", "manual"]))
def test_each_layer_twice_is_each_layer_once(history, settings, reason):
    now = now_of(history, settings, reason=reason)
    twice = [layer for layer in LAYERS for _ in range(2)]
    once = compact(now)
    assert stacked(*twice)(now).applied(history) == once.applied(history)


def test_a_second_summary_does_nothing():
    asked = list[str]()

    def summarize(source, focus):
        asked.append(focus)
        return "Did it."

    now = now_of(conversation(9), Settings(), reason="manual", summarize=summarize)
    step = stacked(summarise, clear, summarise)(now)
    assert len(asked) == 1
    assert step.compaction == "manual"


def test_a_clearing_after_another_builds_on_it_where_there_is_thinking():
    history = conversation(9)
    history[3]["content"] = [
        {"type": "thinking", "thinking": "Hmm.", "signature": "s"},
        *history[3]["content"],
    ]
    now = now_of(history, Settings(auto=False))
    step = stacked(clear, by_verb)(now)
    assert step.texts == compact(now).texts
    assert step.applied(history)[3]["content"][0]["type"] != "thinking"


# -- an engine is no layer, and a layer no engine --------------------------------------


def test_a_list_takes_layers_alone():
    def patient(now):
        return now.compact()

    with pytest.raises(NoEngine, match=r"`patient` in line \d+ takes \(now\)"):
        stacked(clear, patient)
    with pytest.raises(NoEngine, match="a layer is a function"):
        stacked(clear, 3)  # type: ignore[arg-type]


def test_a_layer_alone_is_no_engine_and_the_error_says_how_to_make_one():
    with pytest.raises(NoEngine, match=r"compact = stacked\(idle, \*LAYERS\)"):
        run_engine(idle, now_of(conversation(2), Settings()))  # type: ignore[arg-type]


def test_a_layer_without_return_is_named():
    def silent(now, step):
        step.applied(now.messages)

    with pytest.raises(NoEngine, match="`silent` returned None"):
        stacked(silent)(now_of(conversation(2), Settings()))


# -- what a list says of itself --------------------------------------------------------


def test_printed_it_says_what_runs_with_the_numbers_in_force():
    lines = str(stacked(clear, idle, by_verb, summarise, cut).layers).splitlines()
    assert [line.split()[1] for line in lines] == [
        "clear", "idle", "by_verb", "summarise", "cut",
    ]  # fmt: skip
    numbers = presets.DEFAULT
    assert f"newest {numbers.keep_recent} results" in lines[0]
    assert "a plain function" in lines[1]
    assert f"{numbers.threshold_tokens:,} tokens" in lines[3]


def test_its_own_numbers_are_the_ones_in_force():
    engine = stacked(clear, summarise, numbers={"threshold": 0.5, "keep_recent": 7})
    text = engine.layers.under(replace(presets.DEFAULT, micro="clear"))
    assert "newest 7 results" in text
    assert "over 100,000 tokens" in text
    now = now_of(conversation(9), replace(presets.LEARN_CLAUDE_CODE, auto=False))
    assert len(engine(now).texts) == 2


def test_off_is_off():
    off = compact.layers.under(replace(presets.DEFAULT, enabled=False))
    assert off.count("  off") == len(LAYERS)


# -- somebody else's client ------------------------------------------------------------


def test_whatever_a_client_raises_the_summary_has_failed():
    class OtherError(RuntimeError):
        pass

    class Down:
        class messages:
            @staticmethod
            def create(**request: Any) -> None:
                raise OtherError("the other provider is down")

    summarize = auto_compact.summarizer(
        Down, model="m", system="", tools=[], summary_tokens=100
    )  # type: ignore[arg-type]
    now = now_of(conversation(9), Settings(), reason="manual", summarize=summarize)
    step = compact(now)
    assert step.compaction == "failed"
    assert "the other provider is down" in str(step.failure)
    less = recovery.with_less(summarize)
    assert compact(now.asking(less)).compaction == "failed"
