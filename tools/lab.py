"""Opens JupyterLab on the first lesson, without its popups. Arguments are passed on."""

import json
import os
import subprocess
import sys
from pathlib import Path

QUIET = [
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
]
# In a container there is often no other user than root, and Jupyter refuses that one unless told.
ROOT = ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
FIRST = Path("notebooks/00_the_wall.ipynb")


# The question whether to fetch news is a setting of the application, and no argument answers it.
OVERRIDES = Path(sys.prefix) / "share/jupyter/lab/settings/overrides.json"
NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}


def main(*arguments: str) -> int:
    if not OVERRIDES.exists():
        OVERRIDES.parent.mkdir(parents=True, exist_ok=True)
        OVERRIDES.write_text(json.dumps(NO_NEWS), encoding="utf-8")
    command = [sys.executable, "-m", "jupyterlab", *QUIET, *ROOT, *arguments]
    if FIRST.exists():
        command.append(str(FIRST))
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
