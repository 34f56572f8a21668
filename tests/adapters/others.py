"""Where the environment with other people's agents is, which `make test-adapters`
makes.

`OTHERS` names its folder, for `make test-adapters NEWEST=1`.
"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (
    ROOT
    / os.environ.get("OTHERS", "build/adapters")
    / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
)
