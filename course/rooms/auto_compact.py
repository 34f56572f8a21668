"""Lesson 03: what a summary replaces, what stays beside it, what it may not drop, two
numbers."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# matplotlib has no complete types.

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from matplotlib.patches import Patch

from agentlib.api.spending import PRICED_AS
from agentlib.messages import Message, kinds_of, of_type
from agentlib.settings import Settings
from course import real_model
from course.checks.auto_compact import LONGEST
from course.figures import charts as charts
from course.figures.difference import Difference as Difference
from course.figures.survival import survival as survival
from course.generations import places as places
from course.generations import planted as planted
from course.page import survived
from course.panels.panel import Panel, knobs, slider
from session_report.style import LOOKS, NAMES, RED, Chart, cut
from windtunnel.parts import layer_of
from windtunnel.runner import MAX_TURNS, Run, play
from windtunnel.tasks.generated import SURVIVAL as SURVIVAL
from windtunnel.tasks.scenarios import Scenario

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


def show_real_runs() -> None:
    """Show ten generated tasks with a real model, if there are any."""
    real_model.show("report", "rule")


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
    length = knobs(settings, summary_tokens=(100, LONGEST, 100))
    return Panel({"threshold": threshold, **length}, draw)
