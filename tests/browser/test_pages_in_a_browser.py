"""The web pages in a real Chromium: from the file system and from a server, light and
dark."""

import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Response

import course as lessons
from tests.browser.site import visited, visiting
from tools import pages

MILLION = 1_000_000
PHONE = 390
NAMES = [pages.page_name(path) for path in pages.sources()]
UNFOLD = """() => {
  document.querySelectorAll('details').forEach(each => each.open = true);
  const seen = new Set();
  for (const each of document.querySelectorAll('pre span')) {
    const kind = [each, each.parentNode, each.closest('pre').parentNode].map(e => e.className);
    if (seen.has(`${kind}`)) each.replaceWith(each.textContent);
    seen.add(`${kind}`);
  }
}"""
"""Open all folds. Of the words of code that look the same, the first stays for axe."""
TOO_WIDE = "() => document.documentElement.scrollWidth - innerWidth"
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Wait until the page has been drawn at its new size: only then has it been told of
it."""


def findings(page: Page, **options: Any) -> list[str]:
    """Return the barriers that axe finds: the rule, how bad it is, and the first
    element."""
    violations = (
        Axe().run(page, options={"resultTypes": ["violations"], **options}).response
    )
    return [
        f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:120]}"
        for each in violations["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_light_and_keeps_nobody_out_in_light_in_dark_and_on_a_telephone(
    browser: Browser, server: str, name: str
):
    """Everything that a page shows, in one visit. Other tests open it as a file."""
    responses: list[Response] = []
    with browser.new_context() as window:
        window.on("response", lambda each: responses.append(each))
        with visiting(window, f"{server}/{name}.html") as (page, errors):
            assert errors == []  # axe makes some of its own
            size = sum(len(each.body()) for each in responses)
            assert size < (MILLION if name == "index" else 3 * MILLION)
            page.evaluate(UNFOLD)
            assert findings(page) == []
            page.emulate_media(color_scheme="dark")
            assert findings(page, runOnly=rule("color-contrast")) == []
            page.set_viewport_size({"width": PHONE, "height": 844})
            page.evaluate(DRAWN)
            assert page.evaluate(TOO_WIDE) <= 0
            assert findings(page, runOnly=rule("scrollable-region-focusable")) == []


@pytest.mark.parametrize("name", ["index", "00_the_wall"])
def test_a_page_opens_as_a_file(browser: Browser, site: Path, name: str):
    with visited(browser, (site / f"{name}.html").as_uri()) as (_, errors):
        assert errors == []


def rule(name: str) -> dict[str, Any]:
    return {"type": "rule", "values": [name]}


def test_a_prediction_is_made_and_answered_by_keyboard(browser: Browser, site: Path):
    with visited(browser, (site / "02_micro_compact.html").as_uri()) as (page, _):
        form = page.locator("form.predict").first
        answer = page.locator("details.answer").first
        assert not answer.locator("pre").first.is_visible()
        form.locator("input").first.focus()
        for key in ("ArrowRight", "Tab", "Space", "Tab", "Enter"):
            page.keyboard.press(key)
        assert answer.locator("pre").first.is_visible()
        said = form.locator("output").inner_text().splitlines()
        assert said == [
            "finishes: you said no, it is yes",
            "turns: you said more, and so it is",
        ]
        assert said[0] in answer.inner_text()


def test_a_prediction_is_compared_as_in_a_notebook(
    browser: Browser, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)  # predictions are written down beside the notebooks
    for lesson, guesses in {
        "00_the_wall": ("5", "7.3", "7.25", "21", "19.5", "60", ""),
        "01_estimation": ("400000", "427500", "430000.5"),
    }.items():
        with visited(browser, (site / f"{lesson}.html").as_uri()) as (page, _):
            for form in page.locator("form.predict").all():
                fields = form.locator("input[type=number]")
                if fields.count() == 1 and form.locator("fieldset").count() == 0:
                    for guess in guesses:
                        agrees(page, form, guess)


def agrees(page: Page, form: Any, guess: str) -> None:
    """Fill in a number; require the sentence that `lessons.compare` makes of it."""
    form.locator("input").fill(guess)
    form.locator("button").click()
    line = page.locator(f"#{form.get_attribute('data-answer')} [data-value]")
    name, value = (line.get_attribute(f"data-{key}") or "" for key in ("name", "value"))
    lessons.predict("00.page", **{name: number(guess) if guess else None})
    assert form.locator("output").inner_text() == lessons.compare(
        "00.page", **{name: number(value)}
    )


def number(text: str) -> float:
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)


def test_without_javascript_the_answers_are_folds(browser: Browser, site: Path):
    url = (site / "02_micro_compact.html").as_uri()
    with visited(browser, url, java_script_enabled=False) as (page, _):
        assert not page.locator("form.predict").first.is_visible()
        answer = page.locator("details.answer").first
        answer.locator("summary").click()
        assert re.search("it is yes", answer.inner_text())
