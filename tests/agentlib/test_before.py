"""Files are put back where they were, and nowhere else."""

from pathlib import Path

import pytest

from agentlib.cli.undo import Before


@pytest.fixture
def before(tmp_path: Path) -> Before:
    """What stood in three files before they were changed."""
    root = tmp_path / "work"
    for name in ("a/one.txt", "b/two.txt", "c/three.txt"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("old")
    before = Before(root, tmp_path / "kept")
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
