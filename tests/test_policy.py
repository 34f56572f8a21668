"""The offline model acts on what the request shows, and on nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.auto_compact import summary_message, summary_prompt
from agentlib.lab.model import reply
from agentlib.lab.model.files import listing_command
from agentlib.lab.model.places import search_command
from agentlib.lab.model.reading import rough_tokens, view

Message = dict[str, Any]
TOOLS = [{"name": n} for n in ("bash", "read_file", "write_file", "edit_file", "compact")]
SYSTEM = "The context window is 32,000 tokens; the conversation is compacted at 20,000 tokens."
READ = "Read every Python file one by one"
REVIEW = "Read every Python file one by one and write a report"
RENAME = "Rename MAX to LIMIT everywhere and run the tests"
LIST = {"command": listing_command(".", ("py",))}
CLEARED = "[Previous: used bash]"
NOTED = "Noted a.py — Adds numbers.\n- `add`: Return the sum."


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def calls(text: str, *made: tuple[str, dict[str, Any], str], error: bool = False) -> list[Message]:
    """An assistant message with calls (tool, input, result), and the results."""
    ids = [f"toolu_{abs(hash((text, i, str(call))))}" for i, call in enumerate(made)]
    uses = [
        {"type": "tool_use", "id": i, "name": c[0], "input": c[1]}
        for i, c in zip(ids, made, strict=True)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": i, "content": c[2], "is_error": error}
        for i, c in zip(ids, made, strict=True)
    ]
    said = [{"type": "text", "text": text}] if text else []
    return [{"role": "assistant", "content": [*said, *uses]}, {"role": "user", "content": results}]


def answer(*messages: Message, tools: Any = TOOLS, **more: Any) -> dict[str, Any]:
    return reply(
        {"messages": list(messages), "tools": tools, "system": SYSTEM, "max_tokens": 4_000, **more}
    )


def used(said: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(b["name"], b["input"]) for b in said["content"] if b["type"] == "tool_use"]


def words(said: dict[str, Any]) -> str:
    return "\n".join(b["text"] for b in said["content"] if b["type"] == "text")


@given(st.text(min_size=1))
def test_any_words_get_a_valid_answer_and_always_the_same(text: str) -> None:
    body = {"messages": [user(text)], "tools": TOOLS, "max_tokens": 500}
    said = reply(body)
    assert said == reply(body)
    assert (said["stop_reason"] == "tool_use") == bool(used(said))
    assert said["content"]


def test_it_lists_then_reads_and_notes_what_it_read() -> None:
    listed = calls("", ("bash", LIST, "9 4000 a.py\n9 4000 b.py"))
    assert used(answer(user(READ))) == [("bash", LIST)]
    assert used(answer(user(READ), *listed)) == [("read_file", {"path": "a.py"})]
    text = '"""Adds numbers."""\n\ndef add(a, b):\n    """Return the sum."""'
    said = answer(user(READ), *listed, *calls("", ("read_file", {"path": "a.py"}, text)))
    assert words(said) == NOTED
    assert used(said) == [("read_file", {"path": "b.py"})]


def test_a_null_in_another_models_call_is_as_if_it_were_not_given() -> None:
    whole = {"path": "a.py", "offset": None, "limit": None}
    listed = calls("", ("bash", LIST, "9 4000 a.py\n9 4000 b.py"))
    read = calls("", ("read_file", whole, '"""Adds."""'))
    assert used(answer(user(READ), *listed, *read)) == [("read_file", {"path": "b.py"})]
    found = calls("", ("bash", SEARCH, "./a.py:1:x = MAX"))
    shown = calls("", ("read_file", whole, "x = MAX"))
    [(name, _)] = used(answer(user(RENAME), *found, *shown))
    assert name == "edit_file"


def test_small_files_are_read_together() -> None:
    listed = calls("", ("bash", LIST, "9 100 a.py\n9 100 b.py\n900 40000 c.py"))
    assert [call[1]["path"] for call in used(answer(user(READ), *listed))] == ["a.py", "b.py"]


def test_a_large_file_is_read_in_parts_to_its_end() -> None:
    listed = calls("", ("bash", LIST, "1000 40000 a.py"))
    first = {"path": "a.py", "limit": 700}
    assert used(answer(user(READ), *listed)) == [("read_file", first)]
    part = calls("", ("read_file", first, '"""Adds."""\n... (300 more)'))
    assert used(answer(user(READ), *listed, *part)) == [("read_file", {**first, "offset": 700})]
    noted = "Noted a.py (to line 700) — Adds."
    last = calls(noted, ("read_file", {**first, "offset": 700}, "x = 1"))
    assert answer(user(READ), *listed, *part, *last)["stop_reason"] == "end_turn"


TRIMMED = "9 4000 a.py\n\n[... 99 characters trimmed ...]\n\n9 4000 b.py"


@pytest.mark.parametrize("seen", [CLEARED, "9 4000 a.py\n9 4000 b... [truncated]", TRIMMED])
def test_a_listing_that_cannot_be_seen_whole_is_asked_for_again(seen: str) -> None:
    assert used(answer(user(READ), *calls("", ("bash", LIST, seen)), *calls(NOTED))) == [
        ("bash", LIST)
    ]


def test_it_recalls_what_was_cleared_where_that_is_offered() -> None:
    offer = "[Previous: used bash; recall toolu_7 returns it]"
    said = answer(user(READ), *calls("", ("bash", LIST, offer)), tools=[*TOOLS, {"name": "recall"}])
    assert used(said) == [("recall", {"tool_use_id": "toolu_7"})]


def test_a_noted_file_is_not_read_again_though_its_text_is_gone() -> None:
    history = [*calls("", ("read_file", {"path": "a.py"}, "[Previous: used read_file]"))]
    listed = calls(NOTED, ("bash", LIST, "9 4000 a.py\n9 4000 b.py"))
    assert used(answer(user(READ), *history, *listed)) == [("read_file", {"path": "b.py"})]


def test_what_was_put_back_beside_a_summary_is_seen_and_not_read_again() -> None:
    text = '"""Adds numbers."""\n\ndef add(a, b):\n    """Return the sum."""'
    kept = calls("", ("bash", LIST, "9 4000 a.py\n9 4000 b.py"))
    for file, noted in (("a.py", "Noted a.py — Adds"), ("z.py", "Noted z.py — Adds")):
        summary = f"Task: {READ}\n\n[Put back: {file}]\n{text}"
        said = answer(summary_message(summary, "t.jsonl", READ), *kept)
        assert noted in words(said)
        assert used(said) == [("read_file", {"path": "b.py" if file == "a.py" else "a.py"})]


def test_of_a_file_put_back_in_part_the_rest_is_read() -> None:
    summary = f"Task: {READ}\n\n[Put back: a.py]\nx = 1\ny = 2\n... (7 more lines)"
    kept = calls("", ("bash", LIST, "9 4000 a.py"))
    said = answer(summary_message(summary, "t.jsonl", READ), *kept)
    assert "Noted a.py (to line 2) — " in words(said)
    [(name, asked)] = used(said)
    assert (name, asked["path"], asked["offset"]) == ("read_file", "a.py", 2)


def test_a_folder_that_is_not_there_is_said_so() -> None:
    command = {"command": listing_command("agents", ("py",))}
    asked = user("Read every Python file in the agents/ directory")
    said = answer(asked, *calls("", ("bash", command, "no such directory")))
    assert "There is no directory agents/ here" in words(said)
    assert used(said) == [("bash", LIST)]


def test_the_report_says_what_it_lost() -> None:
    listed = calls(NOTED, ("bash", LIST, "9 4000 a.py\n9 4000 b.py"))
    done = summary_message("Task: " + REVIEW + "\nDone: a.py, b.py", "t.jsonl", REVIEW)
    said = answer(done, *listed)
    assert used(said)[-1][1]["content"] == (
        "# Report on 2 files\n\n## a.py\nPurpose: Adds numbers.\n- `add`: Return the sum.\n\n"
        "## b.py\n(details lost)\n\n2 files in all.\n"
    )


def test_a_rule_is_kept_while_it_can_be_seen() -> None:
    rule = "Rule: the first line of every report must be '# For Ada'."
    listed = calls(NOTED, ("bash", LIST, "9 4000 a.py"))
    kept = answer(user(rule), {"role": "assistant", "content": "Yes."}, user(REVIEW), *listed)
    assert used(kept)[-1][1]["content"].startswith("# For Ada\n")
    assert used(answer(user(REVIEW), *listed))[-1][1]["content"].startswith("# Report on 1 file\n")


@pytest.mark.parametrize(
    ("there", "closing"),
    [
        ("there is one already", "I wrote REPORT.md: 1 file. It replaces an older REPORT.md."),
        ("(no output)", "I wrote REPORT.md: 1 file."),
    ],
)
def test_a_report_that_takes_the_place_of_an_older_one_says_so(there: str, closing: str) -> None:
    before = [user(REVIEW), *calls(NOTED, ("bash", LIST, "9 4000 a.py"))]
    writing = answer(*before)
    (_, look), (_, write) = used(writing)
    made = calls(words(writing), ("bash", look, there), ("write_file", write, "Wrote 9 bytes"))
    assert words(answer(*before, *made)) == closing


def test_that_an_older_report_was_replaced_outlives_a_summary() -> None:
    replaced = "Replaced REPORT.md, which was there before"
    noted = [user(REVIEW), *calls(f"{NOTED}\n{replaced}", ("bash", LIST, "9 4000 a.py"))]
    assert replaced in words(answer(*noted, user(summary_prompt(2_000))))


def test_results_that_never_show_end_in_open_words() -> None:
    blind = calls("", ("bash", LIST, CLEARED))
    assert "cleared before I can see them" in words(answer(user(READ), *blind, *blind, *blind))


def test_a_dozen_calls_that_bring_nothing_new_are_the_end() -> None:
    idle = [calls("", ("bash", {"command": f"echo {n}"}, "So?")) for n in range(12)]
    assert used(answer(user(READ), *(m for pair in idle[:11] for m in pair)))
    end = answer(user(READ), *(m for pair in idle for m in pair))
    assert words(end) == "I stop here: 12 calls in a row brought nothing new."


@pytest.mark.parametrize(("asked", "most"), [(2_000, 300), (250, 4_000), (2_000, 4_000)])
def test_a_summary_is_as_long_as_it_may_be_and_no_longer(asked: int, most: int) -> None:
    """At most the tokens asked for, max_tokens, and a fifth of what is shown; the task first."""
    read = [calls(NOTED.replace("a.py", f"f{n}.py"), ("bash", {}, "x" * 300)) for n in range(90)]
    shown = [user(READ), *(m for pair in read for m in pair), user(summary_prompt(asked))]
    said = words(answer(*shown, max_tokens=most))
    bound = min(asked, most, int(0.2 * view({"messages": shown, "tools": TOOLS}).size))
    assert 0.7 * bound < rough_tokens(said) <= bound
    assert said.split("\n")[1] == f"Task: {READ}"


SEARCH = {"command": search_command("MAX")}
HITS = "./a.py:1:x = MAX\n./a.py:3:x = MAX"


def test_an_edit_is_made_only_of_text_that_can_be_seen_and_is_unique() -> None:
    found = calls("", ("bash", SEARCH, HITS))
    assert used(answer(user(RENAME), *found)) == [("read_file", {"path": "a.py"})]
    read = calls("", ("read_file", {"path": "a.py"}, "x = MAX\ny = 2\nx = MAX"))
    edit = {"path": "a.py", "old_text": "x = MAX\ny = 2", "new_text": "x = LIMIT\ny = 2"}
    assert used(answer(user(RENAME), *found, *read)) == [("edit_file", edit)]


def test_after_two_readings_in_vain_a_line_that_is_not_unique_is_given_up() -> None:
    gone = calls("", ("read_file", {"path": "a.py"}, "[Previous: used read_file]"))
    said = answer(user(RENAME), *gone, *gone, *calls("", ("bash", SEARCH, HITS)))
    assert words(said).count("Gave up on a.py:") == 2


def test_after_two_readings_in_vain_a_line_that_is_unique_is_edited_from_the_search() -> None:
    gone = calls("", ("read_file", {"path": "a.py"}, "[Previous: used read_file]"))
    found = calls("", ("bash", SEARCH, "./a.py:1:x = MAX\n./a.py:3:y = MAX"))
    edit = {"path": "a.py", "old_text": "x = MAX", "new_text": "x = LIMIT"}
    assert used(answer(user(RENAME), *gone, *found)) == [("read_file", {"path": "a.py"})]
    assert used(answer(user(RENAME), *gone, *gone, *found)) == [("edit_file", edit)]


def test_an_interrupted_edit_is_looked_at_before_it_is_repeated() -> None:
    edit = {"path": "a.py", "old_text": "x = MAX\n", "new_text": "x = LIMIT\n"}
    found = calls("", ("bash", SEARCH, HITS))
    cut = calls(
        "Editing a.py:1 (edit 1).",
        ("edit_file", edit, "interrupted; check before repeating"),
        error=True,
    )
    assert used(answer(user(RENAME), *found, *cut)) == [("bash", SEARCH)]


def test_three_compactions_without_progress_are_the_end() -> None:
    summary = f"Task: {RENAME}\nedits made: 4; no progress: 3"
    assert "I stop here" in words(answer(summary_message(summary, "t.jsonl", RENAME)))


FINISHED = [user("Read x. " + "long " * 12_000), {"role": "assistant", "content": "Done."}]


def test_a_full_window_is_compacted_between_two_pieces_of_work_and_only_once() -> None:
    assert used(answer(*FINISHED, user(READ)))[0][0] == "compact"
    again = calls("", ("compact", {"focus": "rules"}, "Compacted."))
    assert used(answer(*FINISHED, user(READ), *again)) == [("bash", LIST)]
    half_full = user("Read x. " + "long " * 6_000)  # 9,000 tokens of 20,000; from 14,000 on
    assert used(answer(half_full, FINISHED[1], user(READ))) == [("bash", LIST)]
    assert used(answer(FINISHED[0], user(READ))) == [("bash", LIST)]  # nothing is finished yet


def test_compact_is_called_once_and_read_as_done() -> None:
    asked = user("Use the compact tool, focus on the rules")
    assert used(answer(asked)) == [("compact", {"focus": "the rules"})]
    done = calls("", ("compact", {"focus": "the rules"}, "Compacted."))
    assert "nothing to compact yet" in words(answer(asked, *done))
    summary = summary_message(f"Task: {asked['content']}", "t.jsonl", str(asked["content"]))
    assert "the conversation is compacted" in words(answer(summary))
    assert "no tool" in words(answer(asked, tools=TOOLS[:4]))


def test_reading_until_compaction_ends_with_its_own_summary_only() -> None:
    until = "Keep reading files until compression triggers"
    mine = summary_message(f"Task: {until}", "t.jsonl", until)
    other = summary_message("Task: something else", "t.jsonl", "something else")
    assert "has triggered" in words(answer(mine))
    told = summary_message(f"Task: {until}\nDone: a.py, b.py", "t.jsonl", until)
    assert "through 2 files" in words(answer(told))
    assert (
        used(answer(other, {"role": "assistant", "content": "Done."}, user(until)))[0][0] == "bash"
    )
    twice = [mine, {"role": "assistant", "content": "Compression has triggered."}, user(until)]
    assert used(answer(*twice))[0][0] == "bash"


def test_the_view_counts_a_summarised_edit_once() -> None:
    edit = {"path": "a.py", "old_text": "x", "new_text": "y"}
    kept = calls("Editing a.py:1 (edit 5).", ("edit_file", edit, "Edited a.py"))
    summary = summary_message(f"Task: {RENAME}\nedits made: 5; no progress: 0", "t.jsonl", RENAME)
    said = answer(summary, *kept, user(summary_prompt(500)))
    assert "edits made: 5; no progress: 1" in words(said)


def test_rough_tokens_are_counted_by_kind_of_character() -> None:
    assert rough_tokens("x" * 350) == 100
    assert rough_tokens("中" * 120) == 100


def test_the_view_reads_the_two_numbers_of_the_system_prompt() -> None:
    seen = view({"messages": [user("Hi")], "system": [{"type": "text", "text": SYSTEM}]})
    assert (seen.window, seen.compacted_at) == (32_000, 20_000)
