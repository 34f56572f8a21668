"""The pane that does a task anew: a Run button, its progress, and a row for each run.

The offline agent works from the start under the settings of the moment, so what a setting made it
forget shows in what it does. Illustrates a mechanism; it is no evidence about language models.
Not here: the run itself, which also remembers its results (play).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import html
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ipywidgets import HTML, Button, VBox

from agentlib.lab.panels.wall import scrolling, status
from agentlib.lab.panels.whatif_controls import as_code
from agentlib.lab.play import Run, play
from agentlib.lab.scoreboard import reread
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.pipeline import compact
from agentlib.settings import Settings
from agentlib.step import Step


@dataclass(frozen=True)
class Counted:
    """`pipeline.compact`, telling how often it was called. All are equal: a run is remembered."""

    tell: Callable[[int], None] = field(compare=False)
    calls: list[int] = field(default_factory=list[int], compare=False)

    def __call__(self, *messages: Any, **known: Any) -> Step:
        self.calls.append(1)
        self.tell(len(self.calls))
        return compact(*messages, **known)


class RunPane(VBox):
    """`pane.button.click()` runs the task under `settings()`; `pane.runs` has what came of it."""

    def __init__(self, scenario: Scenario, settings: Callable[[], Settings], model: str) -> None:
        self.scenario, self.settings, self.model = scenario, settings, model
        self.runs: dict[Settings, dict[str, Any]] = {}
        self.button = Button(description="Run the agent", icon="play", tooltip="does the task anew")
        self.button.on_click(self._run)
        self.line, self.rows = HTML(), HTML()
        self.text = "No run yet: the button does the task anew under the settings above."
        super().__init__([self.button, self.line, self.rows])
        self._say(self.text)

    def _run(self, button: object) -> None:
        self.button.disabled = True
        try:
            settings = self.settings()
            run = play(self.scenario, settings, engine=Counted(self._progress))
            self.runs[settings] = outcome(run, self.scenario, self.model)
            self.text = told(self.runs[settings], self.model)
            self.rows.value = as_html(self.runs)
        except Exception as error:  # shown, not lost: the browser would drop it
            self.text = f"{type(error).__name__}: {error}"
        finally:
            self.button.disabled = False
        self._say(self.text)

    def _progress(self, requests: int) -> None:
        self._say(f"Running: request {requests} …")

    def _say(self, text: str) -> None:
        self.line.value = status(text)

    def __repr__(self) -> str:
        return self.text


def outcome(run: Run, scenario: Scenario, model: str) -> dict[str, Any]:
    """What came of a run: counts, tokens, dollars at the prices of `model`, what was kept."""
    kept = run.checks.get("facts")
    facts = "none to keep" if kept is None else f"{kept} of {len(scenario.facts)}"
    found: dict[str, Any] = {
        "turns": run.turns,
        "compactions": sum(c.failure is None for c in run.session.compactions),
        "re-reads": reread(run.session.history),
        "tokens sent": run.sent,
        f"$ {model}": round(run.dollars(model), 4),
        "facts kept": facts,
        "done": "yes" if run.checks["done"] else "no",
    }
    if "constraint" in run.checks:
        found["rule kept"] = "yes" if run.checks["constraint"] else "no"
    return found | ({"refused": run.refused} if run.refused else {})


def told(found: dict[str, Any], model: str) -> str:
    """An outcome in words."""
    text = (
        f"{_count(found['turns'], 'turn')}, {_count(found['compactions'], 'compaction')}, "
        f"{_count(found['re-reads'], 're-read')}, {found['tokens sent']:,} tokens sent, "
        f"${found[f'$ {model}']:.4f} at the prices of {model}; facts kept: {found['facts kept']}; "
    )
    if rule := found.get("rule kept"):
        text += f"rule kept: {rule}; "
    text += f"task done: {found['done']}."
    if refused := found.get("refused"):
        text += f" The API ended it: {refused.rstrip('.')}."
    return textwrap.fill(text, 72, break_on_hyphens=False)


def as_html(runs: dict[Settings, dict[str, Any]]) -> str:
    """Two rows for each run, the newest last: its settings as code, and what came of it."""
    names = list(dict.fromkeys(name for found in runs.values() for name in found))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = "".join(_rows(settings, found, names) for settings, found in runs.items())
    return scrolling(f"<table><tr>{head}</tr>{rows}</table>", "table of the runs")


def _rows(settings: Settings, found: dict[str, Any], names: list[str]) -> str:
    said = [found.get(name, "") for name in names]
    shown = [f"{value:,}" if isinstance(value, int) else str(value) for value in said]
    cells = "".join(f"<td>{html.escape(each)}</td>" for each in shown)
    code = html.escape(as_code(settings))
    first = f'<td colspan="{len(names)}" style="text-align: left">{code}</td>'
    return f"<tr>{first}</tr><tr>{cells}</tr>"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
