"""Finds a Chromium for the browser tests, and installs one only where it is asked to.

python tools/browser.py              # prints where it is, or says how to get one
python tools/browser.py --install    # what .ci/run does: installs one where there is none
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT = "COURSE_BROWSER"
COMMANDS = ("chromium", "google-chrome", "google-chrome-stable", "chrome", "chromium-browser")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
PLAYWRIGHTS = {
    "linux": Path.home() / ".cache/ms-playwright",
    "darwin": Path.home() / "Library/Caches/ms-playwright",
    "win32": Path.home() / "AppData/Local/ms-playwright",
}
MISSING = f"""There is no Chromium here for the browser tests. One of these gets one:
  python tools/browser.py --install       (Playwright's own; as root on Debian, the system's)
  {ENVIRONMENT}=/path/to/chrome make test-browser"""
SECONDS = 60


def candidates() -> Iterator[Path]:
    """Where a Chromium may be, the best first."""
    if given := os.environ.get(ENVIRONMENT):
        yield Path(given)
    own = PLAYWRIGHTS.get(sys.platform, PLAYWRIGHTS["linux"])
    for name in ("chrome", "Chromium", "Google Chrome for Testing", "chrome.exe"):
        yield from sorted(own.glob(f"chromium-*/**/{name}"), reverse=True)
    yield from (Path(found) for found in map(shutil.which, COMMANDS) if found)
    yield from map(Path, PLACES)


def find() -> Path | None:
    """The first Chromium there is."""
    return next((path for path in candidates() if path.is_file()), None)


def install() -> None:
    """Playwright's own build, else the system's where this user may install it."""
    if _runs(10, sys.executable, "-m", "playwright", "install", "chromium") and find():
        return
    if shutil.which("apt-get") and getattr(os, "geteuid", lambda: 1)() == 0:
        print("Playwright's Chromium can't be had; taking the system's.", flush=True)
        _runs(5, "apt-get", "update", "-qq")
        packages = ("chromium", "fonts-dejavu-core")
        _runs(10, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)


def _runs(minutes: int, *command: str) -> bool:
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=quiet, stdout=subprocess.DEVNULL, timeout=minutes * SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main(*arguments: str) -> int:
    if "--install" in arguments and find() is None:
        install()
    found = find()
    print(found or MISSING, file=sys.stdout if found else sys.stderr)
    return 0 if found else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
