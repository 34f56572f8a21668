"""Where our packages are, and how another process finds them."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAB = ROOT / "lab"
PACKAGES = {
    "agentlib": ROOT / "agentlib",
    "offline_api": LAB / "offline_api",
    "session_report": LAB / "session_report",
    "windtunnel": LAB / "windtunnel",
    "course": ROOT / "course",
}
"""The folder of each package. A package imports only those before it."""
PYTHONPATH = os.pathsep.join([str(ROOT), str(LAB)])
"""For a process that a test starts. In a copy of the repository, the editable install
would lead it to the original's packages."""
