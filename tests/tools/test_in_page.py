"""The Python of the hour's page: what is fetched for it, and what is left out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import in_page, pages
from tools.left_out import is_left_out

ROOT = Path(__file__).parents[2]
WITH_LESS = """
import sys
sys.path.insert(0, "tools")
if sys.argv[1] == "less":
    import left_out
    left_out.install()
from course import the_hour
from course.outcome import told
from windtunnel import play
from windtunnel.tasks.scenarios import REVIEW
print(told(play(REVIEW, the_hour.LATE, shell=False)))
print(sum(name.startswith("anthropic.") for name in sys.modules))
"""


def wheels() -> dict[str, str]:
    pins = re.findall(r"^([\w-]+)==(\S+)", in_page.PINS.read_text("utf-8"), re.M)
    return dict(pins)


def test_the_pages_wheels_have_the_versions_of_the_lock():
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    locked = dict(re.findall(r"^([\w-]+)==([^\s;]+)", lock, re.M))
    assert wheels() == {name: locked[name] for name in wheels()}


def test_everything_that_is_fetched_has_a_hash_and_no_host():
    text = in_page.PINS.read_text("utf-8")
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}$", text, re.M)) == len(wheels())
    assert [name for name, *_ in in_page.NPM.findall(text)] == ["pyodide", "codejar"]
    assert "://" not in text


def test_without_a_network_the_pages_are_made_without_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    def refused(*_, **__):
        raise in_page.NotFetched("pip download failed: no route to host")

    monkeypatch.setattr(in_page, "KEPT", tmp_path)
    monkeypatch.setattr(in_page, "_run", refused)
    assert in_page.make() is None
    assert "are made without Python, because pip" in capsys.readouterr().out


def test_a_package_with_another_hash_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def packed(*_, at: Path):
        (at / "codejar-4.3.0.tgz").write_bytes(b"something else")

    monkeypatch.setattr(in_page, "_run", packed)
    with pytest.raises(in_page.NotFetched, match=r"codejar@4\.3\.0 has another hash"):
        in_page._fetch_npm(tmp_path, "codejar@4.3.0", "sha512-x")


def test_with_less_of_the_sdk_a_run_comes_to_the_same():
    whole, less = (
        subprocess.run(
            [sys.executable, "-c", WITH_LESS, how],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=True,
        ).stdout.splitlines()
        for how in ("whole", "less")
    )
    assert whole[0] == less[0]
    assert int(less[1]) < int(whole[1]) / 3


def test_what_is_left_out_is_whole_packages():
    assert is_left_out("anthropic.types.beta")
    assert is_left_out("anthropic.types.beta.message")
    assert not is_left_out("anthropic.types.beta_error")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with a folder in which Python could be."""
    python = tmp_path_factory.mktemp("python")
    (python / "agent.zip").write_bytes(b"x" * 19_600_000)
    out = tmp_path_factory.mktemp("site")
    pages.build(out, {}, python)
    return out


def test_the_hours_page_says_what_a_press_costs_and_what_there_is_not(site: Path):
    text = (site / "an_hour.html").read_text("utf-8")
    assert text.count('class="live"') == 3
    assert "Load Python (20 MB)" in text
    assert "has no shell" in text
    assert "CodeJar 4.3.0 (MIT)" in text
    assert "Pyodide 314.0.7 (MPL-2.0)" in text
    assert (site / "python/agent.zip").is_file()


def test_the_first_screen_leads_there(site: Path):
    front = (site / "index.html").read_text("utf-8").partition("<h2>")[0]
    assert '<a class="start second" href="an_hour.html#try">Try it in your' in front


def test_other_lessons_stay_as_they_are(site: Path):
    text = (site / "00_the_wall.html").read_text("utf-8")
    assert "hour.js" not in text
    assert "Solve it in a notebook" in text
