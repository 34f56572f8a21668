"""The what-if panel is tested as a learner uses it: controls are moved, buttons are clicked."""

import base64
import random
import re
from typing import Any

import pytest

from agentlib.lab.figures import charts
from agentlib.lab.panels import whatif_controls as control
from agentlib.lab.panels.run_pane import RunPane
from agentlib.lab.panels.whatif import BILLS, PROMPTS, WhatIf, what_if
from agentlib.lab.play import play
from agentlib.lab.replay import replay, table
from agentlib.lab.tasks.scenarios import RENAME, TRACE
from agentlib.presets import CLAUDE_CODE
from agentlib.settings import MODEL, Settings

START = Settings(auto=False, manual=False, keep_recent=5).scaled(32_000)


@pytest.fixture(scope="module")
def whole() -> WhatIf:
    return what_if(play(RENAME, START).session, scenario=TRACE)


@pytest.fixture
def panel(whole: WhatIf) -> WhatIf:
    whole.reset()
    whole.table_button.value = False
    return whole


def test_it_opens_on_the_recorded_settings_with_every_layer_on(panel: WhatIf):
    rows = table(replay(play(RENAME, START).session, panel.settings))
    assert panel.settings == control.bases(START)[control.RECORDED]
    assert panel.text.startswith(charts.sentence(rows))
    assert panel.text.endswith("With nothing forgotten it would meet the wall at turn 28.")


def test_each_control_moves_the_settings_and_the_code_says_what_differs(panel: WhatIf):
    panel.sliders["keep_recent"].value = 1
    panel.sliders["point"].value = control.FIXED
    panel.sliders["threshold"].value = 8_000
    assert (panel.settings.keep_recent, panel.settings.threshold_tokens) == (1, 8_000)
    assert "threshold=8_000, keep_recent=1," in panel.code.value
    assert eval(panel.code.value, {"Settings": Settings}) == panel.settings
    assert "compaction" in panel.text
    assert repr(panel).startswith("Settings(context_window=32_000")


def test_a_preset_moves_all_and_draws_once(panel: WhatIf):
    pictures: list[Any] = []
    panel.picture.observe(pictures.append, names="value")
    panel.sliders["preset"].value = "claude-code"
    panel.picture.unobserve_all()
    assert len(pictures) == 1
    assert panel.settings == CLAUDE_CODE.scaled(32_000)


def test_only_the_controls_that_count_are_shown_from_the_start_on():
    panel = what_if(play(RENAME, START).session)

    def hidden() -> set[str]:
        return {name for name, each in panel.sliders.items() if each.layout.display == "none"}

    assert hidden() == {"threshold", "share"}
    panel.sliders["point"].value = control.SHARE
    assert hidden() == {"threshold"}
    assert panel.run is None


def test_positions_that_exclude_each_other_are_told_and_the_picture_stays(panel: WhatIf):
    before = panel.picture.value
    panel.move(reserve=16_000, buffer=16_000)
    assert "context_window=32,000 leaves nothing beside output_reserve + buffer" in panel.text
    assert "No new picture" in panel.line.value
    assert panel.code.value.startswith("#")
    assert panel.picture.value == before
    panel.move(buffer=0, point=control.FIXED, threshold=40_000)
    assert "threshold=40,000 is larger than context_window=32,000" in panel.text
    assert panel.picture.value == before


def test_reset_puts_all_back(panel: WhatIf):
    before, at = panel.picture.value, panel.values
    panel.move(keep_recent=0, micro="off", point=control.FIXED, threshold=4_000)
    assert panel.picture.value != before
    panel.reset()
    assert panel.values == at
    assert panel.picture.value == before


def test_the_bills_name_their_model_and_die_with_the_ghost(panel: WhatIf):
    panel.sliders["shows"].value = BILLS
    said = panel.text.replace("\n", " ")
    assert f"in all at the prices of {MODEL}" in said
    assert said.endswith("until turn 28 is refused.")
    panel.sliders["window"].value = 48_000
    assert panel.text.replace("\n", " ").endswith("until turn 37 is refused.")
    with pytest.raises(ValueError, match="no price is known"):
        what_if(play(RENAME, START).session, model="a model without a price")


def test_the_picture_is_saved_as_it_is_now(panel: WhatIf):
    panel.sliders["keep_recent"].value = 9
    panel._save(None)
    found = re.findall(r'download="(\S+)" href="data:[^;]+;base64,([^"]+)"', panel.files.value)
    files = {name: base64.b64decode(data) for name, data in found}
    assert files["what-if.png"] == panel.png
    assert files["what-if.svg"].startswith(b"<?xml")
    assert files["what-if.svg"] == panel.pictures.svg()
    panel.sliders["keep_recent"].value = 8
    assert panel.files.value == "", "a link to an old picture must not stay"


def test_the_table_is_shown_and_follows(panel: WhatIf):
    panel.table_button.value = True
    before = panel.rows.value
    assert before.count("<tr>") >= len(play(RENAME, START).session.requests)
    panel.sliders["keep_recent"].value = 1
    assert panel.rows.value != before
    panel.table_button.value = False
    assert panel.rows.value == ""


def test_pictures_of_positions_at_random(panel: WhatIf):
    chance = random.Random(7)
    for n in range(24):
        at = {name: chance.choice(_ends(each)) for name, each in panel.sliders.items()}
        panel.move(**at | {"shows": (PROMPTS, BILLS)[n % 2]})
        assert panel.png or panel.text.startswith("ValueError: "), at


def _ends(each: Any) -> list[Any]:
    return [each.min, each.value, each.max] if hasattr(each, "max") else list(each.options)


def test_a_notebook_that_is_not_run_shows_picture_and_settings(panel: WhatIf):
    shown = panel._repr_mimebundle_()
    assert base64.b64decode(shown["image/png"]) == panel.png
    assert all(len(line) <= 72 for line in shown["text/plain"].splitlines())


def test_the_picture_has_words_for_those_who_cannot_see_it(panel: WhatIf):
    assert 'role="status"' in panel.line.value
    assert "aria-label" in panel.line.value
    assert all(each.tooltip for each in panel.sliders.values())


def test_the_run_pane_does_the_task_anew_and_reports_it():
    told: list[str] = []
    settings = Settings().scaled(32_000)
    pane = RunPane(TRACE, lambda: settings, MODEL)
    assert repr(pane).startswith("No run yet")
    pane.line.observe(lambda change: told.append(change["new"]), names="value")
    pane.button.click()
    run = play(TRACE, settings)
    assert "Running: request 3" in told[2]
    assert "Running" not in pane.line.value
    assert not pane.button.disabled
    assert repr(pane).replace("\n", " ") == (
        f"{run.turns} turns, 0 compactions, 0 re-reads, {run.sent:,} tokens sent, "
        f"${run.dollars(MODEL):.4f} at the prices of {MODEL}; facts kept: none to keep; "
        "task done: yes."
    )


def test_a_run_is_remembered():
    told: list[str] = []
    pane = RunPane(TRACE, lambda: Settings(keep_recent=7).scaled(32_000), MODEL)
    pane.button.click()
    pane.line.observe(lambda change: told.append(change["new"]), names="value")
    pane.button.click()
    assert told == []
    assert len(pane.runs) == 1


def test_a_run_without_settings_says_why(panel: WhatIf):
    assert panel.run
    panel.move(reserve=16_000, buffer=16_000)
    panel.run.button.click()
    assert repr(panel.run).startswith("ValueError: context_window=32,000")
    assert not panel.run.button.disabled
