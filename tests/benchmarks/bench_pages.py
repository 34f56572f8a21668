"""Time the panels of the web pages in a Chromium, from key press to new picture.

make html && python -m tests.benchmarks.bench_pages

Each slider goes to its left end and up again, a step each 100 milliseconds. A picture
counts when the browser has painted it.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page

from tests.browser.servers import chromium
from tests.browser.site import DRAWN
from tools.pages import OUT

MOVES = 20
PAUSE = 100
CLOCK = r"""input => {
  window.taken = 0;
  let pressed = 0;
  input.addEventListener('keydown', () => pressed = performance.now(), {capture: true, once: true});
  input.addEventListener('input', () => requestAnimationFrame(() => setTimeout(
    () => window.taken = performance.now() - pressed)), {once: true});
}"""


def presses(slider: Locator) -> Iterator[float]:
    """Yield the milliseconds from each key to its painted picture."""
    slider.press("Home")
    last = int(slider.get_attribute("max") or 0)
    for _ in range(min(MOVES, last)):
        slider.page.wait_for_timeout(PAUSE)
        if slider.is_disabled():  # the bench greys what can't change a run
            return
        slider.evaluate(CLOCK)
        slider.press("ArrowRight")
        slider.page.wait_for_function("() => window.taken > 0")
        yield slider.page.evaluate("() => window.taken")


def timed(page: Page, file: Path) -> list[float]:
    page.goto(file.as_uri())
    page.wait_for_function(DRAWN)
    page.evaluate(
        "document.querySelectorAll('details').forEach(each => each.open = true)"
    )
    sliders = page.locator("figure.play input[type=range]:enabled").all()
    return [milliseconds for slider in sliders for milliseconds in presses(slider)]


def main() -> None:
    every: list[float] = []
    with chromium() as browser:
        page = browser.new_page(reduced_motion="reduce")
        print(f"{'milliseconds':>24} {'median':>7} {'p95':>7} {'kB':>7}")
        for file in sorted(OUT.glob("*.html")):
            if taken := timed(page, file):
                every += taken
                show(file.stem, taken, file.stat().st_size / 1000)
    show("all", every, 0)


def show(name: str, taken: list[float], size: float) -> None:
    late = sorted(taken)[int(0.95 * len(taken))]
    print(f"{name:>24} {statistics.median(taken):7.0f} {late:7.0f} {size:7.0f}")


if __name__ == "__main__":
    main()
