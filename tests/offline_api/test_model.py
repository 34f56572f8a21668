"""The offline model's next step follows from what the request shows, and from nothing
else."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.auto_compact import summary_message
from agentlib.compaction.around import Hooks, hooked
from agentlib.presets import DEFAULT
from agentlib.settings import MODEL, Settings
from offline_api import client
from offline_api.model import Habits, reply
from offline_api.model.names import search_command
from offline_api.model.reading import listing_command
from tests.builders import assistant, user
from tests.model_bodies import ADDS, NOTED, TOOLS, answer, body, calls, used, words
from tests.runs import ERRAND
from windtunnel.runner import play
from windtunnel.tasks.generated import generated
from windtunnel.tasks.scenarios import Scenario, fill, report_checks

READ = "Read every Python file one by one"
REVIEW = "Read every Python file one by one and write a report"
RENAME = "Rename MAX to LIMIT everywhere and run the tests"
UNTIL = "Keep reading files until compression triggers"
LIST = {"command": listing_command(".", ("py",))}
SEARCH = {"command": search_command("MAX")}
HITS = "./a.py:1:x = MAX\n./a.py:3:x = MAX"
EMAIL = Scenario(
    name="email",
    prompts=(REVIEW,),
    make_workspace=partial(fill, packages=["email"]),
    checks=report_checks,
)
CLEARED = "[Previous: used bash]"
TWO = ("bash", LIST, "9 4000 a.py\n9 4000 b.py")


def summary(text: str, request: str | None = None) -> dict[str, Any]:
    return summary_message(text, "t.jsonl", request)


@given(st.text(min_size=1))
def test_any_words_get_a_valid_reply_and_always_the_same(text: str) -> None:
    said = reply(body(user(text)))
    assert said == reply(body(user(text)))
    assert (said["stop_reason"] == "tool_use") == bool(used(said))
    assert said["content"]


# -- reading and reporting -------------------------------------------------------------


def test_it_lists_then_reads_and_notes_what_it_read() -> None:
    assert used(answer(user(READ))) == [("bash", LIST)]
    assert used(answer(user(READ), *calls("", TWO))) == [
        ("read_file", {"path": "a.py"})
    ]
    read = calls("", ("read_file", {"path": "a.py"}, ADDS))
    said = answer(user(READ), *calls("", TWO), *read)
    assert words(said) == NOTED
    assert used(said) == [("read_file", {"path": "b.py"})]


def test_without_the_habit_of_notes_it_knows_only_what_still_stands() -> None:
    listed = calls("", ("bash", LIST, "9 4000 a.py"))
    habits = Habits(notes=False)
    for text, known in ((ADDS, True), ("[Previous: used read_file]", False)):
        read = calls("", ("read_file", {"path": "a.py"}, text))
        said = answer(
            user(REVIEW), *listed, *read, *calls("- [done] a.py"), habits=habits
        )
        assert ("Adds numbers." in str(used(said))) == known
    first = answer(
        user(REVIEW), *listed, *calls("", ("read_file", {"path": "a.py"}, ADDS))
    )
    assert "[file]" in words(first)


def test_small_files_are_read_together_and_after_a_loss_alone() -> None:
    listed = calls("", ("bash", LIST, "9 100 a.py\n9 100 b.py\n900 40000 c.py"))
    both = [("read_file", {"path": name}) for name in ("a.py", "b.py")]
    assert used(answer(user(READ), *listed)) == both
    lost = calls("", *((*call, "[cleared]") for call in both))
    assert used(answer(user(READ), *listed, *lost)) == both[:1]


def test_a_large_file_is_read_in_parts_to_its_end() -> None:
    listed = calls("", ("bash", LIST, "1000 40000 a.py"))
    first = {"path": "a.py", "limit": 700}
    rest = {"path": "a.py", "offset": 700, "limit": 700}
    assert used(answer(user(READ), *listed)) == [("read_file", first)]
    part = calls("", ("read_file", first, '"""Adds."""\n... (300 more)'))
    assert used(answer(user(READ), *listed, *part)) == [("read_file", rest)]
    last = calls(
        "- [file] a.py | 700 lines so far | Adds.", ("read_file", rest, "x = 1")
    )
    assert "[file] a.py | 701 lines | Adds." in words(
        answer(user(READ), *listed, *part, *last)
    )


def test_a_part_that_was_cut_is_read_again_as_half_of_it() -> None:
    listed = calls("", ("bash", LIST, "1000 40000 a.py"))
    cut = (
        "x = 1\n\n[... 99 characters trimmed; recall toolu_2 returns them ...]\n\nx = 1"
    )
    part = calls("", ("read_file", {"path": "a.py", "limit": 700}, cut))
    said = answer(user(READ), *listed, *part)
    assert used(said) == [("read_file", {"path": "a.py", "limit": 350})]


def test_a_large_file_is_read_once_if_the_tool_has_no_offset() -> None:
    tools = [{"name": n, "input_schema": {"properties": p}} for n, p in (
        ("bash", {"command": {}}), ("read_file", {"path": {}, "limit": {}})
    )]  # fmt: skip
    first = {"path": "a.py", "limit": 700}
    part = calls("", ("read_file", first, '"""Adds."""\n... (300 more)'))
    said = answer(
        user(READ), *calls("", ("bash", LIST, "1000 40000 a.py")), *part, tools=tools
    )
    assert said["stop_reason"] == "end_turn"
    assert "I read 1 file." in words(said)


@pytest.mark.parametrize(
    "text",
    [
        CLEARED,
        "[Old tool result content cleared]",
        "9 4000 a.py\n9 4000 b... [truncated]",
        "9 4000 a.py\n\n[... 99 characters trimmed ...]\n\n9 4000 b.py",
        "Something else altogether",
    ],
)
def test_a_listing_that_is_none_is_asked_for_again(text: str) -> None:
    assert used(answer(user(READ), *calls("", ("bash", LIST, text)))) == [
        ("bash", LIST)
    ]


def test_it_recalls_what_was_cleared_if_that_is_offered() -> None:
    offer = "[Previous: used bash; recall toolu_7 returns it]"
    said = answer(
        user(READ),
        *calls("", ("bash", LIST, offer)),
        tools=[*TOOLS, {"name": "recall"}],
    )
    assert used(said) == [("recall", {"tool_use_id": "toolu_7"})]


def test_a_searching_model_reports_what_the_summaries_had_lost() -> None:
    task = generated(0)
    settings = Settings(manual=False, threshold=50_000, recall=True).scaled(32_000)

    def checks(*, recall: bool, searches: bool) -> dict[str, Any]:
        habits = Habits(searches=searches)
        return play(task, replace(settings, recall=recall), habits=habits).checks

    searched = checks(recall=True, searches=True)
    assert searched["rule kept"]
    assert searched["described"] == searched["files"]
    assert searched["facts"] == len(task.facts)
    for other in (
        checks(recall=True, searches=False),
        checks(recall=False, searches=True),
    ):
        assert not other["rule kept"]
        assert other["described"] < searched["described"]
        assert other["facts"] < searched["facts"]


def test_a_noted_file_is_not_read_again_though_its_text_is_gone() -> None:
    gone = calls("", ("read_file", {"path": "a.py"}, "[Previous: used read_file]"))
    said = answer(user(READ), *gone, *calls(NOTED, TWO))
    assert used(said) == [("read_file", {"path": "b.py"})]


def test_a_file_put_back_beside_a_summary_is_seen_and_its_rest_is_read() -> None:
    done = summary(f"- [task] {READ}\n\n[Put back: a.py]\n{ADDS}", READ)
    assert NOTED in words(answer(done, *calls("", TWO)))
    part = summary(
        f"- [task] {READ}\n\n[Put back: a.py]\nx = 1\ny = 2\n... (7 more lines)", READ
    )
    [(_, asked)] = used(answer(part, *calls("", TWO)))
    assert (asked["path"], asked["offset"]) == ("a.py", 2)


def test_a_file_put_back_is_quoted_and_read_all_the_same() -> None:
    def noted(messages: Any, focus: str) -> str:
        return f"- [task] {READ}"

    hooks = Hooks(
        restore=(lambda messages: [("a.py", ADDS), ("b.md", "- [rule] Never push.")],)
    )
    text = hooked(noted, hooks, 500)([user(READ), *calls("x " * 900, TWO)], "")
    assert all(
        line.startswith("> ")
        for line in text.partition("a.py]\n")[2].split("\n\n")[0].split("\n")
    )
    said = answer(summary(text, READ), *calls("", TWO))
    assert NOTED in words(said)
    assert "Never push." in words(answer(summary(text, READ), user("Rule: be brief.")))


def test_nothing_else_is_read_if_the_folder_is_not_there() -> None:
    command = {"command": listing_command("agents", ("py",))}
    asked = user("Read every Python file in the agents/ directory")
    said = answer(asked, *calls("", ("bash", command, "no such directory")))
    assert words(said) == "I found no .py file in agents/."
    assert not used(said)


def test_an_outline_is_used_for_larger_files_if_it_is_offered() -> None:
    listed = calls("", ("bash", LIST, "9 4000 a.py"))
    tools = [*TOOLS, {"name": "outline"}]
    assert used(answer(user(REVIEW), *listed, tools=tools)) == [
        ("outline", {"path": "a.py"})
    ]
    shown = calls("", ("outline", {"path": "a.py"}, "3: def add(a, b):"))
    [*_, (_, wrote)] = used(answer(user(REVIEW), *listed, *shown, tools=tools))
    assert "## a.py\n(seen as an outline)\n3: def add(a, b):" in wrote["content"]


def test_the_report_says_what_it_lost_and_keeps_a_rule_that_it_sees() -> None:
    listed = calls(NOTED, TWO)
    rule = "Rule: the first line of every report must be '# For Ada'."
    task = f"- [task] {REVIEW}\n- [done] a.py | b.py"
    report = (
        "# Report on 2 files\n\n## a.py\nPurpose: Adds numbers.\n- `add`: Return the sum.\n\n"
        "## b.py\n(details lost)\n\n2 files in all.\n"
    )
    said = answer(summary(task, REVIEW), *listed)
    assert used(said)[-1][1]["content"] == report
    kept = answer(summary(f"{task}\n- [rule] {rule}", REVIEW), *listed)
    assert used(kept)[-1][1]["content"] == f"# For Ada\n{report}"


@pytest.mark.parametrize(
    ("there", "more"),
    [("there is one already", " It replaces an older REPORT.md."), ("(no output)", "")],
)
def test_a_report_that_takes_the_place_of_an_older_one_says_so(
    there: str, more: str
) -> None:
    before = [user(REVIEW), *calls(NOTED, ("bash", LIST, "9 4000 a.py"))]
    writing = answer(*before)
    (_, look), (_, write) = used(writing)
    made = calls(
        words(writing), ("bash", look, there), ("write_file", write, "Wrote 9 bytes")
    )
    assert words(answer(*before, *made)) == f"I wrote REPORT.md: 1 file.{more}"


def test_a_note_on_the_report_is_no_proof_that_it_was_written() -> None:
    task = f"- [task] {REVIEW}\n- [done] a.py\n- [report] REPORT.md | a.py | 0 lost"
    before = [summary(task, REVIEW), *calls(NOTED, ("bash", LIST, "9 4000 a.py"))]
    [(name, look)] = used(answer(*before))
    assert (name, "REPORT.md" in look["command"]) == ("bash", True)
    there, missing = (
        calls("", ("bash", look, word)) for word in ("written", "missing")
    )
    assert words(answer(*before, *there)) == "I wrote REPORT.md: 1 file."
    [(_, older), (name, write)] = used(answer(*before, *missing))
    assert name == "write_file"
    made = calls(
        "", ("bash", older, "(no output)"), ("write_file", write, "Wrote 9 bytes")
    )
    assert words(answer(*before, *missing, *made)) == "I wrote REPORT.md: 1 file."
    cut = calls(
        "", ("write_file", write, "interrupted; check before repeating"), error=True
    )
    assert used(answer(*before, *cut))[-1][0] == "write_file"


@pytest.mark.parametrize(("max_tokens", "most"), [(640, 20), (1_280, 79)])
def test_a_report_that_is_too_long_says_for_how_many_files(
    max_tokens: int, most: int
) -> None:
    names = sorted(f"m_{n}.py" for n in range(100, 180))
    listed = calls("", ("bash", LIST, "\n".join(f"9 400 {name}" for name in names)))
    notes = "\n".join(
        f"- [file] {n} | 9 lines | Module number 7. | f_7: Adds." for n in names
    )
    told = summary(f"- [task] {REVIEW}\n{notes}\n- [done] {' | '.join(names)}", REVIEW)
    writing = answer(told, *listed, max_tokens=max_tokens)
    (_, look), (_, write) = used(writing)
    there = write["content"].count("## m_")
    assert 1 < there <= most
    assert len(write["content"]) < 4 * max_tokens
    assert f"No room for {80 - there} files more." in write["content"]
    made = calls(
        words(writing), ("bash", look, "(no output)"), ("write_file", write, "Wrote it")
    )
    end = words(answer(told, *listed, *made))
    assert (
        end == f"I wrote REPORT.md: 80 files. {80 - there} files found no room in it."
    )


@pytest.mark.parametrize("blank", ["", "(blank)", "[cleared]"])
def test_nothing_is_known_but_from_the_results(blank: str) -> None:
    def brain(sent: dict[str, Any]) -> dict[str, Any]:
        for message in sent["messages"]:
            for block in (
                message["content"] if isinstance(message["content"], list) else ()
            ):
                if block["type"] == "tool_result":
                    block["content"] = blank
        return reply(sent)

    run = play(EMAIL, DEFAULT, model=brain, max_turns=60)
    assert not run.checks["described"]


def test_no_statement_of_a_report_is_false_however_much_was_forgotten() -> None:
    low = Settings.from_env(DEFAULT, environ={}, threshold=12_000)
    run = play(EMAIL, low)
    assert (run.refused, run.checks["false"]) == ("", 0)
    assert run.checks["described"] + run.checks["lost"] == run.checks["files"]
    assert run.checks["described"] > run.checks["files"] / 2
    assert len(run.session.compactions) >= 4


# -- giving up -------------------------------------------------------------------------


def test_it_gives_up_openly() -> None:
    blind = calls("", ("bash", LIST, CLEARED))
    assert "the same call has shown me nothing" in words(
        answer(user(READ), *blind, *blind, *blind)
    )
    idle = [calls("", ("bash", {"command": f"echo {n}"}, "So?")) for n in range(12)]
    assert used(answer(user(READ), *(m for pair in idle[:11] for m in pair)))
    end = answer(user(READ), *(m for pair in idle for m in pair))
    assert words(end) == "I stop here: 12 calls in a row brought nothing new."
    stuck = summary(f"- [task] {RENAME}\n- [progress] 4 edits made | 3 repeats", RENAME)
    assert "3 summaries in a row brought me no further" in words(answer(stuck))
    assert used(answer(stuck, habits=Habits(standstill=9)))


def test_an_interrupted_call_does_not_count_as_one_that_showed_nothing() -> None:
    blind = calls("", ("bash", LIST, CLEARED))
    cut = calls("", ("bash", LIST, "interrupted; check before repeating"), error=True)
    assert used(answer(user(READ), *cut, *cut, *cut)) == [("bash", LIST)]
    assert used(answer(user(READ), *blind, *cut, *blind)) == [("bash", LIST)]
    idle = [calls("", ("bash", {"command": f"echo {n}"}, "So?")) for n in range(11)]
    assert used(answer(user(READ), *cut, *(m for pair in idle for m in pair)))


def test_whoever_ends_without_what_was_asked_does_not_say_end_turn() -> None:
    blind = calls("", ("bash", LIST, CLEARED))
    ends = [
        answer(user(READ), *blind, *blind, *blind),
        answer(user(READ), *calls("", ("bash", LIST, "(no output)"))),
        answer(user(READ), tools=[]),
        answer(user(RENAME), *calls("", ("bash", SEARCH, "(no output)"))),
        answer(user("Sing!")),
    ]
    assert [end["stop_reason"] for end in ends] == ["refusal"] * len(ends)
    done = calls(NOTED, ("bash", LIST, "9 4000 a.py"))
    assert answer(user(READ), *done)["stop_reason"] == "end_turn"


def test_what_it_can_not_do_is_said() -> None:
    assert "离线模型" in words(answer(user("唱首歌吧")))
    assert "no tool bash" in words(answer(user(READ), tools=[]))


# -- names -----------------------------------------------------------------------------


def test_an_edit_is_made_only_of_text_that_can_be_seen_and_is_unique() -> None:
    found = calls("", ("bash", SEARCH, HITS))
    assert used(answer(user(RENAME), *found)) == [("read_file", {"path": "a.py"})]
    read = calls("", ("read_file", {"path": "a.py"}, "x = MAX\ny = 2\nx = MAX"))
    edit = {
        "path": "a.py",
        "old_text": "x = MAX\ny = 2",
        "new_text": "x = LIMIT\ny = 2",
    }
    assert used(answer(user(RENAME), *found, *read)) == [("edit_file", edit)]


def test_after_two_readings_in_vain_only_a_unique_line_is_edited_from_the_search() -> (
    None
):
    gone = calls("", ("read_file", {"path": "a.py"}, "[Previous: used read_file]"))
    said = answer(user(RENAME), *gone, *gone, *calls("", ("bash", SEARCH, HITS)))
    assert words(said).count("- [left] a.py | ") == 2
    unique = calls("", ("bash", SEARCH, "./a.py:1:x = MAX\n./a.py:3:y = MAX"))
    edit = {"path": "a.py", "old_text": "x = MAX", "new_text": "x = LIMIT"}
    assert used(answer(user(RENAME), *gone, *unique)) == [
        ("read_file", {"path": "a.py"})
    ]
    assert used(answer(user(RENAME), *gone, *gone, *unique)) == [("edit_file", edit)]


def test_an_interrupted_edit_is_looked_at_before_it_is_repeated() -> None:
    edit = (
        "edit_file",
        {"path": "a.py", "old_text": "x", "new_text": "y"},
        "interrupted; check",
    )
    cut = calls("- [edit] 1 | a.py | 1", edit, error=True)
    said = answer(user(RENAME), *calls("", ("bash", SEARCH, HITS)), *cut)
    assert used(said) == [("bash", SEARCH)]


def test_a_name_that_is_not_there_is_not_renamed() -> None:
    said = answer(user(RENAME), *calls("", ("bash", SEARCH, "(no output)")))
    assert words(said) == "`MAX` isn't in any file here, so there is nothing to rename."


def test_tests_that_are_not_there_do_not_pass() -> None:
    run = {"command": "python -m unittest -q; echo ${PIPESTATUS[0]}"}
    text = "Ran 0 tests in 0.0s\n\nOK\nexit code 0"
    said = answer(user(RENAME), *calls("", ("bash", run, text)))
    assert "- [tests] none | no test was run" in words(said)


# -- compacting ------------------------------------------------------------------------


def test_a_full_window_is_compacted_between_two_pieces_of_work_and_only_once() -> None:
    finished = [user("Read x. " + "long " * 12_000), assistant("Done.")]
    assert used(answer(*finished, user(READ)))[0][0] == "compact"
    again = calls("", ("compact", {"focus": "rules"}, "Compacted."))
    assert used(answer(*finished, user(READ), *again)) == [("bash", LIST)]
    assert used(answer(*finished, user(READ), habits=Habits(compacts_from=0.9))) == [
        ("bash", LIST)
    ]


def test_the_compact_tool_is_called_once_and_what_came_of_it_is_said() -> None:
    text = "Use the compact tool, focus on the rules"
    asked = user(text)
    focus = ("compact", {"focus": "the rules"})
    assert used(answer(asked)) == [focus]
    done = calls("I compact.", (*focus, "Compacted."))
    begun = answer(asked, *done)
    assert "nothing to compact yet" in words(begun)
    assert begun["stop_reason"] == "end_turn"
    read = calls("", ("bash", {"command": "ls"}, "a.py"))
    failed = answer(user("Read a.py"), *read, assistant("Done."), asked, *done)
    assert "there was nothing to compact" in words(failed)
    assert failed["stop_reason"] == "refusal"
    assert "is compacted" in words(answer(summary(f"- [task] {text}", text)))
    assert "no tool" in words(answer(asked, tools=TOOLS[:4]))


def test_a_compaction_that_left_the_request_in_the_tail_is_seen() -> None:
    asked = user("Use the compact tool to compact our conversation")
    old = summary("- [task] Read all")
    new = summary("- [task] Read all\n- [done] a.py")
    begun = answer(old, assistant("Yes."), asked)
    made = calls(words(begun), ("compact", used(begun)[0][1], "Compacted."))
    assert "is compacted" in words(answer(new, assistant("Yes."), asked, *made))
    unchanged = words(answer(old, assistant("Yes."), asked, *made))
    assert "only the summary from before" in unchanged


def test_reading_until_compaction_ends_with_its_own_summary_only() -> None:
    told = summary(f"- [task] {UNTIL}\n- [done] a.py | b.py", UNTIL)
    assert "has triggered" in words(answer(told))
    assert "through 2 files" in words(answer(told))
    other = summary("- [task] something else", "something else")
    assert used(answer(other, assistant("Done."), user(UNTIL)))[0][0] == "bash"
    assert (
        used(answer(told, assistant("It has triggered."), user(UNTIL)))[0][0] == "bash"
    )


# -- the request's own conditions ------------------------------------------------------


def test_tool_choice_is_obeyed() -> None:
    none = answer(user(READ), tool_choice={"type": "none"})
    assert (used(none), none["stop_reason"]) == ([], "end_turn")
    schema = {
        "properties": {
            "text": {"type": "string"},
            "n": {"type": "integer", "minimum": 2},
        }
    }
    tools = [
        *TOOLS,
        {"name": "final", "input_schema": {**schema, "required": ["text", "n"]}},
    ]
    forced = answer(
        user("唱首歌吧"), tools=tools, tool_choice={"type": "tool", "name": "final"}
    )
    [(name, inputs)] = used(forced)
    assert (name, inputs["n"], forced["stop_reason"]) == ("final", 2, "tool_use")
    assert inputs["text"] == words(forced)


def test_a_stop_sequence_cuts_the_reply() -> None:
    said = answer(user("唱首歌吧"), stop_sequences=["没有"])
    assert (words(said), said["stop_reason"]) == ("我是离线模型，", "stop_sequence")
    assert said["stop_sequence"] == "没有"


def test_habits_and_a_stop_sequence_reach_the_wire_and_a_run() -> None:
    asked = [{"role": "user", "content": "唱首歌吧"}]
    sent: Any = {
        "model": MODEL,
        "messages": asked,
        "max_tokens": 500,
        "stop_sequences": ["没有"],
    }
    said = client(habits=Habits(batch=1)).messages.create(**sent)
    assert (said.stop_reason, said.stop_sequence) == ("stop_sequence", "没有")
    small = DEFAULT.scaled(32_000)
    together, alone = (play(ERRAND, small, habits=Habits(batch=n)) for n in (3, 1))
    assert together.turns < alone.turns
