"""The panels of lessons that have no room yet, each with controls and its figure."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# ipywidgets has no types.

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from html import escape
from typing import TYPE_CHECKING, Any, get_args

from agentlib.estimation import prompt_tokens
from agentlib.lab.api.faults import Fault, Kind
from agentlib.lab.cache import Bill, Part, PromptCache
from agentlib.lab.figures import bills, charts, moments
from agentlib.lab.figures.style import many, wrapped
from agentlib.lab.figures.survival import survival
from agentlib.lab.figures.window_map import maps, sentence, tiles
from agentlib.lab.generations import places, planted
from agentlib.lab.lessons.page import run_sentence
from agentlib.lab.panels.break_even import REQUESTS, paid, saved_by
from agentlib.lab.panels.meanings import LENGTH
from agentlib.lab.panels.panel import Drawing, Panel, choice, scrolling, slider, words
from agentlib.lab.play import MAX_TURNS, Run, outcomes, play
from agentlib.lab.sessions.table import Row, matching, rows
from agentlib.lab.spending import dollars, rates
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.messages import KINDS
from agentlib.settings import Settings
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN_ROWS, EXCERPT, LONGEST = 100, 90, 20_000
"""Rows of the session browser's table, and characters of a text before and after a click."""
FAULTS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "timeout")
"""A time-out ends as a 500 does, but only after seconds, because the SDK waits and retries."""


def survived(scenario: Scenario, run: Run, *more: str) -> tuple[bytes, str]:
    """Draw where each compaction of a run left the rule and the facts, and say what came of it."""
    rows = places(run.session, planted(scenario))
    count = many(len(run.session.compactions), "compaction")
    lost = [name for name, row in rows.items() if row[-1:] == ["lost"]]
    title = f"Lost in {count}: {', '.join(lost) or 'nothing'}"
    return survival({"": rows}, title=title).png(), run_sentence(run, *more, count)


def parts_panel(
    scenario: Scenario, settings: Settings, layers: Mapping[str, Callable[..., Any]]
) -> Panel:
    """Lesson 06: the task is run again with some parts of a hand-off, and shorter or longer ones.

    `layers`: functions (messages, summarize, summary_tokens) -> messages, by the names of what
    is on in them. The picture is that of `compaction_panel`.
    """

    def draw(parts: str, summary_tokens: int) -> tuple[bytes, str]:
        compact = partial(layers[parts], summary_tokens=summary_tokens)
        settled = replace(settings, summary_tokens=summary_tokens)
        return survived(scenario, play(scenario, settled, compact=compact, max_turns=MAX_TURNS))

    size, length = settings.summary_tokens, (150, 1_600, 50)
    controls = {
        "parts": choice("parts", next(iter(layers)), tuple(layers), "the parts that are on"),
        "summary_tokens": slider("summary", size, length, LENGTH, waits=True),
    }
    return Panel(controls, draw)


def compacting_panel(model: str, formula: Callable[[float, float, float, float], float]) -> Panel:
    """Lesson 08: when one compaction has paid for itself, by the cache and by a formula.

    The sliders are `left`, the percent that a summary leaves, and `size`, the tokens it replaces.
    `formula`: (share left, read, write, answer) -> requests, at the `model`'s prices.
    """
    rate = rates(model)

    @lru_cache(maxsize=256)
    def draw(left: int, size: int) -> tuple[bytes, str]:
        saved = saved_by_compacting(size, left / 100, model, REQUESTS)
        at = formula(left / 100, rate["cache_read"], rate["cache_write_5m"], rate["output"])
        text = f"{size:,} tokens, of which a summary leaves {left} %."
        return paid("compaction", saved, at, text, span=(-size / 1_000, size / 1_000))

    sliders = {
        "left": slider("left, %", 10, (1, 40, 1), "share of the tokens that the summary leaves"),
        "size": slider("replaced", 100_000, (20_000, 400_000, 20_000), "tokens that it replaces"),
    }
    return Panel(sliders, draw)


def saved_by_compacting(size: int, left: float, model: str, count: int) -> list[float]:
    """Return the cents that one compaction has saved up to each request, by the cache's rules.

    The summary's request reads all of it, and its answer is the summary.
    """
    old, summary = Part("old", size), Part("summary", round(left * size))
    asked = dollars(Bill(1_000 + size, 0, 0).usage(summary.tokens), model)
    return [cents - 100 * asked for cents in saved_by([old], [summary], model, count)]


def alive_panel(
    model: str, formula: Callable[[float, float, float], float], pauses: Sequence[float]
) -> Panel:
    """Lesson 08: what repeats save in a pause, by its length, by the cache's rules.

    The slider is `most`, the repeats after which the cache is given up. `formula`: (pause, read,
    write) -> dollars per million tokens saved, if it isn't given up. `pauses`: seconds, to say what
    so many repeats save in all of them.
    """
    rate, minutes = rates(model), range(151)
    prices = rate["cache_read"], rate["cache_write_5m"]
    longest = max(m for m in range(6, 600) if formula(60 * m, *prices) > -1e-9)

    @lru_cache(maxsize=64)
    def draw(most: int) -> tuple[bytes, str]:
        curve = [saved_by_repeats(60 * m, most, model) for m in minutes]
        total = sum(saved_by_repeats(pause, most, model) for pause in pauses)
        title = f"{many(most, 'repeat')} at most: saves {total / len(pauses):.0f} cents a pause"
        looks: Any = {"across": "minutes of the pause", "span": (-52, 52)}
        even = next((m - 1 for m, c in zip(minutes, curve, strict=True) if c < -1e-9), 150)
        text = f"100,000 tokens. By the cache's rules the repeats pay up to {even} minutes; if the "
        text += f"cache is never given up, up to {longest} by the formula. In the {len(pauses)} "
        text += f"pauses of the sessions they save {total:,.0f} cents."
        chart = bills.savings(minutes, curve, longest, title, **looks)
        return chart.png(), wrapped(text)

    meaning = "after so many repeats the cache is given up"
    return Panel({"most": slider("repeats", 24, (1, 40, 1), meaning)}, draw)


def saved_by_repeats(pause: float, most: int, model: str) -> float:
    """Return the cents that repeats of 100,000 tokens save in a pause, by the cache's rules."""
    spent, every = list[float](), Settings().repeat_after
    times = min(most, max(0, math.ceil(pause / every) - 1))
    for count in (0, times):
        prompt_cache, uses = PromptCache(), [*(n * every for n in range(count + 1)), pause]
        bought = (prompt_cache.bill([Part("prompt", 100_000)], (0,), now) for now in uses)
        spent.append(100 * sum(dollars(bill.usage(0), model) for bill in bought))
    return spent[0] - spent[1]


def compaction_panel(
    scenario: Scenario, settings: Settings, compact: Callable[..., Any], model: str
) -> Panel:
    """Lesson 03: the task is run again for each `threshold` and length of a summary.

    The picture shows where each compaction left the rule and the facts. `settings`: where the
    sliders start; everything else in it stays. `compact`: the function that replaces the messages.
    `model`: at whose prices the dollars are. The panel's `run` gives the run at two numbers.
    """

    @cache
    def run(threshold: int, summary_tokens: int) -> Run:
        moved = replace(settings, threshold=threshold, summary_tokens=summary_tokens)
        return play(scenario, moved, compact=compact, max_turns=MAX_TURNS)

    def draw(threshold: int, summary_tokens: int) -> tuple[bytes, str]:
        done = run(threshold, summary_tokens)
        return survived(scenario, done, f"${done.dollars(model):.2f} at the prices of {model}")

    highest = settings.context_window - settings.output_reserve - settings.buffer
    point = (settings.context_window // 8, highest, 160)
    size, length = settings.summary_tokens, (100, 4_000, 100)
    meaning = "the conversation is compacted past these tokens"
    sliders = {
        "threshold": slider("point", settings.threshold_tokens, point, meaning, waits=True),
        "summary_tokens": slider("summary", size, length, LENGTH, waits=True),
    }
    panel: Any = Panel(sliders, draw)
    panel.run = run
    return panel


def moment_panel(
    scenario: Scenario, settings: Settings, curve: "DataFrame", *, after: int
) -> Panel:
    """Lesson 04: a person compacts `after` a turn, and the agent goes on to the end of its task.

    The sliders are `after` and `summary_tokens`, and the field `words` is the focus. `curve`: the
    files described for each turn, as `figures.moments` draws them.
    """

    def draw(after: int, summary_tokens: int, words: str) -> tuple[bytes, str]:
        chosen = replace(settings, summary_tokens=summary_tokens)
        run = play(scenario, chosen, compact_after=after, focus=words.strip())
        files = int(run.checks["described"])
        title = f"Compacted after turn {after}: {files} files are described"
        chart = moments.moment(curve, title=title, at=(after, files), name=f"yours: {files}")
        return chart.png(), focus_sentence(run, scenario)

    turns, tokens = (2, int(curve["turn"].max()), 1), settings.summary_tokens
    meaning = "the turn after which you compact"
    controls = {
        "after": slider("after turn", after, turns, meaning, waits=True),
        "summary_tokens": slider("summary", tokens, (200, 1_600, 40), LENGTH, waits=True),
        "words": words("focus", "words for the summary to keep, e.g. rules of the user"),
    }
    return Panel(controls, draw)


def focus_sentence(run: Run, scenario: Scenario) -> str:
    """Say what a compaction by hand kept, and what came of the task."""
    step, checks = run.step, run.checks
    if step.compaction != "manual":
        reason = step.failure or "there is nothing to replace yet"
        return wrapped(f"Nothing was compacted: {reason}.")
    kept = run.kept(scenario)
    text = f"{step.tokens_before:,} -> {step.tokens_after:,} tokens. The summary holds "
    text += f"{kept['facts']} of {len(scenario.facts)} facts and {kept['names']} names; "
    text += f"the rule is {'kept' if kept['rule'] else 'lost'}. The agent went on, "
    text += f"{run.turns:,} turns in all: the report describes {checks['described']} of "
    text += f"{checks['files']} files, rule {'kept' if checks['rule kept'] else 'broken'}."
    return wrapped(text)


def session_browser(session: Session, turn: int | None = None) -> Panel:
    """Lesson 05: show the blocks of a session up to a turn, and the map of that turn's request.

    The controls are `turn`, from 1 (by default the last), `kind` of block, and `search`, words of
    a text, a tool or a state. Raises ValueError for a session without requests.
    """
    last = len(session.requests)
    if not last:
        raise ValueError("the session has no request yet, so there is no turn to look at")

    @lru_cache(maxsize=64)
    def draw(turn: int, kind: str, search: str) -> Drawing:
        request, window = session.requests[turn - 1], session.settings.context_window
        every = rows(session, turn)
        billed = prompt_tokens(request.usage) or None
        placed = tiles(request.context, billed=billed, session=session)
        some = matching(every, kind=kind, text=search)
        states = Counter(row.state for row in some)
        text = f"{len(some)} of {len(every)} blocks, {sum(row.tokens for row in some):,} tokens, "
        text += ", ".join(f"{count} {state}" for state, count in states.items()) or "none"
        text = f"{wrapped(text)}\nWindow map: {sentence(placed, window)}"
        chart = maps({f"The request of turn {turn}": placed}, window)
        return Drawing(chart.png(), text, as_html(some, search))

    meaning = "the request that is shown, with all before it"
    controls = {
        "turn": slider("turn", turn or last, (1, last, 1), meaning, waits=True),
        "kind": choice("kind", "all", ("all", *KINDS), "the kind of block"),
        "search": words("search", "text, tool or state"),
    }
    return Panel(controls, draw)


def as_html(some: Sequence[Row], search: str = "") -> str:
    """Turn the newest `SHOWN_ROWS` rows into a table in HTML. A click on a text shows it whole.

    A long text is shown from its beginning, or around the first place with the words of `search`.
    """
    from pandas import DataFrame, option_context

    cells = [
        (r.turn, r.who, r.tool or r.kind, f"{r.tokens:,}", r.state, _folded(r.text, search))
        for r in some[-SHOWN_ROWS:]
    ]
    columns = ("turn", "who", "tool or kind", "tokens", "state", "text")
    table, name = DataFrame(cells, columns=columns), "the blocks of the session"
    with option_context("display.max_colwidth", None):  # or pandas cuts the markup
        shown = scrolling(table, name, "left", escape=False)
    older = len(some) - SHOWN_ROWS
    return shown if older <= 0 else f"The newest {SHOWN_ROWS} rows; {older} more.{shown}"


def _folded(text: str, search: str) -> str:
    short, whole = excerpt(text, search), text[:LONGEST]
    if short == text:
        return escape(short)
    more = f"\n… and {len(text) - LONGEST:,} characters more" if len(text) > LONGEST else ""
    style = "white-space: pre-wrap; max-width: 60em"
    marked = escape(whole + more).translate({ord(c): f"&#{ord(c)};" for c in "\n\r\t"})
    fold = f'<pre style="{style}">{marked}</pre>'  # pandas would write \\n for a line break
    return f"<details><summary>{escape(short)}</summary>{fold}</details>"


def excerpt(text: str, search: str = "") -> str:
    """Cut a text to one short line, from its beginning or around the words of `search`."""
    line, words = " ".join(text.split()), " ".join(search.split()).casefold()
    start = max(0, line.casefold().find(words) - EXCERPT // 3)
    stop = start + EXCERPT
    return f"{'…' * (start > 0)}{line[start:stop]}{'…' * (stop < len(line))}"


def fault_panel(scenario: Scenario, settings: Settings, *, turns: int = 63, seed: int = 0) -> Panel:
    """Lesson 07: the task is run again while the summariser fails as the controls say.

    `rate` is in percent of the requests for a summary, drawn by `seed`, `length` is that of each
    summary, and `how` is the failure. `turns`: how many the axis has room for, so that
    runs compare. A run in circles ends there: each prompt may take three fewer.
    """
    axes: Any = {"top": 1.3 * settings.context_window, "turns": turns}

    def draw(rate: int, length: int, how: Kind) -> tuple[bytes, str]:
        faults = (Fault(how, rate=rate / 100, seed=seed, only="summary"),) if rate else ()
        moved = replace(settings, summary_tokens=length)
        run = play(scenario, moved, faults=faults, max_turns=turns - 3)
        title = "Tokens in each prompt, the summariser failing"
        chart = charts.turns(run.table(), title=title, **axes)
        counts = outcomes(run.session)
        made = ", ".join(f"{counts[name]} {name}" for name in ("done", "cut to size", "failed"))
        return chart.png(), run_sentence(run, f"compactions: {made}")

    meaning = "share of the requests for a summary that fail, in percent"
    start = settings.summary_tokens
    controls = {
        "rate": slider("fails, %", 50, (0, 100, 10), meaning, waits=True),
        "length": slider("length", start, (500, 3_000, 250), LENGTH, waits=True),
        "how": choice("how", "tool_use", FAULTS, "the failure"),
    }
    return Panel(controls, draw)
