"""What the tests of panels and pictures share."""

import pytest

from session_report.style import Chart


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the paint: this test looks at no picture."""
    monkeypatch.setattr(Chart, "png", lambda chart: b"not painted")
