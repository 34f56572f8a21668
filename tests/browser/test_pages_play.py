"""The recorded panels in a Chromium: every place on the page is the recorded one.

That the recorded ones are those of the notebook's own panels is tested where the
notebook runs.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.recordings import EVERY, drawn, figures, page_of, recorded, texts
from tests.browser.servers import ROOT
from tests.browser.site import DRAWN, served
from tools import places

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0w]*.ipynb"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("play")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def plays(path: Path) -> list[dict[str, Any]]:
    return places.plays(places.recorded(path))


@pytest.fixture(scope="module")
def page(
    browser: Browser, folder: Path, path: Path, plays: list[Any]
) -> Iterator[Page]:
    with page_of(browser, folder, path.stem, plays) as page:
        yield page


def test_a_page_from_a_server_draws_what_one_from_a_file_draws(
    page: Page, server: str, path: Path
):
    pictures = "[...document.querySelectorAll('.play svg')].map(each => each.outerHTML)"
    shown = page.evaluate(pictures)
    with page.context.browser.new_page() as other:
        other.goto(f"{server}/{path.stem}.html")
        other.wait_for_function(DRAWN)
        assert other.evaluate(pictures) == shown
        assert len(shown) > 0


def test_every_place_of_every_panel_has_its_picture_and_its_sentence(
    page: Page, plays: list[Any]
):
    for figure, data in figures(page, plays, "panel"):
        positions = [
            *product(*(range(len(each["values"])) for each in data["controls"]))
        ]
        assert len(positions) == len(data["places"])
        shown = figure.evaluate(EVERY, positions)
        for each, (picture, sentence, table) in zip(shown, data["places"], strict=True):
            assert each["sentence"].endswith(sentence)
            assert texts(each["table"]) == texts(
                "".join(data["chunks"][chunk] for chunk in table)
            )
            if picture:
                marks = [data["marks"][mark][1:] for mark in picture[1]]
                assert drawn(each["pictures"][0]) == recorded(marks)
