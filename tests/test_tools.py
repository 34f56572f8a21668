"""The tools as the model meets them: what they accept, what they answer, what they refuse."""

import inspect
import os
import sys
from pathlib import Path

import pytest

from agentlib.tools import MAX_FILE, ToolError, Workspace, result

posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes and modes of POSIX")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "root"
    root.mkdir()
    return Workspace(root)


def failure(workspace: Workspace, name: str, inputs: object) -> str:
    with pytest.raises(ToolError) as caught:
        workspace.run(name, inputs)
    return str(caught.value)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_tools_stand_in_a_fixed_order(workspace):
    four = ["bash", "read_file", "write_file", "edit_file"]
    assert [each["name"] for each in workspace.definitions] == four
    recalling = Workspace(workspace.root, recall=str)
    assert [each["name"] for each in recalling.definitions] == [*four, "recall"]


def test_the_schema_is_what_the_function_takes(workspace):
    recalling = Workspace(workspace.root, recall=str)
    for definition in recalling.definitions:
        schema = definition["input_schema"]
        parameters = inspect.signature(recalling.tools[definition["name"]]).parameters
        needed = [p.name for p in parameters.values() if p.default is inspect.Parameter.empty]
        assert list(schema["properties"]) == list(parameters)
        assert schema["required"] == needed


def test_an_unknown_tool_names_those_there_are(workspace):
    said = "there is no tool 'grep'; there are bash, read_file, write_file, edit_file"
    assert failure(workspace, "grep", {}) == said
    assert failure(workspace, "recall", {"tool_use_id": "x"}).startswith(
        "there is no tool 'recall'"
    )


def test_bad_inputs_are_named_with_what_is_expected(workspace):
    said = failure(workspace, "read_file", {"path": "a", "limit": "5"})
    assert said == "limit must be a whole number from 1 on, not '5'"
    assert failure(workspace, "bash", None).startswith("the input must be an object with command")


def test_null_leaves_an_optional_input_out(workspace):
    workspace.run("write_file", {"path": "a", "content": "one\n"})
    assert workspace.run("read_file", {"path": "a", "offset": None, "limit": None}) == "one"


def test_a_result_answers_its_call(workspace):
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "echo hi"}}
    good = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hi"}
    assert result(call, workspace) == good
    bad = result(call | {"input": {"command": "echo no; exit 4"}}, workspace)
    assert bad == good | {"content": "no\n(exit code 4)", "is_error": True}


def test_what_nobody_expected_is_raised(workspace):
    def broken(_: str) -> str:
        raise PermissionError("the session file is gone")

    call = {"type": "tool_use", "id": "toolu_1", "name": "recall", "input": {"tool_use_id": "x"}}
    with pytest.raises(PermissionError, match="session file"):
        result(call, Workspace(workspace.root, recall=broken))


def test_recall_gives_an_earlier_result_back(workspace):
    recalling = Workspace(workspace.root, recall={"toolu_1": "the text"}.__getitem__)
    assert recalling.run("recall", {"tool_use_id": "toolu_1"}) == "the text"
    assert "toolu_2" in failure(recalling, "recall", {"tool_use_id": "toolu_2"})


def test_bytes_are_bytes(workspace):
    said = workspace.write_file("new/folder/a.txt", "né\r\n")
    assert said == "Wrote 5 bytes to new/folder/a.txt"
    assert (workspace.root / "new/folder/a.txt").read_bytes() == b"n\xc3\xa9\r\n"


def test_a_write_is_whole_and_leaves_nothing_beside_it(workspace):
    old, other = workspace.root / "old", workspace.root / "other"
    old.write_text("before")
    os.link(old, other)
    workspace.write_file("old", "after")
    assert (old.read_text(), other.read_text()) == ("after", "before")
    assert names(workspace.root) == ["old", "other"]


@posix
def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(workspace):
    resource = pytest.importorskip("resource")
    workspace.write_file("a", "before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        said = failure(workspace, "write_file", {"path": "a", "content": "x" * 2_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert said == "a: File too large"
    assert (names(workspace.root), workspace.read_file("a")) == (["a"], "before")


def test_a_path_that_can_not_be_is_an_error_with_its_name(workspace):
    workspace.write_file("file", "here")
    for path in ("file/under", "x" * 300):
        said = failure(workspace, "write_file", {"path": path, "content": "x"})
        assert said.startswith(path + ": ")
    assert names(workspace.root) == ["file"]


@posix
def test_a_script_stays_executable(workspace):
    script = workspace.root / "run.sh"
    script.write_text("echo one\n")
    script.chmod(0o755)
    workspace.edit_file("run.sh", "one", "two")
    assert script.stat().st_mode & 0o777 == 0o755
    assert workspace.bash("./run.sh") == "two"


def test_an_edit_changes_one_place(workspace):
    workspace.write_file("a.py", "x = 1\ny = 2\n")
    assert workspace.edit_file("a.py", "y = 2", "y = 3") == "Edited a.py"
    assert workspace.read_file("a.py") == "x = 1\ny = 3"


@pytest.mark.parametrize(
    ("content", "old", "said"),
    [
        ("x = 1\nx = 1\n", "x = 1", "stands in a.py 2 times"),
        ("aaa", "aa", "stands in a.py 2 times"),
        ("x = 1\n", "x=1", "is not in a.py"),
        ("x = 1\n", "", "old_text is empty"),
        ("a+b\n", "a.b", "is not in a.py"),
    ],
)
def test_an_edit_without_one_clear_place_is_refused(workspace, content, old, said):
    workspace.write_file("a.py", content)
    inputs = {"path": "a.py", "old_text": old, "new_text": "new"}
    assert said in failure(workspace, "edit_file", inputs)
    assert (workspace.root / "a.py").read_bytes() == content.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\nend\r\n", b"\xef\xbb\xbfONE\r\n\\1\r\nTWO\r\nend\r\n"),
        (b"one\ntwo\nend\r\n", b"ONE\n\\1\nTWO\nend\r\n"),
        (b"one\rtwo\r", b"ONE\r\\1\rTWO\r"),
    ],
)
def test_an_edit_keeps_the_files_newlines(workspace, before, after):
    file = workspace.root / "a.txt"
    file.write_bytes(before)
    workspace.edit_file("a.txt", "one\ntwo", "ONE\n\\1\nTWO")
    assert file.read_bytes() == after


def test_what_is_no_utf8_is_never_edited(workspace):
    file = workspace.root / "latin"
    file.write_bytes(b"caf\xe9 one\n")
    inputs = {"path": "latin", "old_text": "one", "new_text": "two"}
    assert "not UTF-8" in failure(workspace, "edit_file", inputs)
    assert file.read_bytes() == b"caf\xe9 one\n"
    assert workspace.read_file("latin") == "caf\ufffd one"


def test_reading_takes_lines_as_editors_do(workspace):
    (workspace.root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\x0c\xe2\x80\xa8\rthree")
    assert workspace.read_file("a") == "one\ntwo\x0c\u2028\nthree"
    assert workspace.read_file("a", offset=1, limit=1) == "two\x0c\u2028\n... (1 more)"


def test_reading_past_the_end_says_how_long_the_file_is(workspace):
    workspace.write_file("a", "one\ntwo\nthree\n")
    inputs = {"path": "a", "offset": 3}
    assert failure(workspace, "read_file", inputs) == "offset=3 is past the end: a has 3 lines"


def test_an_empty_file_is_no_error(workspace):
    workspace.write_file("a", "")
    assert workspace.read_file("a") == "(empty file)"
    assert "has 0 lines" in failure(workspace, "read_file", {"path": "a", "offset": 1})


def test_what_is_no_text_file_is_refused(workspace):
    (workspace.root / "data").write_bytes(b"PK\0\1")
    with (workspace.root / "huge").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    assert "binary file of 4 bytes" in failure(workspace, "read_file", {"path": "data"})
    assert "look at a part" in failure(workspace, "read_file", {"path": "huge"})
    assert "there is no file gone" in failure(workspace, "read_file", {"path": "gone"})
    for name in ("read_file", "write_file"):
        inputs = {"path": "."} | ({"content": "x"} if name == "write_file" else {})
        assert "is a folder" in failure(workspace, name, inputs)


@posix
def test_a_pipe_is_not_waited_for(workspace):
    os.mkfifo(workspace.root / "pipe")
    assert "there is no file pipe" in failure(workspace, "read_file", {"path": "pipe"})
