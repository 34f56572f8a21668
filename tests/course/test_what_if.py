"""The bench is tested as a learner uses it: controls are moved, and the picture is
read."""

import asyncio
from dataclasses import replace
from datetime import date
from random import Random
from typing import Any

import pytest

from agentlib.settings import MODEL, Settings
from agentlib.transcripts import Session
from course.panels import what_if as bench
from course.panels.panel import PAUSE
from course.panels.what_if import (
    PRESETS,
    Played,
    Trial,
    as_code,
    cheapest,
    positions,
    settings_at,
    what_if,
    without_effect,
)
from offline_api import violation
from offline_api.model import HABITS
from session_report.style import SHOWN, Chart
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW, SURVEY, TRACE


@pytest.fixture(scope="module")
def recorded() -> Session:
    return play(TRACE, Settings().scaled(32_000)).session


@pytest.fixture
def panel():
    return what_if()


def cents(settings: Settings, model: str = MODEL) -> str:
    return f"{100 * play(REVIEW, settings).dollars(model):.2f} ¢"


def test_it_opens_on_the_default_with_every_presets_dot(panel):
    default = PRESETS["default"].scaled(32_000)
    assert panel.settings == default
    assert panel.text.startswith(
        f"default, {cents(default)} (at the prices of {MODEL}). 34 turns."
    )
    assert panel.text.endswith(f"loses nothing: default, {cents(default)}.")
    for picture in (panel.picture, panel.below):
        assert bytes(picture.value).startswith(b"\x89PNG")
    for name in PRESETS:
        assert f">{name}<" in panel.table.value.replace("▶ ", "")
    assert panel.table.value.count("nothing</td>") == len(
        [trial for trial in panel.presets.values() if trial.lost == "nothing"]
    )


def test_a_trial_says_what_it_lost_and_the_cheapest_that_loses_nothing_is_kept(
    unpainted, panel
):
    panel.keep_recent.value = 0
    best = panel.name
    assert panel.text.endswith(f"loses nothing: trial 1, {cents(panel.settings)}.")
    panel.summary_tokens.value = 320  # cheaper, and loses
    run = play(REVIEW, panel.settings)
    text = panel.text.replace("\n", " ")
    lost = 19 - run.checks["described"]
    facts = 4 - run.checks["facts"]
    assert f"summary 320, {cents(panel.settings)} (from default, at" in text
    assert f"{run.turns} turns. Lost: {lost} files" in text
    assert (facts > 0) == panel.tried[panel.name].is_hollow
    assert panel.tried[panel.name].price[MODEL] < panel.tried[best].price[MODEL]
    assert "loses nothing: trial 1, " in text


def test_the_next_step_is_run_while_the_reader_looks(unpainted, monkeypatch):
    source = Played(REVIEW)
    tried: list[int] = []
    run = source.tried
    monkeypatch.setattr(
        Played, "tried", lambda self, each: tried.append(each.keep_recent) or run(each)
    )

    async def move() -> None:
        panel = what_if()
        panel.keep_recent.value = 6
        assert tried[-1] == 6
        await asyncio.sleep(4 * PAUSE)
        assert tried[-1] == 7
        assert [*panel.tried][-1] == "1 · KEEP_RECENT 6"
        panel.keep_recent.value = 20
        await asyncio.sleep(4 * PAUSE)
        assert tried[-1] == 20  # the slider's end

    asyncio.run(move())


def test_a_trial_is_drawn_again_without_a_run_or_a_replay(
    unpainted, panel, monkeypatch
):
    panel.move(keep_recent=6)
    panel.move(keep_recent=7)
    shown = bytes(panel.below.value)
    for name in ("tried", "frames"):
        monkeypatch.setattr(Played, name, lambda *_: pytest.fail("it ran again"))
    panel.move(keep_recent=6)
    panel.move(keep_recent=7)
    assert bytes(panel.below.value) == shown


def test_of_equally_cheap_trials_the_one_shown_is_named():
    twins = {
        name: Trial(price={MODEL: 0.02}, kept=1, most=1, lost="nothing")
        for name in "ab"
    }
    assert [cheapest(twins, MODEL, name) for name in "ab"] == ["a", "b"]


def test_a_preset_moves_all_controls_and_a_trial_is_gone_back_to(unpainted, panel):
    panel.keep_recent.value = 0
    name = panel.name
    settings = panel.settings
    panel.preset.value = "hermes"
    assert panel.settings == PRESETS["hermes"].scaled(32_000)
    assert panel.trial.value == "hermes"
    panel.trial.value = name
    assert (panel.settings, panel.preset.value, panel.name) == (
        settings,
        "default",
        name,
    )


def test_the_prices_of_another_model_can_be_taken(unpainted, panel):
    other = panel.model.options[-1]
    panel.model.value = other
    assert f" {cents(panel.settings, other)} (" in panel.text
    assert other in panel.text


@pytest.mark.parametrize("window", [32_000, 200_000, 123_600])
def test_a_browser_can_show_every_preset_as_it_is(window: int):
    # The browser's sliders move a value that is off their steps, and send it back.
    starts = {name: each.scaled(window) for name, each in PRESETS.items()}
    controls = bench._controls(starts, window)
    for name, preset in starts.items():
        places = positions(preset)
        assert settings_at(starts, {"preset": name, **places}) == preset
        assert eval(as_code(preset), {"Settings": Settings}) == preset
        for field, value in places.items():
            each = controls[field]
            if hasattr(each, "step") and window != 123_600:
                assert each.min <= value <= each.max, (name, field)
                assert (value - each.min) % each.step == 0, (name, field)


def places(control: Any) -> list[Any]:
    """Every option of a drop-down, or five positions of a slider."""
    if hasattr(control, "options"):
        return list(control.options)
    steps = (control.max - control.min) // control.step
    return [control.min + control.step * (steps * n // 4) for n in range(5)]


def holds(panel: Any) -> None:
    """No view breaks a rule, and each greyed control says why."""
    frames = panel.source.frames(panel.settings)
    assert frames
    assert [violation(frame.context) for frame in frames] == [None] * len(frames)
    for control in panel.controls.values():
        assert control.disabled == (control.description in panel.why.value)


def test_pairs_of_controls_at_random_places_break_no_rule(unpainted, panel):
    today = date.today().isoformat()
    rng = Random(today)
    fields = [name for name in panel.controls if name not in ("trial", "model")]
    for _ in range(2):
        values = {
            n: rng.choice(places(panel.controls[n])) for n in rng.sample(fields, 2)
        }
        print(today, values)
        panel.move(**values)
        holds(panel)


@pytest.mark.parametrize(
    ("preset", "changes", "greyed"),
    [
        ("hermes", {}, {"keep_recent"}),
        ("claude-code", {}, set()),  # in an emergency it clears
        ("course start", {}, {"tail_tokens", "summary_tokens", "restore_files"}),
        ("default", {"micro": "off", "keep_recent": 3}, {"keep_recent"}),
        ("default", {}, set()),
    ],
)
def test_a_greyed_control_would_change_nothing(
    preset: str, changes: dict[str, Any], greyed: set[str]
):
    window = 12_000 if preset == "claude-code" else 32_000
    settings = replace(PRESETS[preset].scaled(window), **changes)
    assert set(without_effect(settings, Played(SURVEY).frames(settings))) == greyed
    usages = play(SURVEY, settings).usages
    controls = bench._controls({"default": settings}, window)
    for name in greyed:
        low = max(1, controls[name].min)
        high = controls[name].max
        far = low if 2 * (getattr(settings, name) or 0) > low + high else high
        assert play(SURVEY, replace(settings, **{name: far})).usages == usages, name


def test_another_task_and_other_habits_run_the_presets_too(
    unpainted: None,
    monkeypatch: pytest.MonkeyPatch,
):
    few = {name: PRESETS[name] for name in ("default", "s24")}
    monkeypatch.setattr(bench, "PRESETS", few)
    habits = replace(HABITS, notes=False)
    panel = what_if(SURVEY, habits)
    run = play(SURVEY, few["s24"].scaled(32_000), habits=habits)
    assert panel.presets["s24"].price[MODEL] == run.dollars(MODEL)
    assert panel.presets["s24"].kept == run.checks["described"]


def test_a_recorded_session_is_replayed_and_says_what_it_cannot_know(recorded: Session):
    panel = what_if(recorded)
    assert "A replay can't say which facts would be lost." in panel.text.replace(
        "\n", " "
    )
    turns = len(recorded.requests)
    assert f"{turns} turns. Lost: " in panel.text.replace("\n", " ")
    assert panel.presets["as recorded"].most == turns
    panel.threshold.value = panel.threshold.min
    holds(panel)
    assert panel.png
    assert panel.picture.layout.width == panel.below.layout.width == f"{SHOWN}px"


def test_a_session_without_requests_is_refused():
    with pytest.raises(ValueError, match="no request yet"):
        what_if(Session(session_id="empty"))


def test_the_next_step_is_made_in_the_pause_and_then_only_shown(monkeypatch):
    drawn = list[Chart]()
    png = Chart.png
    monkeypatch.setattr(Chart, "png", lambda each: drawn.append(each) or png(each))

    async def moves() -> None:
        panel = what_if()
        panel.keep_recent.value = 6
        drawn.clear()
        while len(drawn) < 2:
            await asyncio.sleep(PAUSE)
        shown = panel.picture.value
        below = panel.below.value
        panel.keep_recent.value = 7
        assert len(drawn) == 2
        assert panel.picture.value != shown
        assert panel.below.value != below
        assert panel.text.startswith(panel.name)

    asyncio.run(asyncio.wait_for(moves(), timeout=60))


def shown_after(*moves: dict[str, Any], ahead: bool) -> tuple[str, bytes, bytes]:
    """Return what a bench shows at the end; with `ahead` each step is made before it is
    taken."""
    panel = what_if()
    for values in moves:
        if ahead and "preset" not in values:
            for _ in panel._parts_of({**panel.values, **values}):
                pass
        panel.move(**values)
    return panel.text, panel.picture.value, panel.below.value


def test_what_was_made_ahead_is_what_would_be_made_now():
    moves: Any = [{"keep_recent": keep} for keep in (6, 7)]
    assert shown_after(*moves, ahead=True) == shown_after(*moves, ahead=False)


def test_what_was_made_ahead_under_another_preset_is_not_shown():
    panel = what_if()
    other = what_if()
    for _ in panel._parts_of({**panel.values, "keep_recent": 6}):
        pass
    for each in (panel, other):
        each.preset.value = "hermes"
        each.keep_recent.value = 6
    assert panel.name == other.name
    assert panel.picture.value == other.picture.value
    assert panel.below.value == other.below.value
