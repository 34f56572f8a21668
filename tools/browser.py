"""Find a Chromium for the browser tests. Install one only on request.

python tools/browser.py              # print its path, or how to get one
python tools/browser.py --install    # install one if there is none

`make browser` and .ci/run install one this way.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT = "COURSE_BROWSER"
COMMANDS = (
    "chromium",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chromium-browser",
)
PLAYWRIGHT_FOLDERS = {
    "linux": Path.home() / ".cache/ms-playwright",
    "darwin": Path.home() / "Library/Caches/ms-playwright",
    "win32": Path.home() / "AppData/Local/ms-playwright",
}
MISSING = f"""The browser tests need a Chromium, and there is none here. Either install one:
  python tools/browser.py --install       (Playwright's, or Debian's if you are root)
or name the one you have:
  {ENVIRONMENT}=/path/to/chrome make test-browser"""


def candidates() -> Iterator[Path]:
    """Yield the paths where a Chromium may be, the best first."""
    if chosen := os.environ.get(ENVIRONMENT):
        yield Path(chosen)
    builds = PLAYWRIGHT_FOLDERS.get(sys.platform, PLAYWRIGHT_FOLDERS["linux"])
    for name in ("chrome", "Chromium", "Google Chrome for Testing", "chrome.exe"):
        yield from sorted(builds.glob(f"chromium-*/**/{name}"), reverse=True)
    yield from (Path(program) for program in map(shutil.which, COMMANDS) if program)


def find() -> Path | None:
    """Return the first candidate that exists."""
    return next((path for path in candidates() if path.is_file()), None)


def install() -> None:
    """Install Playwright's build, or the system's if that fails and this user is
    root."""
    if _runs(10, sys.executable, "-m", "playwright", "install", "chromium") and find():
        return
    if shutil.which("apt-get") and getattr(os, "geteuid", lambda: 1)() == 0:
        print(
            "Playwright's Chromium could not be installed. Trying the system's.",
            flush=True,
        )
        _runs(5, "apt-get", "update", "-qq")
        packages = ("chromium", "fonts-dejavu-core")
        _runs(
            10, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages
        )


def _runs(minutes: int, *command: str) -> bool:
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run = subprocess.run(
            command,
            env=quiet,
            stdout=subprocess.DEVNULL,
            timeout=60 * minutes,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def main(*arguments: str) -> int:
    if "--install" in arguments and find() is None:
        install()
    path = find()
    print(path or MISSING, file=sys.stdout if path else sys.stderr)
    return 0 if path else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
