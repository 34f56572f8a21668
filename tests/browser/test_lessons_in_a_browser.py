"""Every notebook of the workbook in a real JupyterLab: its links, its run, and its
controls."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator

from tests.browser.page import (
    WIDTH,
    Notebook,
    Panel,
    State,
    desk,
    drag,
    is_high,
    opened,
    press,
)
from tests.browser.recordings import agree, figures, page_of, sample, trials
from tests.browser.servers import ROOT, Lab
from tools import places

PICTURES = "[...document.querySelectorAll('.jp-OutputArea-output img')]"
HANDLE = ".noUi-handle"
SHOTS = ROOT / "build/screenshots"
SHOTS.mkdir(parents=True, exist_ok=True)
TALL = 4_000
BENCH = "what_if.ipynb"
LINKS = (
    ("← README", "README.md", "Two commands"),
    ("context window", "workbook/GLOSSARY.md", "上下文窗口"),
    ("all lessons", "workbook/index.ipynb", "A course in notebooks"),
    ("01 Estimation", "workbook/01_estimation.ipynb", "01 · Estimation"),
    ("agentlib/loop.py", "agentlib/loop.py", "import"),
)
"""Links of lesson 00: their text, the file that each opens, and some text of that
file."""


DESKTOP = {"width": 1440, "height": 900}


def only(name: str) -> pytest.MarkDecorator:
    """Let a test share the visit of this notebook."""
    return pytest.mark.parametrize("name", [name], indirect=True)


@pytest.fixture(scope="module")
def panels(run: Notebook) -> list[Panel]:
    return run.panels()


def holds(panel: Panel) -> State:
    """Return the panel's state; page and kernel agree on it, and so does a fresh
    drawing."""
    state = panel.settled()
    assert panel.differences() == []
    assert panel.notebook.faults() == []
    return state


def test_a_sample_of_a_pages_places_is_what_the_panel_shows(
    panels: list[Panel], browser: Browser, name: str, tmp_path: Path
):
    plays = places.plays(places.recorded(ROOT / "notebooks" / name))
    with page_of(browser, tmp_path, "page", plays) as page:
        shown = [*figures(page, plays, "panel", "trail")]
        walks = [
            trials(*each) if each[1]["kind"] == "trail" else sample(*each)
            for each in shown
        ]
        for panel, walk in zip(panels, walks, strict=True):
            values, states = zip(*walk, strict=True)
            for state, answer in zip(states, panel.at(values), strict=True):
                agree(state, *answer)


@only("00_the_wall.ipynb")
def test_the_wall_is_reached_by_keyboard_with_everything_in_sight(run: Notebook):
    run.page.set_viewport_size(DESKTOP)
    wall = run.panels()[0]
    [knob], [sent, answer] = wall.all(HANDLE), wall.all("pre[role=region]")
    for key, sentence in (("Home", "Request 1 of 18"), ("End", "prompt is too long")):
        before = wall.settled()
        knob.press(key)
        after = holds(wall)
        assert after.pictures != before.pictures
        assert sentence in wall.root.locator("[role=status]").inner_text()
    assert "tool_result" in sent.inner_text()
    assert "prompt is too long" in answer.inner_text()
    knob.press("Tab")
    run.page.keyboard.press("Tab")  # past the number, which can be typed
    assert sent.evaluate("each => each === document.activeElement")
    in_sight(wall, knob, wall.root.locator("img.widget-image"), sent, answer)
    run.page.screenshot(path=SHOTS / "00_the_wall-scrubber.png")


@only(BENCH)
def test_a_trial_is_made_by_keyboard_with_the_bench_in_sight(run: Notebook):
    run.page.set_viewport_size(DESKTOP)
    bench = run.panels()[0]
    before = bench.settled()
    bench.all(HANDLE)[1].press("Home")
    after = holds(bench)
    assert after.pictures[0] != before.pictures[0]
    assert after.pictures[1] != before.pictures[1]
    words = bench.root.locator("[role=status]")
    assert "1 · KEEP_RECENT 0" in words.inner_text()
    picture = bench.root.locator("img.widget-image").first
    in_sight(
        bench, *bench.all(HANDLE), words, picture, bench.root.locator("[role=region]")
    )
    run.page.screenshot(path=SHOTS / "what_if-trade.png")


def in_sight(panel: Panel, *parts: Locator) -> None:
    """Require that the window shows all these parts of a panel at once."""
    panel.root.evaluate("each => each.scrollIntoView()")
    for part in parts:
        box = part.bounding_box()
        assert box
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= DESKTOP["height"]


@only("05_transcripts.ipynb")
def test_a_click_in_the_session_browser_shows_a_summary_whole(run: Notebook):
    [row] = run.panels()[0].all("details")
    whole = row.locator("pre")
    assert not whole.is_visible()
    row.locator("summary").click()
    assert whole.is_visible()
    assert "## Current state" in whole.inner_text().split("\n")
    run.panels()[0].root.screenshot(path=SHOTS / "05_transcripts-browser.png")


def test_a_notebook_that_is_not_run_shows_its_stored_pictures(
    lab: Lab, browser: Browser
):
    stored = json.loads((lab.root / "notebooks" / BENCH).read_text(encoding="utf-8"))
    outputs = [output for cell in stored["cells"] for output in cell.get("outputs", [])]
    count = sum("image/png" in output.get("data", {}) for output in outputs)
    with desk(browser, lab.url) as page, opened(page, f"notebooks/{BENCH}") as bench:
        loaded = (
            f"() => {PICTURES}.every(each => each.complete && each.naturalWidth > 0)"
        )
        bench.page.wait_for_function(loaded)
        assert bench.page.evaluate(f"() => {PICTURES}.length") == count > 0


def test_all_cells_run_without_an_error_or_a_warning(run: Notebook):
    assert run.faults() == []


def test_no_dollars_are_taken_for_a_formula(run: Notebook):
    assert run.page.locator("mjx-container, .MathJax").all_inner_texts() == []


def test_every_slider_moves_picture_and_numbers_as_python_has_them(panels: list[Panel]):
    """One key moves it by a step, the mouse takes it to the other side."""
    for panel in panels:
        panel.put_back()
        first = holds(panel)
        for slider in panel.all(HANDLE):
            other_side = 0.2 if is_high(slider) else 0.8
            press(slider)
            pressed = holds(panel)
            assert pressed.controls != first.controls
            drag(slider, other_side)
            dragged = holds(panel)
            assert dragged.controls != first.controls
            assert len({first.texts, pressed.texts, dragged.texts}) > 1 or any(
                tells(panel, slider, box) for box in panel.all("select")
            )
            panel.put_back()


def tells(panel: Panel, slider: Locator, box: Locator) -> bool:
    """Whether a slider that changes nothing does so under another option of a
    drop-down."""
    for option in range(box.locator("option").count()):
        panel.put_back()
        box.select_option(index=option)
        drag(slider, 0.2)
        low = holds(panel)
        drag(slider, 0.8)
        if low.texts != holds(panel).texts:
            return True
    return False


def test_every_other_control_does_what_python_says(panels: list[Panel]):
    for panel in panels:
        for box in panel.all("select"):
            for option in range(min(3, box.locator("option").count())):
                box.select_option(index=option)
                holds(panel)
        for control in panel.all(
            "input[type=checkbox], .widget-button, .widget-toggle-button"
        ):
            control.click()
            holds(panel)
        for field in panel.all(
            "input[type=text]:not([readonly]), textarea:not([readonly])"
        ):
            field.fill("3")
            field.press("Enter")
            holds(panel)


def test_the_pages_console_has_no_error(run: Notebook):
    assert run.console == []


def test_nothing_is_cut_off(run: Notebook, name: str):
    assert cut_off(run, name, "Light") == []


@only(BENCH)
def test_nothing_is_cut_off_in_the_dark_theme(run: Notebook, name: str):
    """Both themes have the same sizes, so one notebook is enough."""
    assert cut_off(run, name, "Dark") == []
    run.set_theme("JupyterLab Light")


def cut_off(run: Notebook, name: str, theme: str) -> list[str]:
    """Take pictures of a notebook from top to end. Return what is cut off in it."""
    run.page.set_viewport_size({"width": WIDTH, "height": TALL})
    run.set_theme(f"JupyterLab {theme}")
    pictures = "[...document.querySelectorAll('.jp-RenderedImage img, .widget-image')]"
    turned = run.page.evaluate(f"{pictures}.map(e => getComputedStyle(e).filter)")
    assert {each == "none" for each in turned} <= {theme == "Light"}
    for number in run.each_view():
        run.page.screenshot(
            path=SHOTS / f"{name.removesuffix('.ipynb')}-{theme.lower()}-{number}.png"
        )
    return run.cut_off()


@only("00_the_wall.ipynb")
def test_the_links_of_a_lesson_open_in_jupyterlab(run: Notebook):
    """It is the last, because what it opens stays open."""
    for link, path, heading in LINKS:
        opened_path, text = run.follow(link)
        assert opened_path == path
        assert heading in text
