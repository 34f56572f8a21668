"""Move the controls of a panel about."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course.panels.panel import Panel


def any_position_is_as_if_first(panel: Panel) -> None:
    """Move a panel about, and compare what it shows with a first drawing of the same
    values."""
    draw: Any = getattr(panel.draw, "__wrapped__", panel.draw)
    positions = {
        key: st.sampled_from(places(control)) for key, control in panel.controls.items()
    }

    @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.fixed_dictionaries(positions))
    def moves(values: dict[str, Any]) -> None:
        panel.move(**values)
        assert repr(panel).endswith(panel.text)
        assert all(
            len(line) <= 72 for line in repr(panel).splitlines() if "=" not in line
        )
        if panel.png:
            assert tuple(draw(**panel.values))[:2] == (panel.png, panel.text)
        else:
            assert panel.text  # a sentence, and no name of an error
            assert "Error" not in panel.text

    moves()


def places(control: Any) -> list[Any]:
    """Every option of a drop-down, five positions of a slider, and words for a
    field."""
    if hasattr(control, "options"):
        return list(control.options)
    if hasattr(control, "max"):
        steps = (control.max - control.min) // control.step
        return [control.min + control.step * (steps * n // 4) for n in range(5)]
    return ["", "summary"]
