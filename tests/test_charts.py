"""Pictures are held to what a reader needs: right heights, nothing cut off, more than colour."""

import io
import itertools
import subprocess
import sys
from typing import Any

import matplotlib.style
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from pandas import DataFrame
from PIL import Image

from agentlib.lab.figures.artists import LOOKS, MARKS, places
from agentlib.lab.figures.charts import Chart, TurnChart, compare, png, sentence, svg, turns
from agentlib.messages import KINDS


def table(*rows: dict[str, Any], window: int = 1_000, threshold: float = 800) -> DataFrame:
    """A replay's table; each row names its kinds and what differs from a quiet turn."""
    quiet = {"compaction": None, "cleared": 0, "billed_from": "recorded", "summary_from": None}
    whole: list[dict[str, Any]] = []
    for turn, row in enumerate(rows, 1):
        kinds = {kind: float(row.get(kind, 0)) for kind in KINDS}
        known = {"turn": turn, "tokens": int(sum(kinds.values()))}
        whole.append(known | kinds | quiet | {"threshold": threshold, "window": window} | row)
    return DataFrame(whole)


GROWING = table({"user": 100}, {"user": 100, "tool_result": 300}, {"user": 100, "tool_result": 600})
COMPACTED = table(
    {"user": 100, "tool_result": 600},
    {"user": 100, "summary": 50, "compaction": "auto", "summary_from": "stand-in"},
    {"user": 100, "summary": 50, "tool_result": 200, "placeholder": 9, "cleared": 2},
)
EVERYTHING = table(
    *({kind: 10 * n for n, kind in enumerate(KINDS, 1)} for _ in range(7)),
    {"user": 1, "compaction": "auto", "summary_from": "recorded"},
    {"user": 1, "compaction": "manual", "summary_from": "recorded"},
    {"user": 1, "compaction": "failed", "summary_from": "stand-in"},
    {"user": 1, "compaction": "auto", "summary_from": "stand-in"},
    {"user": 1, "compaction": "manual", "summary_from": "stand-in"},
    window=200_000,
    threshold=199_999,
)


def pixels(picture: bytes) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGBA"))


def words(figure: Chart) -> dict[str, Any]:
    """Every text of a drawn figure with its box, in pixels."""
    png(figure)
    texts = list(figure.legends[0].get_texts())
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = axis.get_major_ticks()
            texts += [axis.label, *(t.label1 for t in ticks if low <= t.get_loc() <= high)]
        texts += [*axes.texts, axes._left_title]
    shown = [text for text in texts if text.get_text() and text.get_visible()]
    return {f"{n} {text.get_text()}": text.get_window_extent() for n, text in enumerate(shown)}


def test_every_kind_of_block_has_its_look():
    assert list(LOOKS) == list(KINDS)


def test_no_two_kinds_differ_by_hue_alone():
    def lightness(colour: str) -> float:
        return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))

    for one, other in itertools.combinations(LOOKS.values(), 2):
        apart = abs(lightness(one.colour) - lightness(other.colour))
        assert one.pattern != other.pattern or apart > 0.08, (one, other)


def test_steps_stack_up_to_the_tokens_of_each_turn():
    steps = TurnChart(COMPACTED).stack.steps
    user, result, summary = (steps[k].get_data() for k in ("user", "tool_result", "summary"))
    assert list(user.values) == [100, 100, 100]
    assert (list(result.baseline), list(result.values)) == ([100, 100, 100], [700, 100, 300])
    assert list(summary.values) == list(COMPACTED["tokens"]) == [700, 150, 359]
    assert list(user.edges) == [0.5, 1.5, 2.5, 3.5]


def test_new_numbers_in_a_kept_chart_make_the_picture_that_a_new_chart_makes():
    alike: dict[str, Any] = {"top": 2_000, "kinds": KINDS, "marks": MARKS}
    kept = TurnChart(GROWING, **alike)
    first = kept.png()
    kept.update(COMPACTED)
    assert kept.png() == TurnChart(COMPACTED, **alike).png() != first
    kept.update(GROWING)
    assert kept.png() == first


def test_screen_and_print_show_the_same():
    chart = TurnChart(EVERYTHING, title="All of it")
    assert np.array_equal(pixels(chart.png()), pixels(png(chart.figure)))
    assert np.array_equal(pixels(chart.png()), pixels(png(chart.figure)))


def test_the_background_is_white_and_opaque_whatever_style_the_reader_has():
    with matplotlib.style.context("dark_background"):
        dark = png(turns(COMPACTED, title="T"))
        kept = TurnChart(COMPACTED, title="T").png()
    assert dark == png(turns(COMPACTED, title="T"))
    assert np.array_equal(pixels(dark), pixels(kept))
    assert pixels(dark)[0, 0].tolist() == [255, 255, 255, 255]


@pytest.mark.parametrize(
    "figure",
    [
        turns(EVERYTHING, title="A title"),
        turns(GROWING),
        compare({"Off": GROWING, "On": EVERYTHING}, refused={"Off": "prompt is too long: 1 > 0"}),
    ],
    ids=["everything", "little", "two runs"],
)
def test_nothing_is_cut_off_and_no_words_overlap(figure: Chart):
    boxes = words(figure)
    assert len(boxes) >= 15
    for name, box in boxes.items():
        inside = (
            box.x0 >= 0
            and box.y0 >= 0
            and box.x1 <= figure.bbox.width
            and box.y1 <= figure.bbox.height
        )
        assert inside, f"{name} is cut off: {box}"
    for (one, box), (other, another) in itertools.combinations(boxes.items(), 2):
        shared = min(box.x1, another.x1) - max(box.x0, another.x0)
        assert shared <= 0 or min(box.y1, another.y1) <= max(box.y0, another.y0), (one, other)


def test_the_legend_stands_outside_the_data():
    figure = turns(EVERYTHING)
    png(figure)
    assert figure.legends[0].get_window_extent().y1 < figure.axes[0].get_window_extent().y0


def test_the_legend_names_what_there_is_and_what_was_asked_for():
    def named(**more: Any) -> list[str]:
        figure = TurnChart(COMPACTED, **more).figure
        return [text.get_text() for text in figure.legends[0].get_texts()]

    there = ["user", "tool_result", "placeholder", "summary", "auto, stand-in"]
    assert named() == there
    assert named(kinds=["image"], marks=MARKS[:1]) == [
        *there[:2],
        "image",
        *there[2:4],
        "auto-compaction",
        "auto, stand-in",
    ]


def test_a_stand_in_summary_is_marked_hollow_and_a_failure_by_a_sign_of_its_own():
    found = {mark.label: across for mark, (across, _) in places(EVERYTHING).items() if across}
    assert found == {
        "auto-compaction": [7.5],
        "auto, stand-in": [10.5],
        "manual compaction": [8.5],
        "manual, stand-in": [11.5],
        "failed compaction": [9.5],
    }
    signs = TurnChart(EVERYTHING).stack.signs
    faces = {mark.label: sign.get_markerfacecolor() for mark, sign in signs.items()}
    assert faces["auto, stand-in"] == "white" != faces["auto-compaction"]


def test_a_mark_stands_where_the_stack_falls():
    (_, (across, up)), *_ = [each for each in places(COMPACTED).items() if each[1][0]]
    assert (across, up) == ([1.5], [700])


def test_levels_are_named_with_their_numbers_and_left_out_where_there_are_none():
    stack = TurnChart(GROWING).stack
    assert stack.window.text.get_text() == "window 1,000"
    assert stack.threshold.text.get_text() == "compacts at 800"
    for none in (0, float("nan")):
        stack.set(GROWING.assign(threshold=none))
        assert not any(artist.get_visible() for artist in stack.threshold.artists)


def test_two_runs_share_their_axes_and_a_refusal_stands_on_the_wall_after_the_last_turn():
    figure = compare({"Off": GROWING, "On": COMPACTED}, refused={"Off": "too long"})
    off, on = figure.axes
    assert off.get_xlim() == on.get_xlim() == (0.5, 4.5)
    assert off.get_ylim() == on.get_ylim()
    assert off.texts[-1].get_text() == "too long"
    assert off.texts[-1].xy == (4, 1_000)
    crosses = [line.get_xydata().tolist() for line in off.lines if line.get_marker() == "X"]
    assert [[4, 1_000]] in crosses
    assert "too long" not in [text.get_text() for text in on.texts]


def test_a_table_without_turns_is_refused():
    with pytest.raises(ValueError, match="no turn to draw"):
        turns(GROWING[:0])


def test_the_sentence_says_the_numbers_of_the_chart():
    assert sentence(COMPACTED).replace("\n", " ") == (
        "3 turns, 1,209 tokens sent in all; largest prompt 700 tokens at turn 1, 70% of the window "
        "of 1,000; 1 compaction (1 with a stand-in summary), 2 results cleared."
    )


def test_the_sentence_says_what_would_be_refused_and_what_was_weighed():
    large = table({"user": 900}, {"user": 1_001, "billed_from": "weighed"})
    assert (
        sentence(large)
        .replace("\n", " ")
        .endswith(
            "0 compactions, 0 results cleared; 1 prompt weighed, not billed; "
            "at turn 2 the prompt is over the window: the API would refuse it."
        )
    )


def test_a_failed_compaction_is_none_and_no_request_is_said_plainly():
    assert "0 compactions" in sentence(table({"user": 9, "compaction": "failed"}))
    assert sentence(DataFrame()) == "No request yet."


def test_a_chart_shows_itself_in_a_notebook_without_pyplot():
    shown = turns(GROWING)._repr_png_()
    assert shown.startswith(b"\x89PNG")
    assert shown == turns(GROWING)._repr_png_()
    code = "import agentlib.lab.figures.charts, sys; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_warning_tiers_stand_at_the_right_edge_and_in_the_legend() -> None:
    told = GROWING.copy()
    told.attrs["warn_at"] = (0.5, 0.75)
    chart = TurnChart(told)
    across, up = chart.stack.tiers.get_data()
    assert (list(across), list(up)) == ([1.0, 1.0], [500, 750])
    chart.update(told.assign(window=2_000))
    assert list(chart.stack.tiers.get_data()[1]) == [1_000, 1_500]
    legends = [chart.figure.legends[0], TurnChart(GROWING).figure.legends[0]]
    named = [[text.get_text() for text in legend.get_texts()] for legend in legends]
    assert "warning tiers" in named[0]
    assert "warning tiers" not in named[1]


def test_the_ghost_goes_up_to_the_wall_and_dies_there():
    chart = TurnChart(COMPACTED, ghost=[400, 900, 1_300])
    assert chart.ghost
    assert chart.ghost.dies(1_000) == 3
    assert list(chart.ghost.line.get_data().values) == [400, 900, 1_000]
    assert (list(chart.ghost.cross.get_xdata()), list(chart.ghost.cross.get_ydata())) == (
        [3],
        [1_000],
    )
    assert chart.png() == TurnChart(COMPACTED, ghost=[400, 900, 1_300]).png()
    assert chart.png() != TurnChart(COMPACTED).png()
    assert np.array_equal(pixels(chart.png()), pixels(png(chart.figure)))


def test_in_a_window_that_holds_all_the_ghost_lives_on():
    chart = TurnChart(COMPACTED.assign(window=2_000), ghost=[400, 900, 1_300])
    assert chart.ghost
    assert chart.ghost.dies(2_000) is None
    assert list(chart.ghost.line.get_data().values) == [400, 900, 1_300]
    assert list(chart.ghost.cross.get_xdata()) == []


def test_a_picture_for_print_has_the_same_bytes_again_and_no_date():
    first = svg(turns(COMPACTED, title="T"))
    assert first == svg(turns(COMPACTED, title="T"))
    assert first.startswith(b"<?xml")
    assert b"dc:date" not in first
