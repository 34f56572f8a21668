"""The web pages: where links lead, and whether they are valid HTML.

`tests/browser/test_pages_in_a_browser.py` opens and weighs them. A person judges their
looks.
"""

import html
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import turbohtml
from justhtml import JustHTML
from turbohtml.conformance import check

from tools import address, pages
from tools.pages import (
    NOTEBOOKS,
    aim,
    build,
    framed,
    linked,
    make,
    minutes,
    read,
    title,
)

KNOWN = {
    NOTEBOOKS / "01_estimation.ipynb",
    NOTEBOOKS / "GLOSSARY.md",
    pages.ROOT / "README.md",
    pages.ROOT / "lab/README.md",
}
LOADED = re.compile(r'<(?:img|script|link)\b[^>]*?\b(?:src|href)="([^"]+)"')
TARGET = re.compile(r' (?:href|src)="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    build(out, {})
    return out


def texts(site: Path) -> dict[str, str]:
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(site.glob("*.html"))
    }


def lesson(*texts: str) -> tuple[str, set[Path]]:
    return linked("".join(texts), NOTEBOOKS / "00_the_wall.ipynb", KNOWN)


@pytest.mark.parametrize(
    ("href", "moved"),
    [
        ("01_estimation.ipynb", "01_estimation.html"),
        ("GLOSSARY.md#tool-use", "GLOSSARY.html#tool-use"),
        ("../README.md", "README.html"),
        ("../lab/README.md", "lab.html"),
        ("../agentlib/loop.py", "files/agentlib/loop.py.txt"),
        ("#A-heading", "#A-heading"),
        (
            "https://example.org/01_estimation.ipynb",
            "https://example.org/01_estimation.ipynb",
        ),
        ("mailto:ada@example.org", "mailto:ada@example.org"),
    ],
)
def test_a_link_leads_to_the_page_or_the_copy_of_its_file(href, moved):
    assert (
        lesson(f'<a class="x" href="{href}">it</a>')[0]
        == f'<a class="x" href="{moved}">it</a>'
    )


def test_pictures_and_linked_source_files_are_copied_along():
    text, files = linked('<img src="docs/wall.png">', pages.ROOT / "README.md", KNOWN)
    assert text == '<img src="files/docs/wall.png">'
    assert files == {pages.ROOT / "docs/wall.png"}
    assert lesson('<a href="../agentlib/loop.py">')[1] == {
        pages.ROOT / "agentlib/loop.py"
    }


@pytest.mark.parametrize(
    "href", ["GLOSARY.md", "../agentlib", "../agentlib/gone.py#L3"]
)
def test_a_dead_link_is_an_error_that_names_it(href):
    with pytest.raises(
        FileNotFoundError, match=r"00_the_wall\.ipynb links to .+, which is not"
    ):
        lesson(f'<a href="{href}">')


def test_every_link_of_the_site_leads_to_a_file_and_to_a_place_in_it(site: Path):
    pages = texts(site)
    ids = {
        name: {html.unescape(each) for each in re.findall(r' id="([^"]+)"', text)}
        for name, text in pages.items()
    }
    dead: list[str] = []
    for name, text in pages.items():
        for link in set(TARGET.findall(text)):
            parts = urlsplit(link.replace("&amp;", "&"))
            target = unquote(parts.path) or name
            if parts.scheme:
                continue
            there = (site / target).is_file()
            place = unquote(parts.fragment)
            if not there or (place and place not in ids.get(target, {place})):
                dead.append(f"{name}: {link}")
    assert dead == []


def test_every_page_can_be_reached_from_the_front_page(site: Path):
    links = {name: set(TARGET.findall(text)) for name, text in texts(site).items()}
    reached = set[str]()
    new = {"index.html"}
    while new:
        reached |= new
        new = {link.partition("#")[0] for name in new for link in links[name]} & set(
            links
        ) - reached
    assert reached == set(links)


def test_the_front_page_begins_with_an_hour_and_leads_to_lesson_00(site: Path):
    links = TARGET.findall(texts(site)["index.html"].partition("<h2>")[0])
    assert [link for link in links if link.endswith(".html")] == [
        "an_hour.html",
        "00_the_wall.html",
    ]


def test_a_lesson_lists_its_sections_and_asks_nobody_to_run_a_cell(site: Path):
    page = texts(site)["03_auto_compact.html"]
    contents = page.partition('class="contents"')[2].partition("</details>")[0]
    headings = re.findall(r'<h2 id="([^"]+)"', page)
    assert [html.unescape(unquote(each[1:])) for each in TARGET.findall(contents)] == [
        html.unescape(each) for each in headings
    ]
    assert not [
        name for name, text in texts(site).items() if "folded cell above" in text
    ]


def test_the_pages_load_nothing_from_other_servers(site: Path):
    assert {
        name
        for path in site.glob("*.html")
        for name in LOADED.findall(path.read_text("utf-8"))
        if ":" in name and not name.startswith("data:")
    } == set()
    assert not [
        path for path in site.glob("*.css") if "url(" in path.read_text("utf-8")
    ]


def test_the_pages_are_valid_html(site: Path):
    faults: list[str] = []
    for name, text in texts(site).items():
        document = turbohtml.parse(text)
        found = [*document.errors, *JustHTML(text, collect_errors=True).errors]
        faults += [f"{name}: {each}" for each in (*found, *check(document).errors)]
    assert faults == []


def test_no_id_is_used_twice_on_a_page(site: Path):
    for name, text in texts(site).items():
        ids = Counter(re.findall(r' id="([^"]+)"', text))
        assert (name, [each for each in ids if ids[each] > 1]) == (name, [])


def test_social_tags_need_an_address(monkeypatch: pytest.MonkeyPatch):
    path = NOTEBOOKS / "00_the_wall.ipynb"
    page = make(path, read(path), [path, *pages.sources()])
    without = framed(page, {})
    monkeypatch.setattr(address, "repository", lambda *_: "Ada/course")
    assert "og:image" not in without
    assert 'og:title" content="00 · The wall"' in without
    assert 'og:image" content="https://ada.github.io/course/' in framed(page, {})


def test_title_aim_and_minutes_are_read_from_the_text():
    text = (
        "[back](x)\n\n# 00 · The wall\n\n**Aim.** See [it](x) `run`.\n\n"
        "**Takes** about 36 minutes."
    )
    assert (title(text), aim(text), minutes(text)) == (
        "00 · The wall",
        "See it run.",
        "36",
    )
    assert aim("# A\n\nTwo lines\nof *text*.\n\nMore.") == "Two lines of text."
    assert aim("# A\n\n**Why?** Because.\n\nRun it.") == "Why? Because."
    assert minutes("# A") == ""
