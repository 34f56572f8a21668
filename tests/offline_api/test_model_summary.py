"""A summary of the offline model: bounded, and honest about what it was shown."""

from dataclasses import replace

import pytest

from agentlib.auto_compact import summary_message, summary_prompt
from agentlib.messages import SUMMARY_WANTED
from offline_api.model import AS_MEASURED, Habits
from offline_api.model.view import rough_tokens
from offline_api.tokens import text_tokens
from tests.builders import assistant, user
from tests.model_bodies import NOTED, answer, calls, seen, words

READ = "Read every Python file one by one"
MANY = [
    message
    for n in range(90)
    for message in calls(NOTED.replace("a.py", f"f{n:02}.py"), ("bash", {}, "x" * 300))
]


@pytest.mark.parametrize(
    ("asked", "most"), [(2_000, 300), (250, 4_000), (2_000, 4_000)]
)
def test_it_is_as_long_as_it_may_be_and_no_longer(asked: int, most: int):
    """At most the tokens asked for, max_tokens, and a fifth of what is shown; the task
    first."""
    shown = [user(READ), *MANY, user(summary_prompt(asked))]
    said = words(answer(*shown, max_tokens=most))
    bound = min(asked, most, int(0.2 * seen(*shown).size))
    assert 0.7 * bound < rough_tokens(said) <= bound
    assert text_tokens(said) <= most  # as the server counts, which cuts it off
    assert said.split("\n")[1] == f"- [task] {READ}"


def test_its_length_is_a_habit():
    shown = [user(READ), *MANY, user(summary_prompt(9_000))]
    short, long = (words(answer(*shown, habits=Habits(summary=s))) for s in (0.1, 0.3))
    assert len(short) < len(long)


def test_without_room_for_names_the_finished_files_are_counted():
    shown = [user(READ), *MANY, user(summary_prompt(100))]
    said = words(answer(*shown))
    assert "- [done to] f89.py | 90 files" in said
    again = answer(
        summary_message(said, "t.jsonl", READ), *MANY[:2], user(summary_prompt(100))
    )
    assert "90 files" in words(again)


def test_progress_that_stands_still_is_counted():
    before = summary_message(
        f"- [task] {READ}\n- [done] a.py\n- [progress] 1 files done | 1 repeats",
        "t",
        READ,
    )
    assert "1 files done | 2 repeats" in words(
        answer(before, user(summary_prompt(500)))
    )


def test_of_nothing_it_says_so():
    said = answer(assistant("Hello."), user(summary_prompt(500)))
    assert "Nothing of the conversation was shown to me." in words(said)


@pytest.mark.parametrize("rules_first", [False, True])
def test_a_habit_says_whether_a_rule_goes_in_before_the_facts(rules_first: bool):
    rule = "A rule for all that follows: every function must have a docstring."
    facts = "\n".join(
        f"- [fact] FACT: the dock number {n} holds {n} crates." for n in range(20)
    )
    shown = [
        user(f"{rule} {READ}"),
        *calls(facts, ("bash", {}, "x")),
        *MANY,
        user(READ),
    ]
    said = words(
        answer(
            *shown, user(summary_prompt(700)), habits=Habits(rules_first=rules_first)
        )
    )
    assert ("- [rule] " in said) == rules_first
    assert "- [fact] " in said


def told_again(lines, habits, prompt=9_000):
    """Return the notes of a summary that was made of another with these lines."""
    before = summary_message("\n".join([f"- [task] {READ}", *lines]), "t.jsonl", READ)
    return words(answer(before, *MANY, user(summary_prompt(prompt)), habits=habits))


def test_as_measured_the_first_summary_has_the_persons_rule_and_the_next_one_has_not():
    rules = [f"Never edit the directory number {n}." for n in range(12)]
    shown = [user(f"{' '.join(rules)} {READ}"), *MANY, user(summary_prompt(9_000))]
    wide = replace(AS_MEASURED, summary=0.5, decisions=1.0)
    first = words(answer(*shown, habits=wide))
    assert sum(rule in first for rule in rules) >= 10
    noted = [f"- [rule] {rule}" for rule in rules]
    again = told_again(noted, wide)
    assert sum(rule in again for rule in rules) <= 2
    assert all(rule in told_again(noted, Habits(summary=0.5)) for rule in rules)


def test_as_measured_it_names_about_half_of_the_files_that_were_read():
    wide = replace(AS_MEASURED, summary=0.5)
    shown = [user(READ), *MANY, user(summary_prompt(9_000))]
    assert 25 <= words(answer(*shown, habits=wide)).count("- [file]") <= 55
    assert words(answer(*shown, habits=Habits(summary=0.5))).count("- [file]") == 90


def test_the_draw_is_another_one_in_each_summary():
    noted = [f"- [fact] FACT: the valve number {n} holds." for n in range(60)]
    wide = replace(AS_MEASURED, summary=0.5, decisions=1.0)
    once, other = (told_again([*noted, more], wide) for more in ("", "- [fact] FACT."))
    kept = [{line for line in noted if line in text} for text in (once, other)]
    assert all(15 <= len(each) <= 45 for each in kept)
    assert kept[0] != kept[1]


@pytest.mark.parametrize(
    "length",
    ["最多 100 tokens", "不超过100个token", "控制在 100 字", "at most 100 tokens"],
)
def test_a_length_is_understood_in_both_languages(length: str):
    prompt = f"{SUMMARY_WANTED}\n## 文件修改\n## 决策记录\n## 待办事项\n{length}。"
    said = words(answer(user(READ), *MANY, user(prompt)))
    assert rough_tokens(said) <= 100


def test_each_sort_of_line_stands_under_its_heading_in_both_languages():
    rule = "Never edit vendor/."
    wide = Habits(summary=0.9, decisions=0.5)
    for headings in (
        ("## File changes", "## Decisions", "## To do"),
        ("## 文件修改", "## 决策记录", "## 待办事项"),
    ):
        prompt = "\n".join([SUMMARY_WANTED, *headings])
        said = words(answer(user(f"{rule} {READ}"), *MANY, user(prompt), habits=wide))
        files, decided, left = (
            said.partition(heading)[2].partition("## ")[0] for heading in headings
        )
        assert "- [file]" in files
        assert rule in decided
        assert "- [progress]" in left


@pytest.mark.parametrize(
    "form", ["## {}", "1. {}：", "【{}】"], ids=["marks", "numbers", "brackets"]
)
def test_headings_of_a_chinese_prompt_get_the_notes_of_their_kind(form: str):
    names = ("任务概述", "文件修改", "决策记录", "待办事项")
    wish = (
        "请总结以上对话，保留以下内容：\n"
        + "\n".join(map(form.format, names))
        + "\n" * 200
    )
    noted = f"{NOTED}\n- [fact] DECISION: retries are capped at 4."
    pad = calls("", ("bash", {}, "x" * 9_000))
    said = words(answer(user(READ), assistant(noted), *pad, user(wish), tools=[]))
    under = dict(
        zip(names, (part for part in said.split("\n\n") if part.strip()), strict=True)
    )
    assert all(name in part.split("\n")[0] for name, part in under.items())
    assert f"- [task] {READ}" in under["任务概述"]
    assert NOTED in under["文件修改"]
    assert "- [fact]" in under["决策记录"]
    assert "- [progress]" in under["待办事项"]
