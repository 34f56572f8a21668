"""Lesson 10's panels: what became of six kinds of thing, and the threads of a
summary."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets and pandas have no types.

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from ipywidgets import IntSlider
from pandas import DataFrame, read_csv

from agentlib.auto_compact import summary_text
from agentlib.messages import Message
from course.figures.kinds import Shares, survival_by_kind
from course.figures.threads import threads
from course.panels.panel import Drawing, Panel, choice, scrolling, slider
from session_report.amounts import many
from session_report.style import wrapped
from windtunnel.runner import Run
from windtunnel.tasks.generated import KINDS_KEPT
from windtunnel.tasks.kinds import (
    GENERATIONS,
    KEEPS,
    KINDS,
    LENGTHS,
    SEEDS,
    claim,
    play_kinds,
    spoken,
)

RestsOn = Callable[[str, list[Message]], int | None]


def _two(name: str, ends: tuple[int, int], *, waits: bool = False) -> IntSlider:
    """Make a slider that has two places, and stands at the larger."""
    return slider(name, ends[1], (*ends, ends[1] - ends[0]), waits=waits)


@cache
def shares(
    layers: str, tokens: int, model: str, keep_recent: int = max(KEEPS)
) -> Shares:
    """Return the stored shares of twenty tasks, by kind, for each number of
    compactions."""
    groups: Any = read_csv(KINDS_KEPT).groupby(
        ["layer", "tokens", "keep_recent", "model"]
    )
    rows = groups.get_group((layers, tokens, keep_recent, model))
    marks = rows[[*KINDS]].to_numpy().reshape(GENERATIONS, SEEDS, len(KINDS))
    kept, told, acted = (
        ((marks & bit) > 0).mean(axis=1).T.tolist() for bit in (1, 2, 4)
    )
    cells = zip(kept, told, acted, strict=True)
    return {
        kind: [*zip(*each, strict=True)]
        for kind, each in zip(KINDS, cells, strict=True)
    }


def breaks_at(shares: Shares) -> int:
    """Return the first compaction after which most agents break the rule, 0 if there is
    none.

    >>> breaks_at({"constraint": [(1, 1, 1), (0.5, 0.5, 0.45)]})
    2
    """
    obeyed = [cell[2] for cell in shares["constraint"]]
    return next((n for n, share in enumerate(obeyed, 1) if share < 0.5), 0)


def counts(shares: Shares) -> DataFrame:
    """Return a row for each kind: of twenty tasks, how many kept it, told it and acted
    on it.

    >>> counts({"number": [(1, 1, 1), (0.5, 0.5, 0.45)]})
         kind         1        2
    0  number  20/20/20  10/10/9
    """
    rows = {
        kind: ["/".join(map(_of_20, cell)) for cell in cells]
        for kind, cells in shares.items()
    }
    table = DataFrame.from_dict(rows, "index").rename(columns=lambda n: n + 1)
    return table.rename_axis("kind").reset_index()


def _of_20(share: float) -> str:
    return f"{20 * share:.0f}"


def _drawn(layers: str, tokens: int, keep_recent: int, model: str) -> Drawing:
    stored = shares(layers, tokens, model, keep_recent)
    first = breaks_at(stored)
    worst = min(cell[2] for cell in stored["constraint"])
    most = f"After {many(first, 'compaction')} most agents break the rule"
    few = f"The rule is broken in {20 - round(20 * worst)} of 20 tasks at most"
    title = (
        most if first else few if worst < 1 else "The rule holds in all twenty tasks"
    )
    acted = (f"{n} {', '.join(_of_20(cell[2]) for cell in stored[n])}" for n in stored)
    text = f"Acted on, of 20 tasks: {'; '.join(acted)}."
    table = scrolling(counts(stored), "kept/told/acted on, of 20 tasks")
    return Drawing(survival_by_kind(stored, title=title).png(), wrapped(text), table)


def kinds_panel(
    layers: Sequence[str] = ("none",), models: Sequence[str] = ("heeds", "person")
) -> Panel:
    """Show what twenty tasks kept, beginning with the first of these layers and models.

    A lesson offers only the layers and models that it has explained, because others
    would give later answers away.
    """
    controls = {
        "layers": choice("layers", layers[0], layers, "the pin, or pin and gate"),
        "tokens": _two("summary", LENGTHS),
        "keep_recent": _two("KEEP_RECENT", KEEPS),
        "model": choice("model", models[0], models, "what the model obeys or invents"),
    }
    return Panel(controls, lru_cache(_drawn))


def first_summary(run: Run) -> tuple[list[Message], list[str]]:
    """Return what the first summary was made of, and its lines that claim something."""
    compaction = run.session.compactions[0]
    lines = summary_text(compaction.message or {}).splitlines()
    return run.session.history[: compaction.seen], [
        line for line in lines if any(claim(line))
    ]


def _threads_of(run: Run, trace: RestsOn) -> tuple[bytes, str]:
    """Draw the first summary of a run, each line with a thread to the message that it
    rests on."""
    messages, lines = first_summary(run)
    rests = [trace(line, messages) for line in lines]
    red = f"Nobody said {many(rests.count(None), 'line')} of this summary"
    title = red if None in rests else "Somebody said each line of this summary"
    words = [line[2:] for line in lines]
    chart = threads(
        [*map(_shown, messages)], [*zip(words, rests, strict=True)], title=title
    )
    lost = many(len(messages) - len({*rests} - {None}), "message")
    return chart.png(), f"{len(lines)} lines; {lost} left no line."


def _shown(message: Message) -> tuple[str, str]:
    pairs = spoken(message)
    calls = [text for speaker, text in pairs if speaker == "call"]
    if calls:
        return "model", calls[-1].replace("\n", " ")
    speaker, text = pairs[-1 if message["role"] == "assistant" else 0]
    return speaker, text.strip().split("\n")[0]


def threads_panel(seed: int, trace: RestsOn) -> Panel:
    """Show the threads of a first summary, short or long, with and without the
    invention."""

    @lru_cache
    def draw(tokens: int, keep_recent: int, model: str) -> tuple[bytes, str]:
        run = play_kinds(seed, 1, tokens, model, keep_recent=keep_recent, errands=1)
        return _threads_of(run, trace)

    models = ("heeds", "invents")
    controls = {
        "tokens": _two("summary", LENGTHS, waits=True),
        "keep_recent": _two("KEEP_RECENT", KEEPS, waits=True),
        "model": choice("model", "invents", models, "whether it invents a consent"),
    }
    return Panel(controls, draw)
