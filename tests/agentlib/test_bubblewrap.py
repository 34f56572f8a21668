"""What a command can't do in bubblewrap. Without one that works, a single skip says
so."""

import sys
from pathlib import Path

import pytest

from agentlib.cli.main import main
from agentlib.tools import ToolError, Workspace
from agentlib.tools.shell import confines

if not confines():
    pytest.skip(
        "install bubblewrap, and let it make namespaces", allow_module_level=True
    )


def failure(workspace: Workspace, command: str) -> str:
    with pytest.raises(ToolError) as caught:
        workspace.run("bash", {"command": command})
    return str(caught.value)


def test_in_bubblewrap_only_the_workspace_can_be_written(tmp_path):
    asked = []
    workspace = Workspace(
        tmp_path, sandbox=True, confirm=lambda command: bool(asked.append(command))
    )
    assert (
        workspace.bash("echo in > a; cat a; pwd; python -c 'print(1)'")
        == "in\n/workspace\n1"
    )
    assert (tmp_path / "a").read_text() == "in\n"
    assert "Read-only" in failure(workspace, "echo out > /etc/agentlib-was-here")
    at_home = Path(sys.prefix).parts[2:3] if sys.prefix.startswith("/tmp/") else ()
    assert workspace.bash("ls ~; cat /proc/net/route | wc -l").split() == [
        *at_home,
        "1",
    ]
    assert asked == []


def test_in_bubblewrap_the_keys_of_the_folder_can_not_be_opened(tmp_path):
    for name in (".env", ".env.local", ".env.example"):
        (tmp_path / name).write_text("NAME=hush-hush")
    (tmp_path / ".env.link").symlink_to(".env")
    workspace = Workspace(tmp_path, sandbox=True)
    assert workspace.bash("cat .env* 2> /dev/null | rev") == "hsuh-hsuh=EMAN"
    failure(workspace, "echo new > .env; mv .env aside; rm .env")
    assert (tmp_path / ".env").read_text() == "NAME=hush-hush"


@pytest.mark.parametrize("is_worktree", [False, True])
def test_in_bubblewrap_git_can_be_read_and_not_written(tmp_path, is_worktree):
    git = tmp_path / ".git"
    if is_worktree:
        git.write_text("gitdir: elsewhere")
    else:
        git.mkdir()
        (git / "config").write_text("old")
    (tmp_path / ".github").mkdir()
    workspace = Workspace(tmp_path, sandbox=True)
    for command in (
        "echo new > .git/config || echo new > .git",
        "mv .git aside",
        "rm -rf .git",
        "umount .git",
        "mount -o remount,rw,bind .git",
        "unshare -Urm umount .git",
        "unshare -Urm bash -c 'mount --bind /workspace /tmp && rm -rf /tmp/.git'",
        "mkdir .github/workflows",
        "mv .github aside",
    ):
        failure(workspace, command)
    assert workspace.bash("ls -A; cat .git/config || cat .git") == ".git\n.github\n" + (
        "cat: .git/config: Not a directory\ngitdir: elsewhere" if is_worktree else "old"
    )
    workspace.bash("touch made")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".git",
        ".github",
        "made",
    ]


def test_offline_too_a_command_writes_nothing_outside(tmp_path: Path):
    project = tmp_path / "project"
    outside = tmp_path / "outside"
    project.mkdir()
    (project / "a.py").write_text("MAX_SIZE = 3\n")
    text = f"open('inside', 'w')\nopen({str(outside)!r}, 'w')\n"
    (project / "test_a.py").write_text(text)
    places = ["--workspace", str(project), "--transcripts", str(tmp_path / "t")]
    main([*places, "Rename MAX_SIZE to SIZE_LIMIT everywhere and run the tests"])
    [copy] = (tmp_path / "t").glob("*.workspace")
    assert (copy / "inside").exists()
    assert not outside.exists()
