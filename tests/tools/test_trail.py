"""The recorded bench: each place has the run that its settings make, shared or not."""

from itertools import product
from typing import Any

import pytest

from agentlib.settings import Settings
from course.panels.what_if import (
    WhatIf,
    positions,
    settings_at,
    what_if,
    without_effect,
)
from tools.trail import judged, trail
from windtunnel.runner import play
from windtunnel.tasks.scenarios import SURVEY

STOPS = {
    "default": {"clear_when": ("always", "cold", "never"), "keep_recent": (0, 8)},
    "": {"keep_recent": (1,)},
}


@pytest.fixture(scope="module")
def bench() -> tuple[WhatIf, dict[str, Any]]:
    """A bench, and its data for a page."""
    shown = what_if(play(SURVEY, Settings().scaled(24_000)).session)
    return shown, trail(shown, STOPS)[1]


def test_places_share_a_run_only_if_their_settings_make_the_same_one(bench):
    shown, data = bench
    shared = 0
    for preset, start in shown.starts.items():
        recorded = data["places"][preset]
        grid = [*product(*recorded["values"].values())]
        shared += len(grid) - len({run for _, run in recorded["places"]})
        for at, (_, run) in zip(grid, recorded["places"], strict=True):
            moved = dict(zip(recorded["values"], at, strict=True))
            settings = settings_at(
                shown.starts, {**positions(start), "preset": preset, **moved}
            )
            kept = data["runs"][run]
            frames = shown.source.frames(settings)
            assert {**kept, **judged(shown.source.tried(settings))} == kept
            assert (kept["turns"], kept["why"]) == (
                len(frames),
                without_effect(settings, frames),
            )
    assert shared == 6


def test_a_presets_own_numbers_are_where_its_controls_start(bench):
    shown, data = bench
    settings = set()
    for preset, start in shown.starts.items():
        recorded = data["places"][preset]
        at = {
            field: recorded["values"][field][n]
            for field, n in recorded["start"].items()
        }
        assert at == {field: positions(start)[field] for field in data["fields"]}
        place = 0
        for field in data["fields"]:
            place = place * len(recorded["values"][field]) + recorded["start"][field]
        number, run = recorded["places"][place]
        settings.add(number)
        trial = data["dots"][preset]
        assert {**trial, **data["runs"][run]} == data["runs"][run]
    assert len(settings) == len(shown.starts)
