"""The closed loop: what a setting does to what the agent does, on the renaming task."""

from dataclasses import replace

import numpy as np
import pytest

from agentlib.lab.panels.rerun_panel import rerun_panel, told
from agentlib.lab.play import Rerun, rerun
from agentlib.lab.tasks.scenarios import RENAME
from agentlib.settings import MODEL, Settings

START = Settings(auto=False, manual=False).scaled(32_000)


def kept(keep_recent: int) -> Rerun:
    return rerun(RENAME, replace(START, keep_recent=keep_recent))


def test_keeping_fewer_results_makes_more_calls_again():
    assert [kept(n).repeated for n in (3, 5, 20)] == [24, 10, 2]
    assert [kept(n).turns for n in (3, 5, 20)] == [64, 50, 42]


def test_tokens_have_their_least_between_few_and_many():
    few, some, many = (kept(n).sent for n in (3, 5, 20))
    assert some < few < many


def test_a_run_that_meets_the_wall_says_so():
    off = rerun(RENAME, replace(START, enabled=False))
    assert off.refused == "prompt is too long: 36562 tokens > 32000 maximum"
    assert not off.checks["done"]
    assert told(off).replace("\n", " ").endswith(f"The API ended it: {off.refused}.")


def test_a_setting_is_run_once():
    assert kept(5) is kept(5)


def test_dollars_are_those_of_a_named_model():
    assert 0 < kept(5).dollars(MODEL) < kept(3).dollars(MODEL)
    with pytest.raises(ValueError, match="no price is known"):
        kept(5).dollars("a model without a price")


def test_the_table_has_a_row_a_turn_and_bills_what_was_sent():
    table = kept(5).table()
    assert len(table) == kept(5).turns
    assert table["tokens"].sum() == kept(5).sent


def test_moving_a_slider_runs_the_task_again_under_that_setting():
    panel = rerun_panel(RENAME, replace(START, keep_recent=5))
    assert panel.text == told(kept(5))
    before = panel.png
    panel.keep_recent.value = 20
    assert panel.text == told(kept(20))
    assert panel.png != before
    panel.min_chars.value = 13_000
    assert panel.text == told(rerun(RENAME, replace(START, keep_recent=20, min_chars=13_000)))


def test_a_run_waits_until_the_slider_is_let_go():
    panel = rerun_panel(RENAME, replace(START, keep_recent=5))
    assert [s.continuous_update for s in panel.sliders.values()] == [False, False]
    assert np.diff([s.min for s in panel.sliders.values()]) == [0]
