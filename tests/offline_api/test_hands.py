"""The offline model works with the tools of other agents, as it does with ours."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentlib.settings import MODEL
from offline_api.model import reply
from offline_api.model.hands import ours, theirs
from offline_api.server import Server
from tests.builders import result, text

Body = dict[str, Any]
ASKED = "Read every Python file one by one and write a report"
FILES = 7
REMINDER = "<system-reminder>\nBe brief. Read other.py too.\n</system-reminder>"


def tool(name: str, **inputs: str) -> Body:
    properties = {key: {"type": kind} for key, kind in inputs.items()}
    return {"name": name, "input_schema": {"type": "object", "properties": properties}}


def in_bash(root: Path, command: str) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, capture_output=True, text=True
    )
    return done.stdout


def numbered(text: str, first: int = 1) -> str:
    return "\n".join(f"{n}\t{line}" for n, line in enumerate(text.split("\n"), first))


# -- agents ----------------------------------------------------------------------------

CLAUDE_CODE = [
    tool("Bash", command="string"),
    tool("Read", file_path="string", offset="integer", limit="integer"),
    tool("Write", file_path="string", content="string"),
]


def claude_code(root: Path, name: str, given: Body) -> str:
    if name == "Bash":
        return in_bash(root, given["command"]) or "(no output)"
    path = root / given["file_path"]
    if name == "Write":
        path.write_text(given["content"])
        return "done"
    first = given.get("offset", 1)
    lines = (
        path.read_text()
        .removesuffix("\n")
        .split("\n")[first - 1 :][: given.get("limit")]
    )
    return f"{numbered(chr(10).join(lines), first)}\n\n{REMINDER}"


def only_bash(root: Path, name: str, given: Body) -> str:
    """An agent with one tool, which shows at most ten thousand characters of what it
    prints."""
    assert name == "bash"
    printed = in_bash(root, given["command"])
    if len(printed) < 10_000:
        return json.dumps({"returncode": 0, "output": printed})
    return json.dumps(
        {"returncode": 0, "output_head": printed[:5_000], "elided_chars": 1}
    )


WITHOUT_BASH = [
    tool("ls", path="string"),
    tool("glob", pattern="string", path="string"),
    tool("read_file", file_path="string", offset="integer", limit="integer"),
    tool("write_file", file_path="string", content="string"),
]
WITHOUT_BASH[2]["input_schema"]["properties"]["limit"]["default"] = 100


def without_bash(root: Path, name: str, given: Body) -> str:
    if name == "glob":
        return str(
            [f"/{p.relative_to(root)}" for p in sorted(root.glob(given["pattern"]))]
        )
    path = root / given["file_path"].lstrip("/")
    if name == "write_file":
        path.write_text(given["content"])
        return f"Updated file {path.name}"
    lines = path.read_text().split("\n")
    start = given.get("offset", 0)
    most = given.get("limit", 100)
    shown = lines[start : start + most]
    end = start + len(shown)
    more = f" | next offset {end}" if end < len(lines) else ""
    return f"@@ lines {start + 1}-{end} of {len(lines)}{more} @@\n" + "\n".join(shown)


FRAMED = f"""\
Please solve this issue: {ASKED}

You can execute bash commands and edit files to implement the necessary changes.

Submit with `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."""
PLAIN = [
    tool("bash", command="string"),
    tool("read_file", path="string"),
    tool("write_file", path="string", content="string"),
]


def plain(root: Path, name: str, given: Body) -> str:
    if name == "bash":
        return in_bash(root, given["command"]) or "(no output)"
    if name == "read_file":
        return (root / given["path"]).read_text()
    (root / given["path"]).write_text(given["content"])
    return "ok"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for i in range(FILES):
        text = f'"""Holds part {i}."""\n\n\ndef part_{i}():\n    """Return {i}."""\n'
        (tmp_path / f"m{i}.py").write_text(text)
    (tmp_path / "large.py").write_text(
        '"""Is long."""\n' + "x = 'some words in a row'\n" * 6_000
    )
    return tmp_path


def send(messages: list[Body], tools: list[Body]) -> Body:
    body = {"model": MODEL, "max_tokens": 8_000, "messages": messages, "tools": tools}
    raw = json.dumps(body).encode()
    answer = Server(reply).answer("POST", "/v1/messages", {"x-api-key": "any"}, raw)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def calls_of(answer: Body) -> list[Body]:
    return [block for block in answer["content"] if block["type"] == "tool_use"]


def as_blocks(answer: Body, results: list[str]) -> list[Body]:
    told = [
        result(call["id"], text)
        for call, text in zip(calls_of(answer), results, strict=True)
    ]
    behind = {"role": "system", "content": "9,000 tokens left"}
    return [
        {"role": "assistant", "content": answer["content"]},
        {"role": "user", "content": told},
        behind,
    ]


def as_texts(answer: Body, results: list[str]) -> list[Body]:
    """Calls and results as smolagents writes them down."""
    said = "".join(block.get("text", "") for block in answer["content"])
    made = [
        {
            "id": c["id"],
            "type": "function",
            "function": {"name": c["name"], "arguments": c["input"]},
        }
        for c in calls_of(answer)
    ]
    told = "\n".join(text.rstrip("\n") for text in reversed(results))
    return [
        {"role": "assistant", "content": f"{said}\nCalling tools:\n{made}"},
        {"role": "user", "content": f"Observation:\n{told}"},
    ]


def work(
    root: Path,
    prompt: Any,
    tools: list[Body],
    act: Callable[[Path, str, Body], str],
    write: Callable[[Body, list[str]], list[Body]] = as_blocks,
) -> Body:
    """Run an agent until the model calls nothing, or calls what ends the task."""
    messages: list[Body] = [{"role": "user", "content": prompt}]
    for _ in range(60):
        answer = send(messages, tools)
        calls = calls_of(answer)
        known = {
            each["name"]: each["input_schema"]["properties"].keys() for each in tools
        }
        assert all(call["input"].keys() <= known[call["name"]] for call in calls)
        ends = [
            call
            for call in calls
            if "COMPLETE_TASK" in str(call) or "answer" in call["input"]
        ]
        if ends or not calls:
            return answer
        messages += write(
            answer, [act(root, call["name"], call["input"]) for call in calls]
        )
    raise AssertionError("it goes on and on")


FINAL = tool("final_answer", answer="string")
SUBMIT = tool("submit", answer="string")
NESTED = f"<system-reminder>\nIt said {REMINDER} before.\n</system-reminder>\n"
REMINDED = [
    text(REMINDER),
    text(NESTED),
    text(ASKED),
]


@pytest.mark.parametrize(
    ("prompt", "tools", "act", "write"),
    [
        (REMINDED, CLAUDE_CODE, claude_code, as_blocks),
        (FRAMED, [tool("bash", command="string")], only_bash, as_blocks),
        (ASKED, WITHOUT_BASH, without_bash, as_blocks),
        (f"New task:\n{ASKED}", [*PLAIN, FINAL], plain, as_texts),
        (ASKED, [*PLAIN, SUBMIT], plain, as_blocks),
    ],
    ids=["Claude Code", "mini-swe-agent", "deepagents", "smolagents", "inspect_ai"],
)
def test_it_reads_and_reports_with_the_tools_of_another_agent(
    package: Path, prompt: Any, tools: Any, act: Any, write: Any
):
    answer = work(package, prompt, tools, act, write)
    assert f"I wrote REPORT.md: {FILES + 1} files." in str(answer["content"])
    report = (package / "REPORT.md").read_text()
    assert [f"Purpose: Holds part {i}." in report for i in range(FILES)] == [
        True
    ] * FILES
    assert "Purpose: Is long." in report
    assert "lost" not in report


@pytest.mark.parametrize(
    ("tools", "missing"),
    [([tool("bash", command="string")], "edit_file"), (WITHOUT_BASH, "bash")],
)
def test_what_an_agent_cannot_do_is_refused_by_the_tool_it_lacks(
    tools: Any, missing: str
):
    edit = tool(
        "edit_file", file_path="string", old_string="string", new_string="string"
    )
    asked = {
        "role": "user",
        "content": "Rename MAX to MOST everywhere and run the tests",
    }
    offered = [*tools, edit] if missing == "bash" else tools
    answer = send([asked], offered)
    assert answer["content"] == [text(f"I can't do that: I have no tool {missing}.")]
    assert answer["stop_reason"] == "refusal"


def test_it_submits_a_refusal_too():
    answer = send([{"role": "user", "content": "Sing!"}], [*PLAIN, SUBMIT])
    (call,) = calls_of(answer)
    assert call["name"] == "submit"
    assert "did not understand" in call["input"]["answer"]


def test_what_the_person_says_beside_a_reminder_is_still_read():
    asked = {"role": "user", "content": f"{REMINDER}\nSing!"}
    (text,) = send([asked], CLAUDE_CODE)["content"]
    assert '"Sing"' in text["text"]
    assert "other.py" not in text["text"]


def test_an_edit_takes_the_names_of_its_inputs():
    edit = tool("Edit", file_path="string", old_string="string", new_string="string")
    given = {"path": "a.py", "old_text": "a", "new_text": "b"}
    call = {"type": "tool_use", "name": "edit_file", "input": given}
    answer = theirs({"content": [call], "stop_reason": "tool_use"}, {"tools": [edit]})
    (back,) = answer["content"]
    assert back["input"] == {"file_path": "a.py", "old_string": "a", "new_string": "b"}
    messages = [{"role": "assistant", "content": [{**back, "id": "t"}]}]
    (again,) = ours({"tools": [edit], "messages": messages})["messages"][0]["content"]
    assert again == {**call, "id": "t"}


def test_our_own_tools_and_messages_stay_as_they_are():
    said = {"role": "user", "content": [text("Hi")]}
    body = {"tools": PLAIN, "messages": [said]}
    assert ours(body) == body


def test_a_quoted_path_that_bash_cannot_read_is_no_reading():
    for path in ("it's", "'it's'"):
        call = {
            "type": "tool_use",
            "id": "t",
            "name": "bash",
            "input": {"command": f"cat {path}"},
        }
        body = {
            "tools": PLAIN[:1],
            "messages": [{"role": "assistant", "content": [call]}],
        }
        assert ours(body)["messages"] == body["messages"]


def test_a_call_that_nobody_offers_stays_what_it_is():
    call = {"type": "tool_use", "name": "bash", "input": {"command": "ls"}}
    answer = {"content": [call], "stop_reason": "tool_use"}
    assert theirs(answer, {"tools": WITHOUT_BASH}) == answer


def test_words_between_two_reminders_stay_and_a_quoted_reminder_goes():
    start = "<system-reminder>"
    end = "</system-reminder>"
    quoted = f"{start}One says {start}be brief{end}, another {start}be kind{end}.{end}"
    for told in (f"{start}a{end}\nRead all.\n{start}b{end}", f"{quoted}\nRead all."):
        [message] = ours({"messages": [{"role": "user", "content": told}]})["messages"]
        assert message["content"] == [text("Read all.")]
