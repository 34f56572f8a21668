"""The recorded panels in a Chromium: every place on the page is the recorded one, and a sample of
places is what the notebook's own panel shows there."""

import html
import json
import random
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.servers import HERE, ROOT
from tests.browser.site import DRAWN, served
from tools import places
from tools.notebooks import execute

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0w]*.ipynb"))
SAMPLE = 3
"""Places of each panel that are drawn again in the notebook's kernel."""
READ = r"""figure => {
  const inside = (box, tag) => [...box.querySelectorAll(`svg > ${tag}`)];
  return {
    sentence: figure.querySelector('[role=status]').textContent,
    pictures: [...figure.querySelectorAll('.play-picture')].map(box => ({
      paths: inside(box, 'path').map(each => each.getAttribute('d')),
      words: inside(box, 'text').map(each => each.textContent),
    })),
    table: figure.querySelector('.play-table').innerHTML,
  };
}"""
TRIALS = [
    ("keep_recent", 0),
    ("model", 2),
    ("preset", 6),
    ("keep_recent", 4),
    ("keep_recent", 1),
    ("trial", 7),
]
"""Moves on the bench: a control, and the position it goes to. The last goes back to a trial."""
MOVE = r"""(figure, indices) => {
  const inputs = [...figure.querySelectorAll('.play-control :is(input, select)')];
  indices.forEach((index, n) => {
    if (Number(inputs[n].value) === index) return;
    inputs[n].value = index;
    inputs[n].dispatchEvent(new Event('input', {bubbles: true}));
  });
}"""
EVERY = f"""(figure, places) => places.map(each => {{
  ({MOVE})(figure, each);
  return ({READ})(figure);
}})"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of nothing but recordings."""
    folder = tmp_path_factory.mktemp("play")
    for name in ("play.js", "play.css"):
        (folder / name).write_bytes((ROOT / "tools" / name).read_bytes())
    return folder


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
def page(browser: Browser, folder: Path, path: Path, plays: list[Any]) -> Iterator[Page]:
    """The recordings of a notebook, opened from the file system."""
    figures = "".join(places.embed(f"p-{n}", play, "a chart") for n, play in enumerate(plays))
    text = f'<link rel="stylesheet" href="play.css">{figures}<script src="play.js"></script>'
    file = folder / f"{path.stem}.html"
    file.write_text(f'<!doctype html><meta charset="utf-8">{text}', encoding="utf-8")
    page, errors = browser.new_page(), list[str]()
    page.on("console", lambda each: errors.append(each.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function(DRAWN)
    yield page
    page.close()
    assert errors == []


def figures(page: Page, plays: list[Any], *kinds: str) -> Iterator[tuple[Locator, dict[str, Any]]]:
    """Yield the figures of these kinds with their data."""
    for n, play in enumerate(plays):
        data = places.unpacked(play)
        if data["kind"] in kinds:
            yield page.locator(f"figure[data-play=p-{n}]"), data


def test_a_page_from_a_server_draws_what_one_from_a_file_draws(page: Page, server: str, path: Path):
    pictures = "[...document.querySelectorAll('.play svg')].map(each => each.outerHTML)"
    shown = page.evaluate(pictures)
    with page.context.browser.new_page() as other:
        other.goto(f"{server}/{path.stem}.html")
        other.wait_for_function(DRAWN)
        assert other.evaluate(pictures) == shown
        assert len(shown) > 0


def test_every_place_of_every_panel_has_its_picture_and_its_sentence(page: Page, plays: list[Any]):
    for figure, data in figures(page, plays, "panel"):
        positions = [*product(*(range(len(each["values"])) for each in data["controls"]))]
        assert len(positions) == len(data["places"])
        shown = figure.evaluate(EVERY, positions)
        for each, (picture, sentence, table) in zip(shown, data["places"], strict=True):
            assert each["sentence"].endswith(sentence)
            assert texts(each["table"]) == texts("".join(data["chunks"][chunk] for chunk in table))
            if picture:
                marks = [data["marks"][mark][1:] for mark in picture[1]]
                assert drawn(each["pictures"][0]) == recorded(marks)


def drawn(picture: dict[str, Any]) -> tuple[set[str], list[str]]:
    """Return the paths, each once because a hatch is a path over another, and the words."""
    return set(picture["paths"]), picture["words"]


def recorded(marks: list[Any]) -> tuple[set[str], list[str]]:
    return {mark[0] for mark in marks if len(mark) == 1}, [m[2] for m in marks if len(m) > 1]


def texts(markup: str) -> list[str]:
    """Return the words of HTML, without its tags."""
    return html.unescape(re.sub("<[^>]*>", " ", markup)).split()


def test_a_sample_of_places_is_what_the_notebooks_panel_shows(page: Page, path: Path, plays: Any):
    moves: list[list[dict[str, Any]]] = []
    shown: list[list[Any]] = []
    for figure, data in figures(page, plays, "panel", "trail"):
        walk = trials(figure, data) if data["kind"] == "trail" else sample(figure, data)
        values, states = zip(*walk, strict=True)
        moves.append([*values])
        shown.append([*states])
    assert bool(moves) == (path.stem != "reference")
    for states, answers in zip(shown, answered(path, moves), strict=True):
        for state, (sentence, pictures, table) in zip(states, answers, strict=True):
            assert plain(state["sentence"]) == plain(sentence)
            assert texts(state["table"]) == texts(table)
            for picture in pictures[-1:]:
                assert drawn(state["pictures"][-1]) == recorded(picture)
            for picture in pictures[:-1]:  # the page draws it itself, and may choose other ticks
                assert names(state["pictures"][0]["words"]) == names(recorded(picture)[1])


def sample(figure: Locator, data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Move a panel to some places. Yield its controls' values, and what the page shows."""
    chosen = random.Random(0)
    for _ in range(SAMPLE):
        at = [chosen.randrange(len(each["values"])) for each in data["controls"]]
        pairs = zip(data["controls"], at, strict=True)
        figure.evaluate(MOVE, at)
        yield {each["name"]: each["values"][n] for each, n in pairs}, figure.evaluate(READ)


def trials(figure: Locator, data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Make some trials on a bench, one control at a time, and go back to the second."""
    names = [each["name"] for each in data["controls"]]
    for name, index in TRIALS:
        control = figure.locator(".play-control :is(input, select)").nth(names.index(name))
        control.evaluate(
            "(each, n) => { each.value = n; each.dispatchEvent(new Event('input')); }", index
        )
        preset = figure.locator("select").first.evaluate("each => each.selectedOptions[0].text")
        values = data["controls"][names.index(name)]["values"]
        if name in data["fields"]:
            values = data["places"][preset]["values"][name]
        yield {name: index if name == "trial" else values[index]}, figure.evaluate(READ)


def names(words: list[str]) -> set[str]:
    return {each for each in words if not each.endswith("¢")}


def plain(text: str) -> str:
    return " ".join(text.removeprefix("No new picture. ").split())


def answered(path: Path, moves: list[list[dict[str, Any]]]) -> list[list[Any]]:
    """Run the notebook and move its own panels."""
    notebook = nbformat.read(path, as_version=4)
    source = f"places_probe.print_moves(__import__('json').loads({json.dumps(moves)!r}))"
    notebook.cells.append(nbformat.v4.new_code_cell(source))
    folders = [str(ROOT), str(HERE / "kernel")]
    start = f"import sys; sys.path[:0] = {folders!r}; import places_probe; places_probe.install()"
    run = execute(notebook, path.parent, start=start, timeout=600)
    return json.loads(run.cells[-1].outputs[0].text)
