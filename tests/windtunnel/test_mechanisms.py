"""The engines that the judge's tasks never need differ on tasks made for them."""

import csv

import pytest

from windtunnel.judge import field_of
from windtunnel.judge.spreads import alike
from windtunnel.tasks import mechanisms
from windtunnel.tasks.mechanisms import (
    BESIDE,
    MECHANISMS,
    NEEDED,
    SEEDS,
    UNSEEN,
    in_words,
    plan_left,
    played,
    row,
    stored,
)

SHOWN = {
    "identical_once": lambda own, other: other.tokens < 0.7 * own.tokens,
    "short_arguments": lambda own, other: other.dollars > 1.05 * own.dollars,
    "plan_put_back": lambda own, other: own.plan == 0 < 0.5 < other.plan,
    "second_model": lambda own, other: own.failed > 0 == other.failed,
    "stops_refilling": lambda own, other: other.failed > 3 > own.failed,
}
"""What each mechanism's tasks show, as means of the course's own and of the engine."""


def test_every_engine_that_no_task_of_the_judge_shows_has_tasks_or_a_reason():
    unshown = {*alike(field_of("hermes").spreads)}
    assert unshown == NEEDED.keys() | UNSEEN.keys()
    assert not NEEDED.keys() & UNSEEN.keys()
    assert all(in_words(name) for name in unshown)
    assert in_words(BESIDE) == in_words("spilled") == ""


@pytest.mark.parametrize("name", NEEDED)
def test_the_tasks_made_for_an_engine_tell_it_from_the_courses_own(name):
    means = stored()
    own = means.loc[(name, BESIDE)]
    other = means.loc[(name, name)]
    assert SHOWN[name](own, other)
    assert not SHOWN[name](own, own)


@pytest.mark.parametrize("name", NEEDED)
def test_the_stored_table_is_what_the_runs_of_the_engine_give(name):
    with MECHANISMS.open(encoding="utf-8", newline="") as file:
        table = [each for each in csv.DictReader(file) if each["mechanism"] == name]
    assert len(table) == 2 * SEEDS
    kept = next(r for r in table if (r["engine"], r["seed"]) == (name, "3"))
    made = row((name, name), 3)
    numbers = made.keys() - {"mechanism", "engine"}
    assert {key: float(kept[key]) for key in numbers} == {
        key: made[key] for key in numbers
    }


def test_a_plan_that_was_put_back_is_lost_with_the_second_compaction():
    once = played("plan_put_back", "plan_put_back", 3)
    twice = played("plan_put_back", "plan_put_back", 4)
    assert [len(run.session.compactions) for run in (once, twice)] == [1, 2]
    assert [plan_left(run) for run in (once, twice)] == [1, 0]
    assert plan_left(played("identical_once", "identical_once", 3)) == 0


def test_a_task_is_the_same_each_time():
    for make in NEEDED.values():
        assert make(2).task.prompts == make(2).task.prompts
        assert (
            make(2).task.prompts != make(3).task.prompts or make is mechanisms.doubles
        )
