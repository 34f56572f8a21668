"""No path leads the file tools out of the workspace, which the model knows as `/workspace`."""

from pathlib import Path

import pytest

from agentlib.tools import ToolError, Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "root"
    root.mkdir()
    return Workspace(root)


def failure(workspace: Workspace, name: str, inputs: object) -> str:
    with pytest.raises(ToolError) as caught:
        workspace.run(name, inputs)
    return str(caught.value)


def can_link(folder: Path) -> bool:
    try:
        (folder / "probe").symlink_to(folder)
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "path",
    [
        *("../secret", "sub/../../secret", "/workspace/../secret", "~root/../../secret"),
        *("/workspace2/secret", "{outside}/secret"),
    ],
)
def test_no_path_leads_out(workspace, tmp_path, path):
    (tmp_path / "secret").write_text("kept")
    path = path.replace("{outside}", str(tmp_path))
    for name, more in (("read_file", {}), ("write_file", {"content": "stolen"})):
        assert "outside the workspace" in failure(workspace, name, {"path": path} | more)
    assert (tmp_path / "secret").read_text() == "kept"


def test_no_symlink_leads_out(workspace, tmp_path):
    if not can_link(tmp_path):
        pytest.skip("this system lets nobody make links")
    (tmp_path / "secret").write_text("kept")
    (workspace.root / "file").symlink_to(tmp_path / "secret")
    (workspace.root / "folder").symlink_to(tmp_path)
    (workspace.root / "loop").symlink_to(workspace.root / "loop")
    for path in ("file", "folder/secret"):
        inputs = {"path": path, "old_text": "kept", "new_text": "stolen"}
        assert "outside the workspace" in failure(workspace, "edit_file", inputs)
        assert "outside" in failure(workspace, "write_file", {"path": path, "content": "stolen"})
    assert (tmp_path / "secret").read_text() == "kept"
    assert "loop" in failure(workspace, "read_file", {"path": "loop"})


def test_a_link_within_is_followed_and_stays_a_link(workspace, tmp_path):
    if not can_link(tmp_path):
        pytest.skip("this system lets nobody make links")
    workspace.write_file("real/a", "one")
    (workspace.root / "link").symlink_to(workspace.root / "real")
    assert workspace.write_file("link/a", "two") == "Wrote 3 bytes to real/a"
    assert (workspace.root / "link").is_symlink()


def test_every_way_to_write_a_path_is_one_file(workspace):
    for path in ("a/b", "/workspace/a/b", "./a//b", str(workspace.root / "a" / "b")):
        assert workspace.write_file(path, "x") == "Wrote 1 bytes to a/b"


@pytest.mark.parametrize("command", ["cat /workspace/a", "cd /workspace", 'ls "/workspace"'])
def test_outside_bubblewrap_a_command_that_names_workspace_is_refused(workspace, command):
    assert "use relative paths" in failure(workspace, "bash", {"command": command})
    workspace.write_file("sub/workspace/a", "x")
    assert workspace.bash("cat sub/workspace/a; echo ~/workspace > /dev/null") == "x"


def test_the_output_of_commands_calls_the_folder_workspace(workspace):
    assert workspace.bash("mkdir sub; cd sub; pwd") == "/workspace/sub"


def test_a_workspace_must_be_a_folder_and_not_the_disk(tmp_path):
    with pytest.raises(NotADirectoryError, match="make it first"):
        Workspace(tmp_path / "gone")
    with pytest.raises(ValueError, match="whole disk"):
        Workspace(Path(tmp_path.anchor))
