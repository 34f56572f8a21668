"""The picture of the trade: every run has its dot and its name, and no name hides
another."""

from itertools import combinations

from matplotlib.text import Text

from session_report.style import Chart
from windtunnel.trade import TITLES, policies, trade

DOTS = {
    "nothing forgotten": (0.0209, 19),
    "KEEP_RECENT 0": (0.0221, 19),
    "s24": (0.0216, 2),
}
DOTS |= {
    "the Java agent": (0.0327, 2),
    "learn-claude-code": (0.0334, 2),
    "Hermes": (0.0217, 8),
}
TRAIL = {"1,000": (0.0207, 2), "5,000": (0.0225, 11), "DEFAULT: 9,000": (0.0232, 19)}


def drawn() -> Chart:
    return trade(DOTS, TRAIL, title="More money, more files", left="files", most=19)


def test_every_run_is_named_and_no_name_covers_another_or_leaves_the_picture():
    chart = drawn()
    chart.png()
    [axes] = chart.figure.axes
    boxes = {
        text.get_text(): Text.get_window_extent(text) for text in axes.texts
    }  # no lines
    assert boxes.keys() >= {TITLES.get(name, name) for name in (*DOTS, *TRAIL)}
    assert [
        pair
        for pair in combinations(boxes, 2)
        if boxes[pair[0]].overlaps(boxes[pair[1]])
    ] == []
    page = chart.figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in boxes.values())


def test_no_name_stands_on_the_line_from_trial_to_trial():
    along = {"first": (0.02, 19), "second": (0.022, 10), "third": (0.026, 18)}
    chart = trade({"s24": (0.03, 9)}, along, title="", left="files", most=19)
    chart.png()
    [axes] = chart.figure.axes
    line = axes.lines[0].get_path().transformed(axes.transData)
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert [box for box in boxes if line.intersects_bbox(box, filled=False)] == []


def test_the_newest_trial_is_the_largest_dot_and_has_the_trails_colour():
    chart = drawn()
    [axes] = chart.figure.axes
    sizes = {
        line.get_xydata()[0][0]: line
        for line in axes.lines
        if len(line.get_xydata()) == 1
    }
    last, first, other = (sizes[x] for x in (0.0232, 0.0207, 0.0217))
    assert last.get_markersize() > other.get_markersize() > first.get_markersize()
    assert last.get_color() == first.get_color() != other.get_color()


def test_a_single_trial_can_be_drawn():
    one = {"yours": (0.02, 3)}
    assert trade({}, one, title="", left="files", most=4).png().startswith(b"\x89PNG")


def test_a_hollow_dot_lost_more_than_its_height_shows_and_the_best_has_a_ring():
    chart = trade(
        DOTS, TRAIL, title="", left="files", most=19, hollow={"s24"}, best="1,000"
    )
    [axes] = chart.figure.axes
    dots = [line for line in axes.lines if len(line.get_xydata()) == 1]
    inside = {(line.get_xydata()[0][0], line.get_markerfacecolor()) for line in dots}
    assert {x for x, colour in inside if colour == "white"} == {DOTS["s24"][0]}
    assert {x for x, colour in inside if colour == "none"} == {TRAIL["1,000"][0]}
    assert any("○" in text.get_text() for text in axes.texts)


def test_a_policy_has_its_dot_at_its_means_and_lines_to_the_ends_of_its_intervals():
    spreads = {
        "presets": {"dollars": [100.0, 90.0, 110.0], "need": [8.0, 7.0, 10.0]},
        "yours": {"dollars": [80.0, 70.0, 85.0], "need": [2.0, 0.0, 3.0]},
    }
    [axes] = policies(spreads, ["yours"], title="Yours is cheaper").figure.axes
    dots = {
        tuple(line.get_xydata()[0]): line
        for line in axes.lines
        if len(line.get_xydata()) == 1
    }
    assert dots.keys() == {(100.0, 8.0), (80.0, 2.0)}
    assert dots[80.0, 2.0].get_color() != dots[100.0, 8.0].get_color()
    ends = {tuple(map(tuple, line.get_xydata())) for line in axes.lines}
    assert {((70.0, 2.0), (85.0, 2.0)), ((80.0, 0.0), (80.0, 3.0))} <= ends
    assert {text.get_text() for text in axes.texts} == {"presets", "yours"}
    (left, right) = axes.get_xlim()
    (low, high) = axes.get_ylim()
    assert left < 70 < 110 < right
    assert low < 0 < 10 < high
