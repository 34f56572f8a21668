"""A real JupyterLab on loopback and a real Chromium, both with nothing of the user's own.

Settings, kernels' files and notebooks live in a folder that the caller gives: neither the
repository nor the user's home is written to. Not here: what is done in it (page).
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tools.browser import MISSING, find

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").glob("*.ipynb") if path.stem != "index")
SETTINGS = {
    # Without this, JupyterLab takes cells out of the page that are not in view.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false"},
    "docmanager-extension/plugin": {"autosave": False},
}
ARGUMENTS = (
    "--no-browser",
    "--ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
    "--LabApp.news_url=None",
    "--LabApp.extension_manager=readonly",
    "--expose-app-in-browser",  # so that a test can wait for what it waits for
)
QUIET = (
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE = float(os.environ.get("COURSE_PATIENCE", "120"))
"""Seconds: a machine that is doing something else as well is slow, not wrong."""


@dataclass(frozen=True)
class Lab:
    """A running server: its address, its secret, and the folder that it shows."""

    address: str
    token: str
    folder: Path

    def url(self, notebook: str) -> str:
        """The page of a notebook, with nothing left from before."""
        return f"{self.address}/lab/tree/{notebook}?reset&token={self.token}"


@contextmanager
def jupyter_lab(folder: Path) -> Iterator[Lab]:
    """JupyterLab over copies of the notebooks; it is stopped, and its kernels with it."""
    shown = folder / "notebooks"
    shutil.copytree(ROOT / "notebooks", shown, ignore=shutil.ignore_patterns(".*"))
    _write_settings(folder / "settings")
    port, token = _free_port(), secrets.token_hex()
    lab = Lab(f"http://127.0.0.1:{port}", token, shown)
    root = ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    command = [sys.executable, "-m", "jupyterlab", *ARGUMENTS, *root, f"--port={port}"]
    command += [f"--IdentityProvider.token={token}", str(shown)]
    log = folder / "jupyter.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, env=_environment(folder), stdout=out, stderr=out)
        try:
            _wait_until_up(lab, server, log)
            yield lab
        finally:
            server.terminate()
            server.wait(PATIENCE)


def _environment(folder: Path) -> dict[str, str]:
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
        "MPLCONFIGDIR": "matplotlib",
    }
    probe = shutil.copytree(HERE / "kernel", folder / "kernel")
    own_folders = {name: str(folder / value) for name, value in own.items()}
    return os.environ | own_folders | {"PYTHONPATH": str(probe)}


def _write_settings(folder: Path) -> None:
    for name, values in SETTINGS.items():
        file = folder / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _wait_until_up(lab: Lab, server: "subprocess.Popen[bytes]", log: Path) -> None:
    asked = urllib.request.Request(
        f"{lab.address}/api/status", headers={"Authorization": f"token {lab.token}"}
    )
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(asked, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-3000:]}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium without a window. RuntimeError, with what to do, where there is none."""
    path = find()
    if path is None:
        raise RuntimeError(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()
