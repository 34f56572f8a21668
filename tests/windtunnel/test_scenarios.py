"""Each task is done when nothing is forgotten, and its checks notice when it is not."""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentlib.estimation import prompt_tokens
from agentlib.messages import SUMMARY_WANTED, blocks
from agentlib.messages import results as results_of
from agentlib.settings import Settings
from offline_api import model as policy
from offline_api.cache import SHORT
from offline_api.tokens import text_tokens
from tests.builders import result
from tests.runs import folder
from windtunnel.runner import play
from windtunnel.tasks import varied as generated
from windtunnel.tasks.fact_check import check_report
from windtunnel.tasks.scenarios import (
    LONG,
    RENAME,
    REVIEW,
    SURVEY,
    TRACE,
    Scenario,
    fill,
    last_words,
    report_checks,
)
from windtunnel.tasks.varied import write_files

WHOLE = Settings(context_window=1_000_000, micro="off", auto=False)


@pytest.mark.parametrize(
    "scenario", [REVIEW, TRACE, RENAME], ids=lambda each: each.name
)
def test_done_when_everything_is_kept(scenario: Scenario, tmp_path: Path) -> None:
    played = play(scenario, WHOLE)
    assert played.checks["done"]
    assert played.checks.get("facts", 0) == len(scenario.facts)
    assert max(prompt_tokens(usage) for usage in played.usages) < 200_000


def test_the_long_one_has_over_400_000_tokens_and_outlives_the_cache_three_times(
    tmp_path: Path,
) -> None:
    LONG.make_workspace(tmp_path)
    texts = [file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.py")]
    assert 400_000 < sum(map(text_tokens, texts)) < 1_000_000
    assert [sum(f"# {fact}\n" in text for text in texts) for fact in LONG.facts] == [
        1
    ] * 4
    assert sum(pause > SHORT for pause in LONG.pauses) == 3
    assert LONG.rule in LONG.prompts[0]
    assert LONG.rule not in LONG.prompts[-1]


def test_the_review_reads_code_of_the_right_size(tmp_path: Path) -> None:
    REVIEW.make_workspace(tmp_path)
    files = list(tmp_path.rglob("*.py"))
    assert 15 <= len(files) <= 30
    assert 150_000 <= sum(file.stat().st_size for file in files) <= 300_000
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert all(
        sum(f"# {fact}\n" in text for text in texts) == 1 for fact in REVIEW.facts
    )


def test_the_renaming_has_29_places_in_seven_files(tmp_path: Path) -> None:
    RENAME.make_workspace(tmp_path)
    found = Counter(
        file.name
        for file in tmp_path.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "MAX_WEIGHT" in line
    )
    assert (sum(found.values()), len(found)) == (29, 7)


RAN = result("t", "7 tests, 0 failed\nexit code 0")


@pytest.mark.parametrize(
    ("path", "change", "result"),
    [
        ("parcels/limits.py", ("WEIGHT_LIMIT", "MAX_WEIGHT"), RAN),
        ("parcels/limits.py", ("WEIGHT_LIMIT", "LIMIT"), RAN),
        ("parcels/labels.py", ("from parcels.limits import WEIGHT_LIMIT\n", ""), RAN),
        ("parcels/depots.py", ("", ""), {**RAN, "content": "7 tests, 1 failed"}),
        ("parcels/depots.py", ("", ""), {**RAN, "content": "no such file"}),
    ],
)
def test_a_renaming_is_not_done_with_a_place_a_line_or_a_test_amiss(
    path: str, change: tuple[str, str], result: dict[str, Any], tmp_path: Path
) -> None:
    RENAME.make_workspace(tmp_path)
    for file in tmp_path.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("MAX_WEIGHT", "WEIGHT_LIMIT"), encoding="utf-8")
    says = {"role": "assistant", "content": "Tests pass"}
    assert RENAME.checks(tmp_path, [{"role": "user", "content": [RAN]}, says])["done"]
    text = (tmp_path / path).read_text(encoding="utf-8")
    (tmp_path / path).write_text(text.replace(*change, 1), encoding="utf-8")
    assert not RENAME.checks(tmp_path, [{"role": "user", "content": [result]}, says])[
        "done"
    ]


TOLD = "`RETRY_LIMIT` is {}: fetcher/config.py, fetcher/network.py, {}."


@pytest.mark.parametrize(
    ("value", "last", "done"),
    [
        ("12", "fetcher/defaults.py", True),
        ("12", "and so on", False),
        ("120", "fetcher/defaults.py", False),
        ("5", "fetcher/defaults.py", False),
    ],
)
def test_a_value_is_traced_with_all_its_files(
    value, last, done, tmp_path: Path
) -> None:
    said = {"role": "assistant", "content": TOLD.format(value, last)}
    assert TRACE.checks(tmp_path, [said])["done"] == done


def test_an_answer_depends_on_its_request_alone(tmp_path: Path, monkeypatch) -> None:
    """Given again in another order, in another folder and environment: the same
    bytes."""
    seen: list[tuple[str, dict[str, Any]]] = []

    def noting(body: dict[str, Any]) -> dict[str, Any]:
        seen.append((json.dumps(body), said := policy.reply(body)))
        return said

    play(TRACE, WHOLE, model=noting)
    monkeypatch.chdir(tmp_path)
    for name in (
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
        "DISABLE_COMPACT",
        "ANTHROPIC_API_KEY",
    ):
        monkeypatch.setenv(name, "1")
    assert len(seen) > 5
    assert all(policy.reply(json.loads(body)) == said for body, said in reversed(seen))


def focused(body: dict[str, Any]) -> dict[str, Any]:
    """The policy, every summary asked of it with a focus."""
    *before, last = body["messages"]
    said = [
        {**b, "text": f"{b['text']}\nFocus: decisions, facts and rules of the user"}
        if b.get("text", "").startswith(SUMMARY_WANTED)
        else b
        for b in blocks(last)
    ]
    return policy.reply({**body, "messages": [*before, {**last, "content": said}]})


def test_a_summary_too_short_for_it_loses_the_rule_and_a_focus_keeps_it(
    tmp_path: Path,
) -> None:
    """The rule is in the first of two requests; the second is what stays word for
    word."""
    settings = Settings(threshold=20_000, keep_recent=10, summary_tokens=400)
    plain = play(REVIEW, settings)
    focus = play(REVIEW, settings, model=focused)
    assert not plain.checks["rule kept"]
    assert focus.checks["rule kept"]
    assert focus.checks["facts"] == 4 > plain.checks["facts"]
    assert focus.checks["described"] < plain.checks["described"]


def blanked(body: dict[str, Any], text: str) -> dict[str, Any]:
    """A request whose results say nothing."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    for answer in results_of(copy["messages"]).values():
        answer["content"] = text
    return copy


@pytest.mark.parametrize("text", ["", "(blank)", "1 4000 a.py"])
def test_nothing_is_known_but_from_the_results(text: str, tmp_path: Path) -> None:
    def brain(body: dict[str, Any]) -> dict[str, Any]:
        return policy.reply(blanked(body, text))

    played = play(REVIEW, WHOLE, model=brain, max_turns=60)
    assert not played.checks["done"]
    assert played.checks["described"] == 0 or played.checks["false"] > 0


def test_a_report_is_true_of_its_folder_and_a_false_statement_is_found(
    tmp_path: Path,
) -> None:
    write_files(
        tmp_path, {"a.py": '"""Adds."""\n\ndef add(a, b):\n    """Return the sum."""\n'}
    )
    report = (
        "## a.py\nPurpose: Adds.\n- `add`: Return the sum.\n\n## b.py\n(details lost)\n"
    )
    assert check_report(report, tmp_path) == (1, 1, ())
    for false in (
        "Purpose: Subtracts.",
        "- `sum`: Return the sum.",
        "- `add`: no docstring",
    ):
        said = (
            f"## a.py\n{false}\nPurpose: Adds.\n"
            if "`" in false
            else f"## a.py\n{false}\n"
        )
        assert len(check_report(said, tmp_path).false) == 1, false


@pytest.mark.parametrize(
    ("report", "done"),
    [
        ("# For Ada\n## a.py\nPurpose: Adds.\n\n## b.py\n(details lost)\n", True),
        ("# For Ada\n## a.py\nPurpose: Adds.\n", False),
        ("# For Ada\n## a.py\nPurpose: Subtracts.\n\n## b.py\n(details lost)\n", False),
        ("", False),
    ],
)
def test_a_report_is_done_with_every_file_and_nothing_false(
    report, done, tmp_path: Path
) -> None:
    write_files(
        tmp_path, {"a.py": '"""Adds."""\n', "b.py": "x = 1\n", "REPORT.md": report}
    )
    checks = report_checks(tmp_path, first="# For Ada", facts=["FACT: four."])
    assert (checks["done"], checks["facts"], checks["rule kept"]) == (
        done,
        0,
        bool(report),
    )
    assert not report_checks(tmp_path, first="# For Bob")["rule kept"]


def test_files_with_odd_names_and_odd_bytes_are_read_and_reported(
    tmp_path: Path,
) -> None:
    odd = [
        "a — b.py",
        "a, b.py",
        "it's.py",
        "$x.py",
        "-n.py",
        "(to line 7).py",
        "文/件 名.py",
        " b.py",
    ]
    write_files(
        tmp_path / "mine", {name: f'"""Is {n}."""\n' for n, name in enumerate(odd)}
    )
    (tmp_path / "mine" / "none.py").write_bytes(b"\n\n")
    (tmp_path / "mine" / "old.py").write_bytes(b'"""Old."""\nprint "caf\xe9"\n')
    for settings in (WHOLE, Settings(threshold=1_500, keep_recent=1)):
        played = play(folder(tmp_path / "mine"), settings)
        assert played.checks["done"]
        assert last_words(played.session.history).startswith(
            "I wrote REPORT.md: 10 files"
        )


def test_a_report_of_ones_own_is_not_replaced_in_silence(tmp_path: Path) -> None:
    write_files(tmp_path / "mine", {"a.py": '"""Adds."""\n', "REPORT.md": "Mine.\n"})
    history = play(folder(tmp_path / "mine"), WHOLE).session.history
    assert (
        last_words(history)
        == "I wrote REPORT.md: 1 file. It replaces an older REPORT.md."
    )


def digest(task: Scenario, folder: Path) -> str:
    """A digest of the names and bytes of all files of the task."""
    task.make_workspace(folder)
    whole = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(
            file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes()
        )
    return whole.hexdigest()[:12]


@pytest.mark.parametrize(
    ("task", "bytes_of"),
    [(TRACE, "018c5cd5549a"), (RENAME, "3071f58b9c28"), (SURVEY, "59ab020fbc1c")],
)
def test_a_project_has_the_same_bytes_on_every_machine(
    task, bytes_of, tmp_path: Path
) -> None:
    """An agent reads them in the lessons, so their numbers hang on each byte."""
    assert digest(task, tmp_path) == bytes_of


def test_the_survey_is_the_generated_one(tmp_path: Path) -> None:
    made = generated.scenario(1015)
    assert digest(SURVEY, tmp_path / "a") == digest(made, tmp_path / "b")
    assert (
        replace(made, make_workspace=SURVEY.make_workspace, checks=SURVEY.checks)
        == SURVEY
    )


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="'no_such_package'"):
        fill(tmp_path, ["no_such_package"])


def test_parallel_calls_occur(tmp_path: Path) -> None:
    """Small files are read in one turn: the layers meet batches in every reading
    task."""
    names = {f"{n}.py": f'"""File {n}."""\n' for n in range(5)}
    write_files(tmp_path / "mine", names)
    history = play(folder(tmp_path / "mine"), WHOLE).session.history
    sizes = [len([b for b in blocks(m) if b["type"] == "tool_use"]) for m in history]
    assert max(sizes) == 3
    assert "5 files" in last_words(history)
