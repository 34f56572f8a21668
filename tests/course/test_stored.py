"""The stored run of Claude Code: what it says fits together, and nothing in it is
anybody's."""

import re

from course.rooms.sessions import STORED, claude_code_run


def test_its_compactions_lie_in_its_turns_and_shrink_the_prompt():
    run = claude_code_run()
    assert len(run.compactions) >= 3
    assert set(run.described) <= set(run.files)
    for each in run.compactions:
        assert run.prompts[each.turn - 1] == each.after < each.before < run.window
        assert f"- [task] {run.asked}" in each.summary


def test_the_server_counted_the_requests_for_summaries_too():
    run = claude_code_run()
    prompts = sum(
        tokens for kind, tokens in vars(run.billed).items() if kind != "output_tokens"
    )
    assert prompts > sum(run.prompts) + 50_000 * len(run.compactions)


def test_it_holds_no_path_of_a_machine():
    text = STORED.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.~])/(?:tmp|home|root|Users|work)/", text)
