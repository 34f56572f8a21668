"""The panels of the lessons. Each wires controls to a run or a replay, and to its figure."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, get_args

from ipywidgets import Button

from agentlib.lab.api.faults import Fault, Kind
from agentlib.lab.figures import charts, estimates
from agentlib.lab.figures.bars import bars
from agentlib.lab.figures.style import wrapped
from agentlib.lab.figures.window_map import window_maps
from agentlib.lab.generations import left
from agentlib.lab.panels.panel import Panel, choice, slider, words
from agentlib.lab.play import Run, outcomes, play
from agentlib.lab.replay import replay, table
from agentlib.lab.replay.estimates import rings_at
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.settings import Settings
from agentlib.transcripts import Session

KEEP_RECENT = "how many of the newest results stay whole"
MIN_CHARS = "results of at most so many characters stay whole"
LENGTH = "tokens of each summary"
FAULTS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "timeout")
"""A time-out ends as a 500 does, but only after seconds, because the SDK waits and retries."""


def estimation_panel(growths: Sequence[int] = (), settings: Settings | None = None) -> Panel:
    """Lesson 01: window - reserve - buffer, and where the alarm rings if the estimate is off.

    The sliders are `window`, `reserve` and `buffer` in tokens, and `off`, the estimate's error in
    percent (-60: it reads 60 % low). `growths`: tokens that each turn of a recorded session
    brought, to be compared with the buffer.
    """
    start = settings or Settings()

    @lru_cache(maxsize=64)
    def draw(window: int, reserve: int, buffer: int, off: int) -> tuple[bytes, str]:
        chosen = Settings(context_window=window, output_reserve=reserve, buffer=buffer)
        rings = rings_at(chosen.threshold_tokens, off)
        return estimates.shares(chosen, rings).png(), estimates.shares_sentence(
            chosen, rings, growths
        )

    answer, turn, off = "kept for the answer", "for one more turn", "how far the estimate is off"
    sliders = {
        "window": slider("window", start.context_window, (40_000, 400_000, 10_000), "tokens"),
        "reserve": slider("reserve", start.output_reserve, (0, 64_000, 1_000), f"tokens {answer}"),
        "buffer": slider("buffer", start.buffer, (0, 40_000, 1_000), f"tokens {turn}"),
        "off": slider("off by %", 0, (-80, 100, 5), off),
    }
    return Panel(sliders, draw)


def clearing_panel(scenario: Scenario, settings: Settings, *, turns: int = 160) -> Panel:
    """Lesson 02: the task is run again for each position of `keep_recent` and `min_chars`.

    `settings`: where the sliders start; everything else in it stays. `turns`: how many the axis
    has room for, so that runs of different lengths compare.
    """
    chart = charts.turns(
        play(scenario, settings).table(),
        title="Tokens in each prompt, the task run again",
        turns=turns,
        also=("placeholder",),
    )

    def draw(keep_recent: int, min_chars: int) -> tuple[bytes, str]:
        run = play(scenario, replace(settings, keep_recent=keep_recent, min_chars=min_chars))
        chart.update(run.table())
        return chart.png(), run_sentence(run)

    sliders = {
        "keep_recent": slider("KEEP_RECENT", settings.keep_recent, (0, 40, 1), KEEP_RECENT),
        "min_chars": slider("min_chars", settings.min_chars, (0, 14_000, 100), MIN_CHARS),
    }
    for each in sliders.values():
        each.continuous_update = False  # a new position takes a run
    return Panel(sliders, draw)


def run_sentence(run: Run, *more: str) -> str:
    """Say what came of a run. `more`: parts to add before its checks."""
    checks = ", ".join(
        f"{name} {value}" if not isinstance(value, bool) else f"{name} {'yes' if value else 'no'}"
        for name, value in run.checks.items()
    )
    counts = f"{run.turns:,} turns, {run.repeated:,} calls made again, {run.sent:,} tokens sent"
    text = "; ".join([counts, *more, checks]) + "."
    return wrapped(text + (f" The API ended it: {run.refused.rstrip('.')}." if run.refused else ""))


def compaction_panel(session: Session, settings: Settings, runs: Iterable[Run] = ()) -> Panel:
    """Lesson 03: a recorded session replayed for each `threshold` and length of a summary.

    `settings`: where the sliders start; everything else in it stays. `runs`: runs of the agent,
    whose outcome is added where one was made at the same two numbers.
    """
    ran = {(r.settings.threshold_tokens, r.settings.summary_tokens): run_sentence(r) for r in runs}
    window = settings.context_window
    highest = window - settings.output_reserve - settings.buffer
    chart = charts.turns(
        table(replay(session, settings)),
        title="Tokens in each prompt, the recorded session replayed",
        top=1.15 * window,
        also=("summary", "auto", "failed"),
    )

    @lru_cache(maxsize=64)
    def draw(threshold: int, summary_tokens: int) -> tuple[bytes, str]:
        moved = replace(settings, threshold=threshold, summary_tokens=summary_tokens)
        rows = table(replay(session, moved, summary_tokens=summary_tokens))
        chart.update(rows)
        agent = ran.get((threshold, summary_tokens), "not tried at these two numbers.")
        return chart.png(), f"{charts.sentence(rows)}\n{wrapped(f'The agent itself: {agent}')}"

    point, meaning = (window // 8, highest, 160), "the conversation is compacted past these tokens"
    length = (100, window // 2, 100)
    sliders = {
        "threshold": slider("point", settings.threshold_tokens, point, meaning),
        "summary_tokens": slider("summary", settings.summary_tokens, length, LENGTH),
    }
    return Panel(sliders, draw)


def focus_panel(scenario: Scenario, settings: Settings, *, after: int, turns: int = 40) -> Panel:
    """Lesson 04: a button that compacts now, and a field for the words to keep.

    `after` is the turn after which the agent waits for you, `words` the focus, and `button`
    compacts. The agent then goes on to the end of its task, so you see what was forgotten.
    """

    def draw(after: int, words: str, button: bool) -> tuple[bytes, str]:
        run = play(scenario, settings, compact_after=after, focus=words.strip() if button else "")
        views = {"Before": run.before} | ({"After": run.step.messages} if button else {})
        text = focus_sentence(run, scenario) if button else _before(run, settings)
        return window_maps(views, window=settings.context_window).png(), text

    turn = slider("after turn", after, (1, turns, 1), "the turn after which the agent waits")
    turn.continuous_update = False  # a new position takes a run
    controls = {
        "after": turn,
        "words": words("focus", "words for the summary to keep, e.g. rules of the user"),
        "button": Button(description="Compact now", tooltip="as /compact does in the terminal"),
    }
    return Panel(controls, draw)


def _before(run: Run, settings: Settings) -> str:
    size, window = run.step.tokens_before, settings.context_window
    return f"{size:,} tokens, {100 * size // window}% of the window. Not compacted yet."


def focus_sentence(run: Run, scenario: Scenario) -> str:
    """Say what a compaction by hand kept, and what came of the task."""
    step, checks = run.step, run.checks
    if step.compaction != "manual":
        return wrapped(
            f"Nothing was compacted: {step.failure or 'there is nothing to replace yet'}."
        )
    kept = run.kept(scenario)
    text = f"{step.tokens_before:,} -> {step.tokens_after:,} tokens. The summary holds "
    text += f"{kept['facts']} of {len(scenario.facts)} facts and {kept['names']} names; "
    text += f"the rule is {'kept' if kept['rule'] else 'lost'}. The agent went on, "
    text += f"{run.turns:,} turns in all"
    if "described" in checks:
        text += f": the report describes {checks['described']} of {checks['files']} files"
        text += f", rule {'kept' if checks['constraint'] else 'broken'}"
    return wrapped(f"{text}.")


def tail_panel(session: Session, settings: Settings) -> Panel:
    """Lesson 06: what each compaction of a recorded session leaves, by replay.

    The sliders are `head_tokens` and `summary_tokens`, up to an eighth of the window, and
    `tail_tokens`, up to the threshold. `settings`: where they start; everything else stays.
    """
    point, most = settings.threshold_tokens, settings.context_window // 8
    title = "What each compaction left, the recorded session replayed"

    @lru_cache(maxsize=64)
    def draw(**tokens: int) -> tuple[bytes, str]:
        moved = replace(settings, **tokens)
        frames = replay(session, moved, summary_tokens=moved.summary_tokens)
        done = [frame.context for frame in frames if frame.compaction not in (None, "failed")]
        parts = [part for context in done if (part := left(context))]
        text = charts.sentence(table(frames))
        if parts:
            last = parts[-1]
            sizes = f"head {last.head:,}, summary {last.summary:,}, tail {last.tail:,} tokens"
            text += "\n" + wrapped(f"The last compaction left {sizes}.")
        return bars({title: parts}, top=1.2 * point).png(), text

    tail = settings.tail_tokens or 0
    head, newest = "tokens of the head: the first exchanges", "tokens of the newest exchanges"
    sliders = {
        "head_tokens": slider("head", settings.head_tokens, (0, most, 40), head),
        "tail_tokens": slider("tail", tail, (0, point, 80), newest),
        "summary_tokens": slider("summary", settings.summary_tokens, (50, most, 50), LENGTH),
    }
    return Panel(sliders, draw)


def fault_panel(scenario: Scenario, settings: Settings, *, turns: int = 60, seed: int = 0) -> Panel:
    """Lesson 07: the task is run again while the summariser fails as the controls say.

    `rate` is in percent of the requests for a summary, drawn by `seed`, and `how` is the failure.
    `turns`: how many the axis has room for, so that runs compare.
    """
    chart = charts.turns(
        play(scenario, settings).table(),
        title="Tokens in each prompt, the summariser failing",
        top=1.3 * settings.context_window,
        turns=turns,
        also=("summary", "auto", "failed"),
    )

    def draw(rate: int, how: Kind) -> tuple[bytes, str]:
        faults = (Fault(how, rate=rate / 100, seed=seed, only="summary"),) if rate else ()
        run = play(scenario, settings, faults=faults)
        chart.update(run.table())
        counts = outcomes(run.session)
        made = ", ".join(f"{counts[name]} {name}" for name in ("done", "cut to size", "failed"))
        return chart.png(), run_sentence(run, f"compactions: {made}")

    meaning = "share of the requests for a summary that fail, in percent"
    rate: Any = slider("fails, %", 50, (0, 100, 10), meaning)
    rate.continuous_update = False  # a new position takes a run
    return Panel({"rate": rate, "how": choice("how", "empty", FAULTS, "the failure")}, draw)
