"""A real JupyterLab on loopback and a real Chromium, both with nothing of the user's
own.

JupyterLab is started as `make lab` starts it, over a copy of the course. The copy, the
settings and the kernels' files live in a folder that the caller gives, so neither the
repository nor the user's home is written to. Its kernels are forked, as nbval's are.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.packages import PYTHONPATH, ROOT
from tools import workbook
from tools.browser import MISSING, find
from tools.lab import command

HERE = Path(__file__).parent
NOTEBOOKS = sorted(
    path for path in (ROOT / "notebooks").glob("*.ipynb") if path.stem != "index"
)
SETTINGS = {
    # By default JupyterLab takes cells that are not in view out of the page.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false"},
    "docmanager-extension/plugin": {"autosave": False},
}
ARGUMENTS = (
    "--no-browser",
    "--ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--expose-app-in-browser",  # lets a test ask JupyterLab whether it is ready
)
QUIET = (
    "--no-sandbox",  # Chromium has none for root
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
    """A running server: its address, its secret, and the root folder that it shows."""

    address: str
    token: str
    root: Path

    @property
    def url(self) -> str:
        """The page of JupyterLab, with nothing open."""
        return f"{self.address}/lab?reset&token={self.token}"


@contextmanager
def jupyter_lab(folder: Path) -> Iterator[Lab]:
    """Run JupyterLab over a copy of the course; stop it and its kernels afterwards."""
    lab = Lab(
        f"http://127.0.0.1:{_free_port()}", secrets.token_hex(), _copy_course(folder)
    )
    _write_settings(folder / "settings")
    address = (
        f"--port={lab.address.rpartition(':')[2]}",
        f"--IdentityProvider.token={lab.token}",
    )
    log = folder / "jupyter.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command(lab.root, *ARGUMENTS, *address),
            env=_environment(folder),
            stdout=out,
            stderr=out,
        )
        try:
            _wait_until_up(lab, server, log)
            yield lab
        finally:
            server.terminate()
            server.wait(PATIENCE)


def _copy_course(folder: Path) -> Path:
    """Copy what lessons link to, with a workbook; return the copy's root."""
    root = folder / "course"
    left_out = shutil.ignore_patterns(".*", "__pycache__")
    for name in ("notebooks", "agentlib", "lab", "docs"):
        shutil.copytree(ROOT / name, root / name, ignore=left_out)
    shutil.copy(ROOT / "README.md", root)
    workbook.update(root)
    return root


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
    start = folder / "ipython/profile_default/startup/runs.py"
    start.parent.mkdir(parents=True)
    start.write_text("from tools import runs\n\nruns.install()\n", encoding="utf-8")
    config = folder / "config/jupyter_server_config.py"
    config.parent.mkdir()
    config.write_text(
        "from tools import warm_kernel\n\nwarm_kernel.install()\n", encoding="utf-8"
    )
    own_folders = {name: str(folder / value) for name, value in own.items()}
    code = os.pathsep.join([str(probe), PYTHONPATH])
    return os.environ | own_folders | {"PYTHONPATH": code}


def _write_settings(folder: Path) -> None:
    for name, values in SETTINGS.items():
        file = folder / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def _wait_until_up(lab: Lab, server: "subprocess.Popen[bytes]", log: Path) -> None:
    status = urllib.request.Request(
        f"{lab.address}/api/status", headers={"Authorization": f"token {lab.token}"}
    )
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(status, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(
        f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-3000:]}"
    )


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a Chromium without a window. RuntimeError with advice if there is none."""
    path = find()
    if path is None:
        raise RuntimeError(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()
