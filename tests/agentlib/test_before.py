"""Files are put back where they were, and nowhere else."""

from hashlib import sha256
from pathlib import Path

import pytest

from agentlib.cli.kept_files import NEW, Before


def keeper(root: Path, folder: Path) -> Before:
    """A keeper whose notes are in memory."""
    notes: dict[str, str] = {}

    def note(name: str, digest: str | None) -> None:
        if digest is None:
            notes.pop(name, None)
        else:
            notes[name] = digest

    return Before(root, folder, note, lambda: dict(notes))


@pytest.fixture
def before(tmp_path: Path) -> Before:
    """What stood in three files before they were changed."""
    root = tmp_path / "work"
    for name in ("a/one.txt", "b/two.txt", "c/three.txt"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("old")
    before = keeper(root, tmp_path / "s.before/work")
    for file in sorted(root.rglob("*.txt")):
        before.keep(file)
        file.write_text("new")
    return before


def test_nothing_is_written_through_a_link_that_leads_out_of_the_workspace(
    before, tmp_path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "two.txt").write_text("mine")
    (before.root / "b/two.txt").unlink()
    (before.root / "b").rmdir()
    (before.root / "b").symlink_to(outside)
    names = before.put_back()
    assert names == ["a/one.txt", "b/two.txt not: its folder leads out of the workspace",
                     "c/three.txt"]  # fmt: skip
    assert (outside / "two.txt").read_text() == "mine"
    assert (before.root / "c/three.txt").read_text() == "old"


def test_what_stands_in_the_way_stays_and_the_rest_is_put_back(before):
    (before.root / "b/two.txt").unlink()
    (before.root / "b/two.txt").mkdir()
    first, second, third = before.put_back()
    assert (first, third) == ("a/one.txt", "c/three.txt")
    assert second.startswith("b/two.txt not: ")
    (before.root / "b/two.txt").rmdir()
    assert before.put_back() == ["b/two.txt"]
    assert (before.root / "b/two.txt").read_text() == "old"


def test_a_file_that_nobody_noted_is_not_put_back_or_taken_away(before):
    for kind in ("old", "new"):
        (before.folder / kind).mkdir()
        (before.folder / kind / "thesis.txt").write_text("planted")
    (before.root / "thesis.txt").write_text("mine")
    *names, rest = before.put_back()
    assert len(names) == 3
    assert " not: " in rest
    assert (before.root / "thesis.txt").read_text() == "mine"


def test_a_copy_that_was_changed_is_not_put_back(before):
    for copy in before.folder.iterdir():
        copy.write_text("planted")
    assert all(" not: " in name for name in before.put_back())
    assert (before.root / "a/one.txt").read_text() == "new"


@pytest.mark.parametrize(
    "name",
    [
        *(".git/hooks/pre-commit", ".GIT/config", ".env", "sub/.env", "HEAD"),
        *(".claude/settings.json", ".travis.yml", "agents/x", "link/x"),
        *("../outside.txt", "/etc/passwd", "a/../../outside.txt", "keys.txt"),
    ],
)
def test_a_note_that_somebody_planted_reaches_no_protected_name(tmp_path, name):
    root = tmp_path / "work"
    (root / "agents").mkdir(parents=True)
    (root / ".claude").symlink_to("agents")
    (root / "link").symlink_to(".claude")
    (root / ".env").symlink_to("keys.txt")
    (tmp_path / "outside.txt").write_text("mine")
    tree = sorted(root.rglob("*"))
    before = keeper(root, tmp_path / "s.before/work")
    for digest in (NEW, sha256(b"EVIL").hexdigest()):
        before.note(name, digest)
        copy = before.folder / sha256(name.encode()).hexdigest()[:32]
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("EVIL")
        (said,) = before.put_back()
        assert " not: " in said
    assert sorted(root.rglob("*")) == tree
    assert (tmp_path / "outside.txt").read_text() == "mine"


def test_what_stands_in_the_place_moves_aside_and_is_not_lost(before):
    (before.root / "a/one.txt").write_text("edited by hand")
    made = before.root / "made.txt"
    before.keep(made)
    made.write_text("made by the agent")
    assert before.put_back() == ["a/one.txt", "b/two.txt", "c/three.txt", "made.txt"]
    assert not made.exists()
    texts = {file.read_text() for file in before.folder.iterdir()}
    assert texts >= {"edited by hand", "made by the agent"}
    assert before.put_back() == []


def test_a_file_is_kept_again_after_it_was_put_back(before):
    before.put_back()
    file = before.root / "a/one.txt"
    file.write_text("newer")
    before.keep(file)
    file.write_text("newest")
    before.keep(file)
    assert before.put_back() == ["a/one.txt"]
    assert file.read_text() == "newer"


@pytest.mark.parametrize("place", ["s.before", "s.before/work"])
def test_no_copy_is_made_through_a_link(tmp_path, place):
    root = tmp_path / "work"
    home = tmp_path / "home"
    root.mkdir()
    home.mkdir()
    (root / "a.txt").write_text("old")
    link = tmp_path / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(home)
    before = keeper(root, tmp_path / "s.before/work")
    with pytest.raises(PermissionError):
        before.keep(root / "a.txt")
    assert list(home.iterdir()) == []


def test_a_copy_is_not_read_through_a_link_either(before, tmp_path):
    (tmp_path / "precious").write_text("mine")
    for copy in list(before.folder.iterdir()):
        copy.unlink()
        copy.symlink_to(tmp_path / "precious")
    assert all(" not: " in name for name in before.put_back())
    assert (before.root / "a/one.txt").read_text() == "new"
