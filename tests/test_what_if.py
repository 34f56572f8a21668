"""The what-if panel is tested as a learner uses it: controls are moved, the button is clicked."""

import pytest

from agentlib.estimation import prompt_tokens
from agentlib.lab.figures import charts
from agentlib.lab.panels.what_if import (
    BILLS,
    RECORDED,
    as_code,
    bases,
    comparison,
    positions,
    settings_at,
    what_if,
)
from agentlib.lab.play import play
from agentlib.lab.replay import bills, replay, table
from agentlib.lab.spending import dollars
from agentlib.lab.tasks.scenarios import RENAME, TRACE
from agentlib.presets import CLAUDE_CODE
from agentlib.settings import MODEL, Settings

START = Settings(auto=False, manual=False, keep_recent=5).scaled(32_000)
SESSION = play(RENAME, START).session
PANEL = what_if(SESSION, scenario=TRACE)


@pytest.fixture
def panel():
    PANEL.reset()
    return PANEL


def test_it_opens_on_the_recorded_settings_with_every_layer_on(panel):
    assert panel.settings == bases(START)[RECORDED]
    rows = table(replay(SESSION, panel.settings))
    assert panel.text.endswith(
        f"{charts.sentence(rows)}\nWith nothing forgotten it would meet the wall at turn 28."
    )


def test_a_preset_moves_all_controls(panel):
    panel.preset.value = "claude-code"
    assert panel.settings == CLAUDE_CODE.scaled(32_000)
    panel.preset.value = RECORDED
    assert panel.settings == bases(START)[RECORDED]


@pytest.mark.parametrize("recorded", [START, Settings(), Settings(threshold=50_000)])
def test_a_browser_can_show_every_preset_as_it_is(recorded):
    # The browser's sliders move a value that is off their steps, and send it back.
    controls = what_if(SESSION, recorded).controls
    named = bases(recorded)
    for name, preset in named.items():
        values = positions(preset)
        assert settings_at(named, {"preset": name, **values}) == preset
        assert eval(as_code(preset), {"Settings": Settings}) == preset
        for control, value in values.items():
            each = controls[control]
            assert not hasattr(each, "step") or (value - each.min) % each.step == 0, control


def test_controls_that_exclude_each_other_are_told_and_the_picture_stays(panel):
    before = panel.picture.value
    panel.threshold.value = 40_000
    assert "threshold=40,000 is larger than context_window=32,000" in panel.text
    assert panel.picture.value == before


def test_the_bills_name_their_model_and_end_with_the_ghost(panel):
    panel.shows.value = BILLS
    text = panel.text.replace("\n", " ")
    assert f"in all at the prices of {MODEL}" in text
    assert text.endswith("until turn 28 is refused.")
    with pytest.raises(ValueError, match="no price is known"):
        what_if(SESSION, model="a model without a price")


def test_the_pane_runs_the_agent_under_the_settings_above(panel):
    assert repr(panel.run).startswith("The button runs the agent")
    panel.preset.value = "course start"
    panel.run.button.click()
    run = play(TRACE, panel.settings)
    text = repr(panel.run).replace("\n", " ")
    assert text.startswith(f"{run.turns} turns, {run.repeated} calls made again, {run.sent:,}")
    assert f"${run.dollars(MODEL):.4f} at the prices of {MODEL}" in text
    assert as_code(panel.settings).removeprefix("Settings(")[:20] in panel.run.table.value
    panel.threshold.value = 40_000
    panel.run.button.click()
    assert repr(panel.run).startswith("ValueError: threshold=40,000")


def test_settings_compared_have_the_numbers_of_the_replay():
    settings = {"as it was": START, "keep 20": Settings(keep_recent=20).scaled(32_000)}
    rows = comparison(SESSION, settings, model="claude-opus-5-5")
    frames = replay(SESSION, settings["keep 20"])
    usages = [
        usage
        for billed in bills.bills(SESSION, frames)
        for usage in (billed.usage, *billed.summaries)
    ]
    assert rows["sent"]["keep 20"] == sum(map(prompt_tokens, usages))
    spent = sum(dollars(usage, "claude-opus-5-5") for usage in usages)
    assert rows["$ opus-5-5"]["keep 20"] == round(spent, 4)
