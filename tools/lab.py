"""Bring the workbook up to date and open JupyterLab at An hour.

python -m tools.lab                  # what `make lab` runs
python -m tools.lab --no-browser     # arguments are passed on to JupyterLab
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tools import workbook

FIRST = f"/lab/tree/{workbook.FOLDER}/an_hour.ipynb"
QUIET = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
    "--ServerApp.log_level=WARN",  # its address is printed all the same
    "--LabApp.log_level=WARN",
)
# The pictures are PNG with a white ground, and a kernel can't know the theme. No ink
# could do for both: of all greys the best has a contrast of 4.3 on white and on #111,
# and text needs 4.5. So the page turns the pictures over.
CUSTOM = {"static_custom_path": [str(Path(__file__).with_name("lab_style"))]}
STYLE = ("--LabApp.custom_css=True", f"--ServerApp.tornado_settings={CUSTOM!r}")
# A container often has no user but root, and Jupyter refuses to run as root unless told
# to.
AS_ROOT = ("--allow-root",) if getattr(os, "geteuid", lambda: 1)() == 0 else ()
# JupyterLab asks whether to fetch news. No argument answers that, only this file does.
OVERRIDES = Path(sys.prefix) / "share/jupyter/lab/settings/overrides.json"
NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}


def command(root: Path, *arguments: str) -> list[str]:
    """Return the command that opens An hour.

    The server's root is the repository, because lessons link to files outside the
    workbook.
    """
    server = [sys.executable, "-m", "jupyterlab", *QUIET, *STYLE, *AS_ROOT]
    return [
        *server,
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url={FIRST}",
        *arguments,
    ]


def main(*arguments: str) -> int:
    try:
        for line in workbook.update():
            print(line, flush=True)
        if not OVERRIDES.exists():
            OVERRIDES.parent.mkdir(parents=True, exist_ok=True)
            OVERRIDES.write_text(json.dumps(NO_NEWS), encoding="utf-8")
        return subprocess.run(
            command(workbook.ROOT, *arguments), check=False
        ).returncode
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
