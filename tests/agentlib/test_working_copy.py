"""What a working copy holds, what stays behind, and that the folder itself is left
alone."""

import os
import stat
import sys
from pathlib import Path

import pytest

from agentlib.cli.working_copy import copy_folder

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1234", encoding="utf-8")


def files(folder: Path) -> list[str]:
    return sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(folder, "a.py", "sub/b.py")
    return folder


def test_files_and_folders_are_copied_and_counted(source, tmp_path):
    (source / "empty").mkdir()
    assert copy_folder(source, tmp_path / "copy") == "2 files, 8 bytes"
    assert files(tmp_path / "copy") == ["a.py", "sub/b.py"]
    assert (tmp_path / "copy/empty").is_dir()
    (tmp_path / "copy/a.py").write_text("changed")
    assert (source / "a.py").read_text() == "1234"


def test_what_is_large_and_no_source_stays_behind(source, tmp_path):
    write(
        source, ".git/HEAD", "node_modules/x.js", "sub/__pycache__/b.pyc", ".venv/x.py"
    )
    write(
        source,
        ".env",
        "sub/.env.local",
        ".ruff_cache/x",
        "env/pyvenv.cfg",
        "env/lib/x.py",
    )
    copy_folder(source, tmp_path / "copy")
    assert files(tmp_path / "copy") == ["a.py", "sub/b.py"]


@pytest.mark.parametrize("place", ["sessions", "."])
def test_a_copy_inside_its_source_does_not_hold_itself(source, place):
    folder = (source / place).resolve()
    copy_folder(source, folder / "s.workspace", avoid=folder)
    assert files(folder / "s.workspace") == ["a.py", "sub/b.py"]


@posix
def test_links_stay_as_they_are(source, tmp_path):
    targets = {"near": "a.py", "far": str(source / "sub"), "gone": "nowhere"}
    for name, target in targets.items():
        (source / name).symlink_to(target)
    copy = tmp_path / "copy"
    assert copy_folder(source, copy).startswith("2 files, ")
    assert {name: str((copy / name).readlink()) for name in targets} == targets


@posix
def test_what_can_not_be_copied_is_named(source, tmp_path):
    os.mkfifo(source / "pipe")
    assert (
        copy_folder(source, tmp_path / "a")
        == "2 files, 8 bytes; could not be copied: pipe"
    )
    if os.geteuid() != 0:  # root may read everything
        (source / "sub").chmod(0)
        (source / "a.py").chmod(0)
        size = copy_folder(source, tmp_path / "b")
        (source / "sub").chmod(0o700)
        files, _, names = size.partition("; could not be copied: ")
        assert (files, set(names.split(", "))) == (
            "0 files, 0 bytes",
            {"pipe", "sub", "a.py"},
        )


@posix
def test_a_device_is_not_copied(source, tmp_path):
    try:
        os.mknod(source / "zero", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root may make devices")
    said = copy_folder(source, tmp_path / "a")
    assert said.startswith("2 files, 8 bytes; ")
    assert said.endswith(": zero")


@posix
def test_only_its_owner_may_enter_a_copy(source, tmp_path):
    copy_folder(source, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_is_too_large_leaves_nothing_behind(source, tmp_path):
    with pytest.raises(ValueError, match="--in-place"):
        copy_folder(source, tmp_path / "copy", most=7)
    assert {path.name for path in tmp_path.iterdir()} == {source.name}


def test_a_file_that_is_too_large_is_not_even_begun(source, tmp_path, monkeypatch):
    with (source / "image").open("wb") as image:
        image.truncate(3_000_000_000)
    copied = []
    monkeypatch.setattr("shutil.copy2", lambda file, _: copied.append(Path(file).name))
    with pytest.raises(ValueError, match="--in-place"):
        copy_folder(source, tmp_path / "copy")
    assert "image" not in copied


class Killed(BaseException):
    """Ends the copying as a kill does: nothing is tidied up."""


def test_half_a_copy_is_never_taken_for_a_whole_one(source, tmp_path, monkeypatch):
    def kill(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copy2", kill)
        patch.setattr("shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(Killed):
            copy_folder(source, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    write(tmp_path / "copy.part", "old.py")
    copy_folder(source, tmp_path / "copy")
    assert files(tmp_path / "copy") == ["a.py", "sub/b.py"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "project"]


def test_an_older_copy_is_never_written_over(source, tmp_path):
    write(tmp_path / "copy", "mine.txt")
    with pytest.raises(FileExistsError):
        copy_folder(source, tmp_path / "copy")
    assert files(tmp_path / "copy") == ["mine.txt"]
