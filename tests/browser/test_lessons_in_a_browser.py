"""Every notebook in a real JupyterLab: its pictures, its run, and each of its controls."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator

from tests.browser.page import Notebook, Panel, State, drag, press
from tests.browser.servers import ROOT, Lab

PICTURES = "[...document.querySelectorAll('.jp-OutputArea-output img')]"
HANDLE = ".noUi-handle"
SHOTS = ROOT / "build/screenshots"
WIDTH, TALL = 1024, 4_000


def outputs(lab: Lab, name: str) -> list[dict[str, Any]]:
    """What is stored below the cells of the notebook."""
    stored = json.loads((lab.folder / name).read_text(encoding="utf-8"))
    return [output for cell in stored["cells"] for output in cell.get("outputs", [])]


@pytest.fixture(scope="module")
def panels(run: Notebook) -> list[Panel]:
    return run.panels()


def holds(panel: Panel) -> State:
    """What the page shows, which is what Python says now, and would say anew."""
    seen = panel.settled()
    assert panel.differences() == []
    assert panel.notebook.faults() == []
    return seen


def test_a_notebook_that_is_not_run_shows_its_pictures(unrun: Notebook, lab: Lab, name: str):
    stored = sum("image/png" in output.get("data", {}) for output in outputs(lab, name))
    loaded = f"() => {PICTURES}.every(each => each.complete && each.naturalWidth > 0)"
    unrun.page.wait_for_function(loaded)
    assert unrun.page.evaluate(f"() => {PICTURES}.length") == stored


def test_all_cells_run_without_an_error_or_a_warning(run: Notebook):
    assert run.faults() == []


def test_no_dollars_are_taken_for_a_formula(run: Notebook):
    assert run.page.locator("mjx-container, .MathJax").all_inner_texts() == []


def test_every_slider_moves_picture_and_numbers_as_python_has_them(panels: list[Panel]):
    for panel in panels:
        panel.put_back()
        for slider in panel.all(HANDLE):
            panel.put_back()
            before = holds(panel)
            press(slider)
            pressed = holds(panel)
            assert pressed.controls != before.controls
            low, high = dragged(panel, slider)
            assert low.controls != high.controls
            moved = {each.texts: each.pictures for each in (before, pressed, low, high)}
            assert len(moved) > 1 or any(tells(panel, slider, box) for box in panel.all("select"))


def dragged(panel: Panel, slider: Locator) -> list[State]:
    """What the panel holds near both ends of a slider."""
    found: list[State] = []
    for share in (0.2, 0.8):
        drag(slider, share)
        found.append(holds(panel))
    return found


def tells(panel: Panel, slider: Locator, box: Locator) -> bool:
    """Whether a slider that says nothing does so under one of a drop-down's options."""
    for option in range(box.locator("option").count()):
        panel.put_back()
        box.select_option(index=option)
        holds(panel)
        low, high = dragged(panel, slider)
        if low.texts != high.texts:
            return True
    return False


def test_every_other_control_does_what_python_says(panels: list[Panel]):
    for panel in panels:
        for box in panel.all("select"):
            for option in range(min(3, box.locator("option").count())):
                box.select_option(index=option)
                holds(panel)
        for control in panel.all("input[type=checkbox], .widget-button, .widget-toggle-button"):
            control.click()
            holds(panel)
        for field in panel.all("input[type=text]:not([readonly]), textarea:not([readonly])"):
            field.fill("3")
            field.press("Enter")
            holds(panel)


def test_the_pages_console_has_no_error(run: Notebook):
    assert run.console == []


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_nothing_is_cut_off_in_either_theme(run: Notebook, name: str, theme: str):
    run.page.set_viewport_size({"width": WIDTH, "height": TALL})
    run.set_theme(f"JupyterLab {theme}")
    SHOTS.mkdir(parents=True, exist_ok=True)
    for number in run.each_view():
        run.page.screenshot(
            path=SHOTS / f"{name.removesuffix('.ipynb')}-{theme.lower()}-{number}.png"
        )
    assert run.cut_off() == []
