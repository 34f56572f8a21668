"""The panels of lesson 09: nothing is read unasked, and the report stays in the
panel."""

import shutil
from pathlib import Path

import pytest

from agentlib import presets
from agentlib.api.spending import PRICED_AS
from agentlib.transcripts import Session
from course.panels import sessions as panels
from session_report.one import Row, lifetime
from session_report.policies import KEEPS_ALL
from session_report.what_if import RESERVED, SMALL, fitted, nearest, trial
from windtunnel.runner import play
from windtunnel.tasks.generated import generated


def newest(piece: Row) -> int:
    return -piece["age"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a session of ours."""
    file = tmp_path_factory.mktemp("recorded") / "planted-name.jsonl"

    def keep(session: Session) -> str:
        assert session.path
        shutil.copy(session.path, file)
        return ""

    play(generated(1), presets.DEFAULT.scaled(32_000), stop=keep)
    return file


@pytest.fixture
def folder(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one session of ours."""
    monkeypatch.setattr(panels, "PROJECTS", tmp_path / "no such folder")
    shutil.copy(recorded, tmp_path)
    return tmp_path


def test_nothing_is_read_before_the_button_is_pressed(folder: Path):
    panel = panels.own_sessions_panel(newest)
    panel.folder.value = str(folder)
    assert panel.text == "Nothing is read before you press the button."
    assert panel.table.value == ""


def test_the_report_stands_in_the_panel_and_not_in_what_a_notebook_stores(folder: Path):
    panel = panels.own_sessions_panel(newest)
    panel.move(folder=str(folder), read=True)
    assert "srcdoc" in panel.table.value
    assert "Where the dollars went" in panel.table.value
    assert "Of 1 file:" in panel.text
    bundle = panel._repr_mimebundle_()[0]
    assert "planted-name" not in str(bundle)


def test_a_folder_that_is_not_there_is_named(folder: Path):
    panel = panels.own_sessions_panel(newest)
    panel.move(folder="", read=True)
    told, wanted = (
        "".join(text.split()) for text in (panel.text, f"{folder}/no such folder")
    )
    assert told.startswith(wanted)
    (folder / "empty").mkdir()
    panel.folder.value = f" {folder}/empty "
    assert panel.text == f"There is no session file in {folder}/empty."


def test_a_rule_that_raises_is_told_and_the_report_stands(folder: Path):
    panel = panels.own_sessions_panel(lambda piece: 1 / 0)
    panel.move(folder=str(folder), read=True)
    assert "ZeroDivisionError" in panel.text or "long enough" in panel.text
    assert "srcdoc" in panel.table.value


def test_the_sentence_has_the_dollars_and_the_need_of_that_window():
    session = play(generated(1), KEEPS_ALL).session
    panel = panels.sessions_panel(session, PRICED_AS)
    for tell in (100_000, 150_000):
        panel.tell.value = tell
        told = nearest(tell - RESERVED).settings
        row = trial(session, fitted(told, SMALL), lifetime(session), PRICED_AS)
        need = 100 * row["need"] / len(session.requests)
        said = " ".join(panel.text.split())
        assert f"${row['dollars']:.2f}, of which" in said
        assert f"; {need:.1f} needs in 100 turns" in said
    assert panel.png
