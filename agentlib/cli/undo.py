"""Keep each file as it was before the agent first wrote it, and put all of them
back."""

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Before:
    """The files of `root` before the agent's changes, kept in `folder` beside the
    session file.

    `old` in it has copies. `new` in it has an empty file in the place of each that
    wasn't there. What commands change isn't kept, because nobody knows which files they
    write.
    """

    root: Path
    folder: Path

    def keep(self, file: Path) -> None:
        """Keep a file of `root` that is about to be written, unless it is kept
        already."""
        old, new = (
            self.folder / kind / file.relative_to(self.root) for kind in ("old", "new")
        )
        if not (old.exists() or new.exists()):
            place = old if file.exists() else new
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(file, place) if place is old else place.touch()

    def put_back(self) -> list[str]:
        """Put every kept file back, remove those that are new, and return their names.

        One that can't be put back stays kept, and stands in the list with the reason.
        """
        kept = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return [
            self._put_back(path, *path.relative_to(self.folder).parts) for path in kept
        ]

    def _put_back(self, kept: Path, kind: str, *parts: str) -> str:
        file, name = self.root.joinpath(*parts), "/".join(parts)
        try:
            # A command may have put a symlink in the folder's place.
            if not file.parent.resolve().is_relative_to(self.root.resolve()):
                raise PermissionError(None, "its folder leads out of the workspace")
            file.unlink(missing_ok=True)
            if kind == "old":
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(kept, file)
            kept.unlink()
        except OSError as error:
            return f"{name} not: {error.strerror or error}"
        return name
