"""What the tests of panels and pictures share."""

import pytest

import course
from session_report.style import Chart


@pytest.fixture(autouse=True)
def nothing_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the answers that passed in other tests."""
    monkeypatch.setattr(course, "_solved", {})


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the paint: this test looks at no picture."""
    monkeypatch.setattr(Chart, "png", lambda chart: b"not painted")
