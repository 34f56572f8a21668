"""Whatever a file holds, it is read or named with the reason, and the others count."""

import json
import os
import signal
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_report.overview import each, overview
from session_report.report import as_json, as_page, as_text, of_overview, shareable
from tests.session_report.session_files import (
    JUNK,
    Line,
    counts,
    places,
    replied,
    said,
    spoiled,
    written,
)
from tests.session_report.test_session_formats import EXAMPLES
from tests.session_report.test_session_report import a_day, boundary, run

GOOD = [
    said(0, "Name the prices."),
    replied(5, counts(1_000, 100), "All good.", name="good", requestId="good"),
]
SEEDS = {**EXAMPLES, "Claude Code": a_day()}


def row_of(folder: Path, session: str = "good") -> tuple[float, float]:
    """Show a folder in every form, and return tokens and dollars of a session."""
    report = shareable(of_overview(overview([folder], jobs=1)))
    assert as_page(report)
    assert [*as_text(report)]
    assert json.dumps(as_json(report, [], ""))
    (row,) = [each for each in report["sessions"] if each["session"] == session]
    return row["tokens"], row["dollars"]


@settings(max_examples=20)
@given(data=st.data())
def test_spoiled_lines_leave_the_numbers_of_other_files(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("any")
    written(folder, *GOOD, name="good")
    lines: list[Any] = [*SEEDS[data.draw(st.sampled_from(sorted(SEEDS)))]]
    for _ in range(data.draw(st.integers(0, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        path = data.draw(st.sampled_from([*places(lines[number])]))
        lines[number] = spoiled(lines[number], path, data.draw(st.sampled_from(JUNK)))
    lines = lines[data.draw(st.integers(0, len(lines) - 1)) :]
    written(folder, *cast(list[Line], lines), name="bad")
    assert row_of(folder) == (1_100, pytest.approx(0.006))
    form = data.draw(st.sampled_from([[], ["--json"], ["--no-text"]]))
    alone = run(folder / "bad.jsonl", *form)
    assert alone.exit_code in (0, 1), alone.stderr


@settings(max_examples=20)
@given(
    st.binary(max_size=300),
    st.sampled_from(["x.jsonl", "x.jsonl.zst", "session-x.json"]),
)
def test_any_bytes_leave_the_numbers_of_other_files(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, name: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    written(folder, *GOOD, name="good")
    (folder / name).write_bytes(raw)
    assert row_of(folder) == (1_100, pytest.approx(0.006))


def test_a_session_that_begins_with_a_summary_is_read(tmp_path: Path) -> None:
    summary = said(0, "All is well.", isCompactSummary=True)
    written(tmp_path, *GOOD, name="good")
    for number, lines in enumerate(
        (
            [summary],
            [summary, replied(5, counts(9, 9))],
            [*boundary(0, "Well."), replied(5, counts(9, 9))],
            [*boundary(0, "Well."), *boundary(9, "Better.")],
        )
    ):
        path = written(tmp_path, *lines, name=f"odd {number}")
        assert run(path, "--json", "--what-if").exit_code in (0, 1)
    assert row_of(tmp_path)[0] == 1_100


@pytest.mark.parametrize("size", [[], {}, "x", -1, 1e400, 10**400, None])
def test_the_size_of_a_compaction_may_be_anything(tmp_path: Path, size: Any) -> None:
    start = [said(0), replied(5, counts(9, 9)), said(6)]
    odd = boundary(7, "Well.")
    odd[0]["compactMetadata"] |= {"preTokens": size, "postTokens": size}
    path = written(tmp_path, *start, *odd, replied(9, counts(9, 9)), name="odd")
    for form in ([], ["--tables"], ["--json"], ["--what-if"]):
        assert run(path, *form).exit_code == 0


def test_odd_names_and_times_are_shown(tmp_path: Path) -> None:
    written(tmp_path, *GOOD, name="good")
    read = {"type": "tool_use", "id": "t", "name": "Read"}
    call = [{**read, "input": {"file_path": "/shop/\ud800.py"}}]
    late = {**replied(5, counts(9, 9), call), "timestamp": "9999-12-31T23:59:59.999Z"}
    written(tmp_path, said(0), late, name="late")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    odd = os.fsdecode(b"odd \xff.jsonl")
    (tmp_path / odd).write_bytes((tmp_path / "late.jsonl").read_bytes())
    (tmp_path / os.fsdecode(b"no \xff.jsonl")).write_text("?")
    assert row_of(tmp_path)[0] == 1_100
    for form in ([], ["--json"], ["--html", tmp_path / "page.html", "--tables"]):
        assert run(tmp_path, *form).exit_code == 0


def _ended(path: Path) -> str:
    """End the process for one file, as too little memory does."""
    if path.name == "bad":
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def test_a_file_that_ends_the_process_of_its_reader_is_named() -> None:
    names = [Path(name) for name in ("a", "bad", "b", "c")]
    found, failed = each(_ended, names, jobs=2)
    assert [*found.values()] == ["a", "b", "c"]
    assert [*failed] == [Path("bad")]
