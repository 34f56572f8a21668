"""Lesson 01: an estimate, where its alarm rings, the last bill."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Callable
from functools import lru_cache

from agentlib.messages import kinds_of
from agentlib.settings import Settings
from course.checks.estimation import rings_at
from course.figures import estimates
from course.panels.panel import Panel, slider
from session_report.style import wrapped
from windtunnel.estimates import growths as growths
from windtunnel.estimates import readings as readings
from windtunnel.runner import Run
from windtunnel.tasks.generated import generated as generated

# -- what the cells show ---------------------------------------------------------------


def estimation_panel(rings: Callable[[int, int], float] = rings_at) -> Panel:
    """Window - reserve - buffer, and where the alarm rings if the estimate is off.

    The sliders are `window`, `reserve` and `buffer` in tokens, and `off`, the
    estimate's error in percent (-60: it reads 60 % low). `rings`: (threshold, off) ->
    the real tokens at which the alarm rings.
    """
    start = Settings()

    @lru_cache(maxsize=64)
    def draw(window: int, reserve: int, buffer: int, off: int) -> tuple[bytes, str]:
        if window <= reserve + buffer:
            text = f"Reserve and buffer take {reserve + buffer:,} tokens. Nothing is left for the "
            return b"", wrapped(text + f"conversation in a window of {window:,}.")
        chosen = Settings(context_window=window, output_reserve=reserve, buffer=buffer)
        real = rings(chosen.threshold_tokens, off)
        text = estimates.shares_sentence(chosen, real)
        return estimates.shares(chosen, real, off).png(), text

    answer = "kept for the answer"
    turn = "for one more turn"
    off = "how far the estimate is off"
    sliders = {
        "window": slider(
            "window", start.context_window, (40_000, 400_000, 10_000), "tokens"
        ),
        "reserve": slider(
            "reserve", start.output_reserve, (0, 64_000, 1_000), f"tokens {answer}"
        ),
        "buffer": slider("buffer", start.buffer, (0, 40_000, 1_000), f"tokens {turn}"),
        "off": slider("off by %", 0, (-80, 100, 1), off),
    }
    return Panel(sliders, draw)


def seen_and_billed(run: Run) -> None:
    """Compare a quarter of the last prompt's characters with its bill, by kind."""
    seen = dict[str, float]()
    billed = run.table().iloc[-1]
    for message in run.session.requests[-1].context:
        for kind, text in kinds_of(message):
            seen[kind] = seen.get(kind, 0) + len(text) / 4
    print(f"{'':24}{'characters / 4':>15}{'billed':>9}")
    for name, kinds in {
        "results of tools": ["tool_result"],
        "calls of tools": ["tool_use"],
        "words": ["user", "assistant"],
        "system prompt and tools": ["system", "tools"],
    }.items():
        characters = sum(seen.get(kind, 0) for kind in kinds)
        print(f"{name:24}{characters:15,.0f}{sum(billed[kinds]):9,.0f}")
