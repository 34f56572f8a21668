"""The bench: any settings on one task, drawn as dollars against what was kept.

The agent does the task again for each trial, so what was lost is known. A recorded
session can take the task's place. It is replayed, and a replay can't know what the
agent would have done, so the picture counts the turns that quote nothing forgotten.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from html import escape
from itertools import pairwise
from textwrap import shorten
from typing import Any

from ipywidgets import HTML, HBox, Image, IntSlider, Layout
from pandas import DataFrame, read_csv

from agentlib import presets
from agentlib.api.spending import dollars
from agentlib.settings import Settings
from agentlib.transcripts import Session
from course.figures import charts
from course.panels.panel import (
    ONE_AT_A_TIME,
    PAUSE,
    Drawing,
    Panel,
    choice,
    scrolling,
    slider,
)
from offline_api.model import HABITS, Habits
from session_report import bills
from session_report.amounts import cents, many
from session_report.need import needs
from session_report.playback import Frame, replay, table
from session_report.style import wrapped
from windtunnel.runner import play
from windtunnel.tasks.generated import BENCH
from windtunnel.tasks.scenarios import REVIEW, Scenario
from windtunnel.trade import trade

WINDOW = 32_000
START = "default"
NEVER = "never"
SHOWN_TRIALS = 6
"""The newest trials that a picture joins by a line."""
DOTS = 12
"""The newest trials that a picture shows beside the cheapest. With more it is slow, and
their labels lie on one another."""
PRESETS = {**presets.ALL, "course start": Settings()}
del PRESETS["learn-claude-code-ts"]  # its dot would hide its twin's
KEPT_PICTURES = 100
"""The most pictures that a bench keeps, 30 kB each."""
AT_COMPACTION = ("head_tokens", "tail_tokens", "summary_tokens", "restore_files")
"""Fields that only a compaction reads; the head also bounds clearing."""
_FIELDS = ("threshold", "keep_recent", "clear_when", *AT_COMPACTION)
"""The controls that set a field, named like it."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What one run cost, and what was kept."""

    price: Mapping[str, float]
    """Dollars by model."""
    kept: int
    """How high its dot stands, `most` at the top."""
    most: int
    lost: str
    """"nothing", or what."""
    is_hollow: bool = False
    """Whether it lost something that the height doesn't show."""


class Played:
    """A task that ends with a report. The agent does it again for each trial."""

    left = "files described"
    window = WINDOW
    note = ""

    def __init__(self, task: Scenario, habits: Habits = HABITS) -> None:
        self.task = task
        self.habits = habits

    def frames(self, settings: Settings) -> Sequence[Frame]:
        return replay(play(self.task, settings, habits=self.habits).session, settings)

    def tried(self, settings: Settings) -> Trial:
        run = play(self.task, settings, habits=self.habits)
        return described(self.task, run.checks, {m: run.dollars(m) for m in models()})

    def presets(self) -> dict[str, Trial]:
        """Take the table of `make sweeps`, or run them if task or habits are others."""
        if (self.task, self.habits) != (REVIEW, HABITS):
            return {n: self.tried(each.scaled(WINDOW)) for n, each in PRESETS.items()}
        return {name: described(REVIEW, row, row) for name, row in stored().items()}


@cache
def stored() -> Any:
    """Return the rows of `BENCH`, one for each preset on the review."""
    return read_csv(BENCH, index_col="preset").to_dict("index")


def models() -> list[str]:
    """List the models whose prices can be chosen: the table's columns that name one."""
    return [name for name in stored()[START] if name.startswith("claude-")]


def described(
    task: Scenario, checks: Mapping[str, Any], price: Mapping[str, float]
) -> Trial:
    """Judge a run by the task's checks."""
    kept = checks["described"]
    files = checks["files"]
    broken = not checks["rule kept"]
    facts = len(task.facts) - checks["facts"]
    missing = {many(files - kept, "file"): files - kept, many(facts, "fact"): facts}
    lost = [name for name, count in {**missing, "the rule": broken}.items() if count]
    words = ", ".join(lost) or "nothing"
    is_hollow = bool(facts or broken)
    return Trial(price=price, kept=kept, most=files, lost=words, is_hollow=is_hollow)


class Replayed:
    """A recorded session. All its bills are simulated, so that they compare."""

    left = "turns that miss nothing"
    note = " A replay can't say which facts would be lost."

    def __init__(self, session: Session) -> None:
        self.session = session
        self.window = session.settings.context_window // 400 * 400

    def frames(self, settings: Settings) -> Sequence[Frame]:
        return replay(self.session, settings)

    def tried(self, settings: Settings) -> Trial:
        frames = self.frames(settings)
        billed = bills.bills(self.session, frames)
        usages = [usage for each in billed for usage in each.usages]
        pairs = zip(needs(frames), frames, strict=True)
        missing = sum(bool(need.outputs) or frame.refused for need, frame in pairs)
        price = {
            model: sum(dollars(usage, model) for usage in usages) for model in models()
        }
        lost = many(missing, "turn") if missing else "nothing"
        most = len(frames)
        return Trial(price=price, kept=most - missing, most=most, lost=lost)

    def presets(self) -> dict[str, Trial]:
        every = {name: each.scaled(self.window) for name, each in PRESETS.items()}
        every["as recorded"] = self.session.settings
        return {name: self.tried(settings) for name, settings in every.items()}


def what_if(source: Scenario | Session = REVIEW, habits: Habits = HABITS) -> "WhatIf":
    """Open the bench on a task that ends with a report, or on a recorded session.

    `habits`: those of the offline model that does the task. Raises ValueError for a
    session without requests.
    """
    if isinstance(source, Scenario):
        return WhatIf(Played(source, habits))
    if not source.requests:
        raise ValueError(
            "the session has no request yet, so there is nothing to replay"
        )
    return WhatIf(Replayed(source))


class WhatIf(Panel):
    """The panel. `settings` are those of the controls, and `tried` has the trials by
    name.

    A control that can't change this run is greyed, and the line below the controls says
    why.
    """

    def __init__(self, source: Played | Replayed) -> None:
        self.source = source
        self.presets = source.presets()
        self.starts = {
            name: each.scaled(source.window) for name, each in PRESETS.items()
        }
        self.known = {name: (name, settings) for name, settings in self.starts.items()}
        self.tried: dict[str, Trial] = {}
        self.turns: dict[tuple[str, Settings], Sequence[Frame]] = {}
        self.pictures: dict[tuple[Any, ...], bytes] = {}
        """The newest pictures, by what they show. One that is shown again, or was drawn
        ahead, isn't drawn when a control moves."""
        self.why = HTML()
        self.below = Image(format="png")
        super().__init__(_controls(self.starts, source.window), self._draw)
        self.below.layout = self.picture.layout
        self.table.layout = Layout(flex="1 1 19em", max_width="34em")
        row = HBox([self.picture, self.table], layout=Layout(flex_flow="row wrap"))
        self.children = [self.bar, self.why, self.line, row, self.below]

    @property
    def settings(self) -> Settings:
        return settings_at(self.starts, self.values)

    @property
    def name(self) -> str:
        """The name of the trial that is shown: a preset's, or a number and what was
        changed."""
        name = self._name_at(self.values)
        self.known.setdefault(name, (self.values["preset"], self.settings))
        return name

    def _name_at(self, values: Mapping[str, Any]) -> str:
        """Return the name that the trial at these positions has, or would get."""
        settings = settings_at(self.starts, values)
        for name, (_, known) in self.known.items():
            if known == settings:
                return name
        moved = positions(self.starts[values["preset"]])
        changes = [
            f"{self.controls[field].description} {values[field]}"
            for field in _FIELDS
            if values[field] != moved[field]
        ]
        return f"{len(self.known) - len(self.starts) + 1} · {', '.join(changes)}"

    def _moved(self, change: Any = None) -> None:
        if self.still:
            return
        if change and change["owner"] in (
            self.controls["preset"],
            self.controls["trial"],
        ):
            preset, settings = self.known[change["new"]]
            self.move(preset=preset, **positions(settings))
            return
        self.line.value = "Running …"
        super()._moved(change)
        self._show_turns()
        if change and isinstance(change["owner"], IntSlider):
            self._run_ahead(change["owner"], change["new"] - change["old"])

    def _run_ahead(self, moved: Any, step: int) -> None:
        """Let the agent do the next step's trial while the reader looks at this one, and
        draw its two pictures.

        Between the parts the reader's own moves come first. Without an event loop, as in
        a script, do nothing.
        """
        to = moved.value + step
        if not (step and moved.min <= to <= moved.max):
            return
        field = next(name for name, each in self.controls.items() if each is moved)
        parts = self._parts_of({**self.values, field: to})

        def make_next_part() -> None:
            with ONE_AT_A_TIME, suppress(Exception):  # raised again if it is wanted
                for _ in parts:
                    self._ahead = loop.call_later(PAUSE, make_next_part)
                    return

        with suppress(RuntimeError):
            loop = asyncio.get_running_loop()
            self._ahead = loop.call_later(PAUSE, make_next_part)

    def _parts_of(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Make what a position shows, a part at each step: the run, then each
        picture."""
        name = self._name_at(values)
        settings = settings_at(self.starts, values)
        preset, _ = self.known.get(name, (values["preset"], settings))
        trial = self.tried.get(name) or self.source.tried(settings)
        yield
        tried = {**{n: t for n, t in self.tried.items() if n != name}, name: trial}
        self._chart(name, (preset, settings), tried, values["model"])
        yield
        self._turns_picture(name, settings)
        yield

    def _draw(self, model: str, **values: Any) -> Drawing:
        """Make the trial that the controls stand for, if it is new, and draw all."""
        name = self.name
        (preset, settings) = self.known[self.name]
        trial = self.tried[name] = self.tried.pop(name, None) or self.source.tried(
            settings
        )
        trials = {**self.presets, **self.tried}
        price = _least(trials, model, name)
        start = f"from {preset}, " * (name != preset) + f"at the prices of {model}"
        turns = many(len(self._turns_of(name, settings)), "turn")
        text = f"{name}, {cents(trial.price[model])} ({start}). {turns}. Lost: {trial.lost}."
        text = f"{wrapped(text + self.source.note)}\nCheapest so far that loses nothing: {price}."
        picture = self._chart(name, (preset, settings), self.tried, model)
        return Drawing(picture, text, _as_table(trials, name, model))

    def _chart(
        self,
        now: str,
        begun: tuple[str, Settings],
        tried: Mapping[str, Trial],
        model: str,
    ) -> bytes:
        """Draw every trial. Those that began at the preset of `begun` are the trail."""
        return self._kept(
            ("trials", now, begun, *tried, model),
            lambda: self._drawn(now, begun[0], tried, model),
        )

    def _kept(self, key: tuple[Any, ...], draw: Callable[[], bytes]) -> bytes:
        """Return the picture of a key, and draw it if it isn't among the newest."""
        if (png := self.pictures.pop(key, None)) is None:
            png = draw()
        self.pictures[key] = png
        while len(self.pictures) > KEPT_PICTURES:
            del self.pictures[next(iter(self.pictures))]
        return png

    def _drawn(
        self, now: str, preset: str, tried: Mapping[str, Trial], model: str
    ) -> bytes:
        best = cheapest({**self.presets, **tried}, model, now)
        shown = {*[*tried][-DOTS:], best, now}
        tried = {name: each for name, each in tried.items() if name in shown}
        trials = {**self.presets, **tried}
        title = f"Cheapest that loses nothing: {_least(trials, model, now)}"
        labels = {"": "", **{name: _label(name) for name in trials}}
        labels[now] = shorten(now, 36, placeholder=" …")
        dots = {
            labels[name]: (each.price[model], each.kept)
            for name, each in trials.items()
        }
        path = [
            labels[name]
            for name in tried
            if name == now or self.known[name][0] == preset
        ]
        trail = {label: dots.pop(label) for label in path[-SHOWN_TRIALS:]}
        most = trials[now].most
        looks: Any = {
            "title": title,
            "most": most,
            "left": f"{self.source.left}, of {most}",
        }
        hollow = {labels[name] for name, each in trials.items() if each.is_hollow}
        return trade(dots, trail, hollow=hollow, best=labels[best], **looks).png()

    def _turns_of(self, name: str, settings: Settings) -> Sequence[Frame]:
        """Return the turns of a trial, which are made once."""
        if (name, settings) not in self.turns:
            self.turns[name, settings] = self.source.frames(settings)
        return self.turns[name, settings]

    def _turns_picture(self, name: str, settings: Settings) -> bytes:
        """Draw the turns of a trial."""

        def draw() -> bytes:
            title = f"Turns: {shorten(name, 50)}"
            frames = self._turns_of(name, settings)
            return charts.turns(table(frames), title=title).png()

        return self._kept(("turns", name, settings), draw)

    def _show_turns(self) -> None:
        """Draw the turns of this trial, and grey the controls that can't change it."""
        name = self.name
        settings = self.settings
        with ONE_AT_A_TIME:
            frames = self._turns_of(name, settings)
            self.below.value = self._turns_picture(name, settings)
        reasons = without_effect(settings, frames)
        for field, control in self.controls.items():
            control.disabled = field in reasons
        greyed = {why: list[str]() for why in reasons.values()}
        for field, why in reasons.items():
            greyed[why].append(self.controls[field].description)
        lines = [
            f"Greyed: {', '.join(names)}, because {why}"
            for why, names in greyed.items()
        ]
        self.why.value = (
            "<br>".join(map(escape, lines)) or "Every control can change this run."
        )
        self.still = True
        self.controls["trial"].options = [*self.known]
        self.controls["trial"].value = name
        self.still = False


def cheapest(trials: Mapping[str, Trial], model: str, shown: str) -> str:
    """Name the cheapest trial that loses nothing, or return "". Of equals, prefer the
    one shown."""
    whole = {
        name: each.price[model]
        for name, each in trials.items()
        if each.lost == "nothing"
    }
    return min(whole, key=lambda name: (whole[name], name != shown), default="")


def _least(trials: Mapping[str, Trial], model: str, shown: str) -> str:
    """Name the cheapest trial that loses nothing, with its price."""
    best = cheapest(trials, model, shown)
    return f"{_shown(best)}, {cents(trials[best].price[model])}" if best else "none yet"


def _label(name: str) -> str:
    """Return the name of a trial's dot: a preset's, or a number."""
    return name.partition(" · ")[0]


def _shown(name: str) -> str:
    """Return the short name of a trial for a sentence."""
    return f"{'trial ' * (_label(name) != name)}{_label(name)}"


def without_effect(settings: Settings, frames: Sequence[Frame]) -> dict[str, str]:
    """Say for each control that can't change this run why not.

    In an emergency old results are cleared in a warm cache too, and a head is never
    cleared.
    """
    reasons: dict[str, str] = {}
    pause = max((b.request.at - a.request.at for a, b in pairwise(frames)), default=0)
    compacts = any(frame.compaction for frame in frames)
    calm = all(
        frame.step.tokens_before <= settings.emergency_tokens for frame in frames
    )
    warm = calm and settings.clear_when == "cold" and pause <= settings.cache_ttl
    if settings.micro != "clear":
        reasons["keep_recent"] = "results aren't cleared."
    elif warm:
        reasons["keep_recent"] = (
            f"no pause outlives the cache: the longest is {pause:,.0f} s."
        )
    if not compacts:
        largest = max(frame.prompt_tokens for frame in frames)
        why = f"nothing is compacted, the largest prompt has {largest:,} tokens."
        reasons |= dict.fromkeys(
            AT_COMPACTION[settings.micro != "off" and not warm :], why
        )
    return reasons


def positions(settings: Settings) -> dict[str, Any]:
    """Place the controls where these settings are."""
    places = {name: getattr(settings, name) for name in _FIELDS}
    places |= {
        "threshold": settings.threshold_tokens,
        "tail_tokens": settings.tail_tokens or 0,
    }
    return places | ({"clear_when": NEVER} if settings.micro == "off" else {})


def settings_at(starts: Mapping[str, Settings], values: Mapping[str, Any]) -> Settings:
    """Make the settings that the controls stand for. Fields without a control are the
    preset's."""
    start = starts[values["preset"]]
    chosen = {name: values[name] for name in _FIELDS[1:]}
    chosen["tail_tokens"] = values["tail_tokens"] or None
    if values["clear_when"] == NEVER:
        chosen |= {"micro": "off", "clear_when": start.clear_when}
    elif start.micro == "off":
        chosen["micro"] = "clear"
    if start.threshold_tokens != values["threshold"]:
        chosen |= {"threshold": values["threshold"], "threshold_pct": None}
    return replace(start, **chosen)


def as_code(settings: Settings) -> str:
    """Write the settings as Python: only what differs from `Settings()`.

    >>> print(as_code(Settings(keep_recent=5, context_window=100_000)))
    Settings(context_window=100000, keep_recent=5)
    """
    values = ((field, getattr(settings, field.name)) for field in fields(settings))
    parts = [
        f"{field.name}={value!r}" for field, value in values if value != field.default
    ]
    return wrapped(f"Settings({', '.join(parts)})")


def _as_table(trials: Mapping[str, Trial], now: str, model: str) -> str:
    """List all trials, the cheapest first, with a mark at the one that is shown."""
    names = sorted(trials, key=lambda name: trials[name].price[model])
    # A no-break space, or a narrow window puts number and sign on two lines.
    prices = [cents(trials[name].price[model]).replace(" ", "\u00a0") for name in names]
    marked = [f"{'▶ ' * (name == now)}{name}" for name in names]
    lost = [trials[name].lost for name in names]
    table = DataFrame({"trial": marked, "price": prices, "lost": lost})
    return scrolling(table, "table of the trials", "left")


def _controls(starts: Mapping[str, Settings], window: int) -> dict[str, Any]:
    """Make the controls. Every preset is on a step, or a browser would move it."""
    at = positions(starts[START])
    small = window // 400
    wide = window // 200
    spans = {
        "threshold": (
            "compacts at",
            (window // 5, window, wide),
            "tokens of the prompt",
        ),
        "keep_recent": ("KEEP_RECENT", (0, 20, 1), ""),
        "head_tokens": ("head", (0, window // 8, small), "tokens of the head"),
        "tail_tokens": (
            "tail",
            (0, window // 2, wide),
            "tokens; 0: the newest exchange",
        ),
        "summary_tokens": ("summary", (small, window // 8, small), ""),
        "restore_files": ("puts back", (0, 10, 1), "files put back after a compaction"),
    }
    whens = ("always", "cold", NEVER)
    controls: dict[str, Any] = {
        "preset": choice("preset", START, [*starts], "moves all other controls"),
        "trial": choice("back to", START, [*starts], "goes back to a trial"),
        "model": choice(
            "prices of", models()[0], models(), "whose prices the dollars are at"
        ),
        "clear_when": choice(
            "clear when", at["clear_when"], whens, "always, or in a cold cache"
        ),
    }
    for name, (words, span, meaning) in spans.items():
        controls[name] = slider(words, at[name], span, meaning, waits=True)
    for control in controls.values():
        control.layout.width = "24em"
        control.style.description_width = "8em"
    return controls
