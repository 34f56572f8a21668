"""The reference's table has every setting, its values, its lesson and its sentence."""

from dataclasses import fields
from pathlib import Path

import pytest

from agentlib.settings import Settings
from course.rooms.reference import LESSONS, rows, settings_table

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"


def test_each_setting_has_a_row_with_values_lesson_and_meaning():
    table = rows()
    assert [row.name for row in table] == [field.name for field in fields(Settings)]
    assert all(row.values and row.lesson and row.meaning for row in table)
    listed = [name for names in LESSONS.values() for name in names.split()]
    assert len(listed) == len({*listed})


def test_what_the_table_calls_a_value_is_what_settings_take():
    values = {row.name: row.values for row in rows()}
    for choice in ("clear", "truncate", "trim", "off"):
        assert f'"{choice}"' in values["micro"]
        assert Settings(micro=choice).micro == choice
    with pytest.raises(ValueError, match="micro"):
        Settings(micro="sometimes")
    assert "or None" in values["threshold"]


def test_lessons_exist_and_plain_text_fits_the_page():
    for lesson in LESSONS:
        assert lesson == "here" or [*NOTEBOOKS.glob(f"{lesson}_*.ipynb")]
    table = settings_table()
    assert max(map(len, repr(table).splitlines())) <= 72
    assert "emergency_at" in table._repr_html_()
