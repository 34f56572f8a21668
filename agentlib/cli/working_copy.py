"""A copy of a folder for the agent to work in, so that the folder itself is left alone.

Version control, virtual environments, packages and caches stay behind: they are large, and no
task here is about them. Not here: who works on a copy and where it lies (`__main__`), and the
confinement of the tools (tools).
"""

import math
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LEFT_OUT = {
    *(".git", ".hg", ".svn", ".jj", ".venv", ".tox", ".nox", "node_modules", "__pycache__"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    *(".transcripts", ".DS_Store"),
}
"""Names that are never copied, at any depth; nor is a folder that holds a `pyvenv.cfg`."""

MAX_BYTES = 1_000_000_000


class TooLarge(ValueError):
    """The folder holds more than is copied; what was copied so far is gone again."""


@dataclass(frozen=True)
class Copied:
    """What a copy holds, and what it doesn't."""

    files: int
    size: int
    """Bytes."""
    unread: tuple[str, ...]
    """What could not be read or linked, by its path in the folder."""

    def __str__(self) -> str:
        missing = f"; could not be read: {', '.join(self.unread[:5])}" if self.unread else ""
        return f"{self.files:,} files, {math.ceil(self.size / 1000):,} kB{missing}"


def copy_folder(
    source: Path, target: Path, *, avoid: Path | None = None, max_bytes: int = MAX_BYTES
) -> Copied:
    """Copy the files of `source` into the new folder `target`, which only its owner may enter.

    Symlinks stay links; an absolute one into `source` leads to the same place in the copy.
    `avoid`: a folder inside `source` that is left out too. Pipes, sockets and devices are left
    out. Raises TooLarge past `max_bytes`, OSError where `target` can't be written.

    >>> copy_folder(Path("demo"), Path("copy"))                                  # doctest: +SKIP
    Copied(files=1, size=4, unread=())
    """
    source, target = source.resolve(), target.absolute()
    target.mkdir(mode=0o700, parents=True)
    try:
        return _copied(source, target, avoid, max_bytes)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _copied(source: Path, target: Path, avoid: Path | None, max_bytes: int) -> Copied:
    files, size, unread = 0, 0, list[Path]()
    for entry in _entries(source, avoid, unread):
        try:
            grown = _copy(entry, target / entry.relative_to(source), source, target)
        except (PermissionError, FileNotFoundError) as error:
            if error.filename != str(entry):
                raise
            unread.append(entry)
            continue
        files, size = files + (grown is not None), size + (grown or 0)
        if size > max_bytes:
            raise TooLarge(
                f"{source} holds more than {max_bytes / 1e6:,.0f} MB: name a smaller folder, "
                "or let the agent work in this one with --in-place"
            )
    return Copied(files, size, tuple(p.relative_to(source).as_posix() for p in unread))


def _entries(folder: Path, avoid: Path | None, unread: list[Path]) -> Iterator[Path]:
    """Everything that is copied, a folder before what it holds."""
    try:
        found = [(entry, _kind(entry)) for entry in sorted(folder.iterdir())]
    except PermissionError:
        unread.append(folder)
        return
    for entry, kind in found:
        if kind == "other" or entry.name in LEFT_OUT or entry == avoid:
            continue
        yield entry
        if kind == "folder":
            yield from _entries(entry, avoid, unread)


def _kind(entry: Path) -> Literal["link", "file", "folder", "other"]:
    if entry.is_symlink():
        return "link"
    if entry.is_dir():
        with suppress(PermissionError):
            return "other" if (entry / "pyvenv.cfg").exists() else "folder"
        return "folder"
    return "file" if entry.is_file() else "other"


def _copy(entry: Path, place: Path, source: Path, target: Path) -> int | None:
    """Copy one entry; the size of a file, None for a link or a folder."""
    if entry.is_symlink():
        leads_to = entry.readlink()
        if leads_to.is_relative_to(source):
            leads_to = target / leads_to.relative_to(source)
        place.symlink_to(leads_to, target_is_directory=entry.is_dir())
        return None
    if entry.is_dir():
        place.mkdir()
        return None
    shutil.copy2(entry, place)
    return place.stat().st_size
