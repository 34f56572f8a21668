"""Filling a folder for a task: texts written, an installed package copied, lines planted.

The same bytes on every machine, with the locked versions. Not here: the tasks (scenarios).
"""

import shutil
from importlib.util import find_spec
from pathlib import Path


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write texts below a folder, the same bytes on every machine."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


def copy_package(name: str, folder: Path, *, largest: int | None = None) -> None:
    """Copy the Python files of an installed package into `folder/name`.

    `largest`: bytes; larger files stay behind. Raises ModuleNotFoundError with the fix.
    """
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"the package {name!r} is read in this scenario and is not installed; run `make setup`"
        )
    source = Path(next(iter(spec.submodule_search_locations)))
    for file in sorted(source.rglob("*.py")):
        if largest is None or file.stat().st_size <= largest:
            target = folder / name / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def plant(folder: Path, lines: dict[str, str]) -> None:
    """Put a comment at the top of files: path -> the comment's text."""
    for path, line in lines.items():
        file = folder / path
        text = file.read_text(encoding="utf-8")
        file.write_text(f"# {line}\n\n{text}", encoding="utf-8", newline="\n")
