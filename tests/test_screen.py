"""What the terminal shows of a call, a compaction, a text that would rewrite the screen."""

import io
from dataclasses import replace

from agentlib.cli.render import (
    Bill,
    bill_line,
    call_line,
    dimmed,
    has_colors,
    plain,
    short,
    step_lines,
)
from agentlib.step import Step


def call(tool: str, **inputs: object) -> dict[str, object]:
    return {"type": "tool_use", "id": "toolu_1", "name": tool, "input": inputs}


def result(content: object, **more: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}


def test_control_characters_are_spelled_out():
    assert plain("rm -rf x\r\x1b[2Kls") == r"rm -rf x\r\x1b[2Kls"
    assert plain("a\u202eb") == r"a\u202eb"
    assert plain("一\t行\n\u3000二") == "一\t行\n\u3000二"


def test_a_text_is_cut_at_its_first_line_that_is_not_blank():
    assert short("\n\n  one two three\nfour", 8) == "one two…"
    assert short("one", 3) == "one"
    assert short("") == ""


def test_a_read_shows_its_size_and_bash_its_first_line():
    read = call_line(call("read_file", path="a.py", offset=40), result("x = 1\ny = 2"))
    assert read == "> read_file a.py offset=40  2 lines, 11 characters"
    assert call_line(call("bash", command="ls\npwd"), result("a\nb\nc")) == (
        "> bash ls  a (and 2 lines more)"
    )


def test_a_failure_says_that_it_is_one():
    failed = result("there is no file b.py; list the folder with bash", is_error=True)
    assert call_line(call("read_file", path="b.py"), failed).startswith(
        "> read_file b.py  error: there is no file b.py"
    )


def test_a_call_needs_no_input_and_no_result():
    assert call_line(call("compact"), None) == "> compact  no result"
    assert call_line(call("compact"), result([])) == "> compact"


def test_only_the_outcome_is_dimmed():
    line = call_line(call("bash", command="ls"), result("a"), dimmed)
    assert line == "> bash ls  \x1b[2ma\x1b[0m"


def test_styles_are_for_terminals_whose_reader_wants_them():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert has_colors(Terminal(), {})
    assert not has_colors(Terminal(), {"NO_COLOR": "1"})
    assert not has_colors(Terminal(), {"TERM": "dumb"})
    assert not has_colors(io.StringIO(), {})


def test_each_outcome_of_the_layers_has_its_lines():
    quiet = Step(messages=[], tokens_before=9, tokens_after=9)
    assert list(step_lines(quiet)) == []
    cleared = Step(messages=[], replaced={"toolu_1": ""}, tokens_before=9_000, tokens_cleared=500)
    assert list(step_lines(cleared)) == [
        "[micro_compact: 1 result shortened, 9,000 -> 8,500 tokens]"
    ]
    split = replace(cleared, tokens_cleared=0, compaction="auto", archive="s", tokens_after=80)
    assert list(step_lines(split)) == [
        "[auto_compact triggered]",
        "[transcript saved: s] 9,000 -> 80 tokens",
    ]
    sizes = {"tokens_before": 9_000, "tokens_after": 1_000, "archive": "s.jsonl#u"}
    auto = Step(messages=[], compaction="auto", **sizes)
    saved = "[transcript saved: s.jsonl#u] 9,000 -> 1,000 tokens"
    assert list(step_lines(auto)) == ["[auto_compact triggered]", saved]
    manual = Step(messages=[], compaction="manual", reason="manual", **sizes)
    assert list(step_lines(manual)) == ["[manual compact]", saved]
    failed = Step(messages=[], compaction="failed", failure="the summary is empty", **sizes)
    assert list(step_lines(failed)) == [
        "[auto_compact triggered]",
        "[compaction failed: the summary is empty; nothing was changed]",
    ]


def test_a_bill_counts_prompts_whole_and_what_the_cache_gave():
    first = {"input_tokens": 10, "cache_creation_input_tokens": 990, "output_tokens": 5}
    second = {"input_tokens": 10, "cache_read_input_tokens": 1_000, "output_tokens": 5}
    assert bill_line(Bill(turns=2, usages=[first, second]), "free") == (
        "[2 turns; 2,010 tokens sent, 1,000 of them read from the cache; free]"
    )


def test_a_compaction_without_a_model_says_so():
    cut = Step(messages=[], compaction="reactive", reason="reactive", failure="Overloaded")
    assert list(step_lines(replace(cut, archive="t", tokens_before=900, tokens_after=80))) == [
        "[the API found the prompt too long]",
        "[no summary: Overloaded; what was said is cut to size instead]",
        "[transcript saved: t] 900 -> 80 tokens",
    ]
