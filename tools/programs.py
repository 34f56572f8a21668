"""Install the known programs under build/programs and run them in the wind tunnel.

make programs               installs and runs all of them, on five seeds
make programs NAME=pi       one of them

Each has a folder of its own, apart from .venv, and none of their install scripts runs.
The rows are stored in lab/windtunnel/programs/field.json: sizes, kinds and marks, and
nothing of a program's code, prompts or texts.
"""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

from windtunnel.programs.command import judged, text
from windtunnel.programs.field import FIELD, stored
from windtunnel.programs.program import INSTALLED, from_known, known, node, table

ROOT = Path(__file__).parent.parent
SEEDS = range(1, 6)
WINDOW = 100_000
"""The smallest window that every one of them takes."""
PRICED_AS = "claude-haiku-5-5"


def install(name: str) -> None:
    """Install a program at the version that was tried, if that hasn't been done."""
    row = table(name)
    place = ROOT / INSTALLED / name
    wanted = [f"{row['package']}{_SIGN[row['kind']]}{row['version']}"]
    wanted += row.get("with", [])
    mark = place / "installed.json"
    if mark.exists() and json.loads(mark.read_text()) == wanted:
        return
    place.mkdir(parents=True, exist_ok=True)
    if row["kind"] == "npm":
        (place / "package.json").write_text('{"private": true}\n')
        (bin_folder,) = node()
        npm = bin_folder.parent / "lib/node_modules/npm/bin/npm-cli.js"
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        call = [str(bin_folder / "node"), str(npm), "install", *options, *wanted]
        subprocess.run(call, cwd=place, check=True)
    else:
        uv = [sys.executable, "-m", "uv"]
        subprocess.run(
            [*uv, "venv", "--quiet", "--clear", "--python", sys.executable, place],
            check=True,
        )
        python = place / "bin/python"
        # Wheels only, because building a package would run its code.
        subprocess.run(
            [
                *(*uv, "pip", "install", "--quiet", "--only-binary", ":all:"),
                *("--python", python, *wanted),
            ],
            check=True,
        )
    mark.write_text(json.dumps(wanted))


_SIGN = {"npm": "@", "pypi": "=="}


def main(names: list[str]) -> None:
    """Install and run programs, and store a row for each seed.

    An unknown name ends it before anything is installed.
    """
    if unknown := set(names) - set(known()):
        sys.exit(f"NAME={min(unknown)} is unknown; choose of {', '.join(known())}")
    rows: list[dict[str, Any]] = json.loads(FIELD.read_text()) if FIELD.exists() else []
    for name in names or known():
        try:
            install(name)
        except subprocess.CalledProcessError as error:
            print(f"{name} could not be installed: {error}", file=sys.stderr)
            continue
        program = from_known(name, ROOT / INSTALLED)
        keep = ROOT / "build/programs/kept" / name
        fresh: list[dict[str, Any]] = []
        for row in judged(program, WINDOW, SEEDS, model=PRICED_AS, keep=keep):
            print(text(row), flush=True)
            fresh.append(stored(row, date.today().isoformat()))
        rows = [row for row in rows if row["program"] != name] + fresh
        rows.sort(key=lambda row: (row["program"], row["seed"]))
        lines = ",\n".join(json.dumps(row) for row in rows)
        FIELD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
