"""The tools as the model meets them: what they accept, what they answer, what they
refuse."""

import inspect
import os
import re
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.tools import CAP, ROOM, ToolError, Workspace, fit, page, result
from tests.builders import call

posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes and links of POSIX")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "root"
    root.mkdir()
    return Workspace(root, recall={"toolu_1": "the text"}.__getitem__)


def failure(workspace: Workspace, name: str, inputs: object) -> str:
    with pytest.raises(ToolError) as caught:
        workspace.run(name, inputs)
    return str(caught.value)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- calls and their inputs ------------------------------------------------------------


def test_the_definitions_have_a_fixed_order_and_fit_the_functions(workspace):
    expected = ["bash", "read_file", "write_file", "edit_file", "recall"]
    assert [each["name"] for each in workspace.definitions] == expected
    assert [each["name"] for each in Workspace(workspace.root).definitions] == expected[
        :-1
    ]
    for definition in workspace.definitions:
        schema = definition["input_schema"]
        parameters = inspect.signature(workspace.tools[definition["name"]]).parameters
        needed = [
            p.name for p in parameters.values() if p.default is inspect.Parameter.empty
        ]
        assert list(schema["properties"]) == list(parameters)
        assert schema["required"] == needed


def test_an_unknown_tool_names_those_there_are(workspace):
    text = failure(Workspace(workspace.root), "recall", {"tool_use_id": "x"})
    assert "'recall'" in text
    assert text.endswith(" bash, read_file, write_file, edit_file")


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("bash", {}, "command must be a string"),
        ("bash", {"command": None}, "command must be a string"),
        ("bash", {"command": ["ls"]}, "command must be a string"),
        (
            "bash",
            {"command": "ls", "cwd": "."},
            "the input must be an object with command, not {",
        ),
        ("bash", "ls", "the input must be an object with command, not 'ls'"),
        ("bash", {"command": "a\0b"}, "without NUL, not 'a\\x00b'"),
        (
            "read_file",
            {"path": "a", "offset": -1},
            "offset must be a whole number from 0 on",
        ),
        (
            "read_file",
            {"path": "a", "limit": 0},
            "limit must be a whole number from 1 on, not 0",
        ),
        ("read_file", {"path": "a", "limit": True}, "from 1 on, not True"),
        ("read_file", {"path": "a", "limit": 5.0}, "from 1 on, not 5.0"),
        ("read_file", {"offset": 1}, "path must be a string"),
        ("write_file", {"path": "a", "content": "\ud800"}, "content must be a string"),
    ],
)
def test_a_wrong_input_is_named_with_what_is_expected(workspace, name, inputs, message):
    assert message in failure(workspace, name, inputs)


def test_a_long_wrong_value_is_not_sent_back_whole(workspace):
    assert len(failure(workspace, "bash", {"command": ["x" * 10_000]})) < 200


def test_null_leaves_an_optional_input_out(workspace):
    workspace.run("write_file", {"path": "a", "content": "one\n"})
    assert (
        workspace.run("read_file", {"path": "a", "offset": None, "limit": None})
        == "one"
    )


def test_a_result_answers_its_call(workspace):
    good = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hi"}
    assert result(call("toolu_1", command="echo hi"), workspace) == good
    bad = result(call("toolu_1", command="echo no; exit 4"), workspace)
    assert bad == good | {"content": "no\n(exit code 4)", "is_error": True}


def test_an_unexpected_error_is_raised(workspace):
    def broken(_: str) -> str:
        raise RuntimeError("the session is gone")

    made = call("toolu_1", "recall", tool_use_id="x")
    with pytest.raises(RuntimeError, match="the session is gone"):
        result(made, Workspace(workspace.root, recall=broken))


def test_recall_gives_an_earlier_result_back(workspace):
    assert workspace.run("recall", {"tool_use_id": "toolu_1"}) == "the text"
    assert "toolu_2" in failure(workspace, "recall", {"tool_use_id": "toolu_2"})


def test_recall_takes_an_id_or_words_to_search_for_and_not_both(workspace):
    def recall(tool_use_id: str = "", *, search: str = "") -> str:
        return f"[{tool_use_id}] [{search}]"

    both = Workspace(workspace.root, recall=recall)
    assert both.run("recall", {"tool_use_id": "toolu_1"}) == "[toolu_1] []"
    assert both.run("recall", {"search": "glibc", "tool_use_id": None}) == "[] [glibc]"
    for inputs in ({}, {"search": " "}, {"search": "glibc", "tool_use_id": "toolu_1"}):
        assert "an id or words" in failure(both, "recall", inputs)
    assert "search must be a string" in failure(both, "recall", {"search": 7})


def test_a_long_result_is_recalled_in_pages(workspace):
    lines = [f"line {n}" for n in range(9_000)]
    long = Workspace(workspace.root, recall={"toolu_1": "\n".join(lines)}.__getitem__)
    first = long.run("recall", {"tool_use_id": "toolu_1"})
    assert len(first) <= CAP
    offset = int(re.search(r"continue with offset=(\d+)\)$", first)[1])
    rest = long.run("recall", {"tool_use_id": "toolu_1", "offset": offset})
    assert [*first.split("\n")[:-1], *rest.split("\n")] == lines
    some = long.run("recall", {"tool_use_id": "toolu_1", "offset": 5, "limit": 2})
    assert some == "line 5\nline 6\n... (8993 more)"
    past = {"tool_use_id": "toolu_1", "offset": 9_000}
    assert "offset=9000" in failure(long, "recall", past)


# -- writing ---------------------------------------------------------------------------


def test_bytes_are_bytes(workspace):
    text = workspace.write_file("new/folder/a.txt", "né\r\n")
    assert text == "Wrote 5 bytes to new/folder/a.txt"
    assert (workspace.root / "new/folder/a.txt").read_bytes() == b"n\xc3\xa9\r\n"


def test_an_impossible_path_is_an_error_with_its_name(workspace):
    workspace.write_file("file", "here")
    for path in ("file/under", "x" * 300):
        text = failure(workspace, "write_file", {"path": path, "content": "x"})
        assert text.startswith(path + ": ")
    assert names(workspace.root) == ["file"]


@pytest.mark.parametrize(
    ("content", "old", "message"),
    [
        ("x = 1\nx = 1\n", "x = 1", "is in a.py more than once"),
        ("aaa", "aa", "is in a.py more than once"),
        ("x = 1\n", "x=1", "is not in a.py"),
        ("x = 1\n", "", "old_text is empty"),
        ("a+b\n", "a.b", "is not in a.py"),
    ],
)
def test_an_edit_without_one_clear_place_is_refused(workspace, content, old, message):
    workspace.write_file("a.py", content)
    inputs = {"path": "a.py", "old_text": old, "new_text": "new"}
    assert message in failure(workspace, "edit_file", inputs)
    assert (workspace.root / "a.py").read_bytes() == content.encode()


def test_no_edit_takes_long(workspace):
    (workspace.root / "a").write_text("a" * 5_000_000)
    inputs = {"path": "a", "old_text": "a" * 5_000 + "b" + "a" * 5_000, "new_text": ""}
    started = time.process_time()
    assert "is not in a" in failure(workspace, "edit_file", inputs)
    assert time.process_time() - started < 2


def test_a_file_too_large_for_the_memory_is_left_to_bash(workspace):
    with (workspace.root / "image").open("wb") as image:
        image.truncate(6_000_000_000)
    for name, more in (
        ("read_file", {}),
        ("edit_file", {"old_text": "a", "new_text": "b"}),
    ):
        said = failure(workspace, name, {"path": "image"} | more)
        assert said == "image has more than 20,000,000 bytes; use bash"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_edit_changes_one_place_and_keeps_the_files_newlines(workspace, newline):
    file = workspace.root / "a.txt"
    file.write_bytes("\ufeffone\ntwo\nend\n".replace("\n", newline).encode())
    assert workspace.edit_file("a.txt", "one\ntwo", "ONE\n\\1\nTWO") == "Edited a.txt"
    expected = "\ufeffONE\n\\1\nTWO\nend\n".replace("\n", newline)
    assert file.read_bytes() == expected.encode()


def test_a_file_that_is_no_utf8_is_never_edited(workspace):
    file = workspace.root / "latin"
    file.write_bytes(b"caf\xe9 one\n")
    inputs = {"path": "latin", "old_text": "one", "new_text": "two"}
    assert "not UTF-8" in failure(workspace, "edit_file", inputs)
    assert file.read_bytes() == b"caf\xe9 one\n"
    assert workspace.read_file("latin") == "caf\ufffd one"


# -- reading ---------------------------------------------------------------------------


def test_reading_takes_lines_as_editors_do(workspace):
    (workspace.root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\x0c\xe2\x80\xa8\rthree")
    assert workspace.read_file("a") == "one\ntwo\x0c\u2028\nthree"
    assert workspace.read_file("a", offset=1, limit=1) == "two\x0c\u2028\n... (1 more)"


def test_reading_past_the_end_says_how_long_the_file_is(workspace):
    workspace.write_file("a", "one\ntwo\nthree\n")
    inputs = {"path": "a", "offset": 3}
    assert (
        failure(workspace, "read_file", inputs)
        == "offset=3 is past the end: there are 3 lines"
    )
    workspace.write_file("a", "")
    assert workspace.read_file("a") == "(empty file)"


def test_only_a_text_file_can_be_read(workspace):
    (workspace.root / "data").write_bytes(b"PK\0\1")
    assert "binary file of 4 bytes" in failure(workspace, "read_file", {"path": "data"})
    assert "there is no file gone" in failure(workspace, "read_file", {"path": "gone"})
    assert "is a folder or a device" in failure(workspace, "read_file", {"path": "."})


@posix
def test_a_pipe_is_not_waited_for(workspace):
    os.mkfifo(workspace.root / "pipe")
    for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
        said = failure(workspace, name, {"path": "pipe", **more})
        assert said.startswith("pipe is ")


# -- pages and the cap -----------------------------------------------------------------


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=30))
def test_following_the_hints_gives_every_line(lengths):
    lines = [f"{number} ".ljust(length, "x") for number, length in enumerate(lengths)]
    parts = []
    offset = 0
    while True:
        text = page(lines, offset)
        assert len(text) <= CAP
        hint = re.search(r"\n\.\.\. \((\d+) more; continue with offset=(\d+)\)$", text)
        parts += text[: hint.start() if hint else None].split("\n")
        if not hint:
            break
        offset = int(hint[2])
        assert offset == len(parts)
        assert int(hint[1]) == len(lines) - offset
    assert parts == lines


def test_a_limit_says_how_many_there_are_more():
    lines = ["one", "two", "three"]
    assert page(lines, 0, 2) == "one\ntwo\n... (1 more)"
    assert page(lines, 1, 2) == "two\nthree"
    assert page(lines, 2, 10**30) == "three"


def test_if_the_cap_comes_before_the_limit_the_hint_says_how_to_go_on():
    text = page(["x" * 999] * 100, 10, 60)
    assert text.endswith("\n... (41 more; continue with offset=59)")
    assert len(text) <= CAP


@pytest.mark.parametrize("after", [[], ["next"]])
def test_a_line_longer_than_the_cap_is_cut_and_passed(after):
    text = page(["short", "y" * 60_000, *after], 1)
    cut = f" [{60_000 - CAP + ROOM} more characters in this line]"
    hint = "\n... (1 more; continue with offset=2)" if after else ""
    assert text == "y" * (CAP - ROOM) + cut + hint


def test_blank_lines_are_counted_not_sent():
    assert page(["", "  ", ""]) == "(3 blank lines)"


@given(
    st.integers(0, CAP + 200),
    st.integers(0, 1_000),
    st.sampled_from([(), ("(exit code 130)",)]),
)
def test_no_character_is_lost_uncounted(length, gone, notes):
    text = fit("x" * length, gone, *notes)
    note = re.search(r"\.\.\. \((\d+) characters cut\)", text)
    assert len(text) <= CAP
    assert re.match("x*", text).end() + int(note[1] if note else 0) == length + gone
    assert text.endswith(notes or "")


# -- confinement -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *(
            "../secret",
            "sub/../../secret",
            "/workspace/../secret",
            "~root/../../secret",
        ),
        *("/workspace2/secret", "{outside}/secret"),
    ],
)
def test_no_path_leads_out(workspace, tmp_path, path):
    (tmp_path / "secret").write_text("kept")
    path = path.replace("{outside}", str(tmp_path))
    for name, more in (("read_file", {}), ("write_file", {"content": "stolen"})):
        assert "outside the workspace" in failure(
            workspace, name, {"path": path} | more
        )
    assert (tmp_path / "secret").read_text() == "kept"


@posix
def test_no_symlink_leads_out(workspace, tmp_path):
    (tmp_path / "secret").write_text("kept")
    (workspace.root / "file").symlink_to(tmp_path / "secret")
    (workspace.root / "folder").symlink_to(tmp_path)
    (workspace.root / "loop").symlink_to(workspace.root / "loop")
    for path in ("file", "folder/secret"):
        inputs = {"path": path, "old_text": "kept", "new_text": "stolen"}
        assert "outside the workspace" in failure(workspace, "edit_file", inputs)
        assert "outside" in failure(
            workspace, "write_file", {"path": path, "content": "stolen"}
        )
    assert (tmp_path / "secret").read_text() == "kept"
    assert "loop" in failure(workspace, "read_file", {"path": "loop"})


@posix
def test_a_link_within_is_followed_and_stays_a_link(workspace, tmp_path):
    workspace.write_file("real/a", "one")
    (workspace.root / "link").symlink_to(workspace.root / "real")
    assert workspace.write_file("link/a", "two") == "Wrote 3 bytes to real/a"
    assert (workspace.root / "link").is_symlink()


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".git",
            ".git/config",
            "sub/.git/hooks/pre-commit",
            ".GIT/config",
            "a/../.git/HEAD",
        ),
        *(
            ".envrc",
            ".vscode/tasks.json",
            ".github/workflows/ci.yml",
            "{root}/.git/config",
        ),
        *(
            ".claude/settings.json",
            ".mcp.json",
            ".husky/pre-commit",
            "docs/HEAD",
            "docs/head",
        ),
    ],
)
def test_what_other_programs_run_is_read_and_never_written(workspace, path):
    file = workspace.root / path.replace("{root}/", "")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("old")
    path = path.replace("{root}", str(workspace.root))
    edit = {"path": path, "old_text": "old", "new_text": "new"}
    assert workspace.run("read_file", {"path": path}) == "old"
    assert "only the person" in failure(
        workspace, "write_file", {"path": path, "content": "new"}
    )
    assert "only the person" in failure(workspace, "edit_file", edit)
    assert file.read_text() == "old"


OTHERS = """.travis.yml Jenkinsfile ci/Jenkinsfile.release azure-pipelines.yml
azure-pipelines-nightly.yaml .drone.yml .woodpecker.yml .woodpecker/test.yaml
bitbucket-pipelines.yml .buildkite/pipeline.yml .gitea/workflows/ci.yml
.forgejo/workflows/ci.yml .tekton/run.yaml .cirrus.yml .gitlab-ci.yml sub/.gitlab-ci.yml
.cursor/mcp.json .cursor/hooks.json .gemini/settings.json .codex/config.toml
.roo/mcp.json .amazonq/mcp.json .zed/tasks.json lefthook.yml .gitpod.yml mise.toml
.config/mise/config.toml .github/hooks/a.json app.code-workspace .hg/hgrc .githooks/pre-push
.devcontainer.json .TRAVIS.YML opencode.json .windsurf/hooks.json .kiro/hooks/a"""


@pytest.mark.parametrize("path", OTHERS.split())
def test_settings_of_ci_and_of_other_agents_are_never_written(workspace, path):
    inputs = {"path": path, "content": "new"}
    assert "only the person" in failure(workspace, "write_file", inputs)
    assert names(workspace.root) == []


@pytest.mark.parametrize(
    "path",
    [
        *("Makefile", "src/jenkins.py", "travis.yml", "package.json", "mise.py"),
        *("github/workflows/a", ".github/CODEOWNERS", "claude/a", "codex.toml"),
        *("docs/azure.md", "build.yml", ".gitignore", ".editorconfig", "crushed.json"),
    ],
)
def test_what_only_looks_like_one_of_them_is_written(workspace, path):
    workspace.run("write_file", {"path": path, "content": "new"})
    assert (workspace.root / path).read_text() == "new"


LINKS = {
    ".claude": "agents",
    ".vscode": "cfg/vscode",
    ".husky": "hooks",
    ".github": "forge",
    ".envrc": "envs/dev",
    ".pre-commit-config.yaml": "cfg/pc.yaml",
    ".mcp.json": "cfg/mcp.json",
    "pkg/.husky": "../deep/er",
}


@posix
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("way", ["the name", "another link", "dots", "the place"])
def test_a_protected_name_that_is_a_link_is_not_written_by_any_way(
    workspace, link, way
):
    inner = {".husky": "pre-commit", ".github": "workflows/ci.yml"}
    is_file = link.endswith((".yaml", ".json", "rc"))
    below = "" if is_file else "/" + inner.get(link, "settings.json")
    root = workspace.root
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(LINKS[link])
    (root / "other").symlink_to(link)
    place = (root / link).parent.joinpath(LINKS[link]).resolve().relative_to(root)
    if not is_file:
        (root / place).mkdir(parents=True)
    path = {
        "the name": link + below,
        "another link": "other" + below,
        "dots": f"none/../{link}{below}",
        "the place": place.as_posix() + below,
    }[way]
    if link == "pkg/.husky" and way == "the place":
        pytest.skip("a link below a folder that isn't above the file isn't looked for")
    inputs = {"path": path, "content": "EVIL"}
    assert "only the person" in failure(workspace, "write_file", inputs)
    assert not [file for file in root.rglob("*") if file.is_file()]


@posix
def test_a_link_to_a_protected_name_in_a_chain_of_links_counts(workspace):
    (workspace.root / "agents").mkdir()
    (workspace.root / ".claude").symlink_to("agents")
    (workspace.root / "b").symlink_to(workspace.root / ".claude")
    (workspace.root / "a").symlink_to("./b")
    inputs = {"path": "a/x", "content": "EVIL"}
    assert "only the person" in failure(workspace, "write_file", inputs)
    assert names(workspace.root / "agents") == []


@posix
def test_links_without_a_protected_name_are_still_followed(workspace):
    (workspace.root / "docs").mkdir()
    (workspace.root / "link").symlink_to("docs")
    (workspace.root / ".claude").symlink_to("agents")
    (workspace.root / "around").symlink_to("around")
    workspace.run("write_file", {"path": "link/a", "content": "x"})
    assert (workspace.root / "docs/a").read_text() == "x"
    failure(workspace, "write_file", {"path": "around/a", "content": "x"})


@posix
@given(
    links=st.dictionaries(
        st.sampled_from(["a", "b", "c", ".claude", "d/.husky", "d/e"]),
        st.sampled_from(["a", "b", "c/x", ".claude", "../d", "d/e", "."]),
    ),
    path=st.lists(
        st.sampled_from(["a", "b", "c", "d", "e", "x", ".claude", ".husky", ".."]),
        min_size=1,
        max_size=4,
    ),
)
def test_whatever_links_there_are_nothing_appears_under_a_protected_name(
    tmp_path_factory, links, path
):
    workspace = Workspace(tmp_path_factory.mktemp("root"))
    for link, target in links.items():
        (workspace.root / link).parent.mkdir(exist_ok=True)
        (workspace.root / link).symlink_to(target)
    with suppress(ToolError):
        workspace.run("write_file", {"path": "/".join(path), "content": "EVIL"})
    for name in (".claude", ".claude/x", "d/.husky", "d/.husky/x"):
        file = workspace.root / name
        with suppress(OSError):
            assert not (file.is_file() and file.read_text() == "EVIL")


@pytest.mark.parametrize(
    "path", [".env", "api/.ENV", ".env.local", "x/../.env", "link"]
)
def test_a_file_of_keys_is_only_the_persons(workspace, path):
    workspace.write_file("api/a", "x")
    workspace.write_file("x/a", "x")
    for name in (".env", "api/.ENV", ".env.local"):
        (workspace.root / name).write_text("API_KEY=old")
    if path == "link":
        (workspace.root / path).symlink_to(".env")
    for name, more in (
        ("read_file", {}),
        ("write_file", {"content": "API_KEY=new"}),
        ("edit_file", {"old_text": "old", "new_text": "new"}),
    ):
        assert "it may hold keys" in failure(workspace, name, {"path": path, **more})
    assert (workspace.root / ".env").read_text() == "API_KEY=old"
    assert (
        workspace.write_file(".env.example", "API_KEY=")
        == "Wrote 8 bytes to .env.example"
    )


@posix
@pytest.mark.parametrize("path", [".env", "env/dev.env", "x/../.env"])
def test_the_file_of_keys_is_the_persons_if_it_is_a_link_too(workspace, path):
    workspace.write_file("env/dev.env", "API_KEY=old")
    workspace.write_file("x/a", "x")
    (workspace.root / ".env").symlink_to("env/dev.env")
    for name, more in (("read_file", {}), ("write_file", {"content": "API_KEY=new"})):
        said = failure(workspace, name, {"path": path, **more})
        assert "keys" in said
        assert "=old" not in said
    assert (workspace.root / "env/dev.env").read_text() == "API_KEY=old"


def test_every_long_value_of_the_file_of_keys_is_masked_whatever_its_name(workspace):
    values = {
        "DB_PASS": "hunter2-hunter2",
        "DATABASE_URL": "ldap://ada:secret@db.example.org",
        "QUOTED": "two words and more",
        "HASHED": "a#b#c#d#e#f#g",
    }
    lines = [f"{name}={value}" for name, value in values.items()]
    lines[2] = f'QUOTED="{values["QUOTED"]}" # said twice'
    (workspace.root / ".env").write_text("\n".join([*lines, "SHORT=development"]))
    shown = result(call("toolu_1", command="cat .env"), workspace)["content"]
    assert [value for value in values.values() if value in shown] == []
    assert shown.count("[masked: a key]") == len(values)
    assert shown.endswith("SHORT=development")


def test_a_file_is_kept_before_it_is_written(workspace):
    kept: list[tuple[str, bool]] = []
    keeping = replace(
        workspace, keep=lambda file: kept.append((file.name, file.exists()))
    )
    keeping.write_file("a", "one")
    keeping.edit_file("a", "one", "two")
    keeping.read_file("a")
    assert kept == [("a", False), ("a", True)]


def test_no_result_shows_a_key(workspace):
    text = (
        "export APP_KEY='one-0123456789'\nDB_PASSWORD = two-0123456789 # ours\n"
        "PORT=8000000000000\n"
    )
    (workspace.root / ".env").write_text(f"{text}SHORT_KEY=three\n")
    keyed = replace(workspace, secret="four-0123456789")
    (workspace.root / "a").write_text("four-0123456789")
    masked = text.replace("one-0123456789", "[masked: a key]")
    masked = masked.replace("two-0123456789", "[masked: a key]")
    masked = masked.replace("8000000000000", "[masked: a key]")

    def shown(workspace: Workspace, name: str, **inputs: str) -> str:
        return result(call("toolu_1", name, **inputs), workspace)["content"]

    assert shown(keyed, "bash", command="cat .env") == f"{masked}SHORT_KEY=three"
    assert (
        shown(keyed, "bash", command="cat a; exit 3")
        == "[masked: a key]\n(exit code 3)"
    )
    assert shown(keyed, "read_file", path="a") == "[masked: a key]"
    assert (
        shown(replace(keyed, secret="four"), "read_file", path="a") == "four-0123456789"
    )
    assert "four" not in repr(keyed)


KEY = "sk-ant-" + "k0123456789" * 4


@posix
@pytest.mark.parametrize("where", ["in use", "in a file"])
@pytest.mark.parametrize("shown", [1, 5, 11, 12, 30, len(KEY) - 1])
def test_a_key_that_a_cut_divides_is_not_shown_in_part(workspace, where, shown):
    keyed = replace(workspace, secret=f"other-0123456789 {KEY}")
    if where == "in a file":
        (workspace.root / ".env").write_text(f"MY_KEY={KEY}\n")
        keyed = workspace
    for room in (CAP, CAP - ROOM):
        before = "x" * (room - shown)
        (workspace.root / "long").write_text(before + KEY + "y" * CAP)
        (workspace.root / "lines").write_text(f"{before[:-1]}\n{KEY}\n" * 2)
        for name, inputs in (
            ("bash", {"command": "cat long"}),
            ("bash", {"command": "cat lines; exit 3"}),
            ("read_file", {"path": "long"}),
            ("read_file", {"path": "lines"}),
        ):
            text = result(call("t", name, **inputs), keyed)["content"]
            assert KEY[:8] not in text
            assert len(text) <= CAP


@posix
def test_many_keys_before_a_cut_do_not_bring_a_part_of_one_back(workspace):
    keyed = replace(workspace, secret=KEY)
    line = f"{KEY}\n"
    (workspace.root / "a").write_text(line * (CAP // len(line) + 2))
    text = keyed.run("bash", {"command": "cat a"})
    assert "sk-ant" not in text
    assert text.endswith(" characters cut)")


def test_a_key_that_holds_another_is_masked_whole(workspace):
    (workspace.root / ".env").write_text(f"PART={KEY[:20]}\n")
    keyed = replace(workspace, secret=KEY)
    assert keyed.without_keys(f"<{KEY}>") == "<[masked: a key]>"


@posix
def test_a_link_into_git_is_not_written_through(workspace):
    (workspace.root / ".git").mkdir()
    (workspace.root / "docs").symlink_to(".git")
    inputs = {"path": "docs/config", "content": "new"}
    assert "only the person" in failure(workspace, "write_file", inputs)
    assert names(workspace.root / ".git") == []


def test_names_that_begin_alike_are_written(workspace):
    names = (
        "a.git/x",
        ".envrc.example",
        "workflows/x",
        "Head/index.js",
        "HEAD.md",
        "docs/config",
    )
    for path in (".gitignore", ".github/CODEOWNERS", *names):
        assert workspace.write_file(path, "x") == f"Wrote 1 bytes to {path}"


def test_every_way_to_write_a_path_is_one_file(workspace):
    for path in ("a/b", "/workspace/a/b", "./a//b", str(workspace.root / "a" / "b")):
        assert workspace.write_file(path, "x") == "Wrote 1 bytes to a/b"


@pytest.mark.parametrize(
    "command", ["cat /workspace/a", "cd /workspace", 'ls "/workspace"']
)
def test_outside_bubblewrap_a_command_that_names_workspace_is_refused(
    workspace, command
):
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
