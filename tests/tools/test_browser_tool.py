"""tools/browser: it prints the Chromium that it finds, or how to get one, and installs
nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/browser.py"


def finder(folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run the tool with an empty path and an empty home."""
    windows = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    bare = windows | {
        "PATH": str(folder),
        "HOME": str(folder),
        "USERPROFILE": str(folder),
    }
    return subprocess.run(
        [sys.executable, str(TOOL)], env=bare | more, capture_output=True, text=True
    )


def test_without_a_browser_it_fails_and_says_how_to_get_one(tmp_path: Path):
    run = finder(tmp_path)
    assert run.returncode == 1
    assert "python tools/browser.py --install" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_browser_that_the_user_names_comes_first(tmp_path: Path):
    named = tmp_path / "my chrome"
    named.write_bytes(b"")
    run = finder(tmp_path, COURSE_BROWSER=str(named))
    assert (run.returncode, run.stdout.strip()) == (0, str(named))


def test_playwrights_newest_build_comes_before_the_systems(tmp_path: Path):
    if sys.platform != "linux":
        pytest.skip("the folders have other names elsewhere")
    for number in ("1254", "1255"):
        own = tmp_path / f".cache/ms-playwright/chromium-{number}/chrome-linux/chrome"
        own.parent.mkdir(parents=True)
        own.write_bytes(b"")
    system = tmp_path / "chromium"
    system.write_bytes(b"")
    system.chmod(0o755)
    assert "chromium-1255" in finder(tmp_path).stdout
