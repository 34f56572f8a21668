"""What other settings would have cost, over many sessions, and what to set in Claude
Code.

A replay keeps the recorded replies and changes what each request would have sent. All
bills are simulated, so that they compare. What a reply quotes although its context has
forgotten it would have had to be read again, and the dollars say so.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from pandas import DataFrame

from agentlib import presets
from agentlib.api.spending import MILLION, dollars, model_facts, own_prices, rates
from agentlib.estimation import prompt_tokens
from agentlib.settings import Settings
from agentlib.transcripts import Session
from offline_api.cache import LONG, SHORT
from session_report import PROJECTS, load
from session_report.bills import bills, lasting, lifetime
from session_report.formats import Source
from session_report.formats.claude_code import kind_of
from session_report.need import needs
from session_report.one import Row, model_of
from session_report.overview import Prices, each, program_of
from session_report.playback import Frame, replay
from session_report.reading import sources

BASELINE = "claude-code"
YOURS = "yours"
"""The choice with the settings that the options name."""
SMALL = 200_000
LARGE = 1_000_000
"""The windows of Claude Code. A session with a larger prompt than the first had the
second."""
WINDOWS = (100_000, 125_000, 150_000, 175_000, 300_000, 400_000, 500_000, 700_000)
"""What is tried as `autoCompactWindow`. Claude Code takes 100,000 to 1,000,000."""
RESERVED = presets.CLAUDE_CODE.output_reserve + presets.CLAUDE_CODE.buffer
FEW = 10
"""Fewer sessions than this are no ground to choose a setting on."""
_RESAMPLED = 2_000
_TWIN = "learn-claude-code-ts"
"""_TWIN: the preset that is left out, because it is learn-claude-code but for short
results."""
PROGRAM = "Claude Code"
"""The program whose sessions can be tried. Of another nobody here knows what it does
today, or which line would set it."""
OTHERS = "--what-if tries settings of Claude Code, and these sessions are of "
"""Begins the reason why a session of another program isn't tried."""


@dataclass(frozen=True)
class Choice:
    """Settings to try. `ttl`: seconds that cache entries live, None for as long as they
    did."""

    settings: Settings
    ttl: float | None = None
    line: str = ""
    """What sets this in Claude Code."""


def choices(own: Settings | None = None) -> dict[str, Choice]:
    """Return every preset but a twin, what Claude Code can be set to, and the learner's
    `own`.

    Claude Code can be told where to compact and how long its cache lives. The choice
    "yours, nearest" has your threshold and is else Claude Code's.

    >>> choices(Settings(threshold=130_000))["yours, nearest"].line
    '"autoCompactWindow": 163000'
    """
    every = {
        name: Choice(preset) for name, preset in presets.ALL.items() if name != _TWIN
    }
    for window in WINDOWS:
        every[f"window {window:,}"] = nearest(window - RESERVED)
    for name, ttl in {"5m": SHORT, "1h": LONG}.items():
        line = f'"promptCacheTtl": "{name}"'
        every[f"cache {name}"] = Choice(presets.CLAUDE_CODE, ttl, line)
    if own:
        every |= {YOURS: Choice(own), "yours, nearest": nearest(own.threshold_tokens)}
    return every


def nearest(threshold: int) -> Choice:
    """Make Claude Code compact at a threshold.

    It compacts 33,000 tokens below the window that it is told, and takes no window
    under 100,000. So no line leads to a threshold under 67,000.

    Source: https://github.com/anthropics/claude-code/issues/31806 has its formulas.
    """
    settings = replace(presets.CLAUDE_CODE, context_window=LARGE, threshold=threshold)
    told = threshold + RESERVED
    return Choice(
        settings, line=f'"autoCompactWindow": {told}' if told >= WINDOWS[0] else ""
    )


def what_if(
    paths: Iterable[Path | str | Source] = (PROJECTS,),
    every: Mapping[str, Choice] | None = None,
    *,
    window: int | None = None,
    price_as: str | None = None,
    prices: Prices = (),
    **options: Any,
) -> DataFrame:
    """Try choices on all session files among these paths. Returns a row for each,
    cheapest first.

    `dollars` are with re-reads, and `again` is their part. `percent` compares with
    Claude Code's own policy, and `low` and `high` are the band of that. `need` counts
    replies and calls that quote what is forgotten, in 100 turns. `refused` prompts were
    over the window.

    The band: the sessions are resampled 2,000 times, and 95 % of the results lie in it.
    It covers the luck of which sessions there are. Fewer than `FEW` can't tell that and
    have no band (nan). It doesn't cover the error of the replay, the percentage by
    which simulated bills are off where the recorded ones are known. `attrs` has this
    "error", the number of "sessions", the "unread" files with the reason, and "others":
    the number of sessions of each program that isn't Claude Code. Those aren't tried,
    because only its settings are known.

    `window`: the tokens of every session's window. By default 200,000, or 1,000,000 if
    a prompt was larger. `price_as`: the model whose prices to take. By default that is
    the one that answered most often, and a session without a price is left out.
    `prices`: as `overview` takes them. The
    options are those of `overview.each`. Raises ValueError if no session could be
    tried.
    """
    every = {BASELINE: Choice(presets.CLAUDE_CODE), **(every or choices())}
    found = [s for s in sources(paths) if kind_of(s.path) != "compaction call"]
    own = {"window": window, "price_as": price_as, "prices": tuple(prices)}
    call = partial(tried, every=every, **own)
    results, unread = each(call, found, **options)
    others = Counter(
        reason.rpartition(OTHERS)[2] for reason in unread.values() if OTHERS in reason
    )
    unread = {str(each): why for each, why in unread.items() if OTHERS not in why}
    if not results and not unread and others:
        raise ValueError(OTHERS + " and ".join(others))
    if not results:
        reason = next(iter(unread.values()), "there is no file")
        raise ValueError(f"no session could be tried, of {len(unread)}: {reason}")
    named = {str(source): table for source, table in results.items()}
    trials = pandas.concat(named, names=["path", "row"])
    checks = trials[["recorded", "simulated"]].groupby("path").first().sum()
    error = (
        100 * (checks["simulated"] / checks["recorded"] - 1)
        if checks["recorded"]
        else 0.0
    )
    costs = trials.reset_index().pivot(index="path", columns="policy", values="dollars")
    table = trials.groupby("policy").sum(numeric_only=True).join(_bands(costs))
    table["need"] *= 100 / table["turns"]
    table["line"] = [every[str(name)].line for name in table.index]
    # Such as a window that no session fills.
    has_effect = costs.sub(costs[BASELINE], axis=0).any() | (table["line"] == "")
    table = table[has_effect].sort_values("dollars").reset_index()
    table.attrs = {"error": error, "sessions": len(results), "unread": unread}
    table.attrs["others"] = dict(others)
    amounts = ["dollars", "again", "percent", "low", "high"]
    return table[["policy", *amounts, "need", "refused", "compactions", "line"]]


def _bands(costs: DataFrame) -> DataFrame:
    """Compare policies with Claude Code's, by resampling the sessions, which are the
    rows."""
    picks = np.random.default_rng(0).integers(len(costs), size=(_RESAMPLED, len(costs)))
    sums = DataFrame(costs.to_numpy()[picks].sum(axis=1), columns=costs.columns)
    sums.loc["all"] = costs.sum()
    percents = 100 * sums.div(sums[BASELINE], axis=0) - 100
    known = 1.0 if len(costs) >= FEW else np.nan
    low, high = (known * percents.quantile(end) for end in (0.025, 0.975))
    return DataFrame({"percent": percents.loc["all"], "low": low, "high": high})


def set_this(table: DataFrame) -> DataFrame:
    """Return the choices that a line sets in Claude Code and that are surely cheaper
    than today's.

    Surely means that the whole band lies below 0. Behind the cheapest stand those that
    need less again. An empty table means that nothing is worth setting, or that there
    are fewer than `FEW` sessions to choose by, which have no band.
    """
    sure = table[(table["line"] != "") & (table["high"] < 0)]
    return sure[sure["need"] < sure["need"].cummin().shift(fill_value=float("inf"))]


# -- one session -----------------------------------------------------------------------


def tried(
    path: Path | Source,
    every: Mapping[str, Choice],
    window: int | None,
    price_as: str | None,
    prices: Prices = (),
) -> DataFrame:
    """Replay one file under each choice, a row for each. Raises ValueError without a
    price, or if another program than Claude Code wrote the file."""
    session = load(path)
    if (program := program_of(session)) != PROGRAM:
        raise ValueError(OTHERS + program)
    with own_prices(prices):
        return _tried(session, every, window, price_as)


def _tried(
    session: Session,
    every: Mapping[str, Choice],
    window: int | None,
    price_as: str | None,
) -> DataFrame:
    usual = Counter(model_of(session, request.usage) for request in session.requests)
    model = price_as or max(usual, key=lambda name: usual[name], default="")
    model_facts(model)
    window = window or window_of(session)
    rows = list[Row]()
    known = dict[Any, Row]()
    life = lifetime(session)
    for name, choice in every.items():
        key = fitted(choice.settings, window), choice.ttl or life
        known[key] = known.get(key) or trial(session, *key, model)
        rows.append({"policy": name, **known[key]})
    checked = _check(session, window, model)
    return DataFrame(rows).assign(turns=len(session.requests), **checked)


def window_of(session: Session) -> int:
    """Return the window that a session must have had, by its largest prompt."""
    largest = max(
        (prompt_tokens(request.usage) for request in session.requests), default=0
    )
    return SMALL if largest <= SMALL else LARGE


def fitted(settings: Settings, window: int) -> Settings:
    """Take settings to another window. Unlike `scaled`, amounts stay, as in the real
    systems.

    A threshold over the window has no effect, so it goes.

    >>> fitted(presets.CLAUDE_CODE, 1_000_000).threshold_tokens
    967000
    """
    threshold = settings.threshold if (settings.threshold or 0) <= window else None
    return replace(settings, context_window=window, threshold=threshold)


def trial(session: Session, settings: Settings, ttl: float, model: str) -> Row:
    """Replay a session under settings. `ttl`: seconds that cache entries live. See
    `what_if`."""
    frames = replay(session, lasting(settings, ttl))
    usages = [u for bill in bills(session, frames, ttl=ttl) for u in bill.usages]
    found = needs(frames)
    again = _price_again(frames, [need.tokens for need in found], model, ttl)
    return {
        "dollars": sum(dollars(usage, model) for usage in usages) + again,
        "again": again,
        "need": sum(need.outputs for need in found),
        "refused": sum(frame.refused for frame in frames),
        "compactions": sum(frame.compaction is not None for frame in frames),
    }


def _price_again(
    frames: Sequence[Frame], tokens: Sequence[int], model: str, ttl: float
) -> float:
    """Price what would be read again: one more request each time, and its result from
    then on.

    That request reads the prompt from the cache and writes the result to it. The
    requests after it read the result, until a layer changes the context.
    """
    price = 0.0
    carried = 0
    writing = "cache_write_1h" if ttl == LONG else "cache_write_5m"
    for frame, more in zip(frames, tokens, strict=True):
        rate = rates(model, frame.prompt_tokens)
        carried = 0 if frame.compaction or frame.step.cleared else carried
        read = carried + (frame.prompt_tokens if more else 0)
        price += rate["cache_read"] * read + rate[writing] * more
        carried += more
    return price / MILLION


def _check(session: Session, window: int, model: str) -> dict[str, float]:
    """Return recorded and simulated dollars of the requests before the first
    compaction.

    Without the first of all, because it may read from the cache what another session
    wrote.
    """
    keeps = Settings(context_window=window, enabled=False)
    frames = list(
        takewhile(lambda f: f.billed_from == "recorded", replay(session, keeps))
    )
    pairs = list(zip(frames, bills(session, frames), strict=True))[1:]
    recorded = sum(dollars(frame.request.usage, model) for frame, _ in pairs)
    return {
        "recorded": recorded,
        "simulated": sum(dollars(bill.usage, model) for _, bill in pairs),
    }
