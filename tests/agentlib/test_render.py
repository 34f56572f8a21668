"""The lines of a call, a compaction and a bill, and texts that would rewrite the
screen."""

import re
import sys
from dataclasses import replace
from functools import cache
from unicodedata import category

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.cli.render import (
    as_it_runs,
    bill_line,
    call_line,
    plain,
    short,
    step_lines,
)
from agentlib.settings import MODEL
from agentlib.step import Step
from tests.builders import call, result


def lines(step: Step) -> list[str]:
    return [click.unstyle(line) for line in step_lines(step)]


def test_control_characters_are_spelled_out():
    assert plain("rm -rf x\r\x1b[2Kls") == r"rm -rf x\r\x1b[2Kls"
    assert plain("a\u202eb") == r"a\u202eb"
    assert plain("一\t行\n\u3000二") == "一\t行\n\u3000二"


def test_a_command_to_confirm_is_shown_whole_as_it_runs():
    key = "-----BEGIN PRIVATE " + "KEY-----"
    hidden = f": {key}\n{'A' * 64}\n/////////bin/bash cleanupscript001"
    assert as_it_runs(hidden) == hidden
    assert (
        as_it_runs("rm\u200b \U000e0041x\u00ad\r\n")
        == r"rm\u200b \U000e0041x\xad\r" + "\n"
    )
    assert as_it_runs("ls" + " " * 4_000 + "; rm x") == "ls[4000 blanks]; rm x"
    assert as_it_runs("ls" + "\n \t" * 300 + "\nrm x") == "ls\n[300 empty lines]\nrm x"
    assert (
        as_it_runs("if a; then\n    b\n\nfi\t# 四") == "if a; then\n    b\n\nfi\t# 四"
    )


@cache
def unseen() -> list[str]:
    """List all blanks but three, and all signs that format and show nothing."""
    kinds = ("Zs", "Zl", "Zp", "Cf", "Cc", "Cs")
    signs = map(chr, range(sys.maxunicode + 1))
    return [sign for sign in signs if category(sign) in kinds and sign not in " \n\t"]


def test_no_blank_but_the_space_and_no_format_character_is_left_as_it_is():
    assert len(unseen()) > 200
    for sign in [*unseen(), *"\u115f\u2800\u3164\ufe0f\u034f\U000e0101\ue000"]:
        shown = as_it_runs(f"echo safe{sign}# old: ; touch pwned")
        assert sign not in shown
        assert ascii(sign)[1:-1] in shown


def test_letters_of_any_script_are_shown():
    text = "echo 'ä é ß 中文 かな русский עברית العربية ไทย हिन्दी 😀 é' | grep '–…€'"
    assert as_it_runs(text) == text


@given(st.text())
def test_what_is_shown_can_be_seen(text):
    shown = as_it_runs(text)
    assert not set(shown) & set(unseen())


def test_keys_are_masked():
    key = "ghp_" + "Ab1" * 12
    assert plain(f"token = {key}") == "token = [masked: GitHub token]"
    shown = click.unstyle(
        call_line(call("t1", "bash", command=f"echo {key}"), result("t1", key))
    )
    assert shown == "> bash echo [masked: GitHub token]  [masked: GitHub token]"


def test_a_text_is_cut_at_its_first_line_that_is_not_blank():
    assert short("\n\n  one two three\nfour", 8) == "one two…"
    assert short("one", 3) == "one"
    assert short("\n") == ""


@pytest.mark.parametrize(
    ("call", "result", "line"),
    [
        (
            call("t1", "read_file", path="a", limit=4),
            result("t1", "1\n2"),
            "read_file a limit=4  1 (lines: 2)",
        ),
        (
            call("t1", "bash", command="ls\npwd"),
            result("t1", "a\x1b[2J"),
            r"bash ls  a\x1b[2J",
        ),
        (
            call("t1", "bash", command="x"),
            result("t1", "gone", is_error=True),
            "bash x  error: gone",
        ),
        (call("t1", "compact"), result("t1", []), "compact  "),
        (
            call("t1", "\x1b[2J", **{"a": "b", "n\r": 1}),
            result("t1", "x"),
            r"\x1b[2J b n\r=1  x",
        ),
    ],
)
def test_a_call_is_one_line_of_which_the_outcome_is_dim(call, result, line):
    styled = call_line(call, result)
    assert click.unstyle(styled) == f"> {line}"
    assert styled.index("\x1b[2m") == len("> ") + line.index("  ") + 2


def test_each_outcome_of_the_layers_has_its_lines():
    quiet = Step(tokens_before=9_000, tokens_after=9_000)
    assert lines(quiet) == []
    cleared = replace(quiet, texts={"toolu_1": ""}, tokens_cleared=500)
    assert lines(cleared) == [
        "[micro_compact: results shortened: 1; 9,000 -> 8,500 tokens]"
    ]
    summary = {"role": "user", "content": "Did it."}
    auto = replace(quiet, summary=summary, archive="s.jsonl#u", tokens_after=1_000)
    saved = "[transcript saved: s.jsonl#u] 9,000 -> 1,000 tokens"
    assert lines(auto) == ["[auto_compact triggered]", saved]
    manual = replace(auto, reason="manual")
    assert lines(manual) == ["[manual compact]", saved]
    failed = replace(quiet, failure="Overloaded")
    assert lines(failed)[1:] == ["[compaction failed: Overloaded; nothing was changed]"]
    cut = replace(auto, reason="reactive", failure="Overloaded")
    assert lines(cut) == [
        "[reactive compact]",
        "[no summary: Overloaded; the conversation is cut to size instead]",
        saved,
    ]


def test_a_bill_counts_prompts_whole_and_what_the_cache_gave():
    first = {"input_tokens": 10, "cache_creation_input_tokens": 990, "output_tokens": 5}
    second = {"input_tokens": 10, "cache_read_input_tokens": 1_000, "output_tokens": 5}
    line = bill_line("turns: 2", [first, second], MODEL, live=False)
    numbers = re.findall(r"[\d,.]*\d", line)
    assert numbers[:4] == ["2", "2,010", "1,000", "0.0001"]
    unpriced = bill_line("turns: 2", [first], "other", live=True)
    assert unpriced.endswith(" other]")
    assert "$" not in unpriced
