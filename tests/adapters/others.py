"""Where the environment with other people's agents is, which `make test-adapters`
makes."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (
    ROOT
    / "build/adapters"
    / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
)
