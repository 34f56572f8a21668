"""The picture of lesson 00: what it shows of each request."""

from course.figures.wall import Wall
from course.figures.window_map import Tile

ADDED = [
    [Tile("system", 10), Tile("user", 5)],
    [Tile("tool_result", 60)],
    [Tile("tool_use", 50)],
]


def test_a_block_goes_from_its_request_down_to_the_one_shown():
    wall = Wall(ADDED, 100)
    assert [block.get_height() for block in wall.blocks] == [3, 3, 2, 1]
    assert [block.get_x() for block in wall.blocks] == [0, 10, 15, 75]
    wall.show(2)
    assert [block.get_height() for block in wall.blocks] == [2, 2, 1, 0]
    assert (wall.new.get_x(), wall.new.get_width()) == (15, 60)


def test_what_is_past_the_window_is_marked_and_the_title_says_so():
    wall = Wall(ADDED, 100)
    assert wall.over.get_width() == 25
    assert wall.headline.get_text() == "Request 3 is too long: 125 tokens"
    wall.show(2)
    assert wall.over.get_width() == 0
    assert wall.headline.get_text() == "Request 2 sends 75 tokens, 15 of them again"


def test_going_back_gives_the_same_picture():
    wall = Wall(ADDED, 100)
    first = wall.png()
    wall.show(1)
    assert wall.png() != first
    wall.show(3)
    assert wall.png() == first
