"""An agent's tools are known by what they take, whatever they are called."""

from typing import Any

import pytest

from offline_api.model.hands import ours, theirs
from offline_api.model.tools import hands_of

Body = dict[str, Any]


def tool(
    name: str, told: str = "", required: Any = None, **properties: Any
) -> dict[str, Any]:
    schema: Body = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    return {"name": name, "description": told, "input_schema": schema}


TEXT = {"type": "string"}
LINE = {"type": "integer"}
FLAG = {"type": "boolean"}
FROM_ONE = {"type": "number", "description": "Line to start from (1-indexed)"}
DOES = {"type": "string", "enum": ["view", "create", "str_replace", "insert"]}

AGENTS = {
    "four plain tools": [
        tool("read", path=TEXT, offset=FROM_ONE, limit=LINE),
        tool("bash", path_to=TEXT, command=TEXT),
        tool("edit", path=TEXT, oldText=TEXT, newText=TEXT),
        tool("write", path=TEXT, content=TEXT),
    ],
    "camel case": [
        tool("read", filePath=TEXT, offset=FROM_ONE, limit=LINE),
        tool("bash", command=TEXT, timeout=LINE, workdir=TEXT),
        tool("edit", filePath=TEXT, oldString=TEXT, newString=TEXT, replaceAll=FLAG),
        tool("write", content=TEXT, filePath=TEXT),
        tool("task", required=["description", "prompt"], prompt=TEXT, command=TEXT),
        tool("grep", "Search the contents.", pattern=TEXT, path=TEXT),
    ],
    "a terminal": [
        tool("process", action=DOES, session_id=TEXT, offset=LINE, limit=LINE),
        tool("terminal", command=TEXT, background=FLAG),
        tool("read_file", path=TEXT, offset={"minimum": 1}, limit=LINE),
        tool("write_file", path=TEXT, content=TEXT),
        tool(
            "patch",
            required=["mode"],
            mode={"enum": ["patch", "replace"]},
            path=TEXT,
            old_string=TEXT,
            new_string=TEXT,
            patch=TEXT,
        ),
    ],
    "a first line and a count": [
        tool("run_command", required=["cmd", "safe"], cmd=TEXT, safe=FLAG),
        tool("view_file", AbsolutePath=TEXT, StartLine=LINE, MaxLines=LINE),
        tool("list_dir", path=TEXT),
        tool("delete_file", path=TEXT),
        tool("create_file", target_file=TEXT, contents=TEXT),
        tool("replace", target_file=TEXT, old_str=TEXT, new_str=TEXT),
    ],
    "one editor": [
        tool("execute", command={"type": "array", "items": TEXT}),
        tool(
            "editor",
            required=["command", "path"],
            command=DOES,
            path=TEXT,
            file_text=TEXT,
            old_str=TEXT,
            new_str=TEXT,
            offset=LINE,
            limit=LINE,
        ),
    ],
}
CALLS: list[tuple[str, Body]] = [
    ("bash", {"command": "ls"}),
    ("read_file", {"path": "a.py"}),
    ("read_file", {"path": "a.py", "offset": 20, "limit": 10}),
    ("write_file", {"path": "b.md", "content": "Hi\nyou\n"}),
    ("edit_file", {"path": "a.py", "old_text": "x = 1\n", "new_text": "y = 1\n"}),
]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(("name", "given"), CALLS)
def test_a_call_goes_to_the_tool_that_does_it_and_comes_back_as_ours(
    agent: str, name: str, given: Body
):
    tools = AGENTS[agent]
    call = {"type": "tool_use", "id": "t", "name": name, "input": given}
    sent = theirs({"content": [call], "stop_reason": "tool_use"}, {"tools": tools})
    (made,) = sent["content"]
    schema = next(t["input_schema"] for t in tools if t["name"] == made["name"])
    assert made["input"].keys() <= schema["properties"].keys()
    assert set(schema.get("required", ())) <= made["input"].keys()
    said = [{"role": "assistant", "content": [made]}]
    (back,) = ours({"tools": tools, "messages": said})["messages"][0]["content"]
    assert (back["name"], back["input"]) == (name, given)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_offers_the_four_hands_once(agent: str):
    own = [
        each["name"] for each in ours({"tools": AGENTS[agent], "messages": []})["tools"]
    ]
    for name in ("bash", "read_file", "write_file", "edit_file"):
        assert own.count(name) == 1


@pytest.mark.parametrize(
    ("agent", "given", "sent"),
    [
        ("four plain tools", {"offset": 20, "limit": 10}, {"offset": 21, "limit": 10}),
        ("a terminal", {"offset": 20, "limit": 10}, {"offset": 21, "limit": 10}),
        (
            "a first line and a count",
            {"offset": 20, "limit": 10},
            {"StartLine": 21, "MaxLines": 10},
        ),
    ],
)
def test_lines_are_counted_as_the_tool_counts_them(agent: str, given: Body, sent: Body):
    hand = hands_of(AGENTS[agent])["read_file"]
    made = hand.theirs({"path": "a.py", **given})
    assert {name: made[name] for name in sent} == sent


def test_a_tool_that_lists_or_deletes_never_reads():
    tools = [tool("delete_file", path=TEXT), tool("list_dir", path=TEXT)]
    assert "read_file" not in hands_of([*tools, tool("cat", path=TEXT)]).values()
    assert hands_of([*tools, tool("cat", path=TEXT)])["read_file"].name == "cat"


def test_of_two_that_fit_the_name_decides_and_else_the_description():
    fetch = tool("get", path=TEXT)
    look = tool("x", "Read a file.", path=TEXT)
    assert hands_of([fetch, tool("read", path=TEXT)])["read_file"].name == "read"
    assert hands_of([fetch, look])["read_file"].name == "x"


def test_a_shell_that_wants_what_nobody_knows_is_none():
    tools = [tool("task", required=["command", "agent"], command=TEXT, agent=TEXT)]
    assert "bash" not in hands_of(tools)


def test_tools_without_a_schema_are_known_by_our_names():
    assert hands_of([{"name": "bash"}, {"name": "Frobnicate"}]).keys() == {"bash"}


def test_an_input_may_have_a_truth_as_its_schema():
    command = {"type": "object", "properties": {"command": TEXT, "more": True}}
    shell = {"name": "run_it", "description": "Run a command.", "input_schema": command}
    assert hands_of([shell])["bash"].name == "run_it"


def test_a_tool_that_edits_in_a_form_of_its_own_is_no_hand():
    edits = tool("edit", "Edit a file.", path=TEXT, edits={"type": "array"})
    patch = tool("apply_patch", "Apply a patch to files.", input=TEXT)
    assert hands_of([edits, patch]) == {}
