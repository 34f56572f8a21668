"""Lesson 03: its wrong answers, and its run with the published solutions."""

from dataclasses import replace

from agentlib.auto_compact import summary_text
from agentlib.messages import exchanges, of_type
from agentlib.settings import Settings
from course.checks.auto_compact import newest_stay, rules_stay
from course.rooms.auto_compact import compaction_panel
from tests.builders import assistant, user
from tests.course.rooms.solved import Lesson
from windtunnel import layer_of, play
from windtunnel.tasks.scenarios import SURVEY


def kept_until_nine(messages, top, keep=1):
    """Right, but for more exchanges than there are."""
    kept = messages[exchanges(messages)[-keep][0] :] if keep else []
    return [top, *kept]


def by_hand(messages, top, keep=1):
    """Right, but with the summary of lesson 03.1 in place of `top`."""
    kept = messages[exchanges(messages)[-keep:][0][0] :] if keep else []
    return [user(summary_text(top)), *kept]


def held_in(order, begins="- [rule]"):
    """Hold the rules in another order, or lines that begin otherwise."""

    def hold(old, new):
        kept = new.splitlines()
        lines = dict.fromkeys(old.splitlines())
        rules = [line for line in lines if line.startswith(begins) and line not in kept]
        return "\n".join([new, *order(rules)])

    return hold


def each_once(old, new):
    """Right, but it drops lines that stand twice in the new summary."""
    rules = [line for line in old.splitlines() if line.startswith("- [rule]")]
    return "\n".join(dict.fromkeys([*new.splitlines(), *rules]))


def as_often_as_before(old, new):
    rules = [line for line in old.splitlines() if line.startswith("- [rule]")]
    return "\n".join([new, *(rule for rule in rules if rule not in new.splitlines())])


def from_the_end(messages, top, keep=1):
    pairs = exchanges(messages)
    starts = [start for start, _ in pairs][max(0, len(pairs) - keep) :]
    return [top, *(messages[starts[0] :] if starts else [])]


def line_by_line(old, new):
    for line in old.split("\n"):
        if line.startswith("- [rule]") and line not in new.split("\n"):
            new = f"{new}\n{line}"
    return new


def at_most(most):
    return lambda messages, top, keep=1: newest_stay(messages, top, min(keep, most))


def indented_too(old, new):
    lines = [each for each in old.splitlines() if each.strip().startswith("- [rule]")]
    lines = dict.fromkeys(line for line in lines if line not in new.splitlines())
    return "\n".join([new, *lines])


def rules_to_the_end(old, new):
    """Take the new summary's own rules out of their place."""
    whole = [*new.splitlines(), *old.splitlines()]
    rules = dict.fromkeys(line for line in whole if line.startswith("- [rule]"))
    others = [line for line in new.splitlines() if not line.startswith("- [rule]")]
    return "\n".join([*others, *rules])


def by_length(messages, top, keep=1):
    """Right, but for a few more exchanges than there are."""
    pairs = exchanges(messages)
    newest = pairs[len(pairs) - keep :]
    return [top, *(messages[newest[0][0] :] if newest else [])]


def with_calls_alone(messages, top, keep=1):
    """Count only exchanges in which a tool is called."""
    called = [a for a, _ in exchanges(messages) if of_type(messages[a], "tool_use")]
    return [top, *(messages[called[-keep:][0] :] if keep and called else [])]


def in_any_case(old, new):
    lines = [n for n in old.splitlines() if n.lower().startswith("- [rule]")]
    lost = dict.fromkeys(line for line in lines if line not in new.splitlines())
    return "\n".join([new, *lost])


def of_the_decisions(old, new):
    return rules_stay(old.split("## Key decisions")[-1], new)


WRONG = {
    "03.1": [
        (
            lambda m, s: [user(s), assistant("Understood."), user("Go on.")],
            "returned 3 messages",
        ),
        (lambda m, s: [user(f"{s} {m}")], "the text of old messages is still there"),
        (
            lambda m, s: [{"role": "system", "content": s}],
            "has the role user or assistant",
        ),
        (
            lambda m, s: [{"role": "user", "content": [s]}],
            "a block is a dict with a type",
        ),
        (lambda m, s: [user(s[:500])], "there once, as it is"),
        (lambda m, s: [user(f"{s}\n{s}")], "there once, as it is"),
        (lambda m, s: [user(s.lower())], "[fact] The gauge"),
    ],
    "03.2": [
        (lambda m, top, keep=1: [top], "with keep left out and 4 exchanges"),
        (kept_until_nine, "list index out of range"),
        (by_hand, "the first message should be `top`"),
        (at_most(3), "with keep=5 and 7 exchanges"),
        (lambda messages, top, keep: [], "missing 1 required positional argument"),
        (
            lambda m, top, keep=2: from_the_end(m, top, keep),
            "with keep left out and 4 exchanges",
        ),
        (by_length, "with keep=4 and 3 exchanges"),
        (with_calls_alone, "the second without a call"),
    ],
    "03.3": [
        (each_once, "the new summary should come first, as it is"),
        (as_often_as_before, "'- [rule] Use tabs.' should be there once, not 2 times"),
        (indented_too, "a rule is indented"),
        (rules_to_the_end, "a rule stands in the middle of the new summary"),
        (held_in(sorted), "in the order of the old summary"),
        (held_in(lambda rules: rules or [""]), "if nothing was dropped"),
        (held_in(list, begins="- [rule"), "a line begins nearly as a rule does"),
        (in_any_case, "a line begins nearly as a rule does"),
        (held_in(lambda rules: [rule[:60] for rule in rules]), "a long rule"),
        (of_the_decisions, "a long rule stands before the decisions"),
        (lambda old, new: rules_stay(old, new.strip()), "begins with an indent"),
    ],
    "03.4": [
        ({"threshold": 27_200, "summary_tokens": 1_000}, "All of it should be kept"),
        ({"threshold": 20_800, "summary_tokens": 1_500}, "It should be under $0.92"),
        ({"threshold": 27_200}, "yours has no summary_tokens"),
        ({}, "yours has no threshold and no summary_tokens"),
        ({"threshold": 27_200, "summary_tokens": 50_000}, "50,000 is past 4,000"),
        ((27_200, 1_500), "give {"),
        ({"threshold": 27_200, "head_tokens": 600}, "and no other number"),
        ({"threshold": 30_000, "summary_tokens": 1_500}, "30,000 is past 27,360"),
        (
            {"threshold": 27_200.5, "summary_tokens": 1_500},
            "threshold is a number of tokens, such as 1_000",
        ),
        (
            {"threshold": None, "summary_tokens": 1_500},
            "threshold is a number of tokens, such as 1_000",
        ),
        (
            {"threshold": 27_200, "summary_tokens": "1500"},
            "summary_tokens is a number of tokens",
        ),
    ],
}
RIGHT = {
    "03.1": [
        lambda old, text: [
            {"role": "user", "content": [{"type": "text", "text": text}]}
        ]
    ],
    "03.2": [from_the_end],
    "03.3": [line_by_line],
    "03.4": [{"threshold": 27_000, "summary_tokens": 2_000}],
}


class TestAutoCompact(Lesson):
    wrong = WRONG
    right = RIGHT


START = replace(
    Settings(micro="off", manual=False).scaled(32_000),
    threshold=20_800,
    summary_tokens=1_000,
)


def test_two_numbers_of_a_compaction_run_the_task_again_with_the_learners_function(
    unpainted,
):
    def keeps_nothing(messages, top):
        return [top]

    panel = compaction_panel(SURVEY, START, newest_stay)
    run = play(SURVEY, START, layers=[layer_of(newest_stay, given="message")])
    assert panel.text.startswith(f"{run.turns} turns")
    assert (panel.threshold.min, panel.threshold.max) == (4_000, 27_360)
    assert "; 2 compactions. " in panel.text.replace("\n", " ")
    panel.summary_tokens.value = 100
    assert "has 0 facts" in panel.text.replace("\n", " ")
    panel.move(threshold=8_000, summary_tokens=1_000)
    other = compaction_panel(SURVEY, replace(START, threshold=8_000), keeps_nothing)
    assert other.text.split(" turns")[0] != panel.text.split(" turns")[0]
