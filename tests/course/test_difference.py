"""Two texts as one: what went and what came."""

import re

from course.figures.difference import Difference

OLD = "## Rules\n- [rule] Use tabs.\n- [file] a.py <b>"
NEW = "## Rules\n- [file] a.py <b>\n- [file] " + "long " * 30


def test_every_line_of_both_texts_is_there_once_and_says_where_it_comes_from():
    lines = Difference(OLD, NEW).lines
    assert [line[2:] for line in lines if line[0] in " -"] == OLD.splitlines()
    assert [line[2:] for line in lines if line[0] in " +"] == NEW.splitlines()
    assert "- - [rule] Use tabs." in lines


def test_lines_that_differ_a_little_stand_as_two():
    lines = Difference("- [done] a.py", "- [done] a.py | b.py").lines
    assert lines == ["- - [done] a.py", "+ - [done] a.py | b.py"]


def test_the_printed_text_fits_the_page():
    printed = repr(Difference(OLD, NEW)).splitlines()
    assert len(printed) == 4
    assert max(map(len, printed)) <= 72
    assert printed[-1].endswith("…")


def test_the_page_marks_what_went_and_what_came_and_shows_tags_as_text():
    page = Difference(OLD, NEW)._repr_html_()
    assert re.findall(r"<del .*?>(.*?)</del>", page) == ["- - [rule] Use tabs."]
    assert len(re.findall(r"<ins .*?>", page)) == 1
    assert "&lt;b&gt;" in page
