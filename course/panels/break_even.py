"""When an edit of the prompt has paid for itself: by the cache's rules, and by a
formula.

A clearing is for lessons 02 and 08.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from agentlib.api.spending import dollars, rates
from course.figures import bills
from course.panels.panel import Drawing, Panel, slider
from offline_api.cache import Part, PromptCache
from session_report.style import wrapped

REQUESTS = 60
"""Requests over which a panel looks for a break-even."""


def break_even_panel(
    model: str, formula: Callable[[int, int, float, float], float]
) -> Panel:
    """When one clearing has paid for itself, by the cache and by a formula.

    The sliders are `cleared` and `behind`, the tokens behind the change. `formula`:
    (behind, cleared, read, write) -> requests, at the `model`'s prices of the cache.
    """
    rate = rates(model)

    @lru_cache(maxsize=256)
    def draw(cleared: int, behind: int) -> Drawing:
        saved = saved_by_clearing(cleared, behind, model, REQUESTS)
        at = formula(behind, cleared, rate["cache_read"], rate["cache_write_5m"])
        text = f"{cleared:,} tokens cleared, {behind:,} behind them."
        return paid("clearing", saved, at, text, span=(-20, 40))

    span = (1_000, 40_000, 1_000)
    sliders = {
        "cleared": slider(
            "cleared", 20_000, span, "tokens that the clearing takes away"
        ),
        "behind": slider(
            "behind", 10_000, span, "tokens that stand behind them and stay"
        ),
    }
    return Panel(sliders, draw)


def paid(
    edit: str, saved: Sequence[float], at: float, text: str, **looks: Any
) -> Drawing:
    """Draw the cents saved so far by an edit, and say when it pays. That request is the
    drawing's number."""
    pays = next((n for n, cents in enumerate(saved, 1) if cents > -1e-9), None)
    when = (
        f"from request {pays} on"
        if pays
        else f"only after more than {len(saved)} requests"
    )
    turns = range(1, len(saved) + 1)
    chart = bills.savings(turns, saved, at, f"This {edit} pays {when}", **looks)
    rules = f"By the cache's rules it pays {when}; the formula says {at:.1f}."
    return Drawing(chart.png(), wrapped(f"{text} {rules}"), number=pays)


def saved_by_clearing(cleared: int, behind: int, model: str, count: int) -> list[float]:
    """Return the cents that one clearing has saved up to each request, by the cache's
    rules.

    Everything was cached before. Each request brings 500 new tokens, with the clearing
    and without it.
    """
    rest = Part("behind them", behind)
    return saved_by(
        [Part("old", cleared), rest], [Part("placeholders", 0), rest], model, count
    )


def saved_by(
    before: list[Part], after: list[Part], model: str, count: int
) -> list[float]:
    """Return the cents that a change of the prompt has saved up to each request."""
    base = Part("system and tools", 1_000)
    spent = list[list[float]]()
    for parts in (before, after):
        prompt_cache = PromptCache()
        prompt = [base, *parts]
        prompt_cache.bill([base, *before], marks=(0, len(before)), now=0)
        spent.append([])
        for now in range(1, count + 1):
            prompt.append(Part(now, 500))
            bill = prompt_cache.bill(prompt, marks=(0, len(prompt) - 1), now=now)
            spent[-1].append(100 * dollars(bill.usage(0), model))
    return list(accumulate(keep - change for keep, change in zip(*spent, strict=True)))
