"""Drawing ahead: the next step is made in a pause, and only then."""

import asyncio

from ipywidgets import IntSlider

from agentlib.lab.panels.ahead import PAUSE, Ahead
from agentlib.lab.panels.wall import Panel


def panel(made: list[int]) -> Panel:
    def draw(turn: int) -> tuple[bytes, str]:
        made.append(turn)
        if turn == 7:
            raise ValueError("no such turn")
        return b"png %d" % turn, f"turn {turn}"

    return Panel({"turn": IntSlider(value=1, min=0, max=8)}, Ahead(draw))


def test_the_next_step_is_drawn_in_the_pause():
    made = list[int]()

    async def moves() -> None:
        shown = panel(made)
        shown.turn.value = 3
        assert made == [1, 3]
        await asyncio.sleep(5 * PAUSE)
        assert made == [1, 3, 5]  # the same step again
        shown.turn.value = 5
        assert made == [1, 3, 5]
        assert (shown.png, shown.text) == (b"png 5", "turn 5")

    asyncio.run(moves())


def test_moves_that_follow_at_once_come_first():
    made = list[int]()

    async def moves() -> None:
        shown = panel(made)
        for turn in (2, 4, 6):
            shown.turn.value = turn
        await asyncio.sleep(5 * PAUSE)
        assert made == [1, 2, 4, 6, 8]

    asyncio.run(moves())


def test_a_place_that_fails_fails_when_it_is_asked_for():
    made = list[int]()

    async def moves() -> None:
        shown = panel(made)
        shown.turn.value = 4
        await asyncio.sleep(5 * PAUSE)
        assert made[-1] == 7
        shown.turn.value = 7
        assert shown.text == "ValueError: no such turn"

    asyncio.run(moves())


def test_the_ends_of_a_slider_are_kept_and_no_loop_is_needed():
    made = list[int]()

    async def moves() -> None:
        shown = panel(made)
        shown.turn.value = 6
        await asyncio.sleep(5 * PAUSE)
        assert made[-1] == 8

    asyncio.run(moves())
    panel(made).turn.value = 2
    assert made[-1] == 2
