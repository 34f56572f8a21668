"""Copy a folder for the agent to work in, so that the folder itself stays as it is."""

import shutil
from pathlib import Path

from agentlib.tools.shell import holds_keys

_LEFT_OUT = shutil.ignore_patterns(
    *(
        ".git",
        ".hg",
        ".svn",
        ".jj",
        ".venv",
        ".tox",
        ".nox",
        "node_modules",
        "__pycache__",
    ),
    *(".*_cache", ".hypothesis", ".ipynb_checkpoints", ".transcripts", ".DS_Store"),
)


def copy_folder(
    source: Path, target: Path, *, avoid: Path | None = None, most: int = 10**9
) -> str:
    """Copy the files of `source` into the new folder `target`, which only its owner may
    enter.

    Returns the size of the copy, and up to five paths that could not be copied, because
    they may not be read or are no files, such as devices and pipes. Version control,
    packages, caches, `.env` files, the contents of virtual environments and the folder
    `avoid` are left out. Symlinks stay as they are: an absolute one into `source` still
    leads to `source`, not into the copy.

    The copy is made under another name and then renamed, so a `target` is always whole.
    Raises ValueError before it would exceed `most` bytes, and OSError if there is a
    `target` already or it can't be written. Then no copy stays behind.

    >>> _ = Path("demo").mkdir(), Path("demo/a.txt").write_text("four")
    >>> copy_folder(Path("demo"), Path("copy"))
    '1 files, 4 bytes'
    """
    files = size = 0
    missing = ""
    part = target.with_name(f"{target.name}.part")
    if target.exists():
        raise FileExistsError(f"{target} is there already")

    def ignore(folder: str, names: list[str]) -> set[str]:
        is_venv = "pyvenv.cfg" in names
        own = (avoid, part)
        ours = {
            name
            for name in names
            if is_venv or holds_keys(name) or Path(folder, name) in own
        }
        return ours | _LEFT_OUT(folder, names)

    def copy(file: str, place: str) -> None:
        nonlocal files, size
        if not Path(file).is_file():
            raise shutil.SpecialFileError(f"{file} is a device, a pipe or a socket")
        more = Path(file).stat().st_size
        if size + more > most:
            cure = "name a smaller folder, or let the agent work in this one with --in-place"
            raise ValueError(f"{source} holds more than {most / 1e6:,.0f} MB: {cure}")
        shutil.copy2(file, place)
        files = files + 1
        size = size + more

    shutil.rmtree(part, ignore_errors=True)  # a kill left it behind
    part.mkdir(mode=0o700, parents=True)
    try:
        shutil.copytree(source, part, True, ignore, copy, dirs_exist_ok=True)
    except shutil.Error as error:
        paths = [
            Path(path).relative_to(source).as_posix() for path, _, _ in error.args[0]
        ]
        missing = f"; could not be copied: {', '.join(paths[:5])}"
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    part.chmod(0o700)  # copytree gave it the mode of `source`
    part.rename(target)
    return f"{files:,} files, {size:,} bytes{missing}"
