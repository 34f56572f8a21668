"""Lesson 11: its wrong answers, and its run with the published solutions."""

import io
import itertools
import json
import random
import re
import time
from dataclasses import replace
from html import unescape
from typing import Any, ClassVar

import pytest
from anthropic import BadRequestError
from anthropic.types.beta import BetaContextManagementConfigParam
from matplotlib.text import Text
from PIL import Image
from pydantic import TypeAdapter

from agentlib import pipeline
from agentlib.pipeline import Now
from agentlib.settings import Settings
from agentlib.step import Step
from course.panels.field import code_of, field_panel
from course.rooms.your_engine import heading, hired, judged, moved, pairs, share, ways
from offline_api.edits import as_edits
from tests import bad_engines as bad
from tests.course.rooms.solved import EDITED, Lesson
from windtunnel.field import field
from windtunnel.judge import NAMED, field_of
from windtunnel.judge.spreads import EQUAL, compared, side
from windtunnel.parts import PartFailed, layer_of
from windtunnel.tasks.scenarios import REVIEW


def with_settings(**changes: Any) -> Any:
    return lambda now: now.compact(**changes)


def replace_all(now: Now, **changes: Any) -> Step:
    return replace(now, settings=replace(now.settings, **changes)).compact()


def in_long_talks(**changes: Any) -> Any:
    """Change settings if there are more than eight messages."""
    return lambda now: now.compact(**(changes if len(now.messages) > 8 else {}))


def of_the_protocol_before(messages: Any, settings: Settings, **given: Any) -> Any:
    return pipeline.compact(messages)


def without_reason(now: Now) -> Step:
    return replace(now, reason="auto").compact(keep_recent=9)


def never_acts(now: Now) -> Step:
    """Take seconds for milliseconds."""
    return now.compact(threshold_pct=30) if now.idle > 300_000 else now.compact()


def by_chance(now: Now) -> Step:
    return now.compact(keep_recent=random.randint(1, 9))


def by_the_clock(now: Now) -> Step:
    return now.compact(keep_recent=1 + time.time_ns() % 9)


class Counting:
    """Change so late that only the tasks show it: the checks before them are some
    hundred calls."""

    __name__ = "Counting"

    def __init__(self) -> None:
        self.calls = itertools.count(1)

    def __call__(self, now: Now) -> Step:
        return now.compact(keep_recent=5 if next(self.calls) < 700 else 9)


CUT = {"micro": "trim", "clear_when": "always", "trim_over": 3_000, "trim_keep": 150}


def by_the_finished_engine(now: Now) -> Step:
    settings = replace(now.settings, **CUT, words_tokens=0)
    return pipeline.compact(replace(now, settings=settings))


def with_a_focus(now: Now) -> Step:
    return pipeline.compact(replace(now, focus="the rules of the user"))


def asks_for_rules(now: Now) -> Step:
    def asked(messages: Any, focus: str) -> str:
        return now.summarize(messages, "the rules of the user")

    return now.asking(asked).compact()


def every(calls: int) -> Any:
    """Compact earlier at every so many calls, whatever the moment."""
    numbers = itertools.count(1)

    def engine(now: Now) -> Step:
        return now.compact(**({} if next(numbers) % calls else {"threshold_pct": 30}))

    return engine


LAST = [0]


def if_it_has_grown(now: Now) -> Step:
    """Remember how many messages there were."""
    grown, LAST[0] = len(now.messages) - LAST[0], len(now.messages)
    return now.compact(threshold_pct=40) if grown > 2 else now.compact()


def made_before_it_is_chosen(now: Now) -> Step:
    """Make other settings at every request, and use them in long talks."""
    early = replace(now, settings=replace(now.settings, threshold_pct=60))
    return pipeline.compact(early if len(now.messages) > 8 else now)


def with_a_focus_in_long_talks(now: Now) -> Step:
    focused = replace(now, focus="the rules of the user")
    return (focused if len(now.messages) > 12 else now).compact()


def only_by_hand(now: Now) -> Step:
    return now.compact() if now.reason == "manual" else now.unchanged()


def a_dict(now: Now) -> Any:
    return {"messages": now.messages[-12:]}


def tool_uses(value: int) -> dict[str, Any]:
    return {"type": "tool_uses", "value": value}


def some_edits(
    settings: Settings,
    *,
    begin: int = 1,
    unit: str = "tool_uses",
    always_least: bool = False,
    least: int = 50_000,
    fixed: int | None = None,
) -> list[Any]:
    """Solve exercise 11.4, or one of its wrong answers."""
    keep = settings.keep_recent if fixed is None else fixed
    clear: dict[str, Any] = {
        "type": "clear_tool_uses_20250919",
        "keep": tool_uses(keep),
    }
    clear["trigger"] = {"type": unit, "value": keep + begin}
    if settings.clear_at_least or always_least:
        clear["clear_at_least"] = {
            "type": "input_tokens",
            "value": settings.clear_at_least,
        }
    start = {"type": "input_tokens", "value": max(least, settings.threshold_tokens)}
    if settings.threshold_tokens < least:
        return [clear]
    return [clear, {"type": "compact_20260112", "trigger": start}]


def surrounds(mine: Any, other: Any) -> int:
    """See that an end of mine lies within the other, and not the other way round."""
    if any(other[1] <= end <= other[2] for end in mine[1:]):
        return 0
    return -1 if mine[0] < other[0] else 1


def by_half_widths(mine: Any, other: Any) -> int:
    """Take each spread for as wide below its mean as above."""
    half = (mine[2] - mine[1] + other[2] - other[1]) / 2
    apart = mine[0] - other[0]
    return 0 if abs(apart) <= half else -1 if apart < 0 else 1


def unless_it_is_shorter(
    history: list[Any], view: list[Any], seen: int, compact: Any
) -> list[Any]:
    """Take the view only if it has fewer messages than were seen."""
    if len(view) < seen:
        return compact([*view, *history[seen:]])
    return compact(list(history))


def extends(history: list[Any], view: list[Any], seen: int, compact: Any) -> list[Any]:
    view += history[seen:]
    return compact(view)


WRONG = {
    "11.1": [
        (bad.last_ten, "together: toolu_"),
        (bad.clears_in_place, "edits the messages"),
        (bad.clears_everything, "hasn't seen is lost or changed"),
        (a_dict, "(return a Step, as now.compact() does) in line"),
        (
            lambda now: now.messages[-12:],
            "(return a Step, as now.compact()",
        ),
        (lambda now: None, "returned None (return a Step"),
        (without_reason, "ignores now.reason, so the person's /compact does nothing"),
        (of_the_protocol_before, "`def of_the_protocol_before(now):`"),
        (lambda now: replace(now, keep_recent=9).compact(), "raised TypeError"),
        (None, "None is not"),
        (
            never_acts,
            "just as DEFAULT does. If there is a rule of yours in it, it never",
        ),
        (by_chance, "so its verdict can't be repeated"),
        (by_the_clock, "so its verdict can't be repeated"),
        (Counting(), "so its verdict can't be repeated"),
        (bad.compacts_never, "ignores now.reason"),
        (only_by_hand, "prompt is too long"),
        (
            in_long_talks(tail_tokens=None, keep_exchanges=0, summary_tokens=60),
            "and keep 75 %",
        ),
        (with_settings(keep_recent=9), "a preset and no rule"),  # the first thought
        (lambda now: replace_all(now, keep_recent=9), "a preset and no rule"),
        (by_the_finished_engine, "a preset and no rule"),
        (with_a_focus, "a preset and no rule"),
        (asks_for_rules, "a preset and no rule"),
        *((every(calls), "keep nothing between calls") for calls in (2, 7, 20)),
        (if_it_has_grown, "keep nothing between calls"),
    ],
    "11.2": [
        (lambda mine, other: 0, "mine ends before the other begins"),
        (
            lambda mine, other: (mine[1] >= other[2]) - (mine[2] < other[1]),
            "mine begins where the other ends",
        ),
        (surrounds, "the other lies within mine"),
        (
            lambda mine, other: side([*map(round, mine)], [*map(round, other)]),
            "mine ends just before the other begins",
        ),
        (lambda mine, other: -1 if mine[2] < other[1] else 0, "mine begins behind"),
        (by_half_widths, "mine lies within the other"),
    ],
    "11.3": [
        (lambda history, view, seen, compact: compact(history), "5 in all, not 7"),
        (lambda history, view, seen, compact: [*view, *history[seen:]], "not 0 times"),
        (
            lambda history, view, seen, compact: [*compact(view), *history[seen:]],
            "the view and the 1 new",
        ),
        (
            lambda history, view, seen, compact: compact([*view, *history[-2:]]),
            "4 new messages",
        ),
        (extends, EDITED),
        (unless_it_is_shorter, "with a result cleared in it"),
    ],
    "11.4": [
        (lambda settings: None, "clear_at_least=0, return a list of edits"),
        (lambda settings: (), "clear_at_least=0, return a list of edits"),
        (
            lambda settings: [],
            "return edits of the types ['clear_tool_uses_20250919', 'compact",
        ),
        (
            lambda settings: [{"edits": some_edits(settings)}],
            "'compact_20260112'], not [None]",
        ),
        (lambda settings: some_edits(settings, begin=0), "trigger of clear_tool_uses"),
        (
            lambda settings: some_edits(settings, always_least=True),
            "should be None, not {",
        ),
        (lambda settings: some_edits(settings, least=70_000), "threshold=50000"),
        (lambda settings: some_edits(settings)[::-1], "return edits of the types"),
        (lambda settings: some_edits(settings, least=49_999), "threshold=49999"),
        (lambda settings: as_edits(settings)[0], "as_edits is the course's own"),
    ],
}
RIGHT = {
    "11.1": [
        in_long_talks(threshold_pct=60),
        in_long_talks(keep_recent=9),
        made_before_it_is_chosen,
        with_a_focus_in_long_talks,
    ],
    "11.2": [
        lambda mine, other: (
            -1 if mine[2] < other[1] else 1 if mine[1] > other[2] else 0
        ),
        lambda mine, other: -1 if mine[2] < other[1] else mine[1] > other[2],
    ],
    "11.3": [
        lambda history, view, seen, compact: compact(
            view + history[seen : len(history)]
        )
    ],
    "11.4": [some_edits],
}
FIELD = field_of("default")


class TestYourEngine(Lesson):
    wrong = WRONG
    right = RIGHT
    panels: ClassVar = {
        "field": lambda: field_panel(FIELD, {"default": pipeline.compact})
    }


def test_the_panel_marks_the_dot_and_shows_its_code():
    panel = field_panel(FIELD, {"default": pipeline.compact})
    pictures = {panel.png}
    for name, line in {
        "spilled": "preview = ",
        "hermes": "head_tokens=4000",
    }.items():
        panel.name.value = name
        assert line in panel.table.value
        assert panel.text.startswith(f"{name}: cost ")
        pictures.add(panel.png)
    assert len(pictures) == 3
    assert {*panel.name.options} == {*NAMED}


def test_the_code_of_an_engine_made_of_a_list_is_that_of_its_layers():
    code = code_of(pipeline.stacked(pipeline.cut, layer_of(list)))
    assert code.startswith("def cut(now: Now, step: Step) -> Step:")
    assert code.endswith("2. list  before each request: list(messages)")


def test_a_click_finds_the_dots_where_the_picture_has_them():
    panel = field_panel(FIELD, {"default": pipeline.compact})
    [dots] = re.findall('data-dots="(.*?)"', panel.children[-1].value)
    places = {name: (x, y) for name, x, y in json.loads(unescape(dots))}
    assert {*places} == {*NAMED}
    picture = Image.open(io.BytesIO(panel.png)).convert("RGB")
    for x, y in places.values():
        assert (
            min(picture.getpixel((int(x * picture.width), int(y * picture.height))))
            < 200
        )


@pytest.mark.parametrize("height", [60, 87, 93])
def test_no_name_covers_another_wherever_your_dots_are(height: int):
    dots = {name: (each.cost, each.kept) for name, each in FIELD.spreads.items()}
    places = {"yours": (74, height), "1: cut": (60, 89), "2: focus": (60, 96)}
    mine = {n: ((x, x - 4, x + 4), (y, y - 6, y + 4)) for n, (x, y) in places.items()}
    front = ["spilled", "nothing forgotten"]
    chart = field({**dots, **mine}, {"all": [*dots]}, front, mine=[*mine], title="")
    [axes] = chart.figure.axes
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without their lines
    assert not any(
        one.overlaps(other) for one, other in itertools.combinations(boxes, 2)
    )


def test_no_line_that_leads_to_a_name_crosses_another_name():
    chart = FIELD.picture("", [])
    chart.png()
    [axes] = chart.figure.axes
    boxes = {text.get_text(): Text.get_window_extent(text) for text in axes.texts}
    lines = {
        text.get_text(): text.arrow_patch.get_transform().transform_path(
            text.arrow_patch.get_path()
        )
        for text in axes.texts
        if getattr(text, "arrow_patch", None)
    }
    assert lines
    assert [
        (name, other)
        for name, line in lines.items()
        for other, box in boxes.items()
        if other != name and line.intersects_bbox(box, filled=False)
    ] == []


def test_an_edit_of_no_known_kind_is_refused_by_the_api():
    def their_agent(desk: Any, before: Any) -> Any:
        messages = before([{"role": "user", "content": "Read a.py."}])
        return desk.client.beta.messages.create(messages=messages, **desk.request)

    for edit, words in (
        ({"type": "nonsense"}, "'nonsense'"),
        ({"edits": []}, "discriminator"),
    ):
        with pytest.raises(BadRequestError, match=words):
            hired(their_agent, REVIEW, Settings(), edits=[edit])


def test_the_change_that_moved_furthest_each_way_is_named():
    trail = [
        field_of(name)
        for name in ("claude-code", "spilled", "learn-claude-code", "default")
    ]
    assert moved(trail) == {"left": 1, "up": 3, "down": 2}
    assert ways(moved(trail)) == "Change 1 moves it to the left, change 3 moves it up"


def test_a_change_that_may_be_chance_moves_nothing():
    trail = [field_of(name) for name in ("default", "positional", "hermes")]
    assert {*moved(trail).values()} == {"neither"}
    assert ways(moved(trail)).startswith("No change")


def test_an_engine_that_runs_in_no_task_is_named_with_its_fault():
    with pytest.raises(PartFailed, match=r"1: cut ran in no task: .*trim_over"):
        judged(with_settings(micro="trim", trim_over=0), "1: cut")


def test_pairs_say_what_may_be_claimed_and_count_the_tasks():
    def claim(mine: Any, other: Any) -> int:
        return -1 if mine[0] < other[0] else 1

    rows = pairs(claim, ("spilled", "default", "cost"), ("hermes", "no words", "kept"))
    assert rows["claim"].tolist() == ["less", "less"]
    untold = pairs(lambda *_: 0, ("spilled", "default", "cost"))
    assert untold["claim"].tolist() == ["none"]
    assert rows["less/more"].tolist() == ["20/0", "15/0"]
    assert compared(FIELD.spreads["hermes"], FIELD.spreads["no words"]) == EQUAL


def test_a_title_has_the_means_and_a_count_of_tasks_has_a_word():
    assert re.match(r"Hermes costs \d+ % and keeps \d+ %", heading(field_of("hermes")))
    assert [share(5, 14), share(9, 10)] == ["most", "about half"]


def test_the_published_edits_have_the_shape_of_the_sdks_types():
    adapter = TypeAdapter(BetaContextManagementConfigParam)
    adapter.validate_python({"edits": some_edits(Settings(clear_at_least=900))})
