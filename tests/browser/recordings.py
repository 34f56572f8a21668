"""A page of nothing but recordings, and the two ways to read what a panel shows at its
places."""

import html
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page

from tests.browser.servers import ROOT
from tests.browser.site import DRAWN
from tools import places

SAMPLE = 5
"""Places of each panel at which the notebook's own panel is asked, too."""
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
"""Moves on the bench: a control, and the position it goes to. The last goes back to a
trial."""
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


@contextmanager
def page_of(
    browser: Browser, folder: Path, name: str, plays: list[Any]
) -> Iterator[Page]:
    """Open the recordings of a notebook from the file system."""
    for file in ("play.js", "play.css"):
        (folder / file).write_bytes((ROOT / "tools" / file).read_bytes())
    shown = "".join(
        places.embed(f"p-{n}", play, "a chart") for n, play in enumerate(plays)
    )
    text = (
        f'<link rel="stylesheet" href="play.css">{shown}<script src="play.js"></script>'
    )
    file = folder / f"{name}.html"
    file.write_text(f'<!doctype html><meta charset="utf-8">{text}', encoding="utf-8")
    page = browser.new_page()
    errors = list[str]()
    page.on("console", lambda each: errors.append(each.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function(DRAWN)
    yield page
    page.close()
    assert errors == []


def figures(
    page: Page, plays: list[Any], *kinds: str
) -> Iterator[tuple[Locator, dict[str, Any]]]:
    """Yield the figures of these kinds with their data."""
    for n, play in enumerate(plays):
        data = places.unpacked(play)
        if data["kind"] in kinds:
            yield page.locator(f"figure[data-play=p-{n}]"), data


def drawn(picture: dict[str, Any]) -> tuple[set[str], list[str]]:
    """Return the paths, each once because a hatch is a path over another, and the
    words."""
    return set(picture["paths"]), picture["words"]


def recorded(marks: list[Any]) -> tuple[set[str], list[str]]:
    return {mark[0] for mark in marks if len(mark) == 1}, [
        m[2] for m in marks if len(m) > 1
    ]


def texts(markup: str) -> list[str]:
    """Return the words of HTML, without its tags."""
    return html.unescape(re.sub("<[^>]*>", " ", markup)).split()


def sample(
    figure: Locator, data: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Move a panel to some places. Yield its controls' values, and what the page
    shows."""
    chosen = random.Random(0)
    for _ in range(SAMPLE):
        at = [chosen.randrange(len(each["values"])) for each in data["controls"]]
        pairs = zip(data["controls"], at, strict=True)
        figure.evaluate(MOVE, at)
        yield (
            {each["name"]: each["values"][n] for each, n in pairs},
            figure.evaluate(READ),
        )


def trials(
    figure: Locator, data: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Make some trials on a bench, one control at a time, and go back to the second."""
    names = [each["name"] for each in data["controls"]]
    for name, index in TRIALS:
        control = figure.locator(".play-control :is(input, select)").nth(
            names.index(name)
        )
        control.evaluate(
            "(each, n) => { each.value = n; each.dispatchEvent(new Event('input')); }",
            index,
        )
        preset = figure.locator("select").first.evaluate(
            "each => each.selectedOptions[0].text"
        )
        values = data["controls"][names.index(name)]["values"]
        if name in data["fields"]:
            values = data["places"][preset]["values"][name]
        yield {name: index if name == "trial" else values[index]}, figure.evaluate(READ)


def agree(
    state: dict[str, Any], sentence: str, pictures: list[Any], table: str
) -> None:
    """Require that a page shows what the notebook's panel shows at the same place."""
    assert plain(state["sentence"]) == plain(sentence)
    assert texts(state["table"]) == texts(table)
    for picture in pictures[-1:]:
        assert drawn(state["pictures"][-1]) == recorded(picture)
    for picture in pictures[
        :-1
    ]:  # the page draws it itself, and may choose other ticks
        shown = names(state["pictures"][0]["words"])
        differ = shown ^ names(recorded(picture)[1])
        assert differ == set(), differ


def names(words: list[str]) -> set[str]:
    return {each for each in words if not each.endswith("¢")}


def plain(text: str) -> str:
    return " ".join(text.removeprefix("No new picture. ").split())
