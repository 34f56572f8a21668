"""One file for each lesson: its wrong answers, and its run with the published solutions."""

import pytest

pytest.register_assert_rewrite("lessons.solved")
