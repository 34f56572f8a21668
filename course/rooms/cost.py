"""Lesson 08: what forgetting costs, and when it pays."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# ipywidgets, matplotlib and pandas have no complete types.

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, count
from typing import Any

import numpy
from ipywidgets import SelectionSlider
from pandas import DataFrame

from agentlib import presets
from agentlib.api.spending import PRICED_AS, dollars, price_list, priced, rates
from agentlib.auto_compact import auto_compact
from agentlib.messages import Message
from agentlib.pipeline import Step, compact
from agentlib.session.file import Prefix
from agentlib.settings import Settings
from agentlib.transcripts import Session
from course.figures.bills import savings
from course.panels.break_even import REQUESTS, paid, saved_by
from course.panels.break_even import break_even_panel as break_even_panel
from course.panels.panel import Drawing, Panel, slider
from offline_api.cache import Bill, Part, PromptCache
from session_report.amounts import many
from session_report.bills import Billed, bills
from session_report.one import responses
from session_report.playback import Frame, replay, stand_in
from session_report.policies import KEEPS_ALL, engine, judge
from session_report.style import BLUE, PALE, RED, Chart, wrapped
from windtunnel.tasks.generated import generated as generated
from windtunnel.trade import EVIDENCE as EVIDENCE
from windtunnel.trade import policies

OPUS = PRICED_AS
"""The model at whose prices the lesson counts."""

RATIOS = range(5, 61)
"""How many times as much writing to the cache may cost as reading."""
Bills = tuple[list[Frame], list[Billed]]
"""The frames of a replay and their bills."""


# -- what the cells show ---------------------------------------------------------------


def billed(
    session: Session,
    settings: Settings = KEEPS_ALL,
    engine: Callable[..., Step] = compact,
) -> Bills:
    """Replay a session, and bill each request by the cache's rules."""
    frames = replay(session, settings, engine=engine)
    return frames, bills(session, frames)


def spent(bills: Iterable[Billed]) -> float:
    """Add up the dollars of bills."""
    return sum(dollars(usage, PRICED_AS) for bill in bills for usage in bill.usages)


def purposes(session: Session, frames: list[Frame], bills: list[Billed]) -> DataFrame:
    """Say where each request's dollars went, as the report on your own sessions
    does."""
    requests = [
        replace(
            frame.request,
            sent=Prefix(frame.context, len(frame.context)),
            usage={**bill.usage, "model": PRICED_AS},
        )
        for frame, bill in zip(frames, bills, strict=True)
    ]
    compactions = (
        session.compactions if any(frame.compaction for frame in frames) else []
    )
    rows = responses(replace(session, requests=requests, compactions=compactions))
    paid = [{place: usd for place, (_, usd) in row["spent"].items()} for row in rows]
    return DataFrame(paid).fillna(0.0)


def day(session: Session, name: str, billed: Bills, title: str) -> Chart:
    """Draw the prompts of a session over the clock. Red: written again. Dark:
    repeats."""
    frames, turns = billed
    chart = Chart(2.4, title)
    axes = chart.frame(0.72, chart.height - 0.12 - 1.85, 6.2, 1.3, name)
    again = purposes(session, frames, turns).filter(like="rewritten").sum(axis=1)
    minutes = [(frame.request.at - frames[0].request.at) / 60 for frame in frames]
    sizes = [frame.prompt_tokens / 1e3 for frame in frames]
    axes.vlines(minutes, 0, sizes, PALE, linewidth=2)
    for minute, size, bill, cost in zip(minutes, sizes, turns, again, strict=True):
        later = [
            minute + n * KEEPS_ALL.repeat_after / 60
            for n, _ in enumerate(bill.repeats, 1)
        ]
        axes.vlines(later, 0, size, BLUE, linewidth=1)
        if cost > 0.05:
            axes.vlines(minute, 0, size, RED, linewidth=3, zorder=3)
            top = max(
                s for m, s in zip(minutes, sizes, strict=True) if 0 <= m - minute < 5
            )
            looks: Any = {"color": RED, "fontsize": 10, "ha": "center", "va": "bottom"}
            axes.text(minute, top, f"+${cost:.2f}", **looks)
    axes.set(xlim=(-1, 1.02 * minutes[-1]), ylim=(0, 1.25 * max(sizes)))
    axes.set(xlabel="minutes", ylabel="thousand tokens")
    return chart


def print_bills(
    frames: list[Frame], bills: list[Billed], numbers: Iterable[int]
) -> None:
    """Print what the API would say of some requests, and their cents."""
    print(
        f"{'request':>8}{'waited':>9}{'read':>10}{'written':>10}{'answer':>8}{'cents':>8}"
    )
    for n in numbers:
        if not 0 < n <= len(frames):
            raise ValueError(
                f"no request {n}; the session has requests 1 to {len(frames)}"
            )
        frame = frames[n - 1]
        usage = bills[n - 1].usage
        kinds = priced(usage, PRICED_AS)
        tokens = "".join(
            f"{kinds[k][0]:>{w},}" for k, w in (("read", 10), ("written", 10))
        )
        waited = frame.request.at - frames[n - 2].request.at if n > 1 else 0
        answer = kinds["answers"][0]
        cents = 100 * dollars(usage, PRICED_AS)
        print(f"{n:>8}{waited:>7.0f} s{tokens}{answer:>8,}{cents:>8.1f}")


def by_the_bill(
    session: Session,
    kept: Bills,
    edit: Callable[[list[Message]], list[Message]],
    at: int,
) -> tuple[list[Frame], list[Billed], int | str]:
    """Edit a session once, before the request number `at`. `kept`: its bills without
    that.

    Return the frames, the bills, and the number of requests, from the edit on, that
    bring the dollars back. It is in words if all that are left bring too little.
    """
    numbers = count(1)

    def policy(messages: list[Message], idle: float) -> list[Message]:
        return edit(messages) if next(numbers) == at else messages

    frames, bills = billed(session, engine=engine(policy))
    pairs = zip(kept[1][at - 1 :], bills[at - 1 :], strict=True)
    saved = accumulate(spent([old]) - spent([new]) for old, new in pairs)
    too_few = f"more than the {len(bills) - at + 1} left"
    return (
        frames,
        bills,
        next((n for n, total in enumerate(saved, 1) if total > 1e-9), too_few),
    )


def summarised(messages: list[Message], tokens: float) -> list[Message]:
    """Put a stand-in for a summary of so many tokens in the messages' place."""
    return auto_compact(
        messages, lambda m, focus: stand_in(round(tokens)), lambda: "t.jsonl"
    )


def longest_pause_by_the_bill(session: Session) -> int:
    """Return the minutes of the last pause up to which repeats pay."""
    turn = 88
    before = session.requests[:turn]
    after = session.requests[turn : turn + 2]

    def cost(minutes: int, repeats: int) -> float:
        wait = 60 * minutes - (after[0].at - before[-1].at)
        longer = replace(
            session, requests=[*before, *(replace(r, at=r.at + wait) for r in after)]
        )
        return spent(
            billed(longer, replace(KEEPS_ALL, keep_alive=repeats))[1][
                turn - 1 : turn + 1
            ]
        )

    cold = cost(91, 0)  # the same after any longer pause
    return next(n - 1 for n in count(91) if cost(n, 60) > cold + 1e-9)


def longest_pause(saves: Callable[..., float], read: float, write: float) -> int:
    """Return the minutes of the last pause up to which repeats pay, by a formula."""
    return max(m for m in range(5, 600) if saves(60 * m, read, write) > -1e-9)


def print_prices(
    clearing: Callable[..., float],
    compacting: Callable[..., float],
    saves: Callable[..., float],
) -> None:
    """Print what the three formulas and a summary come to at the prices of several
    models."""
    print(f"{'':18}{'clearing':>10}{'compacting':>12}{'alive':>7}{'summary':>10}")
    for name in price_list()["models"]:
        if name.endswith(("5-5", "4-8")):
            rate = rates(name)
            read, write, answer = (
                rate[n] for n in ("cache_read", "cache_write_5m", "output")
            )
            new = read if name == PRICED_AS else rate["input"]
            cells = f"{clearing(1, 1, read, write):>10.1f}"
            cells += f"{compacting(0.1, read, write, answer):>12.1f}"
            cells += f"{longest_pause(saves, read, write):>5} m{10 * (new + 0.05 * answer):>8.1f} ¢"
            print(f"{name:18}{cells}")


def judged(sessions: Sequence[Session]) -> dict[str, DataFrame]:
    """Return each preset's dollars and need in the sessions, in a window of 32,000
    tokens."""
    chosen = {n: each for n, each in presets.ALL.items() if n != "learn-claude-code-ts"}
    return {
        n: judge(sessions, each.scaled(32_000), PRICED_AS) for n, each in chosen.items()
    }


def spread(table: DataFrame, base: DataFrame) -> dict[str, list[float]]:
    """Return the means of dollars, in percent of `base`, and of need, with their
    intervals.

    The intervals are of 95 %: the sessions are drawn again 2,000 times.
    """
    some = range(len(table))
    draws = numpy.random.default_rng(0).integers(len(some), size=(2_000, len(some)))
    columns = table["dollars"], base["dollars"], table["need"]
    mine, whole, need = (
        c.to_numpy()[numpy.vstack([some, draws])].sum(axis=1) for c in columns
    )
    means = {"dollars": 100 * mine / whole, "need": need / len(some)}
    return {n: [m[0], *numpy.percentile(m, [2.5, 97.5])] for n, m in means.items()}


def at_ratio(table: DataFrame, ratio: float) -> DataFrame:
    """Price a table of `judge` where writing to the cache costs `ratio` times reading.

    In prices of an uncached token. Writing costs 1.25 of it and an answer 5, as with
    every model.
    """
    paid = 1.25 * (table["read"] / ratio + table["written"])
    return table.assign(dollars=paid + table["uncached"] + 5 * table["answers"])


def turns_at(one: DataFrame, other: DataFrame) -> int | str:
    """Return the first ratio at which one policy is cheaper than another, or words if
    at none."""
    sums = (
        (n, [at_ratio(each, n)["dollars"].sum() for each in (one, other)])
        for n in RATIOS
    )
    return next(
        (n for n, (first, second) in sums if first < second), f"none up to {RATIOS[-1]}"
    )


def repeats_save(one: DataFrame, other: DataFrame) -> str:
    """Say whether the first policy saves more against the other at a high ratio, or
    less."""
    low, high = (
        at_ratio(one, n)["dollars"].sum() / at_ratio(other, n)["dollars"].sum()
        for n in (RATIOS[0], RATIOS[-1])
    )
    return "more" if high < low else "less"


def ratio_panel(tables: Mapping[str, DataFrame]) -> Panel:
    """Show all policies at any ratio of writing to reading, 12.5 among them, because most
    models have it. The first is what they are shares of.

    The last two are yours.
    """
    first, *_ = tables
    models: dict[float, list[str]] = {}
    for name in price_list()["models"]:
        rate = rates(name)
        models.setdefault(rate["cache_write_5m"] / rate["cache_read"], []).append(
            name[7:]
        )
    names = {n: ", ".join(each) for n, each in models.items()}
    marks = {each if len(each) < 40 else "most models": n for n, each in names.items()}

    @lru_cache(maxsize=64)
    def draw(ratio: float) -> tuple[bytes, str]:
        priced_so = {name: at_ratio(table, ratio) for name, table in tables.items()}
        dots = {
            name: spread(table, priced_so[first]) for name, table in priced_so.items()
        }
        order = sorted(dots, key=lambda name: dots[name]["dollars"][0])
        title = f"Writing costs {ratio:g} times reading: “{order[0]}” is cheapest"
        shown = [f"{name} {dots[name]['dollars'][0]:.0f} %" for name in order]
        chart = policies(dots, list(dots)[-2:], title=title, scale={**marks, "": ratio})
        return chart.png(), wrapped(f"{'; '.join(shown)}.")

    meaning = "how many times as much writing to the cache costs as reading"
    like = slider("ratio", 25, (RATIOS[0], RATIOS[-1], 1), meaning)
    looks = {name: getattr(like, name) for name in ("tooltip", "style", "layout")}
    places = sorted([*RATIOS, 12.5])
    control = SelectionSlider(options=places, value=25, description="ratio", **looks)
    return Panel({"ratio": control}, draw)


def beyond(dots: Mapping[str, Mapping[str, list[float]]]) -> str:
    """Say how many presets lie beyond the intervals of yours, in dollars and in
    need."""
    shown = [name for name in dots if name in presets.ALL]
    ends = [(axis, dots["yours"][axis][2]) for axis in ("dollars", "need")]
    worse = [
        name for name in shown if all(dots[name][axis][1] > end for axis, end in ends)
    ]
    return f"{len(worse)} of {len(shown)} presets"


def compacting_panel(
    model: str, formula: Callable[[float, float, float, float], float]
) -> Panel:
    """Show when one compaction has paid for itself, by the cache and by a formula.

    The sliders are `left`, the percent that a summary leaves, and `size`, the tokens it
    replaces. `formula`: (share left, read, write, answer) -> requests, at the `model`'s
    prices.
    """
    rate = rates(model)

    @lru_cache(maxsize=256)
    def draw(left: int, size: int) -> Drawing:
        saved = saved_by_compacting(size, left / 100, model, REQUESTS)
        at = formula(
            left / 100, rate["cache_read"], rate["cache_write_5m"], rate["output"]
        )
        text = f"{size:,} tokens, of which a summary leaves {left} %."
        return paid("compaction", saved, at, text, span=(-size / 1_000, size / 1_000))

    sliders = {
        "left": slider(
            "left, %", 10, (1, 40, 1), "share of the tokens that the summary leaves"
        ),
        "size": slider(
            "replaced", 100_000, (20_000, 400_000, 20_000), "tokens that it replaces"
        ),
    }
    return Panel(sliders, draw)


def saved_by_compacting(size: int, left: float, model: str, count: int) -> list[float]:
    """Return the cents that one compaction has saved up to each request, by the cache's
    rules.

    The summary's request reads all of it, and its answer is the summary.
    """
    old = Part("old", size)
    summary = Part("summary", round(left * size))
    asked = dollars(Bill(1_000 + size, 0, 0).usage(summary.tokens), model)
    return [cents - 100 * asked for cents in saved_by([old], [summary], model, count)]


def alive_panel(
    model: str, formula: Callable[[float, float, float], float], pauses: Sequence[float]
) -> Panel:
    """Show what repeats save in a pause, by its length, by the cache's rules.

    The slider is `most`, the repeats after which the cache is given up. The drawing's
    number is the longest pause that pays, in minutes. `formula`:
    (pause, read, write) -> dollars per million tokens saved, if it isn't given up.
    `pauses`: seconds, to say what so many repeats save in all of them.
    """
    rate = rates(model)
    minutes = range(151)
    longest = longest_pause(formula, rate["cache_read"], rate["cache_write_5m"])

    @lru_cache(maxsize=64)
    def draw(most: int) -> Drawing:
        curve = [saved_by_repeats(60 * m, most, model) for m in minutes]
        total = sum(saved_by_repeats(pause, most, model) for pause in pauses)
        title = (
            f"{many(most, 'repeat')} at most: {total / len(pauses):+.1f} cents a pause"
        )
        even = next(
            (m - 1 for m, c in zip(minutes, curve, strict=True) if c < -1e-9), 150
        )
        text = f"100,000 tokens. By the cache's rules the repeats pay up to {even} minutes; if the "
        text += f"cache is never given up, up to {longest} by the formula. In the {len(pauses)} "
        text += f"pauses of the sessions they bring {total:,.0f} cents."
        looks: Any = {"across": "minutes of the pause", "span": (-52, 52)}
        looks["words"] = "the formula,\nno limit"
        chart = savings(minutes, curve, longest, title, **looks)
        return Drawing(chart.png(), wrapped(text), number=even)

    meaning = "after so many repeats the cache is given up"
    return Panel({"most": slider("repeats", 24, (1, 40, 1), meaning)}, draw)


def saved_by_repeats(pause: float, most: int, model: str) -> float:
    """Return the cents that repeats of 100,000 tokens save in a pause, by the cache's
    rules."""
    spent = list[float]()
    every = Settings().repeat_after
    times = min(most, max(0, math.ceil(pause / every) - 1))
    for repeats in (0, times):
        prompt_cache = PromptCache()
        uses = [*(n * every for n in range(repeats + 1)), pause]
        bought = (
            prompt_cache.bill([Part("prompt", 100_000)], (0,), now) for now in uses
        )
        spent.append(100 * sum(dollars(bill.usage(0), model) for bill in bought))
    return spent[0] - spent[1]
