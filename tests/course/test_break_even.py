"""A clearing pays when a formula says so, by the rules of the cache."""

import math

import pytest

from course.figures.bills import savings
from course.panels.break_even import break_even_panel, saved_by_clearing
from tests.positions import any_position_is_as_if_first


def test_any_position_shows_what_it_would_show_if_it_were_the_first():
    panel = break_even_panel("claude-opus-5-5", lambda b, c, r, w: b / c)
    any_position_is_as_if_first(panel)


def test_a_clearing_pays_when_the_formula_says_so_by_the_rules_of_the_cache():
    model = "claude-opus-5-5"

    def formula(behind: float, cleared: float, read: float, write: float) -> float:
        return (write - read) * behind / (read * cleared)

    panel = break_even_panel(model, formula)
    said = " ".join(panel.text.split())
    assert "pays from request 12 on; the formula says 12.0" in said
    for cleared, behind in (
        (1_000, 8_000),
        (40_000, 1_000),
        (7_000, 10_000),
        (20_000, 20_000),
    ):
        saved = saved_by_clearing(cleared, behind, model, 200)
        first = next(n for n, cents in enumerate(saved, 1) if cents > -1e-9)
        assert first == math.ceil(formula(behind, cleared, 0.2, 5.0) - 1e-9)


@pytest.mark.parametrize("at", [2.4, 12, 44, 46, 48, 56.5, 60, 960])
def test_the_formula_is_named_inside_the_picture(at: float):
    chart = savings(range(1, 61), [n / at - 1 for n in range(1, 61)], at, "t")
    chart.png()
    [axes] = chart.figure.axes
    [name] = axes.texts
    assert axes.bbox.x0 < name.get_window_extent().x0
    assert name.get_window_extent().x1 < axes.bbox.x1
    assert name.get_text().endswith("→") == (at > 60)
