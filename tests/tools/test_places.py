"""Recorded panels: every place that a page offers shows what the panel shows there."""

import re
from typing import Any

import pytest
from ipywidgets import ToggleButton
from matplotlib.patches import Rectangle
from nbformat import v4

from course.panels.panel import Drawing, Panel, choice, slider, words
from session_report.style import Chart, wrapped
from tools import recorder
from tools.drawing import NotRecorded
from tools.places import MIME, embed, fingerprint, first, unpacked
from tools.recorder import panel, unwrapped
from tools.runs import ROOT
from tools.stops import STOPS

CHART = Chart(2)
NAMED = (
    ("02_micro_compact", "KEEP_RECENT back to 3,", "keep_recent", 3),
    ("02_micro_compact", "so at 2,000 it pays", "behind", 2_000),
    ("02_micro_compact", "at 3,000 it takes one request more", "behind", 3_000),
    ("06_head_and_tail", "From about 1,200 tokens on", "summary_tokens", 1_200),
    ("07_recovery", "1,500 tokens are enough", "length", 1_500),
    ("07_recovery", "and 1,250 are not", "length", 1_250),
    ("07_recovery", "With 70 %, `how` at tool_use", "rate", 70),
    ("07_recovery", "finishes with 750", "length", 750),
    ("08_cost", "at 12.5 nine repeats cost more", "ratio", 12.5),
    ("an_hour", "from your 10,400 to 4,000", "threshold", 10_400),
    ("an_hour", "from your 10,400 to 4,000", "threshold", 4_000),
)
"""Positions to which a lesson sends its reader: where, the words, which control."""


def draw(size: int, way: str, search: str) -> Drawing:
    if size == 3:
        raise ValueError("3 < 4")
    CHART.figure.patches = []
    CHART.figure.add_artist(
        Rectangle((0, 0), size / 10, 1, color="#ff0000", linewidth=0)
    )
    rows = "".join(f"<tr><td>{n}</td></tr>" for n in range(size))
    return Drawing(CHART.png(), f"{size} {way}.", f"<table>{rows}</table>")


def shown() -> Panel:
    controls = {
        "size": slider("size", 2, (0, 10, 1), "how much"),
        "way": choice("way", "that", ("this", "that"), "which way"),
        "search": words("search", "any words"),
    }
    return Panel(controls, draw)


def recorded(**stops: Any) -> dict[str, Any]:
    return unpacked(panel(shown(), stops)[MIME])


def test_every_place_has_its_picture_its_sentence_and_its_table():
    data = recorded()
    assert [each["name"] for each in data["controls"]] == ["size", "way"]
    assert len(data["places"]) == 22
    for number, (picture, sentence, table) in enumerate(data["places"]):
        size, way = divmod(number, 2)
        if size == 3:
            assert (picture, sentence, table) == (None, "No picture here: 3 < 4", [])
            continue
        assert sentence == f"{size} {('this', 'that')[way]}."
        paths = [data["marks"][mark][1] for mark in picture[1]]
        assert any(f"h{720 * size}v" in path for path in paths) or not size
        assert "".join(data["chunks"][n] for n in table).count("<tr>") == size


def test_a_page_says_which_positions_it_does_not_have():
    data = recorded(size=(0, 10))
    [size, way] = data["controls"]
    assert (size["values"], size["start"], way["start"]) == ([0, 2, 10], 1, 1)
    assert data["fixed"] == (
        "On this page, size has 3 of its 11 positions, search stays empty. “make lab” has them all."
    )


def test_a_sentence_keeps_the_line_ends_that_are_meant():
    words = "one two three " * 12
    text = f"{wrapped(words)}\nTwo lines:\n  this\n"
    assert unwrapped(text) == f"{words.strip()}\nTwo lines:\n  this"


def test_too_many_places_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "MOST", 20)
    with pytest.raises(ValueError, match="22 places are too many"):
        recorded()


def test_a_panel_without_a_picture_is_not_pressed():
    pressed = Panel(
        {"folder": words("folder", "where"), "go": ToggleButton(description="read")},
        lambda folder, go: Drawing(
            b"", "Nothing is read." if not go else "All is read."
        ),
    )
    data = unpacked(panel(pressed, {})[MIME])
    assert data["places"] == [[None, "Nothing is read.", []]]
    assert data["controls"] == []
    assert "folder stays empty, read stays off" in data["fixed"]


def test_a_picture_that_was_made_before_cannot_be_recorded():
    ready = Panel({}, lambda: Drawing(b"a PNG", "Drawn long ago."))
    with pytest.raises(NotRecorded, match="when it was asked to"):
        panel(ready, {})


def test_recording_leaves_the_panel_as_it_was():
    panel_shown = shown()
    before = panel_shown.png, panel_shown.text, panel_shown.values
    panel(panel_shown, {})
    assert (panel_shown.png, panel_shown.text, panel_shown.values) == before


def test_a_recording_is_a_figure_with_its_data_and_words_without_a_script():
    play = panel(shown(), {})[MIME]
    text = embed("x-1", {**play, "sentence": '"2" <that>.'}, moves=True)
    assert '<figure class="play" data-play="x-1"' in text
    assert "data-moves" in text
    assert "<noscript>&quot;2&quot; &lt;that&gt;.</noscript>" in text
    [data] = re.findall(
        r'<script type="text/plain" id="play-x-1">([\w+/=]+)</script>', text
    )
    assert unpacked({"data": data}) == unpacked(play)


def test_a_still_picture_is_that_of_the_place_where_the_controls_stand():
    data = recorded(size=(0, 10))
    at = first(data)
    [[[height, picture], _, _]] = at["places"]
    assert height == 2_000
    assert any("h1440v" in at["marks"][mark][1] for mark in picture)


def test_a_notebook_is_run_again_when_its_code_changes_and_not_its_prose():
    def hashed(prose: str, code: str) -> str:
        cells = [v4.new_markdown_cell(prose), v4.new_code_cell(code)]
        return fingerprint(v4.new_notebook(cells=cells), "a_notebook")

    assert hashed("a", "1") == hashed("b", "1") != hashed("a", "2")


@pytest.mark.parametrize(("name", "words", "control", "value"), NAMED)
def test_a_page_offers_what_its_text_names(name: str, words: str, control: str, value):
    assert words in (ROOT / f"notebooks/{name}.ipynb").read_text(encoding="utf-8")
    assert value in STOPS[name][control]
