"""Each task is done when nothing is forgotten, and its checks notice when it is not."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playing import play

from agentlib.estimation import prompt_tokens
from agentlib.lab import policy
from agentlib.lab.checking import check_report
from agentlib.lab.policy.reading import SUMMARY_WANTED
from agentlib.lab.scenarios import (
    LONG,
    READ_AND_REPORT,
    RENAME,
    REVIEW,
    RULE,
    TRACE,
    Clock,
    Scenario,
    folder,
    last_words,
)
from agentlib.lab.workspaces import copy_package, write_files
from agentlib.messages import blocks, of_type
from agentlib.settings import Settings

WHOLE = Settings(context_window=1_000_000, micro="off", auto=False)


@pytest.mark.parametrize("scenario", [REVIEW, TRACE, RENAME], ids=lambda each: each.name)
def test_done_when_everything_is_kept(scenario: Scenario, tmp_path: Path) -> None:
    played = play(scenario, WHOLE, tmp_path)
    assert played.checks["done"]
    assert played.checks.get("facts", 0) == len(scenario.facts)
    assert max(prompt_tokens(usage) for usage in played.usages) < scenario.window


def test_the_long_one_passes_400_000_tokens_and_the_caches_life_three_times(tmp_path: Path) -> None:
    played = play(LONG, WHOLE, tmp_path)
    assert played.checks["done"]
    assert played.checks["constraint"]
    assert played.checks["facts"] == len(LONG.facts) == 4
    assert 400_000 < max(prompt_tokens(usage) for usage in played.usages) < LONG.window
    assert sum(pause > 300 for pause in LONG.pauses) == 3
    assert RULE in LONG.prompts[0]
    assert RULE not in LONG.prompts[-1]


def test_the_review_reads_code_of_the_right_size(tmp_path: Path) -> None:
    REVIEW.make_workspace(tmp_path)
    files = list(tmp_path.rglob("*.py"))
    assert 15 <= len(files) <= 30
    assert 150_000 <= sum(file.stat().st_size for file in files) <= 300_000
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert all(sum(f"# {fact}\n" in text for text in texts) == 1 for fact in REVIEW.facts)


def test_the_renaming_has_29_places_in_seven_files(tmp_path: Path) -> None:
    RENAME.make_workspace(tmp_path)
    found = Counter(
        file.name
        for file in tmp_path.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "MAX_WEIGHT" in line
    )
    assert (sum(found.values()), len(found)) == (29, 7)


def focused(body: dict[str, Any], times: int) -> dict[str, Any]:
    """The policy, every summary asked of it with a focus."""
    *before, last = body["messages"]
    said = [
        {**b, "text": f"{b['text']}\nFocus: decisions, facts and rules of the user"}
        if b.get("text", "").startswith(SUMMARY_WANTED)
        else b
        for b in blocks(last)
    ]
    return policy.reply({**body, "messages": [*before, {**last, "content": said}]}, times)


def test_a_summary_too_short_for_it_loses_the_rule_and_a_focus_keeps_it(tmp_path: Path) -> None:
    """The rule is in the first of two requests; the second is what stays word for word."""
    settings = Settings(threshold=20_000, keep_recent=10, summary_tokens=400)
    plain = play(REVIEW, settings, tmp_path / "plain")
    focus = play(REVIEW, settings, tmp_path / "focus", brain=focused)
    assert not plain.checks["constraint"]
    assert focus.checks["constraint"]
    assert focus.checks["facts"] == 4 > plain.checks["facts"]
    assert focus.checks["described"] < plain.checks["described"]


def blanked(body: dict[str, Any], text: str) -> dict[str, Any]:
    """A request whose results say nothing."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    for message in copy["messages"]:
        for result in of_type(message, "tool_result") if message["role"] == "user" else ():
            result["content"] = text
    return copy


@pytest.mark.parametrize("text", ["", "(blank)", "1 4000 a.py"])
def test_nothing_is_known_but_from_the_results(text: str, tmp_path: Path) -> None:
    def brain(body: dict[str, Any], times: int) -> dict[str, Any]:
        return policy.reply(blanked(body, text), times)

    played = play(REVIEW, WHOLE, tmp_path, brain=brain, max_turns=60)
    assert not played.checks["done"]
    assert played.checks["described"] == 0 or played.checks["false"] > 0


def test_a_report_is_true_of_its_folder_and_a_false_statement_is_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": '"""Adds."""\n\ndef add(a, b):\n    """Return the sum."""\n'})
    report = "## a.py\nPurpose: Adds.\n- `add`: Return the sum.\n\n## b.py\n(details lost)\n"
    assert check_report(report, tmp_path) == replace(
        check_report("", tmp_path), described=1, lost=1, statements=2
    )
    for false in ("Purpose: Subtracts.", "- `sum`: Return the sum.", "- `add`: no docstring"):
        said = f"## a.py\n{false}\nPurpose: Adds.\n" if "`" in false else f"## a.py\n{false}\n"
        assert len(check_report(said, tmp_path).false) == 1, false


def test_any_folder_is_copied_without_what_is_hidden(tmp_path: Path) -> None:
    mine = {"a.py": '"""Adds."""\n', ".git/config": "x", "node_modules/b.py": "x"}
    write_files(tmp_path / "mine", mine)
    scenario = folder(tmp_path / "mine")
    assert scenario.prompts == (READ_AND_REPORT,)
    played = play(scenario, WHOLE, tmp_path / "run")
    assert played.checks["done"]
    assert {p.name for p in (tmp_path / "run" / "work").iterdir()} == {"a.py", "REPORT.md"}
    assert "older" not in last_words(played.session.history)
    with pytest.raises(NotADirectoryError, match="nowhere is not a folder"):
        folder(tmp_path / "nowhere")


def test_a_report_of_ones_own_is_not_replaced_in_silence(tmp_path: Path) -> None:
    write_files(tmp_path / "mine", {"a.py": '"""Adds."""\n', "REPORT.md": "Mine.\n"})
    history = play(folder(tmp_path / "mine"), WHOLE, tmp_path / "run").session.history
    assert last_words(history) == "I wrote REPORT.md: 1 file. It replaces an older REPORT.md."


def test_a_package_that_is_not_there_is_named_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"'no_such_package'.*make setup"):
        copy_package("no_such_package", tmp_path)


def test_the_clock_goes_by_steps_and_pauses() -> None:
    clock = Clock(start=100.0, step=2.0)
    assert (clock(), clock()) == (100.0, 102.0)
    clock.pause(400)
    assert clock() == 504.0


def test_parallel_calls_occur(tmp_path: Path) -> None:
    """Small files are read in one turn: the layers meet batches in every reading task."""
    names = {f"{n}.py": f'"""File {n}."""\n' for n in range(5)}
    write_files(tmp_path / "mine", names)
    history = play(folder(tmp_path / "mine"), WHOLE, tmp_path / "run").session.history
    sizes = [len([b for b in blocks(m) if b["type"] == "tool_use"]) for m in history]
    assert max(sizes) == 3
    assert "5 files" in last_words(history)
