"""What the offline model can see: notes, results, and a conversation in one text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.auto_compact import summary_message, summary_prompt
from offline_api.model.conversation import messages_in
from offline_api.model.notes import Note, note, notes_in
from offline_api.model.view import conversation_of, rough_tokens
from tests.builders import assistant, call, text, user
from tests.model_bodies import NOTED, SYSTEM, answer, body, calls, seen, used, words

READ = "Read every Python file one by one"
PART = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="|"), min_size=1
)


@given(PART, PART, st.lists(PART))
def test_a_note_is_read_as_it_was_written(path: str, purpose: str, names: list[str]):
    parts = (path, "9 lines", purpose, *names)
    [read] = notes_in(f"I see.\n{note('file', *parts)}\nNext.")
    assert read == Note("file", parts)


@given(st.text())
def test_no_text_breaks_the_reader(text: str):
    notes_in(f"- [file] {text}\n- [set] {text} | {text}\n- [odd] {text}")


def test_a_rule_may_hold_the_separator():
    assert notes_in("- [rule] use a | b")[0].parts == ("use a | b",)


def test_the_view_reads_the_two_numbers_of_the_system_prompt():
    shown = seen(user("Hi"), system=[text(SYSTEM)])
    assert (shown.window, shown.compacted_at) == (32_000, 20_000)


def test_an_edit_that_a_summary_counts_too_counts_once():
    edit = (
        "edit_file",
        {"path": "a.py", "old_text": "x", "new_text": "y"},
        "Edited a.py",
    )
    text = "Rename MAX to LIMIT everywhere and run the tests"
    told = summary_message(
        f"- [task] {text}\n- [progress] 5 edits made | 0 repeats", "t", text
    )
    assert seen(told, *calls("- [edit] 5 | a.py | 1", edit)).edits == 5


def test_a_null_in_a_call_is_as_if_it_were_not_given():
    read = calls(
        "",
        (
            "read_file",
            {"path": "a.py", "offset": None, "limit": None},
            "x\n... (1 more)",
        ),
    )
    assert seen(user(READ), *read).calls[0].next_line == 1


def test_a_tool_gets_the_inputs_that_its_schema_has():
    schema = {"properties": {"path": {}, "limit": {}}}
    shown = seen(user(READ), tools=[{"name": "read_file", "input_schema": schema}])
    assert shown.use("read_file", path="a.py", offset=7)["input"] == {"path": "a.py"}


def test_rough_tokens_are_counted_by_kind_of_character():
    assert (rough_tokens("x" * 350), rough_tokens("中" * 120)) == (100, 100)


# -- who asks for a summary ------------------------------------------------------------

TALK = [
    user(READ),
    *calls(NOTED, ("bash", {}, "x " * 800)),
    assistant("- [skipped] b.py | binary"),
]


@pytest.mark.parametrize(
    ("prompt", "tools"),
    [
        (summary_prompt(2_000), True),
        ("Summarize this conversation for continuity. Include: 1) What was accomplished", False),
        ("请把以上对话总结成一份结构化摘要，保留需求、决策、文件和待办事项。", False),
        ("Update the existing summary with new information from recent messages.", False),
        ("Write a detailed summary of the conversation so far, with every file. " * 3, True),
        ("CONTEXT CHECKPOINT: create a handoff summary of this conversation for another model, "
         "with progress, decisions and what is left to be done next.", True),
    ],
)  # fmt: skip
def test_a_request_for_a_summary_is_known_in_any_words(prompt: str, tools: bool):
    more = {} if tools else {"tools": []}
    said = answer(*TALK, user(prompt), **more)
    assert not used(said)
    assert f"- [task] {READ}" in words(said)
    assert NOTED in words(said)


def test_an_older_summary_in_the_text_does_not_hide_the_request_for_a_new_one():
    text = (
        "<role>\nContext Extraction Assistant\n</role>\nExtract the most relevant context.\n"
        f"<messages>\nMessages to summarize:\nHuman: Here is a summary:\n- [task] {READ}\n{NOTED}\n"
        f"AI: - [skipped] b.py | binary\n{'x ' * 800}\n</messages>"
    )
    said = words(answer(user(text), tools=[]))
    assert f"- [task] {READ}" in said
    assert NOTED in said


def test_notes_stay_if_the_rest_of_the_dump_was_cut_off():
    noted = [NOTED.replace("a.py", f"{n}.py") for n in range(8)]
    dump = json.dumps([user(READ), assistant("\n".join(noted)), user("x" * 90_000)])[
        :40_000
    ]
    said = words(
        answer(user(f"Summarize this conversation for continuity.\n{dump}"), tools=[])
    )
    assert all(note in said for note in noted)


@pytest.mark.parametrize(
    "text", ["Continue.", "please go on", "Continue from where you left off."]
)
def test_a_person_who_only_says_go_on_means_the_request_before(text: str):
    summary = user(
        f"[Conversation compressed. Transcript: t.jsonl]\n\n- [task] {READ}\n{NOTED}"
    )
    assert seen(summary, assistant("Understood."), user(text)).request == READ
    assert seen(user(READ), assistant("I stop here."), user(text)).request == READ


@pytest.mark.parametrize(
    "text",
    ["Use the compact tool to compress the conversation", READ, "Summarize our chat"],
)
def test_a_person_s_words_are_no_request_for_a_summary(text: str):
    assert conversation_of(body(*TALK, user(text)))[0] is None


# -- a conversation in one text --------------------------------------------------------


def test_a_dump_of_the_messages_is_read_message_for_message():
    _, messages = messages_in("Summarize this:\n\n" + json.dumps(TALK))
    assert messages[1:3] == TALK[1:3]
    assert messages[0]["content"] == [text(READ)]
    assert messages_in(str(TALK))[1] == messages


def test_what_was_cut_off_is_left_out():
    text = json.dumps(TALK)
    assert len(messages_in(text[: len(text) - 20])[1]) == len(TALK) - 1


def test_objects_of_the_sdk_are_read_as_they_print():
    parts = [
        "TextBlock(citations=None, text='- [done] a.py\\nIt\\'s read.', type='text')",
        "ToolUseBlock(id='toolu_1', caller=None, input={'path': 'b.py'}, name='read_file', "
        "type='tool_use')",
    ]
    _, [message] = messages_in(json.dumps([{"role": "assistant", "content": parts}]))
    assert message["content"] == [
        text("- [done] a.py\nIt's read."),
        call("toolu_1", "read_file", path="b.py"),
    ]


@pytest.mark.parametrize(
    "roles", [("Human", "AI"), ("user", "assistant"), ("用户", "助手")]
)
def test_lines_that_begin_with_a_role_are_messages(roles: tuple[str, str]):
    text = f"{roles[0]}: {READ}\n{roles[1]}: {NOTED}\n- [done] c.py\nTool: x = 1"
    words_before, messages = messages_in(f"总结:\n{text}")
    assert words_before == "总结:"
    assert [m["role"] for m in messages] == ["user", "assistant"]
    assert messages[1]["content"][0]["text"].endswith("- [done] c.py")


def test_words_in_tags_are_read_and_results_are_not():
    text = (
        f'<message type="human">Is x &lt; 1?</message>\n<message type="ai">\n'
        f'  <content>{NOTED}</content>\n</message>\n<message type="tool">x = 1</message>'
    )
    _, [asked, said] = messages_in(text)
    assert asked["content"] == [{"type": "text", "text": "Is x < 1?"}]
    assert said["content"] == [{"type": "text", "text": NOTED}]


@given(st.text())
def test_any_text_can_be_looked_through(text: str):
    messages_in(f'[{{"role": "user", "content": {text}')
    messages_in(f"Human: [{{{text}\nAI: {text}\nTool: {text}")
