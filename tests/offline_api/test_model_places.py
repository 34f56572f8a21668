"""The offline model goes on by what it sees: whole paths, listings of any form, commands
in a list, prompts in whatever frame, and no claim that a result denies."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offline_api.model import Habits, reply
from offline_api.model.places import (
    asks_whole,
    folder_above,
    listed,
    wants_whole,
)
from tests.builders import result, text

PROMPT = "Read every Python file in the src/ directory one by one and write a report."
RULE = (
    "A rule for all that follows: the first line of every report must be '# For Ada'."
)
Act = Callable[[str, dict[str, Any]], str]


def tool(name: str, **inputs: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": inputs, "required": [*inputs]}
    return {"name": name, "description": "", "input_schema": schema}


WHOLE = {"type": "string", "description": "The absolute path. Must start with '/'."}
PLAIN = {"type": "string"}
READ = tool("view", path=PLAIN)
WRITE = tool("save_file", path=PLAIN, content=PLAIN)
SHELL = tool("shell", command=PLAIN)
FIND = tool("find_files", pattern=PLAIN)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("m0", "m1", "m2"):
        path = tmp_path / f"src/{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'"""Count the {name}."""\n\n\ndef count():\n    return 1\n')
    return tmp_path


def run(folder: Path, *, needs_whole: bool = False) -> Act:
    """Make tools that work in a folder, and perhaps take whole paths alone."""

    def act(name: str, given: dict[str, Any]) -> str:
        if name == "shell":
            command = given["command"]
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, capture_output=True, text=True
            )
            return (done.stdout + done.stderr) or "(no output)"
        if needs_whole and not given["path"].startswith("/"):
            return "File path must be absolute, but was relative."
        path = folder / given["path"]
        if name == "view":
            return path.read_text() if path.exists() else "Error: no such file"
        path.write_text(given["content"])
        return "saved"

    return act


def work(
    tools: list[dict[str, Any]],
    act: Act,
    prompt: str = PROMPT,
    habits: Habits | None = None,
    most: int = 40,
) -> tuple[str, list[dict[str, Any]]]:
    """Let the model work, and return its last words and its calls."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    calls: list[dict[str, Any]] = []
    for _ in range(most):
        body = {"tools": tools, "messages": messages, "max_tokens": 4_000}
        content = reply(body, habits or Habits())["content"]
        content = [
            {**block, "id": f"t{len(calls)}{i}"}
            if block["type"] == "tool_use"
            else block
            for i, block in enumerate(content)
        ]
        messages.append({"role": "assistant", "content": content})
        new = [block for block in content if block["type"] == "tool_use"]
        if not new:
            return content[0]["text"], calls
        calls += new
        results = [result(call["id"], act(call["name"], call["input"])) for call in new]
        messages.append({"role": "user", "content": results})
    raise AssertionError("it never ended")


# -- whole paths -----------------------------------------------------------------------


@pytest.mark.parametrize("says_so", [True, False])
def test_a_tool_gets_whole_paths_if_its_schema_or_its_error_says_so(
    says_so: bool, folder: Path
):
    path = WHOLE if says_so else PLAIN
    tools = [
        SHELL,
        tool("view", path=path),
        tool("save_file", path=path, content=PLAIN),
    ]
    words, calls = work(tools, run(folder, needs_whole=True))
    assert words == "I wrote REPORT.md: 3 files."
    assert "Purpose: Count the m2." in (folder / "REPORT.md").read_text()
    given = [call["input"]["path"] for call in calls if "path" in call["input"]]
    relative = [path for path in given if not path.startswith("/")]
    assert len(relative) == (0 if says_so else 4)  # a batch, and the report


def test_without_a_shell_the_listing_tells_the_folder(folder: Path):
    files = sorted(str(path) for path in folder.rglob("*.py"))
    tools = [
        FIND,
        tool("view", path=WHOLE),
        tool("save_file", path=WHOLE, content=PLAIN),
    ]
    act = run(folder, needs_whole=True)

    def found(name: str, given: dict[str, Any]) -> str:
        listing = "\n".join(["Found 3 files", *files])
        return listing if name == "find_files" else act(name, given)

    assert work(tools, found)[0] == "I wrote REPORT.md: 3 files."
    assert (folder / "REPORT.md").exists()


def test_the_folder_is_known_when_only_its_own_calls_are_left(folder: Path):
    assert folder_above("/switch/a.py", "the switch/ directory") == ""
    assert folder_above("/tmp/work/a.py", "/tmp/work/ and a.py") is None
    whole = tool("view", path=WHOLE)
    path = f"{folder}/src/m0.py"
    call = {"type": "tool_use", "id": "t", "name": "view", "input": {"path": path}}
    text = (folder / "src/m0.py").read_text()
    result = {"type": "tool_result", "tool_use_id": "t", "content": text}
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    body = {"tools": [SHELL, whole, WRITE], "messages": messages, "max_tokens": 900}
    assert "- [file] src/m0.py |" in reply(body)["content"][0]["text"]


def test_a_form_that_never_helps_is_given_up_and_said(folder: Path):
    def act(name: str, given: dict[str, Any]) -> str:
        if name == "view":
            return "Invalid `path` parameter: The path should be an absolute path."
        return run(folder)(name, given)

    words, calls = work([SHELL, READ, WRITE], act)
    assert words.startswith(
        "I wrote REPORT.md: 3 files. I couldn't read 3 files: src/m0"
    )
    assert len([call for call in calls if call["name"] == "view"]) == 6


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("The path should be an absolute path. Maybe you meant /a/b?", True),
        ("Relative paths are not supported.", True),
        ("Error: no such file: a/absolute.py", False),
        ("def absolute(x):\n    return abs(x)", False),
    ],
)
def test_an_error_that_asks_for_a_whole_path_is_told_from_others(text: str, asks: bool):
    assert asks_whole(text) == asks


def test_either_form_is_no_wish_for_whole_paths():
    for words in ("The relative or absolute path", "Path relative to the root"):
        told = {"type": "string", "description": words}
        assert not wants_whole(tool("view", path=told), "path")


# -- listings --------------------------------------------------------------------------

FORMS = {
    "a name a line": "m0.py\nm1.py",
    "paths": "src/m0.py\nsrc/m1.py",
    "with a dot": "./src/m0.py\n./src/m1.py",
    "whole": "/home/ada/work/src/m0.py\n/home/ada/work/src/m1.py",
    "bullets": "Found 2 files:\n- src/m0.py\n- src/m1.py\n",
    "numbers": "1. src/m0.py\n2. src/m1.py",
    "a list": '["src/m0.py", "src/m1.py"]',
    "an object": '{"files": [{"path": "src/m0.py", "size": 3}, {"path": "src/m1.py"}]}',
    "quotes": "`src/m0.py`\n`src/m1.py`",
    "with folders": "src/\nsrc/m0.py\nsrc/m1.py\n(2 files in 1 folder)",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_listing_is_read_in_any_common_form(form: str):
    assert listed(FORMS[form], "src/**/*.py")[0] == "/src/m0.py\n/src/m1.py"


@pytest.mark.parametrize("form", FORMS)
def test_files_of_a_listing_are_read_and_reported(form: str, folder: Path):
    def act(name: str, given: dict[str, Any]) -> str:
        if name == "find_files":
            is_below = not given["pattern"].startswith("/")
            return FORMS[form] if is_below else "No files found"
        return run(folder)(name, given)

    words, _ = work([FIND, READ, WRITE], act)
    assert words == "I wrote REPORT.md: 2 files."
    assert "Purpose: Count the m1." in (folder / "REPORT.md").read_text()


def test_a_folder_without_files_is_said(folder: Path):
    words, calls = work([FIND, READ, WRITE], lambda name, given: "No files found")
    assert words == "I found no .py file in src/."
    assert len(calls) == 2


# -- commands --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["command", "commands"])
def test_commands_in_a_list_are_one_command_or_its_words(name: str, folder: Path):
    shell = tool("run_commands", **{name: {"type": "array", "items": PLAIN}})

    def act(_: str, given: dict[str, Any]) -> str:
        words = given[name]
        commands = words if name == "commands" else [words[-1]]
        assert name == "commands" or words[:2] == ["bash", "-lc"]
        outputs = [run(folder)("shell", {"command": each}) for each in commands]
        rows = [{"query": "x", "result": each, "success": True} for each in outputs]
        return json.dumps(rows)

    words, _ = work([shell], act)
    assert words == "I wrote REPORT.md: 3 files."
    assert "Purpose: Count the m1." in (folder / "REPORT.md").read_text()


# -- what it claims --------------------------------------------------------------------


def written(told: str, folder: Path) -> str:
    """Its last words, if this is the result of writing the report."""

    def act(name: str, given: dict[str, Any]) -> str:
        return told if name == "save_file" else run(folder)(name, given)

    return work([SHELL, READ, WRITE], act)[0]


@pytest.mark.parametrize(
    "told",
    [
        "Permission denied",
        "The file was not written.",
        "You must read the file before you write it",
        "File REPORT.md has not been read. Overwriting replaces every byte.",
        "EROFS: read-only file system",
        '{"success": false, "message": "no"}',
    ],
)
def test_a_write_that_a_result_denies_is_never_claimed(told: str, folder: Path):
    assert written(told, folder).startswith("I could not write REPORT.md: ")


@pytest.mark.parametrize(
    "told",
    [
        "Successfully created and wrote to new file: a. No errors were found.",
        "Wrote file successfully.",
        "The file REPORT.md has been updated.",
        "(no output)",
        '{"success": true, "path": "REPORT.md"}',
    ],
)
def test_a_write_that_went_well_is_told(told: str, folder: Path):
    assert written(told, folder) == "I wrote REPORT.md: 3 files."


def test_a_file_is_read_before_it_is_written_over_if_a_tool_insists(folder: Path):
    (folder / "REPORT.md").write_text("old")
    seen: set[str] = set()

    def act(name: str, given: dict[str, Any]) -> str:
        if name == "view":
            seen.add(given["path"])
        if name == "save_file" and given["path"] not in seen:
            return "File has not been read yet. Read it first before writing to it."
        return run(folder)(name, given)

    words, _ = work([SHELL, READ, WRITE], act)
    assert words.startswith("I wrote REPORT.md: 3 files.")
    assert "Purpose: Count the m1." in (folder / "REPORT.md").read_text()


# -- the person's words ----------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        "<system># Notes\nBe careful.</system>\n\n{}\n\n````src/\nm0.py\n````",
        '"{}"',
        "TASK (priority 1):\n{}\nAnswer in the user's language. Summarise at the end.",
        "&lt;b&gt; {} &lt;/b&gt;",
    ],
)
def test_a_known_prompt_is_found_whatever_stands_around_it(frame: str, folder: Path):
    prompt = f"{RULE} {PROMPT}"
    habits = Habits(prompts=(prompt, "Read every Python file in the b/ directory."))
    tools = [SHELL, READ, WRITE]
    words, _ = work(tools, run(folder), frame.replace("{}", prompt), habits)
    assert words == "I wrote REPORT.md: 3 files."
    assert (folder / "REPORT.md").read_text().startswith("# For Ada\n")


def test_what_a_program_says_beside_a_known_prompt_is_nobodys_request(folder: Path):
    notes = "<environment_details>\nWorking directory: /x\n</environment_details>"
    content = [text(PROMPT), text(notes)]
    body = {
        "tools": [SHELL, READ, WRITE],
        "messages": [{"role": "user", "content": content}],
    }
    assert "did not understand" in reply(body)["content"][0]["text"]
    known = reply(body, Habits(prompts=(PROMPT,)))["content"]
    assert [block["type"] for block in known] == ["tool_use"]
