"""A report in any form, and what two models agree on."""

from pathlib import Path
from typing import Any

import pytest

from windtunnel import real
from windtunnel.tasks.generated import generated
from windtunnel.tasks.scenarios import Checks

TASK = real.in_any_form(generated(1))
FILES = [f"sensor/{name}" for name in ("one.py", "two.py")]
FACTS = " and ".join(fact.partition(": ")[2] for fact in TASK.facts[:1])


def checked(folder: Path, files: dict[str, str], words: str = "") -> Checks:
    """Check what a model left in a folder with two files, and said at its end."""
    for path, text in {**dict.fromkeys(FILES, "pass\n"), **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return TASK.checks(folder, [{"role": "assistant", "content": words}])


@pytest.mark.parametrize(
    "form",
    [
        "{rule}\n\n## sensor/one.py\nOne.\n## sensor/two.py\nTwo.\n{fact}\n",
        "{rule}\n| `one.py` | first |\n| `two.py` | second |\n* **{fact}**\n",
        "{rule}\r\n/workspace/sensor/one.py, ./sensor/two.py: fine\r\n{fact}",
    ],
    ids=["headings", "a table", "absolute"],
)
def test_a_report_may_have_any_form(form: str, tmp_path: Path):
    report = form.format(rule=TASK.rule, fact=FACTS)
    for checks in (
        checked(tmp_path / "file", {"notes/Summary.md": report}),
        checked(tmp_path / "words", {}, report),
    ):
        marks = {name: checks[name] for name in ("done", "named", "rule kept", "facts")}
        assert marks == {"done": True, "named": 2, "rule kept": True, "facts": 1}


@pytest.mark.parametrize(
    ("report", "named"),
    [
        ("Everything is fine.", 0),
        ("someone.py and two.pyc", 0),
        ("other/one.py, sensor/two.py", 1),
    ],
)
def test_a_file_that_isnt_named_is_missed(report: str, named: int, tmp_path: Path):
    checks = checked(tmp_path, {"report.txt": report})
    assert (checks["named"], checks["done"]) == (named, False)
    assert not checks["rule kept"]


def test_each_report_has_to_begin_with_the_rule(tmp_path: Path):
    checks = checked(tmp_path, {"a.md": TASK.rule, "b.md": f"Hello.\n{TASK.rule}"})
    assert not checks["rule kept"]


def test_a_run_that_was_ended_has_no_last_words(tmp_path: Path):
    (tmp_path / "sensor").mkdir()
    said: list[Any] = [
        {"role": "assistant", "content": TASK.rule},
        {"role": "user", "content": "Go on."},
    ]
    assert not TASK.checks(tmp_path, said)["rule kept"]


def pair(policy: str, simulated: bool, real: bool) -> dict[str, Any]:
    rows = (
        {"rule": rule, "report": True, "facts": 0, "of": 2}
        for rule in (simulated, real)
    )
    return dict(zip(("simulated", "real"), rows, strict=True)) | {
        "set": "tasks",
        "policy": policy,
    }


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([pair("a", True, True)] * 2, "in all 2 runs."),
        ([pair("a", True, False)], "in 0 of 1 runs (not with a)."),
        (
            [pair("a", True, True), pair("a", False, True), pair("b", True, False)],
            "in 1 of 3 runs (not in 1 with a, with b).",
        ),
    ],
)
def test_the_sentence_counts_what_both_say(runs: list[dict[str, Any]], said: str):
    record = {"model": "m", "date": "d", "endpoint": "another", "runs": runs}
    sentence = real.agreement(record, "tasks", ["report", "rule"])
    assert sentence.startswith("m, d, at an endpoint that isn't")
    assert f"every file in all {len(runs)} runs, and" in sentence
    assert sentence.endswith(said)
    assert real.agreement(record, "hour", ["rule"]) == ""
