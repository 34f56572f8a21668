"""Runs a make target whose file is there, and says so plainly where it comes with a later lesson.

python tools/later.py bench tests/benchmarks/bench.py tests/benchmarks/bench.py --quick
"""

import subprocess
import sys
from pathlib import Path


def main(target: str, needed: str, *arguments: str) -> int:
    if not Path(needed).exists():
        print(f"`make {target}` comes with a later lesson: there is no {needed} yet.")
        return 0
    return subprocess.run([sys.executable, *arguments], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
