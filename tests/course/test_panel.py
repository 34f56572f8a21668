"""A panel is tested as a notebook uses it: by setting its controls and reading what it
shows."""

import asyncio
import base64
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ipywidgets import HTML, HBox, Image

from course.panels.panel import PAUSE, Drawing, Panel, choice, slider, words


def counting(draw: Callable[..., Any] | None = None) -> Panel:
    return Panel(
        {
            "size": slider("size", 1, (0, 10, 1), "how much"),
            "way": choice("way", "this", ("this", "that"), "which way"),
            "search": words("search", "any words"),
        },
        draw or drawn,
    )


def drawn(size: int, way: str, search: str) -> Drawing:
    if size > 5:
        raise ValueError(f"{size} <is> too much")
    text = f"{size} {way}{search and f' {search}'}."
    return Drawing(text.encode(), text, f"<b>{size}</b>")


def test_setting_a_control_in_a_cell_changes_picture_words_and_table():
    panel = counting()
    panel.size.value = 3
    panel.way.value = "that"
    panel.search.value = "it"
    assert repr(panel) == "size 3, way that, search it:\n3 that it."
    assert panel.picture.value == b"3 that it."
    assert "3 that it." in panel.line.value
    assert panel.table.value == "<b>3</b>"


def test_an_error_is_shown_in_place_of_the_picture():
    panel = counting()
    panel.size.value = 6
    assert repr(panel) == "size 6, way this:\nNo picture here: 6 <is> too much"
    assert "No picture here: 6 &lt;is&gt; too much" in panel.line.value
    assert (panel.picture.value, panel.picture.layout.display) == (b"", "none")
    assert "image/png" not in panel._repr_mimebundle_()[0]
    panel.size.value = 2
    assert (panel.text, panel.picture.value) == ("2 this.", b"2 this.")
    assert panel.picture.layout.display is None


def test_several_controls_at_once_make_one_picture():
    panel = counting()
    pictures = list[Any]()
    panel.picture.observe(pictures.append, names="value")
    panel.move(size=4, way="that")
    assert (len(pictures), panel.text) == (1, "4 that.")


def test_a_notebook_that_is_not_run_shows_the_picture_and_the_numbers():
    data, metadata = counting()._repr_mimebundle_()
    assert data["text/plain"] == "size 1, way this:\n1 this."
    assert base64.b64decode(data["image/png"]) == b"1 this."
    assert "application/vnd.jupyter.widget-view+json" in data
    assert metadata == {"image/png": {"width": 720}}


def test_only_widgets_that_strict_nbval_holds_and_words_for_screen_readers():
    panel = counting()
    assert [type(child) for child in panel.children] == [HBox, Image, HTML, HTML]
    # The browser's side of ipywidgets 8.1.9 can't draw an Image that has a tooltip.
    assert panel.picture.tooltip is None
    assert "setAttribute('aria-label'" in panel.line.value
    assert "picture.alt = line.textContent" in panel.line.value
    assert 'role="status"' in panel.line.value
    assert all(each.description for each in panel.controls.values())


def test_a_panel_without_a_picture_shows_no_empty_frame():
    panel = Panel(
        {"size": slider("size", 1, (0, 9, 1), "")}, lambda size: (b"", "No picture.")
    )
    assert panel.picture.layout.display == "none"
    assert repr(panel) == "size 1:\nNo picture."
    assert counting().picture.layout.display is None


def ahead() -> tuple[Panel, list[int]]:
    sizes = list[int]()

    @lru_cache
    def draw(size: int, way: str, search: str) -> Drawing:
        sizes.append(size)
        return drawn(size, way, search)

    return counting(draw), sizes


def test_the_next_step_is_drawn_in_the_pause_and_an_error_waits_until_it_is_wanted():
    async def moves() -> None:
        panel, sizes = ahead()
        panel.size.value = 3
        assert sizes == [1, 3]
        await asyncio.sleep(5 * PAUSE)
        assert sizes == [1, 3, 5]  # the same step again
        panel.size.value = 5
        assert (sizes, panel.text) == ([1, 3, 5], "5 this.")
        await asyncio.sleep(5 * PAUSE)
        assert (sizes[-1], panel.text) == (7, "5 this.")
        panel.size.value = 7
        assert panel.text.startswith("No picture here: 7")

    asyncio.run(moves())


def test_moves_that_follow_at_once_come_first_and_no_event_loop_is_needed():
    async def moves() -> None:
        panel, sizes = ahead()
        for size in (2, 3, 4):
            panel.size.value = size
        await asyncio.sleep(5 * PAUSE)
        assert sizes == [1, 2, 3, 4, 5]

    asyncio.run(moves())
    panel, sizes = ahead()
    panel.size.value = 2
    assert sizes == [1, 2]
