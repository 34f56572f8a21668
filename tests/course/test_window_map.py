"""The window map is measured: areas, order and what is hatched, and the picture by its
pixels."""

import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageColor

from agentlib.estimation import breakdown, prompt_tokens
from agentlib.messages import with_results
from agentlib.micro_compact import micro_compact, trim_results
from agentlib.settings import Settings
from course.checking import conversation
from course.figures import window_map as wm
from offline_api.tokens import lay_out
from session_report.style import LOOKS
from windtunnel.runner import play
from windtunnel.tasks.scenarios import TRACE

HISTORY = conversation(*[1_000] * 5)
areas = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)


def test_every_block_is_a_tile_and_their_tokens_are_the_estimates():
    found = wm.tiles(HISTORY)
    assert [t.kind for t in found] == ["user", *["tool_use", "tool_result"] * 5]
    assert sum(t.tokens for t in found) == pytest.approx(
        sum(breakdown(HISTORY).values()), abs=1
    )


def test_what_clearing_took_keeps_its_place():
    found = wm.tiles(micro_compact(HISTORY), HISTORY)
    sizes = [round(t.tokens + t.gone) for t in found]
    assert sizes == [round(t.tokens) for t in wm.tiles(HISTORY)]
    assert [t.kind for t in found if t.gone] == ["placeholder", "placeholder"]
    assert round(sum(t.gone for t in found)) == round(2 * (1_000 - 26) * 0.345)


def test_a_trimmed_result_is_part_kept_and_part_gone():
    history = conversation(3_000, 10)
    [tile] = [t for t in wm.tiles(trim_results(history), history) if t.gone]
    assert tile.kind == "tool_result"
    assert (round(tile.tokens), round(tile.gone)) == (565, 470)


def test_tokens_are_scaled_to_what_was_billed():
    found = wm.tiles(micro_compact(HISTORY), HISTORY, billed=4_000)
    assert sum(t.tokens + t.gone for t in found) == pytest.approx(4_000)


def test_system_prompt_and_tools_have_a_share_of_their_own_and_the_blocks_keep_theirs():
    session = play(TRACE, Settings()).session
    last = session.requests[-1]
    billed = prompt_tokens(last.usage)
    found = wm.tiles(last.context, billed=billed, session=session)
    assert [t.kind for t in found[:3]] == ["system", "tools", "user"]
    assert sum(t.tokens for t in found) == pytest.approx(billed)
    base = lay_out(
        {"model": "m", "system": session.system, "tools": session.tools, "messages": []}
    )
    assert sum(t.tokens for t in found[:2]) == pytest.approx(base.tokens, rel=0.3)


def test_a_view_that_has_lost_a_block_is_refused():
    with pytest.raises(ValueError, match="9 blocks against 11"):
        wm.tiles(HISTORY[:-2], HISTORY)


@given(areas)
def test_a_box_has_the_area_of_its_tile_and_lies_in_its_row(sizes: list[float]):
    boxes = wm.layout(sizes, 2.0)
    assert [b.width * b.height for b in boxes] == pytest.approx(sizes)
    assert all(b.x0 >= 0 and b.x1 <= 2.0 + 1e-6 for b in boxes)


@given(areas)
def test_boxes_stand_in_order_without_gaps(sizes: list[float]):
    boxes = wm.layout(sizes, 2.0)
    assert (boxes[0].x0, boxes[0].y0) == (0, 0)
    for one, other in pairwise(boxes):
        beside = other.x0 == pytest.approx(one.x1) and other.y0 == one.y0
        below = other.x0 == 0 and other.y0 == pytest.approx(one.y1)
        assert beside or below
    bottom = boxes[-1].y1
    assert bottom == pytest.approx(sum(sizes) / 2)


def test_blocks_without_tokens_take_no_room():
    assert [b.width for b in wm.layout([0, 2, 0], 2)] == [0, 2, 0]


def pixels(chart: wm.Chart) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(chart.png())).convert("RGB")).astype(int)


def share(picture: np.ndarray, colour: tuple[int, ...]) -> float:
    near = np.abs(picture - np.array(colour)).max(axis=2) <= 4
    return float(near.mean())


RESULTS = ImageColor.getrgb(LOOKS["tool_result"].colour)[:3]


def test_cleared_results_lose_their_colour_and_the_map_keeps_its_size():
    before = pixels(wm.window_map(HISTORY, window=4_000))
    after = pixels(wm.window_map(micro_compact(HISTORY), window=4_000, history=HISTORY))
    assert before.shape[1] == after.shape[1] == 1_440
    assert (
        0.5 < share(after, RESULTS) / share(before, RESULTS) < 0.75
    )  # three of five are left


def test_messages_past_the_window_stand_below_its_line():
    fits = pixels(wm.window_map(HISTORY, window=4_000))
    over = pixels(wm.window_map(HISTORY, window=1_000))
    assert over.shape[0] > 1.4 * fits.shape[0]


def test_the_same_messages_give_the_same_bytes():
    one = wm.maps({"a": wm.tiles(HISTORY), "b": wm.tiles(HISTORY)}, 4_000)
    again = wm.maps({"a": wm.tiles(HISTORY), "b": wm.tiles(HISTORY)}, 4_000)
    assert one.png() == again.png()


def test_the_sentence_says_what_is_there_and_what_went():
    view = with_results(HISTORY, {"toolu_1": "[Previous: used read_file]"})
    said = wm.sentence(wm.tiles(view, HISTORY), 4_000).replace("\n", " ")
    assert said == (
        "11 blocks, 1,872 tokens, 46% of the window of 4,000; 336 tokens taken away from 1 block."
    )
