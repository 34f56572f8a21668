"""Lesson 03: what a summary replaces, what stays beside it, what it may not drop, two
numbers."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# matplotlib has no complete types.

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from matplotlib.patches import Patch

from agentlib.api.spending import PRICED_AS
from agentlib.auto_compact import summary_message
from agentlib.messages import Message, active_request, exchanges, kinds_of, of_type
from agentlib.settings import Settings
from course.checking import (
    SUMMARY,
    Answer,
    conversation,
    exercise,
    require,
    shown,
    text_of,
)
from course.page import survived
from course.panels.panel import Panel, knobs, slider
from session_report.style import LOOKS, NAMES, RED, Chart, cut
from windtunnel.parts import layer_of
from windtunnel.runner import MAX_TURNS, Run, play
from windtunnel.tasks.scenarios import REVIEW, Scenario

# -- the exercises ---------------------------------------------------------------------


def one_summary(messages: list[Message], summary: str) -> list[Message]:
    """Put a summary in place of everything."""
    return [{"role": "user", "content": summary}]


@exercise("03.1", "seven messages became one.", finished=one_summary)
def _in_place_of_all(answer: Answer) -> None:
    """A new list with one message in it: its role is user, and its content is the
    summary."""
    old = conversation(400, 400, 400)
    summary = SUMMARY + "\n- [fact] The gauge holds 7 litres." * 60
    new = answer.messages(old, summary)
    first = (
        "the summary should be in the first message, and nothing of the old ones stays."
    )
    require(SUMMARY in text_of(new[:1]), first)
    require(
        len(new) == 1, f"it returned {len(new)} messages; one with the summary will do."
    )
    require(
        new[0]["role"] == "user",
        "the message with the summary should be one of the user.",
    )
    kept = any(part in str(new) for part in ("Read every file", "toolu_", "# 1 # 1"))
    require(
        not kept, "the text of old messages is still there; only the summary may stay."
    )
    count = text_of(new).count(summary)
    whole = f"the summary should stand there once, whole: {len(summary):,} characters"
    require(count == 1, f"{whole}; yours has {len(text_of(new)):,}.")


def newest_stay(messages: list[Message], top: Message, keep: int = 1) -> list[Message]:
    """Put the message with the summary in place of all but the newest exchanges."""
    newest = exchanges(messages)[-keep:] if keep else []
    kept = messages[newest[0][0] :] if newest else []
    return [top, *kept]


@exercise(
    "03.2", "the summary first, then the newest exchanges, whole.", finished=newest_stay
)
def _keeps(answer: Answer) -> None:
    """exchanges(messages)[-keep:] are the exchanges that stay, but not if keep is 0.

    An exchange is a pair (start, stop). The messages from the first start on stay.

    `top` is finished: it comes first, as it is.
    """
    few = (4, 1, 0), (5, 3, 0), (4, 0, 0), (3, 3, 0), (3, 9, 0), (0, 3, 0)
    plain = (*few, (7, 5, 0))
    for count, keep, more in (*plain, (4, 1, 1), (4, 0, 1)):
        old = conversation(*[400] * count) + conversation(request="And d.py.") * more
        top = summary_message(SUMMARY, "t.jsonl", active_request(old))
        given = (
            {} if keep == 1 else {"keep": keep}
        )  # 1 is what it has to stand for by itself
        new = answer.messages(old, top, **given)
        kept = newest_stay(old, top, keep)[1:]
        case = f"with keep{f'={keep}' if given else ' left out'} and {count} exchanges"
        case += ", a second request" if more else ""
        require(
            new[:1] == [top], f"{case}, the first message should be `top`, as it is."
        )
        wanted = f"{case}, the last {len(kept)} messages should follow `top`"
        same = len(new) == len(kept) + 1
        others = "there are others" if same else f"yours returned {len(new)} messages"
        require(new[1:] == kept, f"{wanted}; {others}.")


OLD_SUMMARY, NEW_SUMMARY = (
    "## State\n- [file] rule.py\n- [file] 2.py\n- [rule] Use tabs.\n- [rule] Be brief.",
    "## State\n- [file] 2.py\n\n## Next\n- [file] 2.py\n\n- [rule] Be brief.",
)


def rules_stay(old: str, new: str) -> str:
    """Put the rules that a new summary dropped at its end."""
    rules = dict.fromkeys(
        line for line in old.splitlines() if line.startswith("- [rule]")
    )
    kept = new.splitlines()
    return "\n".join([new, *(rule for rule in rules if rule not in kept)])


@exercise(
    "03.3", "the person's rules come through, the rest may go.", finished=rules_stay
)
def _holds(answer: Answer) -> None:
    """Go through old.splitlines(). Which lines begin with '- [rule]' and aren't among
    new.splitlines()?

    The old summary may have a rule twice. Put each one once after the new summary, on a
    line of its own: '\\n'.join([new, *rules]).
    """
    cases = {
        "one rule of two was dropped": (OLD_SUMMARY, NEW_SUMMARY),
        "nothing was dropped": (OLD_SUMMARY, OLD_SUMMARY),
        "both rules were dropped": (OLD_SUMMARY, "## State\n- [file] 3.py"),
        "there was no rule": ("## State\n- [file] 1.py", NEW_SUMMARY),
        "a rule begins as a dropped one does": (
            OLD_SUMMARY,
            f"{NEW_SUMMARY} And quick.",
        ),
        "a file has [rule] in a note": (
            "- [file] a.py | [rule] lines\n- [fact] b",
            NEW_SUMMARY,
        ),
        "the dropped rule stood there twice": (
            f"- [rule] Use tabs.\n{OLD_SUMMARY}",
            NEW_SUMMARY,
        ),
        "a file's line quotes a rule": (
            "- [file] a.py | - [rule] Use tabs.\n- [fact] b",
            NEW_SUMMARY,
        ),
        "a line begins nearly as a rule does": (
            "- [rules] 3 are read.\n- [fact] b",
            NEW_SUMMARY,
        ),
        "a rule is indented, so its line begins otherwise": (
            "- [fact] b\n  - [rule] Use tabs.",
            NEW_SUMMARY,
        ),
        "a rule stands in the middle of the new summary": (
            OLD_SUMMARY,
            "## Rules\n- [rule] Be brief.\n\n## Next\n- [file] 3.py",
        ),
        "the new summary has a rule of its own": (
            OLD_SUMMARY,
            "- [rule] Ask first.\n- [rule] Ask first.\n- [file] 3.py",
        ),
    }
    for case, (old, new) in cases.items():
        text = Answer(answer.call(old, new)).typed(str, "return a text")
        lines = text.splitlines()
        missing = [line for line in new.splitlines() if line not in (*lines, "")]
        require(
            not missing, f"if {case}, yours lacks {missing[:1]} of the new summary."
        )
        rules = [line for line in old.splitlines() if line.startswith("- [rule]")]
        again = [line for line in lines if line not in (*new.splitlines(), *rules, "")]
        require(
            not again, f"if {case}, {again[:1]} is back; only rules should come back."
        )
        for rule in rules:
            count = lines.count(rule)
            require(
                count == 1,
                f"if {case}, {rule!r} should be there once, not {count} times.",
            )
        first = f"if {case}, the new summary should come first, as it is, and the rules after it."
        require("\n".join(lines).startswith(new), first)
        behind = [line for line in lines[len(new.splitlines()) :] if line]
        dropped = [
            rule for rule in dict.fromkeys(rules) if rule not in new.splitlines()
        ]
        order = f"if {case}, the rules should follow in the order of the old summary"
        require(behind == dropped, f"{order}, {dropped}; yours are {behind}.")
        same = (
            f"if {case}, no rule has to come back, so return the new summary as it is"
        )
        require(dropped or text == new, f"{same}; yours ends {shown(text[-20:])}.")


@exercise("03.4")
def _two_numbers(answer: Answer) -> str:
    """Which of the two numbers decides what is kept? Find the smallest that keeps all.

    Each compaction costs a request and a new cache. Which point makes fewer of them?
    """
    numbers = answer.numbers("threshold", "summary_tokens")
    for name, value in numbers.items():
        whole = type(value) is int and value > 0
        require(
            whole, f"{name} is a number of tokens, such as 1_000, not {value!r:.40}."
        )
    start = {"threshold": 20_800, "summary_tokens": 1_000}
    settings = replace(
        Settings(micro="off", manual=False).scaled(32_000), **(start | numbers)
    )
    most = settings.context_window - settings.output_reserve - settings.buffer
    late = f"{settings.threshold:,} is past {most:,}, the window less its reserve and buffer"
    require(
        (settings.threshold or 0) <= most, f"{late}; the panel's slider ends there."
    )
    run = play(REVIEW, settings)
    rule = "yes" if run.checks["rule kept"] else "no"
    report = f"{run.checks['described']} of 19 files described, {run.checks['facts']} of 4 facts"
    cost = run.dollars(PRICED_AS)
    result = f"rule kept {rule}, {report}, ${cost:.2f}"
    require(not run.refused, f"{result}, and the API refused a request: {run.refused}.")
    whole = rule == "yes" and run.checks["facts"] == 4 and run.checks["described"] == 19
    require(whole, f"{result}. All of it should be kept.")
    require(cost < 0.92, f"{result}. It should be under $0.92.")
    return f"{result}."


# -- what the cells show ---------------------------------------------------------------


def strip(
    windows: Mapping[str, Any], again: tuple[str, tuple[list[str], str]]
) -> Chart:
    """Draw messages, those that slid out hollow, then which file each call of a run
    read.

    `windows`: by a title, what `slid` returns, and what is said below. `again`: a
    title, the paths that were read, and what is said below.
    """
    chart = Chart(2.1)
    for place, (title, ((history, gone, missing), says)) in enumerate(windows.items()):
        axes = chart.frame(0.1 + 2.35 * place, 0.9, 2.15, 0.75, title)
        colours = [LOOKS[kinds_of(message)[-1][0]].colour for message in history]
        fills = ["white"] * gone + colours[gone:]
        axes.bar(
            range(len(history)), 1, 0.75, color=fills, edgecolor=colours, linewidth=1.2
        )
        axes.plot(missing, [0.5] * len(missing), "x", color=RED, markeredgewidth=2)
        axes.set(xlim=(-0.6, len(history) - 0.4), ylim=(0, 1.05))
        axes.axis("off")
        chart.figure.text((0.1 + 2.35 * place) / 7.2, 0.3, says, color=RED, fontsize=9)
    title, (paths, says) = again
    axes = chart.frame(5.1, 0.9, 2.0, 0.75, title)
    numbers = [list(dict.fromkeys(paths)).index(path) + 1 for path in paths] or [1]
    axes.plot(numbers, color=LOOKS["tool_result"].colour, linewidth=1.5)
    axes.set(
        xticks=[], yticks=[1, max(numbers)], yticklabels=["file 1", str(max(numbers))]
    )
    axes.set_xlabel("reads, one after the other", fontsize=8, labelpad=2)
    axes.grid(False)
    chart.figure.text(5.1 / 7.2, 0.24, says, color=RED, fontsize=9)
    kinds = ("user", "assistant", "tool_use", "tool_result")
    chart.key([Patch(color=LOOKS[kind].colour, label=NAMES[kind]) for kind in kinds])
    return chart


def slid(run: Run, keep: int) -> tuple[list[Message], int, list[int]]:
    """Return the last request of a run, how many messages slid out, and where the
    missed ones are.

    Missed are a call whose result is still there, or else the person's words.
    """
    history = run.session.history
    sent = history[:-1] if history[-1]["role"] == "assistant" else history
    gone = len(sent) - keep
    is_cut = of_type(sent[gone], "tool_result")
    words = [
        n for n, message in enumerate(sent[:gone]) if kinds_of(message)[-1][0] == "user"
    ]
    return sent, gone, [gone - 1] if is_cut else words


def paths_read(run: Run) -> list[str]:
    """Return the paths of a run's calls, in their order."""
    calls = [
        call["input"] for m in run.session.history for call in of_type(m, "tool_use")
    ]
    return [call["path"] for call in calls if "path" in call]


def print_calls(run: Run, first: int, last: int) -> None:
    """Print some calls of a run, and where a summary took the place of messages."""
    summarised = {made.seen // 2: made.seen for made in run.session.compactions}
    replies = [m for m in run.session.history if m["role"] == "assistant"]
    made: list[str] = []
    for turn, reply in enumerate(replies[:last], 1):
        calls = [
            f"{call['name']} {call['input']}" for call in of_type(reply, "tool_use")
        ]
        again = "  (again)" if set(calls) & set(made) else ""
        made += calls
        if turn >= first:
            print(f"turn {turn:2}  {cut(', '.join(calls), 54)}{again}")
            if turn in summarised:
                print(
                    f"         --- a summary in place of {summarised[turn]} messages ---"
                )


def without_shared(old: str, new: str, but: str) -> tuple[str, str, int]:
    """Take the notes on files that stand in both texts out of both, and count them.

    Notes with the words `but` stay.
    """
    olds = old.splitlines()
    news = new.splitlines()
    both = {line for line in olds if line in news and but not in line}
    shared = {line for line in both if line.startswith("- [file]")}
    before, after = (
        "\n".join(n for n in text if n not in shared) for text in (olds, news)
    )
    return before, after, len(shared)


def compaction_panel(
    scenario: Scenario, settings: Settings, keep: Callable[..., Any]
) -> Panel:
    """Run the task again for each `threshold` and length of a summary.

    The picture shows where each compaction left the rule and the facts. `settings`:
    where the sliders start; everything else in it stays. `keep`: the function that puts
    the finished message in place of the others.
    """

    def draw(threshold: int, summary_tokens: int) -> tuple[bytes, str]:
        moved = replace(settings, threshold=threshold, summary_tokens=summary_tokens)
        layers = [layer_of(keep, given="message")]
        done = play(scenario, moved, layers=layers, max_turns=MAX_TURNS)
        price = f"${done.dollars(PRICED_AS):.2f} at the prices of {PRICED_AS}"
        return survived(scenario, done, price)

    highest = settings.context_window - settings.output_reserve - settings.buffer
    point = (settings.context_window // 8, highest, 160)
    meaning = "the conversation is compacted past these tokens"
    threshold = slider("point", settings.threshold_tokens, point, meaning, waits=True)
    length = knobs(settings, summary_tokens=(100, 4_000, 100))
    return Panel({"threshold": threshold, **length}, draw)
