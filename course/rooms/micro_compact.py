"""Lesson 02: which results are cleared, what the two numbers do, and when a clearing
pays."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

from agentlib.api.spending import PRICED_AS, Usage, dollars, priced
from agentlib.estimation import prompt_tokens
from agentlib.messages import Block, Message
from agentlib.micro_compact import micro_compact
from agentlib.settings import Settings
from course.checking import conversation as conversation
from course.checks.micro_compact import clear_in_place as clear_in_place
from course.figures import bills as bills
from course.figures import charts, window_map
from course.figures.window_map import Tile
from course.page import print_json, run_sentence
from course.panels.break_even import break_even_panel as break_even_panel
from course.panels.panel import Drawing, Panel, knobs
from session_report.amounts import many
from windtunnel.parts import layer_of, results
from windtunnel.runner import MAX_TURNS, Run, play
from windtunnel.tasks.generated import CLEARING as CLEARING
from windtunnel.tasks.scenarios import Scenario

OPUS = PRICED_AS
"""The model at whose prices the lesson counts."""

# -- what the cells show ---------------------------------------------------------------


def clearing_panel(
    scenario: Scenario, settings: Settings, view: Callable[..., Any] = micro_compact
) -> Panel:
    """Run the task again for each position of `keep_recent` and `min_chars`.

    `settings`: where the sliders start. Everything else in it stays. `view`: the
    function that clears. The axis has room for 160 turns, so that runs of different
    lengths compare.
    """

    def draw(keep_recent: int, min_chars: int) -> Drawing:
        own = layer_of(partial(view, keep_recent=keep_recent, min_chars=min_chars))
        done = play(scenario, settings, layers=[own], max_turns=MAX_TURNS)
        end = "done" if done.checks["done"] else "not done"
        options: Any = {"title": f"{many(done.turns, 'turn')}, {end}"}
        options["refused"] = {"": done.refused} if done.refused else {}
        png = charts.turns(done.table(), turns=160, **options).png()
        return Drawing(png, run_sentence(done), run=done)

    return Panel(
        knobs(settings, keep_recent=(0, 40, 1), min_chars=(0, 14_000, 100)), draw
    )


def beside(history: Sequence[Message], view: Sequence[Message], **known: Any) -> None:
    """Draw the history and the view of it, and print how large the view is."""
    window = 32_000

    def headed(name: str, row: Sequence[Tile]) -> str:
        size = sum(tile.tokens for tile in row)
        return f"{name}: {size:,.0f} tokens" + (", too many" if size > window else "")

    cleared = window_map.tiles(view, history, **known)
    sent = [replace(tile, gone=0) for tile in cleared]
    rows = {
        "The history": window_map.tiles(history, **known),
        "The view that is sent": sent,
    }
    display(window_map.maps({headed(n, row): row for n, row in rows.items()}, window))
    print(window_map.sentence(cleared, window))


def show(block: Block, longest: int = 150) -> None:
    """Print a block as JSON, its content cut for this page."""
    content = block.get("content", "")
    if len(content) > longest:
        rest = f" … and {len(content) - longest:,} characters more"
        block = block | {"content": content[:longest] + rest}
    print_json(block)


def print_bills(runs: Mapping[str, Sequence[Usage]]) -> None:
    """Print what the picture of the requests shows: the sums of each run."""
    print(f"{'tokens':>28}{'read':>10}{'written':>10}{'dollars':>10}")
    for name, usages in runs.items():
        kinds = [priced(usage, PRICED_AS) for usage in usages]
        read, written = (sum(k[n][0] for k in kinds) for n in ("read", "written"))
        spent = sum(dollars(usage, PRICED_AS) for usage in usages)
        tokens = sum(prompt_tokens(usage) for usage in usages)
        print(f"{name:<18}{tokens:>10,}{read:>10,}{written:>10,}{spent:>10.2f}")


def characters(run: Run) -> int:
    """Count the characters of all tool results in a run's history."""
    return sum(len(text) for text in results(run.session.history).values())
