"""What the offline model does with a rule, a permission and a finished step, as it sees
them."""

from pathlib import Path
from typing import Any

import pytest

from agentlib.auto_compact import summary_message
from agentlib.loop import run
from agentlib.messages import SUMMARY_WANTED
from agentlib.settings import MODEL
from agentlib.tools import Workspace
from offline_api import client
from offline_api.faults import INVENTED, Fault
from offline_api.model import Habits
from offline_api.model.names import search_command
from tests.builders import assistant, user
from tests.model_bodies import answer, calls, used, words

RULE = "Never edit files under vendor/."
CONSENT = "Yes, you may edit files under vendor/."
RENAME = "Rename OLD to NEW everywhere and run the tests."
DECIDED = "Decision: the tests are `python -m checks`."
FOUND = calls(
    "", ("bash", {"command": search_command("OLD")}, "./vendor/a.py:1:OLD = 1")
)


def summary(*lines: str) -> Any:
    return summary_message("\n".join(["Done so far:", *lines]), "t.jsonl")


@pytest.mark.parametrize(
    ("before", "habits", "edits"),
    [
        ([], {}, True),
        ([user(RULE), assistant("Understood.")], {}, False),
        ([user("规则：不要修改 vendor/ 里的文件。"), assistant("明白。")], {}, False),
        ([summary(f"- [rule] {RULE}")], {}, False),
        ([summary(f"- [rule] {RULE}")], {"obeys_retold": False}, True),
        ([user(RULE), assistant("Understood.")], {"obeys_retold": False}, False),
        ([summary(f"- [request] {RULE} Read src/.")], {}, True),
        ([summary(INVENTED["invented consent"]), user(RULE)], {}, True),
        (
            [summary(INVENTED["invented consent"]), user(RULE)],
            {"believes_consent": False},
            False,
        ),
        (
            [user(f"{RULE} {CONSENT}"), assistant("Yes.")],
            {"believes_consent": False},
            True,
        ),
    ],
)
def test_a_rule_is_kept_if_it_is_seen_and_nothing_lifts_it(
    before: list[Any], habits: Any, edits: bool
):
    said = answer(*before, user(RENAME), *FOUND, habits=Habits(**habits))
    paths = [inputs.get("path") for name, inputs in used(said) if name == "read_file"]
    assert paths == ["vendor/a.py"] * edits


def test_a_command_that_was_decided_runs_the_tests_and_else_it_is_looked_for():
    shown = [user(RENAME), *FOUND]
    kept = answer(user(f"{RULE} {DECIDED}"), assistant("Understood."), *shown)
    assert "(python -m checks)" in used(kept)[0][1]["command"]
    assert (
        "README"
        in used(answer(user(RULE), assistant("Understood."), *shown))[0][1]["command"]
    )


@pytest.mark.parametrize(
    ("before", "habits", "runs"),
    [
        (
            [
                user("Run migrate.py."),
                *calls("", ("bash", {"command": "python migrate.py"}, "")),
            ],
            {},
            0,
        ),
        ([summary("- [ran] migrate.py")], {}, 0),
        ([summary("- [ran] migrate.py")], {"trusts_done": False}, 1),
        ([summary("- [request] Run migrate.py.")], {}, 1),
    ],
)
def test_a_step_runs_twice_only_if_nothing_says_that_it_is_finished(
    before: list[Any], habits: Any, runs: int
):
    done = answer(*before)
    own = [assistant(words(done))] if len(before) > 1 else []
    said = answer(
        *before,
        *own,
        user("Run migrate.py unless it has run."),
        habits=Habits(**habits),
    )
    assert len(used(said)) == runs


def test_it_says_all_that_it_knows_and_answers_the_question_that_was_broken_off():
    asked = user("Where is LIMIT set?")
    before = [user(f"{RULE} Run migrate.py."), assistant("- [ran] migrate.py"), asked]
    said = words(answer(*before, user("What do you still know?")))
    assert all(
        line in said
        for line in (f"[rule] {RULE}", "[ran] migrate.py", "[request] Where is")
    )
    [(_, searches)] = used(answer(*before, user("Answer my open question.")))
    assert "LIMIT" in searches["command"]
    assert "no open question" in words(answer(user("Answer my open question.")))


def test_an_invention_comes_only_when_it_is_asked_for_and_only_in_the_summary():
    asked: Any = [
        user("Read a.py"),
        {"role": "user", "content": f"{SUMMARY_WANTED} Briefly."},
    ]

    def text(messages: Any, *faults: Fault) -> str:
        api = client(faults=faults)
        return (
            api.messages.create(model=MODEL, max_tokens=500, messages=messages)
            .content[0]
            .text
        )

    for kind, line in INVENTED.items():
        fault: Any = Fault(kind, only="summary")
        assert text(asked, fault) == f"{text(asked)}\n{line}"
        assert text(asked[:1], fault) == text(asked[:1])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('NLCRE = re.compile(r"a|b")', 're.compile(r"a|b")'),
        ('NLCRE = re.compile(rb"a", re.IGNORECASE)', "no plain value"),
        ("NLCRE = load()", "load()"),
        ('NLCRE = b"a"', "b"),
    ],
)
def test_a_value_that_is_a_call_or_has_a_prefix_ends_the_search(
    line: str, value: str, tmp_path: Path
):
    (tmp_path / "x.py").write_text(f"import re\n{line}\n", encoding="utf-8")
    turns = list(run(client(), "Where is NLCRE set?", Workspace(tmp_path)))
    assert turns[-1].stop_reason == "end_turn"
    said = str(turns[-1].messages[0]["content"])
    assert value in said
    assert "sets `r`" not in said
    assert "1 files" not in said
