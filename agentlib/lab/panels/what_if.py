"""The what-if panel: a recorded session replayed under any settings, and the agent run again.

A replay keeps the recorded messages, so it can't say what the agent would have done. The pane
below runs the offline agent under the same settings.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Any

from ipywidgets import Button

from agentlib import presets
from agentlib.lab.figures import bills as bills_figure
from agentlib.lab.figures import charts
from agentlib.lab.figures.style import wrapped
from agentlib.lab.panels.lessons import KEEP_RECENT, MIN_CHARS, run_sentence
from agentlib.lab.panels.panel import Drawing, Panel, choice, scrolling, slider
from agentlib.lab.play import play
from agentlib.lab.replay import bills, replay, table
from agentlib.lab.replay.need import needs
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.settings import MODEL, Settings
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

RECORDED = "as recorded"
PROMPTS, BILLS = "tokens in each prompt", "the bill"
_FIELDS = ("context_window", "threshold", "micro", "keep_recent", "min_chars", "clear_when",
           "keep_exchanges")  # fmt: skip
"""The controls that set a field, named like it."""


class WhatIf(Panel):
    """The panel. `settings` are those of the controls, and `run` is the pane that runs the agent.

    `run` is None without a scenario. `settings` raises the ValueError that the panel shows if the
    controls exclude each other.
    """

    def __init__(self, session: Session, start: Settings, scenario: Scenario | None, model: str):
        self.bases = bases(start)
        self.run = _run_pane(self, scenario, model) if scenario else None
        controls = _controls(self.bases)
        controls["preset"].observe(self._take_preset, names="value")
        draw = _drawing(session, self.bases, model)
        super().__init__(controls, draw, *([self.run] if self.run else []))

    @property
    def settings(self) -> Settings:
        return settings_at(self.bases, self.values)

    def _take_preset(self, change: Any) -> None:
        if not self.still:
            self.move(**positions(self.bases[change["new"]]))

    def _moved(self, change: Any = None, *, clicked: str = "") -> None:
        super()._moved(change, clicked=clicked)
        if self.run and not self.still:
            self.run.reset()  # its words were about other settings

    def __repr__(self) -> str:
        return self.text


def what_if(
    session: Session,
    settings: Settings | None = None,
    *,
    scenario: Scenario | None = None,
    model: str = MODEL,
) -> WhatIf:
    """Open the panel over a recorded session, at `settings` or else at the session's own.

    All layers are switched on, or the controls would do nothing. `scenario`: the task that the
    second pane runs again. `model`: whose prices the dollars are at. Raises ValueError for a
    session without requests, or a model without a price.
    """
    return WhatIf(session, settings or session.settings, scenario, model)


def bases(recorded: Settings) -> dict[str, Settings]:
    """Name the settings to start from, all for the recorded window and with all layers on."""
    window = recorded.context_window
    scaled = {name: preset.scaled(window) for name, preset in presets.ALL.items()}
    every = {RECORDED: recorded, "course start": Settings().scaled(window), **scaled}
    return {name: replace(each, enabled=True, auto=True) for name, each in every.items()}


def positions(settings: Settings) -> dict[str, Any]:
    """Place the controls where these settings are."""
    places = {name: getattr(settings, name) for name in _FIELDS}
    return places | {"threshold": settings.threshold_tokens}


def settings_at(bases: Mapping[str, Settings], values: Mapping[str, Any]) -> Settings:
    """Make the settings that the controls stand for.

    Fields without a control are the preset's. Raises ValueError with the offending numbers if the
    controls exclude each other.
    """
    chosen = {name: values[name] for name in _FIELDS if name != "threshold"}
    settings = replace(bases[values["preset"]], **chosen)
    if settings.threshold_tokens == values["threshold"]:
        return settings
    return replace(settings, threshold=values["threshold"], threshold_pct=None)


def as_code(settings: Settings) -> str:
    """Write the settings as Python: only what differs from `Settings()`.

    >>> print(as_code(Settings(keep_recent=5, context_window=100_000)))
    Settings(context_window=100_000, keep_recent=5)
    """
    plain, parts = Settings(), list[str]()
    for field in fields(settings):
        value = getattr(settings, field.name)
        if value != getattr(plain, field.name):
            number = isinstance(value, int) and not isinstance(value, bool)
            parts.append(f"{field.name}={f'{value:_}' if number else repr(value)}")
    return f"Settings({', '.join(parts)})".replace("'", '"')


def _controls(bases: Mapping[str, Settings]) -> dict[str, Any]:
    """Make the controls, at the recorded settings. Their ranges go by the recorded window."""
    start = bases[RECORDED]
    window, at = start.context_window, positions(start)
    every = [positions(each) for each in bases.values()]
    # A browser shows no value between two steps, so every preset has to be on one.
    step = gcd(window // 200, *(each["threshold"] for each in every), window)
    reach = window * 3 // 2 // step * step
    exchanges = "newest exchanges that a compaction leaves word for word"
    return {
        "preset": choice("preset", RECORDED, [*bases], "moves all other controls"),
        "context_window": slider("window", window, (step, reach, step), "tokens of one request"),
        "threshold": slider("threshold", at["threshold"], (step, reach, step), "tokens"),
        "micro": choice("old results", at["micro"], ("clear", "truncate", "trim", "off"), "layer"),
        "keep_recent": slider("KEEP_RECENT", at["keep_recent"], (0, 40, 1), KEEP_RECENT),
        "min_chars": slider("min_chars", at["min_chars"], (0, 10_000, 100), MIN_CHARS),
        "clear_when": choice("clear when", at["clear_when"], ("always", "cold"), "which turns"),
        "keep_exchanges": slider("exchanges", at["keep_exchanges"], (0, 10, 1), exchanges),
        "shows": choice("shows", PROMPTS, (PROMPTS, BILLS), "what is drawn"),
    }


def _drawing(session: Session, bases: Mapping[str, Settings], model: str) -> Any:
    """Return the function that draws the panel."""
    start = bases[RECORDED]
    whole = replay(session, replace(start, enabled=False))
    whole_bills = bills.table(bills.bills(session, whole, simulate=True), model)
    sizes = [frame.prompt_tokens for frame in whole]
    prompts = charts.turns(
        table(whole),
        title="Tokens in each prompt, by kind of block",
        top=1.6 * start.context_window,
        ghost=sizes,
    )

    @lru_cache(maxsize=64)
    def draw(**values: Any) -> Drawing:
        settings = settings_at(bases, values)
        frames, end = replay(session, settings), charts.wall_turn(sizes, settings.context_window)
        rows = table(frames)
        if values["shows"] == PROMPTS:
            prompts.update(rows)
            fate = f"meet the wall at turn {end}" if end else f"need at most {max(sizes):,} tokens"
            png, text = prompts.png(), charts.sentence(rows)
            text += "\n" + wrapped(f"With nothing forgotten it would {fate}.")
        else:
            rows = bills.table(bills.bills(session, frames, simulate=True), model)
            ghost = whole_bills[: end - 1] if end else whole_bills
            png = bills_figure.bills(rows, ghost).png()
            text = bills_figure.sentence(rows, ghost, end)
        shown = scrolling(rows, "table of the turns", float_format=_number)
        return Drawing(png, f"{wrapped(as_code(settings))}\n{text}", shown)

    return draw


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or value >= 1 else f"{value:.6f}"


def _run_pane(bench: WhatIf, scenario: Scenario, model: str) -> Panel:
    """A button that runs the agent under the settings above, and a row for each run."""
    runs: dict[str, dict[str, Any]] = {}

    def draw(button: bool) -> Drawing:
        from pandas import DataFrame

        text = "The button runs the agent under the settings above."
        if button:
            run = play(scenario, bench.settings)
            dollars = f"${run.dollars(model):.4f}"
            code, counts = as_code(run.settings), {"turns": run.turns, "tokens sent": run.sent}
            runs[code] = {**counts, "dollars": dollars, **run.checks, "settings": code}
            text = run_sentence(run, f"{dollars} at the prices of {model}")
        shown = scrolling(DataFrame(runs.values()), "table of the runs")
        return Drawing(b"", text, shown if runs else "")

    button = Button(description="Run the agent", icon="play", tooltip="runs the task again")
    return Panel({"button": button}, draw)


def comparison(
    session: Session,
    settings: Mapping[str, Settings],
    *,
    model: str = MODEL,
    ttl: float | None = None,
) -> "DataFrame":
    """Replay a session under several settings: a row for each, with its dollars and its need.

    Every bill is simulated, so that the rows can be compared. `need` counts the texts and calls, in
    100 turns, that quote what their context no longer has. `$ re-read` is the price of reading that
    again, and `$ in all` has both. `refused` prompts are over the window. `ttl`:
    seconds that the prompt cache lives, 300 or 3,600, by default as in the recording. Raises
    ValueError for a model without a price.
    """
    import pandas

    rows = {name: _compared(session, each, model, ttl) for name, each in settings.items()}
    return pandas.DataFrame.from_dict(rows, orient="index")


def _compared(
    session: Session, settings: Settings, model: str, ttl: float | None
) -> dict[str, float]:
    frames = replay(session, settings)
    turns = bills.table(bills.bills(session, frames, ttl=ttl, simulate=True), model)
    needed, total = needs(frames), bills_figure.total(turns)
    sizes = [frame.prompt_tokens for frame in frames]
    again = sum(need.dollars(size, model) for need, size in zip(needed, sizes, strict=True))
    sent = int(turns[["read", "written", "uncached"]].sum().sum())
    return {
        "sent": sent,
        "compacted": sum(frame.compaction not in (None, "failed") for frame in frames),
        "cleared": sum(len(frame.step.cleared) for frame in frames),
        "refused": sum(frame.refused for frame in frames),
        "% cached": round(100 * turns["read"].sum() / (sent or 1)),
        "need": round(100 * sum(need.outputs for need in needed) / len(frames), 1),
        f"$ {model.removeprefix('claude-')}": round(total, 4),
        "$ re-read": round(again, 4),
        "$ in all": round(total + again, 4),
    }
