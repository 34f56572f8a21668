"""Make `.venv` from requirements.lock. `make setup` runs this on a bare Python.

pip installs uv, and uv installs the rest in seconds.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
OLDEST = (3, 11)


def venv_python() -> Path:
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def locked(name: str, lock: str) -> str:
    """Return the pin of one package.

    >>> locked("uv", "ruff==0.1\\nuv==1.0\\n")
    'uv==1.0'
    """
    pins = [line for line in lock.splitlines() if line.startswith(f"{name}==")]
    if not pins:
        raise SystemExit(
            f"requirements.lock has no line for {name}. `make lock` writes it again."
        )
    return pins[0].split(";")[0].strip()


def run(*command: str | Path) -> None:
    try:
        subprocess.run([str(part) for part in command], check=True, cwd=ROOT)
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"Set-up stopped because this command failed: {' '.join(error.cmd)}"
        ) from None


def make_venv() -> None:
    print(f"Making .venv with Python {sys.version.split()[0]} ...", flush=True)
    try:
        venv.create(VENV, with_pip=True, clear=True)
    except subprocess.CalledProcessError:
        raise SystemExit(
            "This Python can't make a .venv, because it has no `ensurepip`. On Debian and Ubuntu, "
            "`apt-get install python3-venv` adds it. Then run this again."
        ) from None


def main() -> None:
    if sys.version_info < OLDEST:
        version = ".".join(str(part) for part in sys.version_info[:2])
        raise SystemExit(
            f"The course needs Python 3.11 or newer, and this is {version}. "
            "Choose another: make setup PYTHON=python3.12"
        )
    python = venv_python()
    if not python.exists():
        make_venv()
    uv = locked("uv", LOCK.read_text(encoding="utf-8"))
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", uv)
    install = [python, "-m", "uv", "pip", "install", "--python", python]
    run(*install, "-r", LOCK)
    run(*install, "--quiet", "--no-deps", "--no-build-isolation", "-e", ROOT)
    (VENV / "installed").touch()
    print(
        "Ready: `make lab` opens the course, `make test` runs the tests.",
        flush=True,
    )


if __name__ == "__main__":
    main()
