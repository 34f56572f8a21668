"""Real session files. They are not in the project: REAL_SESSIONS=DIR, or
../shared/sessions.

Without any, the tests over them are skipped.
"""

import os
from pathlib import Path

BESIDE = Path(__file__).parents[2] / "shared/sessions"
FOLDER = Path(os.environ.get("REAL_SESSIONS") or BESIDE)
FILES = sorted(FOLDER.glob("*.jsonl"))
