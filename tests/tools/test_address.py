"""The repository's address: given in one place, it makes the README's links."""

import shutil
import tomllib
from pathlib import Path

import pytest

from tools import address
from tools.address import BLOCK, ROOT, block, main, repository, site, write

PAGE = "docs/wind-tunnel.md"
FILES = ("pyproject.toml", "README.md", PAGE)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_the_readme_has_the_links_of_the_address_in_pyproject():
    [lines] = BLOCK.findall(text(ROOT, "README.md"))
    assert lines == block(repository())


def test_setting_an_address_writes_it_once_and_setting_another_replaces_it(copy: Path):
    for repo in ("ada/course", "Eve/the-course.v2"):
        write(repo, copy)
        assert repository(copy) == repo
        assert tomllib.loads(text(copy, "pyproject.toml"))["project"]["urls"]
        assert f"mybinder.org/v2/gh/{repo}/HEAD" in text(copy, "README.md")
        assert f'git+https://github.com/{repo}"' in text(copy, PAGE)
    assert text(copy, "pyproject.toml").count("github.com") == 1
    assert "ada/course" not in text(copy, "README.md")


@pytest.mark.parametrize(
    ("repo", "url"),
    [
        ("Ada/The-Course", "https://ada.github.io/The-Course/"),
        ("Ada/ada.github.io", "https://ada.github.io/"),
    ],
)
def test_the_web_pages_have_the_address_that_github_gives_them(repo, url):
    assert site(repo) == url
    assert f"[Read it on the web]({url})" in block(repo)
    assert f"[Try it in your browser]({url}an_hour.html#try)" in block(repo)


def test_setting_the_same_address_again_changes_no_byte(copy: Path):
    write("ada/course", copy)
    once = [text(copy, name) for name in FILES]
    write("ada/course", copy)
    assert once == [text(copy, name) for name in FILES]


@pytest.mark.parametrize(
    "arguments", [(), ("course",), ("https://github.com/ada/course",), ("",)]
)
def test_what_is_no_address_is_refused(arguments, monkeypatch, capsys):
    monkeypatch.setattr(address, "write", lambda *_: pytest.fail("it wrote"))
    assert main(*arguments) == 2
    assert "REPO=owner/name" in capsys.readouterr().err
