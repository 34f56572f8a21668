"""The panels of the lessons. Each wires controls to a run or a replay, and to its figure."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# ipywidgets has no types.

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any, get_args

from agentlib.estimation import prompt_tokens
from agentlib.lab.api.faults import Fault, Kind
from agentlib.lab.cache import Bill, Part, PromptCache
from agentlib.lab.figures import bills, charts, estimates, moments
from agentlib.lab.figures.style import many, wrapped
from agentlib.lab.figures.survival import survival
from agentlib.lab.figures.wall import Wall
from agentlib.lab.figures.window_map import Tile, maps, sentence, tiles
from agentlib.lab.generations import places, planted
from agentlib.lab.panels.panel import Drawing, Panel, choice, scrolling, slider, words
from agentlib.lab.play import MAX_TURNS, Run, outcomes, play
from agentlib.lab.replay.estimates import rings_at
from agentlib.lab.sessions.table import Row, matching, rows
from agentlib.lab.spending import dollars, rates
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.messages import KINDS, Message
from agentlib.micro_compact import micro_compact
from agentlib.settings import MODEL, Settings
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

KEEP_RECENT = "how many of the newest results stay whole"
MIN_CHARS = "results of at most so many characters stay whole"
LENGTH = "tokens of each summary"
UNTOLD = ("named", "lost", "false")
"""Checks of a report that a run's sentence leaves out, because `done` and `described` follow."""
REQUESTS = 60
"""Requests over which a panel looks for a break-even."""
SHOWN_ROWS, EXCERPT, LONGEST = 100, 90, 20_000
"""Rows of the session browser's table, and characters of a text before and after a click."""
TOO_LONG = r"(\d+) tokens > \d+ maximum"
"""The size of a prompt in the API's refusal."""
FAULTS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "timeout")
"""A time-out ends as a 500 does, but only after seconds, because the SDK waits and retries."""


def wall_panel(run: Run) -> Panel:
    """Lesson 00: the window fills, request by request, beside the JSON that is sent and returned.

    `request` is the slider. If the API refused the run's last request, the refusal is its answer.
    """
    pages, window = exchanged(run), run.settings.context_window
    chart, span = Wall([added for *_, added in pages], window), (1, len(pages), 1)

    @lru_cache(maxsize=64)
    def draw(request: int) -> Drawing:
        chart.show(request)
        sent, answer, _ = pages[request - 1]
        size = sum(chart.sizes[:request])
        text = f"Request {request} of {len(pages)}: {size:,.0f} tokens, {size / window:.0%} of the "
        text += f"window of {window:,}."
        if "error" in answer:
            text += f" The API refuses it: {answer['error']['message']}."
        boxes = as_json("New in this request", sent) + as_json("The API's answer", answer)
        table = f'<div style="display: flex; gap: 8px">{boxes}</div>'
        return Drawing(chart.png(), wrapped(text), table)

    return Panel({"request": slider("request", min(8, len(pages)), span, "of the run")}, draw)


def exchanged(run: Run) -> list[tuple[dict[str, Any], dict[str, Any], list[Tile]]]:
    """For each request of a run, return what was new in it, the API's answer, and the new blocks.

    The blocks are scaled to what the API counted.
    """
    session, old, before = run.session, 0, 0
    refusal = {"type": "invalid_request_error", "message": run.refused}
    said: list[tuple[list[Message], dict[str, Any]]] = [
        (r.context, {"content": r.reply["content"], "stop_reason": r.stop_reason, "usage": r.usage})
        for r in session.requests
    ]
    said.append((session.context, {"type": "error", "error": refusal}))
    sizes = [*run.sizes, *map(int, re.findall(TOO_LONG, run.refused))]
    pages: list[tuple[dict[str, Any], dict[str, Any], list[Tile]]] = []
    for (context, answer), size in zip(said, sizes, strict=False):
        new, base = context[old:], None if old else session
        sent = {"messages": [f"… the {many(old, 'message')} before, word for word …", *new]}
        if base:
            sent = {"model": MODEL, "system": base.system, "tools": base.tools, "messages": new}
        pages.append((sent, answer, tiles(new, billed=size - before, session=base)))
        old, before = len(context), size
    return pages


def as_json(name: str, value: object) -> str:
    """Show a value as JSON in HTML that scrolls by mouse and by keyboard."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    text = escape(re.sub(r"\n {3,}|\n {2}(?=[}\]])", " ", text))  # a message on one line
    return (
        f'<div style="flex: 1 1 50%; min-width: 0"><b>{name}</b><pre role="region" tabindex="0" '
        f'aria-label="{name}" style="max-height: 17em; overflow: auto; line-height: 1.35; '
        'font-size: 12px; white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere">'
        f"{text}</pre></div>"
    )


def estimation_panel(
    settings: Settings | None = None,
    rings: Callable[[int, int], float] = rings_at,
) -> Panel:
    """Lesson 01: window - reserve - buffer, and where the alarm rings if the estimate is off.

    The sliders are `window`, `reserve` and `buffer` in tokens, and `off`, the estimate's error in
    percent (-60: it reads 60 % low). `rings`: (threshold, off) -> the real tokens at which the
    alarm rings.
    """
    start = settings or Settings()

    @lru_cache(maxsize=64)
    def draw(window: int, reserve: int, buffer: int, off: int) -> tuple[bytes, str]:
        chosen = Settings(context_window=window, output_reserve=reserve, buffer=buffer)
        real = rings(chosen.threshold_tokens, off)
        text = estimates.shares_sentence(chosen, real)
        return estimates.shares(chosen, real, off).png(), text

    answer, turn, off = "kept for the answer", "for one more turn", "how far the estimate is off"
    sliders = {
        "window": slider("window", start.context_window, (40_000, 400_000, 10_000), "tokens"),
        "reserve": slider("reserve", start.output_reserve, (0, 64_000, 1_000), f"tokens {answer}"),
        "buffer": slider("buffer", start.buffer, (0, 40_000, 1_000), f"tokens {turn}"),
        "off": slider("off by %", 0, (-80, 100, 5), off),
    }
    return Panel(sliders, draw)


def clearing_panel(
    scenario: Scenario, settings: Settings, layer: Callable[..., Any] = micro_compact
) -> Panel:
    """Lesson 02: the task is run again for each position of `keep_recent` and `min_chars`.

    `settings`: where the sliders start; everything else in it stays. `layer`: the function that
    clears. The axis has room for 160 turns, so that runs of different lengths compare. The panel's
    `run` gives the run at two numbers.
    """

    @cache
    def run(keep_recent: int, min_chars: int) -> Run:
        own = partial(layer, keep_recent=keep_recent, min_chars=min_chars)
        return play(scenario, settings, layer=own, max_turns=MAX_TURNS)

    def draw(keep_recent: int, min_chars: int) -> tuple[bytes, str]:
        done = run(keep_recent, min_chars)
        end = "done" if done.checks["done"] else "not done"
        options: Any = {"title": f"{many(done.turns, 'turn')}, {end}", "refused": done.refused}
        return charts.turns(done.table(), turns=160, **options).png(), run_sentence(done)

    keep, size, span = settings.keep_recent, settings.min_chars, (0, 14_000, 100)
    sliders = {
        "keep_recent": slider("KEEP_RECENT", keep, (0, 40, 1), KEEP_RECENT, waits=True),
        "min_chars": slider("min_chars", size, span, MIN_CHARS, waits=True),
    }
    panel: Any = Panel(sliders, draw)
    panel.run = run
    return panel


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


def break_even_panel(model: str, formula: Callable[[int, int, float, float], float]) -> Panel:
    """Lessons 02 and 08: when one clearing has paid for itself, by the cache and by a formula.

    The sliders are `cleared` and `behind`, the tokens behind the change. `formula`: (behind,
    cleared, read, write) -> requests, at the `model`'s prices of the cache.
    """
    rate = rates(model)

    @lru_cache(maxsize=256)
    def draw(cleared: int, behind: int) -> tuple[bytes, str]:
        saved = saved_by_clearing(cleared, behind, model, REQUESTS)
        at = formula(behind, cleared, rate["cache_read"], rate["cache_write_5m"])
        text = f"{cleared:,} tokens cleared, {behind:,} behind them."
        return _paid("clearing", saved, at, text, span=(-20, 40))

    span = (1_000, 40_000, 1_000)
    sliders = {
        "cleared": slider("cleared", 20_000, span, "tokens that the clearing takes away"),
        "behind": slider("behind", 10_000, span, "tokens that stand behind them and stay"),
    }
    return Panel(sliders, draw)


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
        return _paid("compaction", saved, at, text, span=(-size / 1_000, size / 1_000))

    sliders = {
        "left": slider("left, %", 10, (1, 40, 1), "share of the tokens that the summary leaves"),
        "size": slider("replaced", 100_000, (20_000, 400_000, 20_000), "tokens that it replaces"),
    }
    return Panel(sliders, draw)


def _paid(
    edit: str, saved: Sequence[float], at: float, text: str, **looks: Any
) -> tuple[bytes, str]:
    """Draw the cents saved so far by an edit, and say when it pays."""
    pays = next((n for n, cents in enumerate(saved, 1) if cents > -1e-9), None)
    when = f"from request {pays} on" if pays else f"not within {len(saved)} requests"
    turns = range(1, len(saved) + 1)
    chart = bills.savings(turns, saved, at, f"This {edit} pays {when}", **looks)
    rules = f"By the cache's rules it pays {when}; the formula says {at:.1f}."
    return chart.png(), wrapped(f"{text} {rules}")


def saved_by_clearing(cleared: int, behind: int, model: str, count: int) -> list[float]:
    """Return the cents that one clearing has saved up to each request, by the cache's rules.

    Everything was cached before. Each request brings 500 new tokens, with the clearing and
    without it.
    """
    rest = Part("behind them", behind)
    return _saved([Part("old", cleared), rest], [Part("placeholders", 0), rest], model, count)


def saved_by_compacting(size: int, left: float, model: str, count: int) -> list[float]:
    """Return the cents that one compaction has saved up to each request, by the cache's rules.

    The summary's request reads all of it, and its answer is the summary.
    """
    old, summary = Part("old", size), Part("summary", round(left * size))
    asked = dollars(Bill(1_000 + size, 0, 0).usage(summary.tokens), model)
    return [cents - 100 * asked for cents in _saved([old], [summary], model, count)]


def _saved(before: list[Part], after: list[Part], model: str, count: int) -> list[float]:
    """Return the cents that a change of the prompt has saved up to each request."""
    base, spent = Part("system and tools", 1_000), list[list[float]]()
    for parts in (before, after):
        prompt_cache, prompt = PromptCache(), [base, *parts]
        prompt_cache.bill([base, *before], marks=(0, len(before)), now=0)
        spent.append([])
        for now in range(1, count + 1):
            prompt.append(Part(now, 500))
            bill = prompt_cache.bill(prompt, marks=(0, len(prompt) - 1), now=now)
            spent[-1].append(100 * dollars(bill.usage(0), model))
    return list(accumulate(keep - change for keep, change in zip(*spent, strict=True)))


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


def run_sentence(run: Run, *more: str) -> str:
    """Say what came of a run. `more`: parts to add before its checks."""
    words = {True: "yes", False: "no"}
    shown = {name: value for name, value in run.checks.items() if name not in UNTOLD}
    values = ((n, words[v] if isinstance(v, bool) else v) for n, v in shown.items())
    checks = ", ".join(f"{name} {value}" for name, value in values)
    counts = f"{run.turns:,} turns, {run.repeated:,} calls made again, {run.sent:,} tokens sent"
    text = "; ".join([counts, *more, checks]) + "."
    return wrapped(text + (f" The API ended it: {run.refused.rstrip('.')}." if run.refused else ""))


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
