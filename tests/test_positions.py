"""Every position of the what-if panel: each control, all pairs, many at random, over a replay.

A position either has its settings, whose replay breaks no rule of the API, or is refused with a
sentence that names the numbers.
"""

import random
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise, product
from typing import Any

import pytest

from agentlib.lab.panels import whatif_controls as control
from agentlib.lab.play import play
from agentlib.lab.replay import Frame, replay
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import violation
from agentlib.settings import Settings

WINDOW, TURNS = 16_000, 14
WHOLE = play(REVIEW, Settings(enabled=False)).session
SESSION = replace(
    WHOLE, requests=WHOLE.requests[:TURNS], history=WHOLE.history[: WHOLE.requests[TURNS].seen]
)
START = control.bases(replace(Settings().scaled(WINDOW)))[control.RECORDED]
KNOWN = control.bases(START)
CONTROLS = control.controls(START)
AT = {name: each.value for name, each in CONTROLS.items()}
NUMBERS = [name for name, each in CONTROLS.items() if hasattr(each, "max")]


def span(name: str, places: int) -> list[Any]:
    """Places of a control from end to end: of a slider so many, of a drop-down all."""
    each = CONTROLS[name]
    if name not in NUMBERS:
        return list(each.options)
    steps = (each.max - each.min) // each.step
    return sorted({each.min + each.step * (steps * n // (places - 1)) for n in range(places)})


@cache
def played(settings: Settings) -> list[Frame]:
    return replay(SESSION, settings)


@cache
def legal(settings: Settings) -> bool:
    """Whether every request of the replay would be taken, and its table is whole."""
    frames = played(settings)
    assert [violation(f.context) for f in frames] == [None] * TURNS
    assert all(sum(f.kinds.values()) == pytest.approx(f.prompt_tokens) for f in frames[::5])
    return True


def held(**moved: Any) -> bool:
    """A position is legal, or refused for a reason that can be read off the sliders."""
    values = AT | moved
    try:
        settings = control.settings_at(KNOWN, values)
    except ValueError as error:
        too_small = values["window"] <= values["reserve"] + values["buffer"]
        past = values["point"] == control.FIXED and values["threshold"] > values["window"]
        named = values["window"] if too_small else values["threshold"]
        refused = (too_small or past) and f"{named:,}" in str(error)
        return not refused and pytest.fail(f"{values}: {error}")
    return legal(settings)


def first(settings: Settings) -> float:
    """The turn of the first compaction, or infinity."""
    turns = (frame.turn for frame in played(settings) if frame.compaction)
    return next(turns, float("inf"))


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_over_its_whole_range(name: str):
    places = span(name, 12)
    points = control.POINTS if name in ("threshold", "share") else [AT["point"]]
    found = (
        [held(**{name: place, "point": point}) for place in places for point in points]
        if (name != "point")
        else [held(point=place) for place in places]
    )
    assert len(found) >= min(12, len(places))
    assert any(found)


def test_all_pairs_of_controls():
    found = [
        held(**{one: a, other: b})
        for one, other in combinations(CONTROLS, 2)
        for a, b in product(span(one, 3), span(other, 3))
    ]
    assert len(found) > 800
    assert 0.7 < sum(found) / len(found) < 1


def test_500_positions_at_random():
    chance = random.Random(5)
    found = [held(**{name: chance.choice(span(name, 9)) for name in CONTROLS}) for _ in range(500)]
    assert 150 < sum(found) < 500


def test_a_lower_threshold_never_compacts_later():
    chance, differ = random.Random(6), 0
    for _ in range(20):
        others = {name: chance.choice(span(name, 9)) for name in ("preset", *control._SAME)}
        firsts = [
            first(
                control.settings_at(KNOWN, AT | others | {"point": control.FIXED, "threshold": t})
            )
            for t in range(1_600, WINDOW + 1, 1_600)
        ]
        assert all(lower <= higher for lower, higher in pairwise(firsts)), (others, firsts)
        differ += firsts[0] < firsts[-1]
    assert differ > 10  # or the sweeps have shown nothing


def test_a_preset_puts_the_controls_where_its_numbers_are():
    for name, preset in KNOWN.items():
        at = {"preset": name, **control.positions(preset)}
        assert control.settings_at(KNOWN, at) == preset


@pytest.mark.parametrize("recorded", [START, Settings(), Settings(threshold=50_000, buffer=7_777)])
def test_a_browser_can_show_every_preset_as_it_is(recorded: Settings):
    # The browser's sliders move a value that is off their steps, and send it back.
    sliders = control.controls(recorded)
    for preset in control.bases(recorded).values():
        for name, value in control.positions(preset).items():
            each = sliders[name]
            if hasattr(each, "step"):
                assert each.min <= value <= each.max
                assert (value - each.min) % each.step == 0, name


def test_the_code_makes_the_same_settings():
    for preset in (*KNOWN.values(), Settings(keep_tools=("bash",), threshold_pct=12.5)):
        assert eval(control.as_code(preset), {"Settings": Settings}) == preset
    assert control.as_code(Settings()) == "Settings()"
