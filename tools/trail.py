"""Record the bench: its trials at many settings, so that a web page can draw the trail
itself.

What the bench shows depends on the trials made before, so no picture of it can be kept.
A page gets each run's price and what it lost, and `play.js` draws the dots, as
`figures.trade` does, and writes the sentence and the table. Where a control can't
change a run, its places share one.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from course.figures import charts
from course.panels.what_if import WhatIf, models, positions, settings_at, without_effect
from session_report.amounts import cents
from session_report.playback import table
from tools.drawing import Sheet
from tools.stops import with_own
from windtunnel.trade import EVIDENCE, TITLES


class Bench:
    """The runs behind a bench's places, each made once."""

    def __init__(self, shown: WhatIf, fields: Sequence[str]) -> None:
        self.shown = shown
        self.fields = fields
        self.sheet = Sheet()
        self.runs: list[Any] = []
        self.settings: dict[Any, int] = {}
        self.idle: dict[tuple[Any, ...], int] = {}

    def place(self, values: Mapping[str, Any]) -> list[int]:
        """Return the numbers of the settings and of the run at a place."""
        settings = settings_at(self.shown.starts, values)
        number = self.settings.setdefault(settings, len(self.settings))
        for names in {key[0] for key in self.idle}:
            if (run := self.idle.get(self._key(names, values))) is not None:
                return [number, run]
        return [number, self._run(settings, values)]

    def _run(self, settings: Any, values: Mapping[str, Any]) -> int:
        trial = self.shown.source.tried(settings)
        frames = self.shown.source.frames(settings)
        reasons = without_effect(settings, frames)
        # The page writes the trial's name behind the title.
        picture = self.sheet.picture(charts.turns(table(frames), title="Turns: "))
        self.idle[self._key(frozenset(reasons), values)] = len(self.runs)
        self.runs.append(
            {**judged(trial), "turns": len(frames), "why": reasons, "below": picture}
        )
        return len(self.runs) - 1

    def _key(self, idle: frozenset[str], values: Mapping[str, Any]) -> tuple[Any, ...]:
        return idle, *(values[f] for f in ("preset", *self.fields) if f not in idle)


def judged(trial: Any) -> dict[str, Any]:
    """Return a trial as the page needs it: its dollars, and its price in words, for
    each model."""
    dollars = [float(trial.price[model]) for model in models()]
    return {
        "dollars": dollars,
        "prices": [cents(each) for each in dollars],
        "kept": int(trial.kept),
        "lost": trial.lost,
        "hollow": bool(trial.is_hollow),
    }


def trail(shown: WhatIf, stops: Mapping[str, Any]) -> tuple[Sheet, dict[str, Any]]:
    """Return the sheet of a bench, and the rest of its data.

    `stops`: for a preset, or "" for any other, the values of some controls. The other
    controls stay where the preset has them.
    """
    every = positions(next(iter(shown.starts.values())))
    fields = [name for name in every if any(name in some for some in stops.values())]
    bench = Bench(shown, fields)
    presets = dict[str, Any]()
    for preset, start in shown.starts.items():
        at = {**shown.values, **positions(start), "preset": preset}
        values = {
            f: with_own(at[f], stops.get(preset, stops[""]).get(f, ())) for f in fields
        }
        grid = (
            {**at, **dict(zip(fields, v, strict=True))}
            for v in product(*values.values())
        )
        places = [bench.place(each) for each in grid]
        first = {field: values[field].index(at[field]) for field in fields}
        presets[preset] = {"values": values, "start": first, "places": places}
    return bench.sheet, {
        "places": presets,
        "runs": bench.runs,
        "dots": {name: judged(trial) for name, trial in shown.presets.items()},
        "most": int(next(iter(shown.presets.values())).most),
        "left": shown.source.left,
        "titles": dict(TITLES),
        "evidence": f"{EVIDENCE}.",
        "note": shown.source.note,
        "fields": fields,
    }
