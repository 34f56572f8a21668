"""An hour, taken in its page: by keyboard, with a wrong answer and a right one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.site import visited
from tests.course.test_in_page import CODE, RIGHT
from tools.in_page import size

MINUTES = 4 * 60_000
IDLE = "() => !('running' in document.body.dataset)"
CLEAR, PANEL = "exercise-02-2", "agent-run"
USUAL = """
import json, sys
from course import in_page
cells = in_page.Cells()
sources = json.load(sys.stdin)
print(json.dumps({name: cells.run(name, source) for name, source in sources.items()}))
"""


@pytest.fixture(scope="module")
def hour(browser: Browser, server: str, site: Path) -> Iterator[tuple[Page, list[str]]]:
    """The page, and the requests that it makes."""
    if not (site / "python").is_dir():
        assert "CI" not in os.environ, "the page's Python was not made"
        pytest.skip("the page's Python could not be fetched")
    with visited(browser, f"{server}/an_hour.html") as (page, errors):
        asked = list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.set_default_timeout(MINUTES)
        yield page, asked
        assert errors == []


def finished(page: Page) -> None:
    page.wait_for_timeout(300)
    page.wait_for_function(IDLE)


def said(page: Page, cell: str) -> str:
    return page.locator(f'[data-outputs="{cell}"]').text_content() or ""


def stored(page: Page) -> dict[str, Any]:
    return json.loads(page.evaluate("() => localStorage.getItem('agent-course-hour')"))


def test_the_hour_is_taken_by_keyboard_and_is_there_after_a_reload(hour, site):
    page, asked = hour
    assert [url for url in asked if "/python/" in url] == []
    section = page.locator("section.live").first
    megabytes = f"{size(site / 'python') / 1e6:.0f} MB"
    assert megabytes in section.locator(".run").inner_text()

    # the stub: a wrong answer, and the finished function's run
    section.locator(".run").focus()
    page.keyboard.press("Enter")
    finished(page)
    assert said(page, CLEAR).startswith("02.2 not yet: with keep_recent=3")
    assert "the finished micro_compact runs" in said(page, "clear-run")
    before = stored(page)["outputs"]["clear-run"][1]["picture"]

    # a right one, typed, which changes the agent's picture
    editor = section.locator("[role=textbox]")
    editor.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(RIGHT.replace("keep_recent=3", "keep_recent=2"))
    page.keyboard.press("Control+Enter")
    finished(page)
    assert said(page, CLEAR).startswith("02.2 not yet")  # 3 is asked for
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(RIGHT.replace("view(messages, k", "view(messages , k"))
    page.keyboard.press("Control+Enter")
    finished(page)
    assert said(page, CLEAR).startswith("02.2 passed")
    assert "02.2 is solved: your clear_view runs." in said(page, "clear-run")
    assert stored(page)["outputs"]["clear-run"][1]["picture"] == before

    # out of the editor, on by Tab
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "run"

    # the agent's two numbers
    last = page.locator("section.live").last
    last.locator(".run").focus()
    page.keyboard.press("Enter")
    finished(page)
    page.evaluate(
        "() => document.querySelectorAll('details').forEach(d => d.open = true)"
    )
    slider = page.locator(".live-panel input").first
    title = page.locator(".live-panel figcaption")
    old = title.inner_text()
    slider.focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    assert page.locator(".live-panel .stale").count() == 1
    page.wait_for_timeout(600)
    finished(page)
    assert title.inner_text() != old
    assert page.locator(".live-panel .stale").count() == 0

    # everything is there again, before anything is pressed
    page.reload()
    del asked[:]
    assert said(page, CLEAR).startswith("02.2 passed")
    assert "view(messages , k" in section.locator(".editor").inner_text()
    assert "your clear_view runs" in said(page, "clear-run")
    assert page.locator('[data-outputs="clear-run"] svg').count() == 1
    with page.expect_download() as saving:
        section.locator(".save").click()
    assert saving.value.suggested_filename == "my_agent.py"
    assert "def clear_view" in Path(saving.value.path()).read_text("utf-8")
    assert [url for url in asked if "/python/" in url] == []


def test_a_prediction_is_set_beside_the_learners_own_run(hour):
    page, _ = hour
    page.reload()
    form = page.locator("form.predict").first
    form.locator("input").first.check()
    form.locator("button").click()
    assert form.locator("output").inner_text() == "finishes: you said yes, it is no"


def test_a_run_in_the_page_has_the_numbers_of_the_usual_python(hour, tmp_path: Path):
    page, _ = hour
    page.evaluate("() => localStorage.clear()")
    page.reload()
    page.locator("section.live .run").last.click()
    finished(page)
    sources = {cell.id: cell.source for cell in CODE}
    usual = subprocess.run(
        [sys.executable, "-c", USUAL],
        input=json.dumps(sources),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    expected = {
        name: shown for name, shown in json.loads(usual.stdout).items() if shown
    }
    assert stored(page)["outputs"] == expected


def test_stop_ends_a_loop_and_python_starts_again(hour):
    """It goes on with the Python that the test before has started."""
    page, _ = hour
    section = page.locator("section.live").nth(1)
    section.locator("[role=textbox]").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("while True:\n    pass")
    page.keyboard.press("Control+Enter")
    section.locator(".stop").wait_for()
    page.wait_for_timeout(500)
    section.locator(".stop").click()
    finished(page)
    assert "Python starts again" in section.locator(".state").inner_text()
    section.locator(".stub").click()
    section.locator(".run").click()
    finished(page)
    assert said(page, "exercise-03-2").startswith("03.2 not yet: with keep left out")


def test_nothing_comes_from_another_host(hour, server: str):
    _, asked = hour
    assert any("/python/pyodide.asm.wasm" in url for url in asked)
    assert [url for url in asked if not url.startswith((server, "blob:"))] == []
