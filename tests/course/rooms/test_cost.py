"""Lesson 08: its wrong answers, and its run with the published solutions."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest
from pandas import DataFrame

from agentlib.api.spending import rates
from agentlib.estimation import prompt_tokens
from agentlib.micro_compact import micro_compact as clear
from agentlib.presets import DEFAULT
from course.checks.cost import compacting_pays, repeats_save
from course.rooms.cost import (
    alive_panel,
    billed,
    by_the_bill,
    compacting_panel,
    ratio_panel,
    saved_by_compacting,
    saved_by_repeats,
    turns_at,
)
from session_report.policies import KEEPS_ALL
from tests.course.rooms.solved import REFUSED, Lesson
from windtunnel.runner import play
from windtunnel.tasks.generated import generated
from windtunnel.tasks.scenarios import LONG

OPUS = "claude-opus-5-5"


def summary_pays(
    left: float,
    read: float,
    write: float,
    answer: float,
    answer_as: str = "answer",
    reads_it: bool = True,
    gone: Callable[[float], float] = lambda left: 1 - left,
) -> float:
    """Solve exercise 08.2, or one of its wrong answers."""
    answer = write if answer_as == "write" else answer
    return (read * reads_it + (answer + write - read) * left) / (read * gone(left))


def kept_alive(
    pause: float,
    read: float,
    write: float,
    repeats: Callable[[float], float] = lambda pause: pause // 270,
    expired: Callable[[float], bool] = lambda pause: pause >= 300,
) -> float:
    """Solve exercise 08.3, or one of its wrong answers."""
    return (write - read) * expired(pause) - repeats(pause) * read


def knows_the_end(pause: float) -> int:
    """Repeat only as often as the pause needs, as if its end were known."""
    return max(0, math.ceil((pause - 300) / 270))


def clear_after(seconds: float, messages: list[Any], idle: float) -> list[Any]:
    return clear(messages, keep_recent=5) if idle > seconds else messages


WRONG = {
    "08.1": [
        (lambda gone, behind, read, write: write * behind / (read * gone), "not 12.5"),
        (
            lambda gone, behind, read, write: (write - read) * gone / (read * behind),
            "not 48.0",
        ),
        (lambda gone, behind, read, write: 24 * behind / gone, "at Haiku 4.5"),
        (
            lambda gone, behind, read, write: round((write / read - 1) * behind / gone),
            "10.35, not 10",
        ),
        (lambda gone, behind, read, write: 0, "at the prices of Opus 5.5"),
        (
            lambda gone, behind, read, write: (write - read) * behind / (write * gone),
            "Opus 5.5",
        ),
    ],
    "08.2": [
        (lambda *given: round(summary_pays(*given)), "the answer is 32.25, not 32"),
        (partial(summary_pays, answer_as="write"), "a tenth is left"),
        (partial(summary_pays, reads_it=False), "a tenth is left"),
        (partial(summary_pays, gone=lambda left: 1.0), "a tenth is left"),
        (partial(summary_pays, gone=lambda left: 0.5), "a tenth is left"),
        (
            lambda left, *prices: (1 + 124 * left) / (1 - left),
            "at the prices of Haiku 4.5",
        ),
    ],
    "08.3": [
        (
            lambda pause, read, write: kept_alive(pause, read, write + read),
            "takes one repeat",
        ),
        (partial(kept_alive, expired=lambda pause: True), "after 200 seconds"),
        (partial(kept_alive, repeats=knows_the_end), "is -0.2, not 0.0"),
        (lambda *given: max(0.0, kept_alive(*given)), "a repeat was sent at 270"),
        (partial(kept_alive, expired=lambda pause: pause > 300), "at 300 it is gone"),
        (
            partial(
                kept_alive, repeats=lambda pause: knows_the_end(pause) or pause // 270
            ),
            "at 270 and 540",
        ),
    ],
    "08.4": [
        (lambda messages, idle: messages, "it costs 100 % of forgetting nothing"),
        (lambda messages, idle: clear(messages, keep_recent=5), "at most 95 %"),
        (
            lambda messages, idle: clear_after(5, messages, idle),
            "275 seconds more pass",
        ),
        (
            lambda messages, idle: clear_after(60, messages, idle),
            "275 seconds more pass",
        ),
        (
            lambda messages, idle: clear_after(270, messages, idle),
            "275 seconds more pass",
        ),
        (lambda messages, idle: messages[-5:], REFUSED),
    ],
}
RIGHT = {
    "08.1": [
        lambda gone, behind, read, write: math.ceil(behind / gone * (write / read - 1)),
        lambda out, after, old, new: (new * after - old * after) / (old * out),
    ],
    "08.2": [lambda *given: math.ceil(summary_pays(*given)), summary_pays],
    "08.3": [kept_alive],
    "08.4": [
        lambda messages, idle: (
            clear(messages, keep_recent=6) if idle >= 300 else messages
        )
    ],
}


def paid(read: int, written: int) -> DataFrame:
    """Two sessions as `judge` tells them."""
    row = {"read": read, "written": written, "uncached": 0, "answers": 0}
    return DataFrame([{**row, "tokens": read + written, "need": 1.0}] * 2)


TABLES = {"nothing": paid(0, 100_000), "alive": paid(2_100_000, 0)}


class TestCost(Lesson):
    wrong = WRONG
    right = RIGHT
    panels: ClassVar = {
        "compacting": lambda: compacting_panel(OPUS, lambda left, *_: 50 * left),
        "alive": lambda: alive_panel(OPUS, lambda pause, *_: 900 - pause, [700.0]),
        "ratio": lambda: ratio_panel(TABLES),
    }


def test_the_order_turns_where_a_write_is_worth_the_repeats():
    """21 reads against one write of as many tokens: at 21 they cost the same."""
    assert turns_at(TABLES["alive"], TABLES["nothing"]) == 22
    assert turns_at(TABLES["nothing"], TABLES["nothing"]) == "none up to 60"


def test_the_panel_of_the_ratio_names_the_cheapest_and_changes_its_mind(unpainted):
    panel = ratio_panel(TABLES)
    assert panel.text.startswith("alive ")
    panel.ratio.value = 12.5  # most models
    assert panel.values == {"ratio": 12.5}
    assert panel.text.startswith("nothing 100 %")


@pytest.mark.parametrize("model", [OPUS, "claude-haiku-4-5"])
@pytest.mark.parametrize("left", [0.02, 0.1, 0.2])
def test_a_compaction_pays_when_the_formula_says_so_whatever_its_size(
    model: str, left: float
):
    rate = rates(model)
    read, write, answer = (
        rate[name] for name in ("cache_read", "cache_write_5m", "output")
    )
    right = compacting_pays(left, read, write, answer)
    for size in (50_000, 400_000):
        saved = saved_by_compacting(size, left, model, 60)
        pays = next(n for n, cents in enumerate(saved, 1) if cents > -1e-9)
        assert abs(pays - right) <= 1.01  # system prompt and tools are read once more
        assert saved[-1] > 0


def test_an_edit_whose_dollars_are_not_back_by_the_end_says_so_in_words():
    session = play(generated(0), KEEPS_ALL).session
    kept = billed(session)
    last = len(session.requests)
    edit = partial(clear, keep_recent=3)
    assert by_the_bill(session, kept, edit, last)[2] == "more than the 1 left"


def test_the_panel_of_a_compaction_shows_both_and_says_if_it_never_pays(unpainted):
    panel = compacting_panel(OPUS, lambda left, *prices: 100 * left)
    said = panel.text.replace("\n", " ")
    assert re.search(r"\bfrom request 15\b.* 10\.0\b", said)
    panel.left.value = 40
    assert (
        "only after more than 60 requests; the formula says 40.0"
        in panel.text.replace("\n", " ")
    )


@pytest.mark.parametrize(
    ("pause", "most", "cents"),
    [
        (200, 40, 0),  # the cache is still alive
        (280, 40, -2),  # it is, and a repeat was sent
        (300, 40, 46),  # it has just expired
        (400, 40, 46),
        (545, 40, 44),  # the agent didn't know that the person was about to return
        (1_200, 40, 40),
        (6_700, 40, 0),  # 24 repeats cost what one writing costs
        (7_200, 40, -4),
        (1_200, 3, -6),  # given up too early
        (1_100, 3, 42),
    ],
)
def test_repeats_save_a_writing_for_a_few_readings(
    pause: float, most: int, cents: float
):
    assert saved_by_repeats(pause, most, OPUS) == pytest.approx(cents)


def test_the_panel_of_repeats_compares_the_cache_with_a_learners_formula(unpainted):
    def formula(pause: float, read: float, write: float) -> float:
        return 3_000 - pause

    panel = alive_panel(OPUS, formula, [400.0, 7_200.0])
    said = panel.text.replace("\n", " ")
    assert "pay up to 112 minutes" in said
    assert "up to 50 by the formula" in said
    assert "In the 2 pauses of the sessions they bring -2 cents" in said
    for most, minutes in ((1, 9), (9, 45)):
        panel.most.value = most
        assert f"pay up to {minutes} minutes" in panel.text.replace("\n", " ")


@pytest.mark.parametrize(
    "pause", [*range(7, 9_000, 410), 299, 300, 301, 539, 541, 6_749, 6_751]
)
def test_a_pause_has_a_repeat_for_each_270_seconds_whenever_the_person_returns(
    pause: int,
):
    cents = 100 * repeats_save(pause, 0.2, 5.0)
    saved = saved_by_repeats(pause, 99, OPUS)
    assert saved == pytest.approx(cents / 10, abs=1e-9)


def test_default_does_the_long_task_in_its_own_window() -> None:
    """Unmanaged it passes 400,000 tokens, and the window has 200,000. The lesson makes
    this run."""
    run = play(LONG, DEFAULT)
    assert not run.refused
    assert run.checks["done"]
    assert max(prompt_tokens(usage) for usage in run.usages) < DEFAULT.context_window
