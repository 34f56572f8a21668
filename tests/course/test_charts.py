"""Pictures are held to what a reader needs: right heights, nothing cut off, colours
apart."""

import io
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib.style
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from pandas import DataFrame
from PIL import Image

from agentlib.messages import KINDS
from course.figures.charts import NOTES, compare, sentence, turns, wall_turn
from session_report.style import LOOKS, NAMES, SHOWN, Chart


def table(
    *rows: dict[str, Any], window: int = 1_000, threshold: float = 800
) -> DataFrame:
    """A replay's table. Each row names its kinds and what differs from a quiet turn."""
    quiet = {
        "compaction": None,
        "cleared": 0,
        "replaced_tokens": 0,
        "summary_request": 0,
    }
    whole: list[dict[str, Any]] = []
    for turn, row in enumerate(rows, 1):
        kinds = {kind: float(row.get(kind, 0)) for kind in KINDS}
        sums = {"turn": turn, "tokens": int(sum(kinds.values()))}
        whole.append(
            sums | kinds | quiet | {"threshold": threshold, "window": window} | row
        )
    return DataFrame(whole)


GROWING = table(
    {"user": 100}, {"user": 100, "tool_result": 300}, {"user": 100, "tool_result": 600}
)
COMPACTED = table(
    {"user": 100, "tool_result": 600},
    {"user": 100, "summary": 50, "compaction": "auto",
     "replaced_tokens": 850, "summary_request": 820},
    {"user": 100, "summary": 50, "tool_result": 200, "placeholder": 9, "cleared": 2},
)  # fmt: skip
EVERYTHING = table(
    *({kind: 10 * n for n, kind in enumerate(KINDS, 1)} for _ in range(7)),
    *(
        {"user": 1, "compaction": name, "replaced_tokens": 500}
        for name in (*NOTES, "failed")
    ),
    window=1_000,
    threshold=990,
)


def pixels(chart: Chart) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(chart.png())).convert("RGB"))


def words(chart: Chart) -> dict[str, Any]:
    """Every text of a drawn figure with its box, in pixels."""
    chart.png()
    texts = list(chart.figure.texts)
    for axes in chart.figure.axes:
        for axis, (low, high) in (
            (axes.xaxis, axes.get_xlim()),
            (axes.yaxis, axes.get_ylim()),
        ):
            ticks = axis.get_major_ticks()
            texts += [
                axis.label,
                *(t.label1 for t in ticks if low <= t.get_loc() <= high),
            ]
        texts += [*axes.texts, axes._left_title]
    texts += [text for legend in chart.figure.legends for text in legend.get_texts()]
    shown = [text for text in texts if text.get_text() and text.get_visible()]
    return {
        f"{n} {text.get_text()}": text.get_window_extent()
        for n, text in enumerate(shown)
    }


def labelled(chart: Chart, label: str) -> list[Any]:
    """The artists of the first run that have this label."""
    return [
        each
        for each in chart.figure.axes[0].get_children()
        if each.get_label() == label
    ]


def area(chart: Chart, kind: str) -> Any:
    """The steps of a kind in the first run, whether it is in the legend or not."""
    [steps] = [*labelled(chart, NAMES[kind]), *labelled(chart, f"_{kind}")]
    return steps.get_data()


def key(chart: Chart) -> set[str]:
    return {
        text.get_text()
        for legend in chart.figure.legends
        for text in legend.get_texts()
    }


def shown(chart: Chart) -> set[str]:
    return {text.get_text() for text in chart.figure.axes[0].texts}


VISIONS = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}
"""What is seen of linear red, green and blue (Machado, Oliveira and Fernandes,
2009)."""


def seen(colour: str, vision: str) -> np.ndarray[Any, Any]:
    """A colour in CIELAB, where distance is what the eye tells apart."""
    linear = np.array([((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)])
    xyz = [[0.434, 0.376, 0.190], [0.213, 0.715, 0.072], [0.018, 0.109, 0.873]]
    x, y, z = np.cbrt(np.array(xyz) @ np.clip(np.array(VISIONS[vision]) @ linear, 0, 1))
    return np.array([116 * y, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISIONS)
def test_no_two_kinds_look_alike_whatever_cones_the_reader_has(vision: str):
    assert list(LOOKS) == list(KINDS)
    for one, other in itertools.combinations(LOOKS.values(), 2):
        apart = np.linalg.norm(seen(one.colour, vision) - seen(other.colour, vision))
        assert apart > 12, (one, other, apart)


def test_steps_stack_up_to_the_tokens_of_each_turn():
    chart = turns(COMPACTED)
    user, result, summary = (
        area(chart, kind) for kind in ("user", "tool_result", "summary")
    )
    assert list(user.values) == [100, 100, 100]
    assert (list(result.baseline), list(result.values)) == (
        [100, 100, 100],
        [700, 100, 300],
    )
    assert list(summary.values) == list(COMPACTED["tokens"]) == [700, 150, 359]
    assert list(user.edges) == [0.5, 1.5, 2.5, 3.5]


@settings(max_examples=12)
@given(st.lists(st.integers(1, 2_000), min_size=1, max_size=9), st.integers(100, 2_500))
def test_sentence_and_picture_have_the_same_numbers(sizes: list[int], window: int):
    rows = table(*({"user": size} for size in sizes), window=window)
    chart = turns(rows)
    text = sentence(rows).replace("\n", " ")
    [total] = labelled(chart, "_total")
    drawn = list(total.get_data().values)
    assert f" {sum(drawn):,} tokens sent" in text
    assert f"largest prompt {max(drawn):,} tokens" in text
    assert f"window {window:,}" in shown(chart)
    end = wall_turn(drawn, window)
    assert bool(labelled(chart, "_refused")) == (end is not None)


def test_the_picture_is_white_whatever_style_the_reader_has():
    with matplotlib.style.context("dark_background"):
        dark = turns(COMPACTED, title="T").png()
    chart = turns(COMPACTED, title="T")
    assert dark == chart.png()
    assert pixels(chart)[0, 0].tolist() == [255, 255, 255]


def test_only_the_corners_are_transparent():
    alpha = np.asarray(Image.open(io.BytesIO(turns(COMPACTED).png())).convert("RGBA"))[
        ..., 3
    ]
    assert {alpha[y, x] for y in (0, -1) for x in (0, -1)} == {0}
    assert set(alpha[20:-20].ravel()) == set(alpha[:, 20:-20].ravel()) == {255}


def test_a_picture_has_twice_the_pixels_that_it_is_shown_with():
    png, shown = turns(GROWING)._repr_png_()
    assert shown == {"width": SHOWN}
    assert Image.open(io.BytesIO(png)).width == 2 * SHOWN
    assert len(png) < 60_000


@pytest.mark.parametrize(
    "draw",
    [
        partial(turns, EVERYTHING, title="A title"),
        partial(turns, GROWING),
        partial(
            compare,
            {"Off": GROWING, "On": EVERYTHING},
            refused={"Off": "prompt is too long: 1 > 0"},
        ),
    ],
    ids=["everything", "little", "two runs"],
)
def test_nothing_is_cut_off_and_no_words_overlap(draw: Callable[[], Chart]):
    chart = draw()
    boxes = words(chart)
    page = chart.figure.bbox
    assert len(boxes) >= 15
    for name, box in boxes.items():
        inside = (
            box.x0 >= 0
            and box.y0 >= 0
            and box.x1 <= page.width
            and box.y1 <= page.height
        )
        assert inside, f"{name} is cut off: {box}"
    for (one, box), (other, another) in itertools.combinations(boxes.items(), 2):
        shared = min(box.x1, another.x1) - max(box.x0, another.x0)
        assert shared <= 0 or min(box.y1, another.y1) <= max(box.y0, another.y0), (
            one,
            other,
        )


def test_a_kind_is_named_in_its_area_if_there_is_room_and_never_without_ink():
    chart = turns(COMPACTED)
    assert shown(chart) & {*NAMES.values()} == {"user's words", "tool results"}
    assert key(chart) == {"summary", "placeholders", "summary request"}
    assert "failed attempt" in key(turns(EVERYTHING))


@settings(max_examples=12)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(50, 500))
def test_a_name_lies_wholly_in_the_area_of_its_kind(sizes: list[int], first: int):
    rows = table(*({"user": first, "tool_result": size} for size in sizes), window=900)
    chart = turns(rows)
    chart.png()
    steps = area(chart, "tool_result")
    to_data = chart.figure.axes[0].transData.inverted()
    for name in chart.figure.axes[0].texts:
        if name.get_text() != "tool results":
            continue
        (left, low), (right, high) = to_data.transform(name.get_window_extent())
        columns = range(max(0, int(left - 0.5)), min(len(sizes), int(right + 0.5)))
        assert all(
            steps.baseline[n] <= low and high <= steps.values[n] for n in columns
        )


def test_the_compacted_prompt_is_a_ghost_with_an_arrow_down_to_what_was_sent():
    chart = turns(COMPACTED)
    [ghost] = [
        line for line in chart.figure.axes[0].lines if len(line.get_ydata()) == 4
    ]
    [pole], [head] = (labelled(chart, label) for label in ("summary request", "_head"))
    assert max(ghost.get_ydata()) == 850
    assert pole.get_segments()[0][:, 1].tolist() == [0, 820]
    [(x, y)] = head.get_xydata()
    assert 1.5 < x < 2.5
    assert 150 < y < 200  # on the bar of turn 2
    assert NOTES["auto"] in shown(chart)
    assert key(turns(GROWING)) == set()


def test_a_failed_compaction_is_a_cross_over_its_prompt():
    rows = table(
        {"user": 500}, {"user": 900, "compaction": "failed", "replaced_tokens": 900}
    )
    [cross] = labelled(turns(rows), "failed attempt")
    [(x, y)] = cross.get_xydata()
    assert (x, y > 900) == (2, True)


def test_runs_share_one_legend_in_which_everything_stands_once():
    chart = compare({"One": COMPACTED, "Two": COMPACTED.assign(threshold=500)})
    [legend] = chart.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert {"summary", "summary request"} <= set(names)
    assert len(names) == len(set(names))


def test_a_level_is_left_out_if_there_is_none():
    assert "compacts\nat 800" in shown(turns(GROWING))
    for none in (0, float("nan")):
        levels = [
            text
            for text in shown(turns(GROWING.assign(threshold=none)))
            if " at" in text
        ]
        assert levels == []
        assert "window 1,000" in shown(turns(GROWING.assign(threshold=none)))


def test_two_runs_share_their_axes_and_a_refused_prompt_goes_through_the_wall_after_the_last_turn():
    words = "prompt is too long: 1234 tokens > 1000 maximum"
    chart = compare({"Off": GROWING, "On": COMPACTED}, refused={"Off": words})
    off, on = chart.figure.axes
    assert off.get_xlim() == on.get_xlim() == (0.5, 4.5)
    assert off.get_ylim() == on.get_ylim()
    [bar] = labelled(chart, "_refused")
    assert (*bar.get_data().values, *bar.get_data().edges) == (1_234, 3.5, 4.5)
    assert words in shown(chart)
    assert not any("refused" in str(each.get_label()) for each in on.patches)
    assert off.get_ylim()[1] > 1_234


def test_what_follows_a_refused_prompt_is_pale_because_it_was_never_sent():
    chart = turns(GROWING.assign(window=300, threshold=0), turns=9)
    [bar], [veil] = labelled(chart, "_refused"), labelled(chart, "_veil")
    assert list(bar.get_data().values) == [400]  # turn 2, the first over 300
    assert (veil.get_bbox().x0, veil.get_bbox().x1) == (2.5, 3.5)


def test_a_table_without_turns_is_refused():
    with pytest.raises(ValueError, match="no turn to draw"):
        turns(GROWING[:0])


def test_the_sentence_says_what_was_forgotten():
    assert sentence(COMPACTED).replace("\n", " ") == (
        "3 turns, 2,029 tokens sent in all, 820 of them to ask for summaries; largest prompt 700 "
        "tokens at turn 1, 70% of the window of 1,000; 1 compaction, 2 results cleared."
    )
    assert "0 compactions" in sentence(table({"user": 900, "compaction": "failed"}))


def test_a_tier_is_a_line_across_at_its_share_of_the_window():
    plain = turns(GROWING)
    marked = turns(GROWING, tiers=(0.65, 0.75))
    heights = [[line.get_ydata()[0] for line in chart.figure.axes[0].lines if len(line.get_ydata())]
               for chart in (plain, marked)]  # fmt: skip
    assert set(heights[1]) - set(heights[0]) == {650, 750}
    assert {"65%", "75%"} <= {text.get_text() for text in marked.figure.axes[0].texts}
