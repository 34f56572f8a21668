"""The hour: it is short, its exercises are the lessons' own, and its agent is the
documents'."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from agentlib.auto_compact import summary_message
from agentlib.messages import active_request
from agentlib.pipeline import stacked
from course.checks import find
from course.checks.auto_compact import newest_stay
from course.parts_list import layers_of
from course.rooms import an_hour as room
from tests.course.rooms.solved import ROOT, run, solution, stubs
from tests.test_notebooks import extent
from windtunnel import play
from windtunnel.tasks.scenarios import REVIEW

HOUR = ROOT / "notebooks/an_hour.ipynb"
MOST = {"words": 1_600, "cells": 16, "exercises": 4, "predictions": 3}


def clears(now, step):
    clear = find("02.2").finished
    messages = step.applied(now.messages)
    return now.cleared(clear(messages, keep_recent=now.settings.keep_recent))


def summarises(now, step):
    if now.reason == "auto" and not now.is_full(step.tokens_after):
        return step
    messages = step.applied(now.messages)
    summary = now.summarize(messages, now.focus)
    archive = now.archive()
    top = summary_message(summary, archive, active_request(messages))
    return now.compacted(newest_stay(messages, top), archive)


compact = stacked(clears, summarises)


def test_it_is_short():
    counts = extent(nbformat.read(HOUR, as_version=4))
    assert {name: counts[name] for name in MOST if counts[name] > MOST[name]} == {}


def test_its_exercises_are_the_lessons_own():
    hour = nbformat.read(HOUR, as_version=4)
    for name, place in stubs(hour).items():
        [path] = (ROOT / "notebooks").glob(f"{name[:2]}_*.ipynb")
        lesson = nbformat.read(path, as_version=4)
        there = stubs(lesson)[name]
        assert hour.cells[place].source == lesson.cells[there].source
        assert solution(hour, place) == solution(lesson, there)


def test_its_layers_are_the_lines_of_the_learners_file():
    hour = nbformat.read(HOUR, as_version=4)
    code = "\n".join(cell.source for cell in hour.cells if cell.cell_type == "code")
    *layers, listed = layers_of(["02.2", "03.2"], has_numbers=False).split("\n\n\n")
    code = "".join(code.split())  # a notebook's lines are wider
    assert ["".join(layer.split()) in code for layer in [*layers, listed]] == [True] * 3


def test_its_links_to_the_museum_are_headings_there():
    museum = nbformat.read(ROOT / "notebooks/museum.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in museum.cells)
    headings = {h.replace(" ", "-") for h in re.findall(r"^### (.+)$", text, re.M)}
    hour = "\n".join(cell.source for cell in nbformat.read(HOUR, as_version=4).cells)
    linked = re.findall(r"museum\.ipynb#([^)]+)\)", hour)
    assert linked
    assert {*linked} <= headings


def test_the_walls_come_where_the_hour_says():
    off = play(REVIEW, room.OFF)
    cleared = play(REVIEW, room.CLEARS, layers=[clears])
    assert off.turns == 10
    assert cleared.turns > 3 * off.turns
    assert off.refused
    assert cleared.refused


def test_its_agent_does_as_the_documents_do():
    theirs = play(REVIEW, room.DOCUMENTS)
    own = play(REVIEW, room.DOCUMENTS, engine=compact)
    assert own.turns == theirs.turns
    assert len(own.session.compactions) == len(theirs.session.compactions)
    assert own.checks == theirs.checks
    assert own.sent == pytest.approx(theirs.sent, rel=0.005)


def test_the_chart_shows_the_compactions_of_the_engine_that_ran():
    own = play(REVIEW, room.LATE, engine=compact)
    made = len(own.session.compactions)
    assert (own.table()["compaction"] == "auto").sum() == made == 3


def test_its_panel_runs_the_agent_at_its_numbers(unpainted):
    panel = room.agent_panel(compact)
    assert panel.values == {"threshold": 10_400, "keep_recent": 3}
    assert panel.text.startswith(
        f"{play(REVIEW, room.LATE, engine=compact).turns} turn"
    )
    panel.threshold.value = 4_000
    assert panel.text.startswith("59 turns")


@pytest.mark.solved
def test_it_runs_with_its_solutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / ".copied.json").write_text(json.dumps({}), encoding="utf-8")
    monkeypatch.delenv("CI", raising=False)
    hour = nbformat.read(HOUR, as_version=4)
    cells = list[str]()
    for place, cell in enumerate(hour.cells):
        if cell.cell_type == "code":
            cells.append(cell.source)
        if place in stubs(hour).values():
            check = cell.source.splitlines()[-1]
            cells.append(f"{solution(hour, place)}\n\n{check}")
    outcome = run(cells, tmp_path, monkeypatch)
    assert outcome.error == ""
    assert all(all(each) for each in outcome.used.values())
    text = (tmp_path / "my_agent.py").read_text("utf-8")
    assert "def clear_view(" in text
    assert "def keep_last(" in text
