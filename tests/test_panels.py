"""A panel is tested as a notebook uses it: by setting its sliders, and reading what it says."""

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ipywidgets import HTML, Image, IntSlider
from PIL import Image as Picture

from agentlib import loop
from agentlib.lab.figures import charts
from agentlib.lab.panels import wall as panels
from agentlib.lab.replay import replay, table
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from tests.fakes import Clock, asks_for_summary, call, client, say

START = Settings(keep_recent=4, min_chars=0).scaled(8_000)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Twelve files read one by one, each of about 1,000 tokens."""
    folder: Path = tmp_path_factory.mktemp("panels")
    for n in range(12):
        text = "".join(f"{i} line of file {n}\n" for i in range(200))
        (folder / f"{n}.txt").write_text(text, encoding="utf-8")

    def brain(body: dict[str, Any]) -> dict[str, Any]:
        if asks_for_summary(body):
            return say("All read so far.")
        n = sum(m["role"] == "assistant" for m in recorded.history)
        return say(call(f"toolu_{n}", "read_file", path=f"{n}.txt")) if n < 12 else say("Done.")

    recorded = Session.create(folder, settings=START, session_id="s", clock=Clock())
    list(loop.run(client(brain), "Read all.", Workspace(folder), settings=START, session=recorded))
    return recorded


def shown(panel: panels.Panel) -> np.ndarray[Any, Any]:
    return np.asarray(Picture.open(io.BytesIO(panel.picture.value)))


def test_a_panel_opens_on_the_recorded_run(session: Session):
    panel = panels.wall(session)
    assert panel.values == {"window": 8_000, "keep_recent": 4}
    expected = charts.sentence(table(replay(session, START)))
    assert repr(panel) == f"window 8,000, keep_recent 4:\n{expected}"
    assert "13 turns" in expected


def test_setting_a_slider_in_a_cell_changes_numbers_and_picture(session: Session):
    panel = panels.wall(session)
    before = shown(panel)
    panel.keep_recent.value = 1
    expected = table(replay(session, Settings(keep_recent=1, min_chars=0).scaled(8_000)))
    assert repr(panel) == f"window 8,000, keep_recent 1:\n{charts.sentence(expected)}"
    assert panel.text.replace("\n", " ") in panel.line.value.replace("\n", " ")
    assert not np.array_equal(shown(panel), before)
    panel.keep_recent.value = 4
    assert np.array_equal(shown(panel), before)


def test_a_smaller_window_moves_the_compaction_point_and_compacts_earlier(session: Session):
    panel = panels.wall(session, Settings(keep_recent=20).scaled(8_000))
    firsts: list[int] = []
    for window in (4_000, 6_000, 8_000):
        panel.window.value = window
        rows = table(replay(session, Settings(keep_recent=20).scaled(window)))
        firsts.append(int(rows["turn"][rows["compaction"] == "auto"].min()))
        assert f"of the window of {window:,}" in panel.text.replace("\n", " ")
    assert firsts == sorted(set(firsts))


def test_the_sliders_work_whatever_policy_was_recorded(session: Session):
    cold = Settings(clear_when="cold", enabled=False, micro="off").scaled(8_000)
    panel = panels.wall(session, cold)
    panel.keep_recent.value = 0
    few = panel.text
    panel.keep_recent.value = 3
    assert panel.text != few


def test_a_notebook_that_is_not_run_shows_the_picture_and_the_numbers(session: Session):
    panel = panels.wall(session)
    data = panel._repr_mimebundle_()
    assert data["text/plain"] == repr(panel)
    assert len(repr(panel)) > 110  # where ipywidgets would cut it
    assert base64.b64decode(data["image/png"]) == panel.picture.value
    assert "application/vnd.jupyter.widget-view+json" in data


def test_only_widgets_that_strict_nbval_can_hold(session: Session):
    panel = panels.wall(session)
    kinds = [type(child) for child in panel.children]
    assert kinds == [IntSlider, IntSlider, Image, HTML]


def test_the_picture_has_no_tooltip(session: Session):
    # The browser's side of ipywidgets 8.1.9 can't draw an Image that has one.
    assert panels.wall(session).picture.tooltip is None


def test_every_slider_says_its_name_and_its_meaning(session: Session):
    sliders = panels.wall(session).sliders.values()
    assert [slider.description for slider in sliders] == ["window", "KEEP_RECENT"]
    assert all(slider.tooltip for slider in sliders)


def failing(limit: int) -> panels.Panel:
    def draw(size: int) -> tuple[bytes, str]:
        if size > limit:
            raise ValueError(f"{size} <is> too much")
        return charts.png(charts.Chart(figsize=(1, 1))), f"{size} fits."

    return panels.Panel({"size": panels.slider("size", 1, (0, 10, 1), "how much")}, draw)


def test_a_panel_shows_its_own_error():
    panel = failing(limit=5)
    before = panel.picture.value
    panel.size.value = 6
    assert repr(panel) == "size 6:\nValueError: 6 <is> too much"
    assert "<b>No new picture.</b> ValueError: 6 &lt;is&gt; too much" in panel.line.value
    assert panel.picture.value == before
    assert "image/png" not in panel._repr_mimebundle_()


def test_a_panel_goes_on_after_an_error():
    panel = failing(limit=5)
    panel.size.value = 6
    panel.size.value = 2
    assert repr(panel) == "size 2:\n2 fits."
    assert "image/png" in panel._repr_mimebundle_()
    assert "Error" not in panel.line.value


def test_a_start_outside_the_slider_is_moved_to_its_end():
    assert panels.slider("keep", 50, (0, 20, 1), "how many").value == 20


def test_a_session_without_requests_is_refused():
    with pytest.raises(ValueError, match="no turn to draw"):
        panels.wall(Session(session_id="empty"))


def test_several_sliders_moved_at_once_make_one_picture_and_reset_puts_them_back(session: Session):
    panel = panels.wall(session)
    first, pictures = panel.png, list[Any]()
    panel.picture.observe(pictures.append, names="value")
    panel.move(window=4_000, keep_recent=1)
    assert len(pictures) == 1
    assert panel.values == {"window": 4_000, "keep_recent": 1}
    panel.reset()
    assert panel.values == {"window": 8_000, "keep_recent": 4}
    assert panel.png == first


def test_a_drop_down_is_a_slider_too():
    def draw(way: str) -> tuple[bytes, str]:
        return charts.png(charts.Chart(figsize=(1, 1))), f"{way} it is."

    way = panels.choice("way", "this", ("this", "that"), "which way")
    panel = panels.Panel({"way": way}, draw)
    way.value = "that"
    assert repr(panel) == "way that:\nthat it is."


def test_sliders_and_picture_get_words_that_a_screen_reader_reads(session: Session):
    panel = panels.wall(session)
    assert "setAttribute('aria-label'" in panel.line.value
    assert "picture.alt = line.textContent" in panel.line.value
    assert 'role="status"' in panel.line.value
