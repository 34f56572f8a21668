"""Runs that are kept between processes: a key for each, and none for what can't have
one."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentlib.micro_compact import micro_compact
from agentlib.settings import Settings
from course.scoreboard import STAGES
from offline_api.faults import Fault
from offline_api.model import HABITS
from tools import runs
from tools.runs import key, source
from windtunnel.tasks.generated import generated
from windtunnel.tasks.scenarios import ALL, REVIEW, TRACE

SAME = (
    REVIEW,
    Settings(),
    None,
    (),
    HABITS,
    (("layer", partial(micro_compact, keep_recent=3)),),
)


def changed(place: int, value: Any) -> tuple[Any, ...]:
    return (*SAME[:place], value, *SAME[place + 1 :])


@pytest.mark.parametrize(
    "other",
    [
        changed(0, TRACE),
        changed(0, generated(1)),
        changed(0, replace(REVIEW, make_workspace=TRACE.make_workspace)),
        changed(1, Settings(keep_recent=4)),
        changed(2, 0.5),
        changed(3, (Fault(kind="529"),)),
        changed(4, replace(HABITS, notes=False)),
        changed(5, (("layer", partial(micro_compact, keep_recent=4)),)),
        changed(5, ()),
    ],
)
def test_another_argument_is_another_run(other: tuple[Any, ...]):
    assert key(SAME) == key(
        changed(5, (("layer", partial(micro_compact, keep_recent=3)),))
    )
    assert "" != key(other) != key(SAME)


def test_a_function_of_a_notebook_or_of_another_function_has_no_key(monkeypatch: Any):
    def layer(messages: Any) -> Any:
        return messages

    def mine(messages: Any) -> Any:
        return messages

    mine.__module__ = "__main__"
    mine.__qualname__ = "mine"
    monkeypatch.setattr("__main__.mine", mine, raising=False)
    for value in (layer, mine, partial(mine), [mine], (n for n in ()), lambda: 0):
        assert key(value) == ""


@pytest.mark.parametrize("task", ALL.values(), ids=list(ALL))
def test_each_task_and_each_lessons_agent_has_a_key(task: Any):
    assert all(key((task, stage)) for stage in STAGES.values())


def test_a_run_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    looks_up: list[Any] = []
    monkeypatch.setattr(runs, "KEPT", tmp_path)
    monkeypatch.setattr("windtunnel.runner.keep_runs", looks_up.append)
    (tmp_path / "older").mkdir()
    made = iter(range(9))
    for _ in range(2):  # as in two processes
        runs.install()
        assert looks_up[-1]((REVIEW, Settings()), lambda: next(made)) == 0
    assert [path.name for path in tmp_path.iterdir()] == [source()]


def test_a_run_that_has_no_key_is_made_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    looks_up: list[Any] = []
    monkeypatch.setattr(runs, "KEPT", tmp_path)
    monkeypatch.setattr("windtunnel.runner.keep_runs", looks_up.append)
    runs.install()
    made = iter(range(9))
    asked = [looks_up[0]((lambda: 0,), lambda: next(made)) for _ in range(2)]
    assert asked == [0, 1]


def test_the_key_has_the_source():
    assert source(runs.ROOT / "README.md") != source() == source()


def test_a_recording_keeps_what_the_notebook_shows():
    from nbformat import v4

    from tools.places import MIME, plain

    data = {"text/plain": "<Chart>", "image/png": "cG5n", MIME: {"data": ""}}
    cell = v4.new_code_cell("chart", outputs=[v4.new_output("display_data", data)])
    recorded = v4.new_notebook(cells=[cell, v4.new_markdown_cell("a")])
    assert list(plain(recorded).cells[0].outputs[0].data) == ["text/plain", "image/png"]
    assert MIME in recorded.cells[0].outputs[0].data
