"""What the lessons teach is what DEFAULT runs: one run of the long task, traced."""

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from agentlib import (
    auto_compact,
    estimation,
    head_and_tail,
    loop,
    manual_compact,
    micro_compact,
    pipeline,
    recovery,
    transcripts,
)
from agentlib.compaction import breaker
from agentlib.messages import (
    asks_for_summary,
    blocks,
    changes,
    is_summary,
    of_type,
    said_in,
)
from agentlib.presets import DEFAULT
from offline_api.faults import Fault
from offline_api.model import Habits
from windtunnel import play
from windtunnel.runner import Run
from windtunnel.tasks.scenarios import LONG

Call = tuple[dict[str, Any], Any]
"""The arguments of one call, and what it returned."""

LESSONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "00": (loop.Agent.run, loop.Agent.ask, loop.Agent.act),
    "01": (estimation.TokenMeter.estimate, estimation.TokenMeter.observe),
    "02": (pipeline.clear, micro_compact.micro_compact),
    "03": (pipeline.summarise, auto_compact.auto_compact, auto_compact.summary_message),
    "04": (manual_compact.requested_focus,),
    "05": (transcripts.Session.note, transcripts.Session.archive),
    "06": (head_and_tail.head_and_tail, head_and_tail.handoff_prompt),
    "07": (pipeline.cut, breaker.breaker, recovery.with_less),
}
"""The functions that each lesson names."""


@pytest.fixture(scope="module")
def traced() -> tuple[Run, dict[Any, list[Call]]]:
    """The first half of the long task has a pause longer than the prompt cache lives.
    One summary fails, and the model asks for compactions, too."""
    functions = {f.__code__: f for named in LESSONS.values() for f in named}
    calls = defaultdict[Any, list[Call]](list)

    def profile(frame: FrameType, event: str, answer: Any) -> None:
        if event == "return" and frame.f_code in functions:
            calls[functions[frame.f_code]].append((dict(frame.f_locals), answer))

    sys.setprofile(profile)
    try:
        run = play(
            replace(LONG, prompts=LONG.prompts[:2], pauses=LONG.pauses[:2]),
            DEFAULT.scaled(32_000),
            faults=[Fault("tool_use", at=1, only="summary")],
            habits=Habits(compacts_from=0.3),
        )
    finally:
        sys.setprofile(None)
    return run, calls


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_a_lesson_names_runs_under_default(traced, lesson):
    _, calls = traced
    assert [f.__qualname__ for f in LESSONS[lesson] if not calls[f]] == []


def test_a_result_is_cleared_after_a_pause(traced):
    _, calls = traced
    assert any(
        list(changes(given["messages"], view))
        for given, view in calls[micro_compact.micro_compact]
    )


def test_a_summary_takes_the_place_of_messages(traced):
    run, calls = traced
    views = [view for _, view in calls[auto_compact.auto_compact] if view]
    summaries = [
        text for view in views for m in view for text in of_type(m, "text")
        if is_summary(text)
    ]  # fmt: skip
    made = [record for record in run.session.compactions if record.message]
    assert len(made) <= len(summaries)
    texts = [blocks(m) for view in views for m in view]
    bare = [[b for b in blocks(r.message) if not said_in(b)] for r in made if r.message]
    assert all(message in texts for message in bare)


def test_the_words_stand_beside_a_summary(traced):
    run, _ = traced
    messages = [record.message for record in run.session.compactions if record.message]
    assert any(said_in(block) for message in messages for block in blocks(message))


def test_the_focus_of_a_call_arrives(traced):
    run, calls = traced
    wishes = {focus for _, focus in calls[manual_compact.requested_focus] if focus}
    manual = {r.focus for r in run.session.compactions if r.trigger == "manual"}
    assert wishes
    assert manual == wishes


def test_the_hand_off_is_what_is_asked_for(traced):
    _, calls = traced
    wishes = {wish for _, wish in calls[head_and_tail.handoff_prompt]}
    sources = [given["source"] for given, _ in calls[auto_compact.auto_compact]]
    assert sources
    for source in sources:
        assert asks_for_summary(source)
        assert source[-1]["content"] in wishes


def test_the_breaker_counts_the_failure(traced):
    run, calls = traced
    assert max(state.failures for _, state in calls[breaker.breaker]) == 1
    assert [r.failure is not None for r in run.session.compactions].index(True) == 0


def test_the_alarm_is_the_meters(traced):
    run, calls = traced
    estimates = {tokens for _, tokens in calls[estimation.TokenMeter.estimate]}
    assert {r.tokens_before for r in run.session.compactions} <= estimates


def test_the_history_is_archived_before_each_summary(traced):
    run, calls = traced
    assert len(calls[transcripts.Session.archive]) >= len(
        [r for r in run.session.compactions if r.message]
    )
