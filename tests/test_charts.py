"""Pictures are held to what a reader needs: right heights, nothing cut off, more than colour."""

import io
import itertools
import subprocess
import sys
from typing import Any

import matplotlib.style
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from pandas import DataFrame
from PIL import Image

from agentlib.lab.figures.charts import SIGNS, compare, sentence, turns, wall_turn
from agentlib.lab.figures.style import LOOKS, SHOWN, Chart
from agentlib.messages import KINDS


def table(*rows: dict[str, Any], window: int = 1_000, threshold: float = 800) -> DataFrame:
    """A replay's table. Each row names its kinds and what differs from a quiet turn."""
    quiet = {"compaction": None, "cleared": 0, "billed_from": "recorded", "summary_from": None}
    whole: list[dict[str, Any]] = []
    for turn, row in enumerate(rows, 1):
        kinds = {kind: float(row.get(kind, 0)) for kind in KINDS}
        sums = {"turn": turn, "tokens": int(sum(kinds.values()))}
        whole.append(sums | kinds | quiet | {"threshold": threshold, "window": window} | row)
    return DataFrame(whole)


GROWING = table({"user": 100}, {"user": 100, "tool_result": 300}, {"user": 100, "tool_result": 600})
COMPACTED = table(
    {"user": 100, "tool_result": 600},
    {"user": 100, "summary": 50, "compaction": "auto", "summary_from": "stand-in"},
    {"user": 100, "summary": 50, "tool_result": 200, "placeholder": 9, "cleared": 2},
)
EVERYTHING = table(
    *({kind: 10 * n for n, kind in enumerate(KINDS, 1)} for _ in range(7)),
    *({"user": 1, "compaction": name} for name in SIGNS),
    window=200_000,
    threshold=199_999,
)


def pixels(chart: Chart) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(chart.png())).convert("RGB"))


def words(chart: Chart) -> dict[str, Any]:
    """Every text of a drawn figure with its box, in pixels."""
    chart.png()
    texts = list(chart.figure.legends[0].get_texts())
    for axes in chart.figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = axis.get_major_ticks()
            texts += [axis.label, *(t.label1 for t in ticks if low <= t.get_loc() <= high)]
        texts += [*axes.texts, axes._left_title]
    shown = [text for text in texts if text.get_text() and text.get_visible()]
    return {f"{n} {text.get_text()}": text.get_window_extent() for n, text in enumerate(shown)}


def legend(chart: Chart) -> list[str]:
    return [text.get_text() for text in chart.figure.legends[0].get_texts()]


def test_no_two_kinds_differ_by_hue_alone():
    def lightness(colour: str) -> float:
        return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))

    assert list(LOOKS) == list(KINDS)
    for one, other in itertools.combinations(LOOKS.values(), 2):
        apart = abs(lightness(one.colour) - lightness(other.colour))
        assert one.pattern != other.pattern or apart > 0.08, (one, other)


def test_steps_stack_up_to_the_tokens_of_each_turn():
    steps = turns(COMPACTED).stacks[0].steps
    user, result, summary = (steps[k].get_data() for k in ("user", "tool_result", "summary"))
    assert list(user.values) == [100, 100, 100]
    assert (list(result.baseline), list(result.values)) == ([100, 100, 100], [700, 100, 300])
    assert list(summary.values) == list(COMPACTED["tokens"]) == [700, 150, 359]
    assert list(user.edges) == [0.5, 1.5, 2.5, 3.5]


@given(st.lists(st.integers(1, 2_000), min_size=1, max_size=9), st.integers(100, 2_500))
def test_sentence_and_picture_have_the_same_numbers(sizes: list[int], window: int):
    rows = table(*({"user": size} for size in sizes), window=window)
    stack, text = turns(rows, ghost=sizes).stacks[0], sentence(rows).replace("\n", " ")
    drawn = list(stack.total.get_data().values)
    assert f"{sum(drawn):,} tokens sent in all" in text
    assert f"largest prompt {max(drawn):,} tokens" in text
    assert stack.window.text.get_text() == f"window {window:,}"
    end = wall_turn(drawn, window)
    assert (f"at turn {end} the prompt is over the window" in text) == (end is not None)
    assert list(stack.ghost.get_ydata()) == ([*sizes[: end - 1], window] if end else sizes)


def test_an_update_makes_the_picture_that_a_new_chart_makes():
    alike: dict[str, Any] = {"top": 2_000, "also": [*KINDS, *SIGNS], "ghost": [400, 900, 1_300]}
    kept, fresh = turns(GROWING, **alike), turns(COMPACTED, **alike)
    kept.update(GROWING)
    first = kept.png()
    kept.update(COMPACTED)
    fresh.update(COMPACTED)
    assert kept.png() == fresh.png() != first
    kept.update(GROWING)
    assert kept.png() == first


def test_the_picture_is_white_whatever_style_the_reader_has():
    with matplotlib.style.context("dark_background"):
        dark = turns(COMPACTED, title="T").png()
    chart = turns(COMPACTED, title="T")
    assert dark == chart.png()
    assert pixels(chart)[0, 0].tolist() == [255, 255, 255]


def test_a_picture_has_twice_the_pixels_that_it_is_shown_with():
    png, shown = turns(GROWING)._repr_png_()
    assert shown == {"width": SHOWN}
    assert Image.open(io.BytesIO(png)).width == 2 * SHOWN
    assert len(png) < 60_000
    code = "import agentlib.lab.figures.charts, sys; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "chart",
    [
        turns(EVERYTHING, title="A title"),
        turns(GROWING),
        compare({"Off": GROWING, "On": EVERYTHING}, refused={"Off": "prompt is too long: 1 > 0"}),
    ],
    ids=["everything", "little", "two runs"],
)
def test_nothing_is_cut_off_and_no_words_overlap(chart: Chart):
    boxes, page = words(chart), chart.figure.bbox
    assert len(boxes) >= 15
    for name, box in boxes.items():
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.width and box.y1 <= page.height
        assert inside, f"{name} is cut off: {box}"
    for (one, box), (other, another) in itertools.combinations(boxes.items(), 2):
        shared = min(box.x1, another.x1) - max(box.x0, another.x0)
        assert shared <= 0 or min(box.y1, another.y1) <= max(box.y0, another.y0), (one, other)


def test_the_legend_names_what_there_is_and_what_may_come():
    there = ["user", "tool_result", "placeholder", "summary", "auto-compaction"]
    assert legend(turns(COMPACTED)) == there
    more = legend(turns(COMPACTED, also=["image", "failed"], ghost=[1]))
    assert more == [*there[:2], "image", *there[2:], "failed compaction", "nothing forgotten"]


def test_a_sign_stands_where_the_stack_falls():
    signs = turns(COMPACTED).stacks[0].signs
    assert signs["auto"].get_xydata().tolist() == [[1.5, 700]]
    assert signs["failed"].get_xydata().tolist() == []


def test_a_level_is_left_out_if_there_is_none():
    stack = turns(GROWING).stacks[0]
    assert stack.threshold.text.get_text() == "compacts at 800"
    for none in (0, float("nan")):
        stack.set(GROWING.assign(threshold=none))
        assert not stack.threshold.line.get_visible()


def test_two_runs_share_their_axes_and_a_refusal_stands_on_the_wall_after_the_last_turn():
    off, on = compare({"Off": GROWING, "On": COMPACTED}, refused={"Off": "too long"}).figure.axes
    assert off.get_xlim() == on.get_xlim() == (0.5, 4.5)
    assert off.get_ylim() == on.get_ylim()
    assert (off.texts[-1].get_text(), off.texts[-1].xy) == ("too long", (4, 1_000))
    assert "too long" not in [text.get_text() for text in on.texts]


def test_a_table_without_turns_is_refused():
    with pytest.raises(ValueError, match="no turn to draw"):
        turns(GROWING[:0])


def test_the_sentence_says_what_was_forgotten_and_what_was_weighed():
    assert sentence(COMPACTED).replace("\n", " ") == (
        "3 turns, 1,209 tokens sent in all; largest prompt 700 tokens at turn 1, 70% of the window "
        "of 1,000; 1 compaction (1 with a stand-in summary), 2 results cleared."
    )
    weighed = table({"user": 900, "compaction": "failed", "billed_from": "weighed"})
    assert "0 compactions" in sentence(weighed)
    assert "1 prompt\nweighed" in sentence(weighed)
    assert sentence(DataFrame()) == "No request yet."
