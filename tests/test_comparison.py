"""Settings compared: boxes are ticked, and picture, table and sentence follow."""

from dataclasses import replace

import pytest

from agentlib.lab.panels.comparison import comparison
from agentlib.lab.play import play
from agentlib.lab.replay import bills, replay
from agentlib.lab.tasks.scenarios import RENAME
from agentlib.settings import MODEL, Settings

START = Settings().scaled(32_000)
SESSION = play(RENAME, START).session
ALL = {
    "as it was": START,
    "keep 20": replace(START, keep_recent=20),
    "compact at 8,000": replace(START, threshold=8_000, micro="off"),
}


def test_it_opens_on_the_first_two():
    panel = comparison(SESSION, ALL)
    assert panel.values == {"as it was": True, "keep 20": True, "compact at 8,000": False}
    assert list(panel.table.index) == ["as it was", "keep 20"]
    assert repr(panel).startswith("as it was yes, keep 20 yes, compact at 8,000 no:\nas it was: ")


def test_the_table_has_the_numbers_of_the_replay():
    panel = comparison(SESSION, ALL)
    frames = [replay(SESSION, settings) for settings in ALL.values()]
    assert list(panel.all["largest"]) == [max(f.prompt_tokens for f in each) for each in frames]
    assert list(panel.all["cleared"]) == [sum(len(f.step.cleared) for f in e) for e in frames]
    billed = bills.bills(SESSION, replay(SESSION, ALL["keep 20"]))
    assert panel.all[f"$ {MODEL}"]["keep 20"] == round(bills.spent(billed, MODEL), 4)


def test_ticking_a_box_adds_a_chart_and_a_row():
    panel = comparison(SESSION, ALL)
    two = panel.png
    panel.sliders["compact at 8,000"].value = True
    assert len(panel.png) > len(two)
    assert "compact at 8,000" in panel.rows.value
    assert "compact at 8,000: " in panel.text
    panel.sliders["compact at 8,000"].value = False
    assert panel.png == two
    assert all(len(line) <= 72 for line in panel.text.splitlines())


def test_dollars_name_their_model():
    panel = comparison(SESSION, ALL, model="claude-opus-5-5")
    assert panel.text.endswith("Dollars are at the prices of claude-opus-5-5.")
    assert "$ claude-opus-5-5" in panel.rows.value


def test_no_box_ticked_is_told_and_the_picture_stays():
    panel = comparison(SESSION, ALL)
    before = panel.picture.value
    panel.move(**dict.fromkeys(ALL, False))
    assert "nothing is ticked" in panel.text
    assert panel.picture.value == before


def test_settings_may_be_named_like_parts_of_the_panel():
    panel = comparison(SESSION, {"table": START, "picture": START, "all": START})
    assert panel.png
    panel.sliders["all"].value = True
    assert list(panel.table.index) == ["table", "picture", "all"]


def test_no_settings_are_refused():
    with pytest.raises(ValueError, match="nothing to compare"):
        comparison(SESSION, {})
