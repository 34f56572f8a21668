"""Keep each file as it was before the agent first wrote it, and put all of them
back."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

from agentlib.tools import shell

NEW = ""
"""Stands for the SHA-256 of a file that wasn't there before."""


@dataclass(frozen=True)
class Before:
    """The files of `root` before the agent's changes, kept in `folder` beside the
    session file.

    The session notes each file with the SHA-256 of its copy. Only such files are put
    back, because a repository could bring a folder with copies of its own. What
    commands change isn't kept, because nobody knows which files they write.
    """

    root: Path
    folder: Path
    note: Callable[[str, str | None], None]
    """Notes a name with the SHA-256 of its copy, or with None once it is put back."""
    noted: Callable[[], Mapping[str, str]]
    """Returns what was noted and isn't put back yet."""

    def keep(self, file: Path) -> None:
        """Keep a file of `root` that is about to be written, unless it is kept
        already.

        Raises PermissionError if the place of the copies is a symlink.
        """
        name = file.relative_to(self.root).as_posix()
        if name in self.noted():
            return
        if not file.exists():
            self.note(name, NEW)
            return
        copy = self._copy(name)
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        copy.unlink(missing_ok=True)
        shutil.copy2(file, copy)
        self.note(name, _digest(copy))

    def put_back(self) -> list[str]:
        """Put every kept file back, take away those that are new, and return their
        names.

        What stands in their place moves into `folder`. A file that can't be put back
        stays kept, and stands in the list with the reason.
        """
        names = [self._put_back(*each) for each in sorted(self.noted().items())]
        old = [self.folder / kind for kind in ("old", "new")]
        if any(folder.is_dir() for folder in old):
            reason = "not: an older version kept it; copy it back by hand"
            names.append(f"{self.folder} {reason}")
        return names

    def _put_back(self, name: str, digest: str) -> str:
        try:
            file = self._place(name)
            if file.is_dir() and not file.is_symlink():
                raise IsADirectoryError(None, "a folder stands in its place")
            copy = self._copy(name)
            if digest != NEW and digest != _digest(copy):
                raise PermissionError(None, "its copy was changed")
            if os.path.lexists(file):
                self._set_aside(file)
            if digest != NEW:
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(copy, file)
            self.note(name, None)
            copy.unlink(missing_ok=True)
        except OSError as error:
            return f"{name} not: {error.strerror or error}"
        return name

    def _place(self, name: str) -> Path:
        """Find where a file is to be put back. Raises PermissionError if it must not
        be."""
        root = self.root.resolve()
        file = root / name
        # A command may have put a symlink in the folder's place.
        place = file.parent.resolve() / file.name
        if ".." in file.parts or not place.is_relative_to(root):
            raise PermissionError(None, "its folder leads out of the workspace")
        inner = place.relative_to(root).as_posix()
        folders = shell.steps(root, Path(name).parent.as_posix())
        names = [name, inner, *(f"{folder}/{file.name}" for folder in folders)]
        is_keys = place == Path(os.path.realpath(root / ".env"))
        if (
            is_keys
            or shell.is_linked(root, place)
            or any(shell.is_protected(each) or shell.holds_keys(each) for each in names)
        ):
            raise PermissionError(None, "only you may write it; copy it back by hand")
        return place

    def _copy(self, name: str) -> Path:
        """Return the place of a copy. Raises PermissionError if it is behind a
        symlink."""
        copy = self.folder / sha256(os.fsencode(name)).hexdigest()[:32]
        if any(path.is_symlink() for path in (self.folder.parent, self.folder, copy)):
            raise PermissionError(None, f"{self.folder} holds a symlink; remove it")
        return copy

    def _set_aside(self, file: Path) -> None:
        """Move a file out of the way, to a name of its own in `folder`."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        number = sum(1 for _ in self.folder.glob("undone-*"))
        while os.path.lexists(aside := self.folder / f"undone-{number}-{file.name}"):
            number += 1
        shutil.move(file, aside)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
